"""What schemathesis must know about our API: real PNG files, and a memory that exists."""

import base64
import io
import os

import schemathesis
from hypothesis import strategies as st
from PIL import Image

MEMORY = os.environ.get("KANERVA_SCHEMA_MEMORY", "playground")


def png(boxes: list[tuple[int, int]], side: int) -> str:
    image = Image.new("L", (side, side), 255)
    for left, top in boxes:
        image.paste(
            0, (left * side // 40 + 3, top * side // 40 + 3, left * side // 40 + 9, side - 3)
        )
    file = io.BytesIO()
    image.save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


places = st.tuples(st.integers(0, 20), st.integers(0, 20))
schemathesis.openapi.format(
    "png-data-url",
    st.builds(png, st.lists(places, min_size=1, max_size=3), st.integers(28, 80)),
)


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Half of the requests name a memory that exists; the others show what a wrong name does."""
    name = (path_parameters or {}).get("name")
    is_delete = context.operation.method == "delete" and context.operation.path.endswith("{name}")
    if isinstance(name, str) and len(name) % 2 and not is_delete:
        return {**path_parameters, "name": MEMORY}
    return path_parameters
