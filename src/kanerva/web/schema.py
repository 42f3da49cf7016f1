"""The OpenAPI schema, with the sizes of the images that this server's model takes."""

import math

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi


def describe(app: FastAPI, image_shape: tuple[int, int, int], *, needs_token: bool) -> None:
    """Let the schema of an application say the exact sizes of images."""

    def openapi() -> dict[str, object]:
        if app.openapi_schema is None:
            schema = get_openapi(
                title=app.title, version=app.version, description=app.description, routes=app.routes
            )
            parts = schema["components"]["schemas"]
            _set_sizes(parts["Pixels"], image_shape)
            _set_length(parts["PixelBytes"]["properties"]["bytes"], math.prod(image_shape))
            if needs_token:
                schema["components"]["securitySchemes"] = {
                    "token": {"type": "http", "scheme": "bearer"}
                }
                schema["security"] = [{"token": []}]
            app.openapi_schema = schema
        return app.openapi_schema

    app.openapi = openapi  # pyright: ignore[reportAttributeAccessIssue]


def _set_sizes(schema: dict, sizes: tuple[int, ...]) -> None:
    for size in sizes:
        schema["minItems"] = schema["maxItems"] = size
        schema = schema["items"]


def _set_length(schema: dict, num_bytes: int) -> None:
    """The pattern of exactly so many bytes in base64."""
    whole, rest = divmod(num_bytes, 3)
    last = ("", "[A-Za-z0-9+/][AQgw]==", "[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=")[rest]
    schema["pattern"] = f"^[A-Za-z0-9+/]{{{4 * whole}}}{last}$"
