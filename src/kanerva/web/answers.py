"""What answers are made of: summaries, images, numbers, and the errors that every address has."""

from torch import Tensor

from kanerva.web import messages as m
from kanerva.web.images import Format, encoded
from kanerva.web.served_memory import ServedMemory

STATUSES = {
    400: "The request is not HTTP as it should be.",
    401: "The token is missing.",
    403: "The request comes from a page of another host.",
    404: "There is no such memory or item.",
    409: "The memory does not allow it: a name or id is taken, or it is full.",
    413: "The body is too large.",
    421: "The server is not known by this name.",
    422: "Something in the request is wrong.",
    503: "The server is busy.",
}
ERRORS: dict[int | str, dict[str, object]] = {
    status: {"model": m.ErrorBody, "description": text} for status, text in STATUSES.items()
}


def summary(memory: ServedMemory) -> m.Memory:
    """What lists say about a memory."""
    info = memory.info()
    return m.Memory(
        name=memory.name,
        stored=memory.stored,
        key=memory.key,
        num_items=info.num_items,
        ledger=info.ledger,
        state=info.state,
    )


def image_answer(image: Tensor, format: Format) -> m.Image:
    """An image (channels, H, W) in one of the three forms."""
    found = encoded(image, format)
    if isinstance(found, str):
        return m.Png(found)
    return m.PixelBytes(**found) if isinstance(found, dict) else m.Pixels(found)


def numbers(values: Tensor) -> list[float]:
    """Numbers that are short in JSON."""
    return [round(value, 5) for value in values.tolist()]
