"""The bodies of requests and answers. Their descriptions are the API's documentation."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel, StrictBool

from kanerva.store import names
from kanerva.web.images import Format
from kanerva.web.limits import (
    KNOWN_FROM,
    MAX_ID_CHARACTERS,
    MAX_IMAGES,
    MAX_PNG_CHARACTERS,
    MAX_READINGS,
)

NAME = f"^{names.NAME.pattern}$"
"""The rule of the local store."""
BASE64 = "[A-Za-z0-9+/]+={0,2}"
Name = Annotated[str, Field(pattern=NAME, description=names.NAME_WORDS.capitalize() + ".")]
ItemId = Annotated[str, Field(min_length=1, description="The id of an item: any text.")]
NewId = Annotated[str, Field(min_length=1, max_length=MAX_ID_CHARACTERS)]
Label = Annotated[str, Field(min_length=1, max_length=80)]
Share = Annotated[float, Field(strict=True, ge=0, le=1, allow_inf_nan=False)]
WHOLE = BeforeValidator(lambda value: _number(value))
"""For whole numbers: 2.0 is one too in JSON, but "2" and true are not."""
Seed = Annotated[int, Field(ge=0, lt=2**53), WHOLE]
Readings = Annotated[int, Field(ge=1, le=MAX_READINGS), WHOLE]


def _number(value: object) -> object:
    if isinstance(value, bool | str):
        raise ValueError("Input should be a valid integer")
    return value


class _Request(BaseModel):
    model_config = ConfigDict(extra="forbid", str_strip_whitespace=False)


class Pixels(RootModel[list[list[list[Share]]]]):
    """An image as numbers: channels, rows, pixels; 0 is background and 1 is ink."""


class Png(RootModel[str]):
    """A PNG file of any size as a data URL. Its middle square is used, and what stands out is ink.

    Answers have dark ink on white paper.
    """

    root: Annotated[
        str,
        Field(
            pattern=f"^data:image/png;base64,{BASE64}$",
            max_length=MAX_PNG_CHARACTERS,
            json_schema_extra={"format": "png-data-url"},
        ),
    ]


class PixelBytes(_Request):
    """An image as one byte for each pixel, 0 to 255, row after row, in base64."""

    bytes: Annotated[str, Field(pattern=f"^{BASE64}$", max_length=20_000)]


Image = Pixels | Png | PixelBytes
Images = Annotated[list[Image], Field(min_length=1, max_length=MAX_IMAGES)]


class NewMemory(_Request):
    """A memory to create."""

    name: Name
    stored: StrictBool | None = Field(
        None,
        description="Keep it in the server's folder. By default it is kept there if the server "
        "has one; otherwise it belongs to your session and ends with it.",
    )


class Memory(BaseModel):
    """A memory that you can use."""

    name: Name
    stored: bool = Field(description="In the server's folder; otherwise it belongs to you.")
    key: str = Field(description="Differs between two memories with one name.")
    num_items: int
    ledger: bool = Field(description="Whether it knows its items, so that one can be forgotten.")
    state: str = Field(description="SHA-256 of its sums: equal for memories with equal items.")


class Memories(BaseModel):
    """All memories that you can use."""

    memories: list[Memory]


class NewItem(_Request):
    """An image to write."""

    image: Image
    id: NewId | None = Field(None, description="By default a random one.")
    label: Label | None = None


class NewItems(_Request):
    """Images to write."""

    items: Annotated[list[NewItem], Field(min_length=1, max_length=MAX_IMAGES)]


class Written(BaseModel):
    """What a write did."""

    ids: list[str]
    num_items: int = Field(description="In the memory now.")
    state: str


class Item(BaseModel):
    """An item of a memory."""

    id: str
    label: str | None
    time: float = Field(description="When it was written, in seconds since 1970.")
    image: Image


class Items(BaseModel):
    """The items of a memory, in the order in which they were written."""

    items: list[Item]
    num_items: int = Field(description="More than are listed, if there are very many.")


class ForgetReceipt(BaseModel):
    """What was forgotten, and the states before and after."""

    ids: list[str]
    num_items: int = Field(description="How many were forgotten.")
    time: float
    before: str
    after: str
    purged: bool = Field(description="Whether every trace is gone from the files.")


class Cues(_Request):
    """Images to ask the memory with, damaged or not."""

    cues: Images
    num_readings: Readings | None = Field(None, description="By default the model decides.")
    threshold: Share = KNOWN_FROM
    steps: StrictBool = Field(False, description="Also return the image of each reading.")
    format: Format = "png"


class Reading(BaseModel):
    """What the memory returned for one cue."""

    image: Image
    confidence: float = Field(ge=0, le=1)
    known: bool = Field(description="False means: not in memory.")
    weights: list[float] = Field(description="w: how much each of the K rows counted.")
    codes: list[float] = Field(description="What the memory holds at this address.")
    steps: list[Image] = Field(description="The image after each reading.")
    step_weights: list[list[float]] = Field(
        description="The weights of the cue, then those of the image of each reading."
    )


class ReadAnswer(BaseModel):
    """One reading for each cue."""

    readings: list[Reading]


class Generate(_Request):
    """New images to make."""

    num: Annotated[int, Field(ge=1, le=MAX_IMAGES), WHOLE] = 16
    seed: Seed = 0
    format: Format = "png"


End = Annotated[
    Image | ItemId,
    Field(union_mode="left_to_right", description="An image, or the id of an item."),
]
"""A text that is a PNG file as a data URL is that image; any other one is an id."""


class Interpolate(_Request):
    """Two ends, and how many images between them."""

    start: End
    end: End
    steps: Annotated[int, Field(ge=2, le=MAX_IMAGES), WHOLE] = 10
    format: Format = "png"


class ImagesAnswer(BaseModel):
    """Images."""

    images: list[Image]


class Merge(_Request):
    """Memories to merge into this one. They are not changed."""

    sources: Annotated[list[Name], Field(min_length=1, max_length=8)]


class MemoryDetails(Memory):
    """What a memory is and holds."""

    kind: str
    num_rows: int = Field(description="K")
    code_size: int = Field(description="C")
    dtype: str
    model: str | None
    fingerprint: str
    num_bytes: int
    fill: float = Field(description="How full it is: 0 is empty; above 1 items get mixed up.")
    full: bool
    covariance: str = Field(
        description="|U|: one byte for each of K x K entries, row after row, in base64. 255 is the "
        "largest entry of an empty memory."
    )
    covariance_max: float


class Models(BaseModel):
    """The models of this server."""

    recall: str
    samples: str


class About(BaseModel):
    """What this server is."""

    version: str
    models: Models
    image_shape: Annotated[list[int], Field(min_length=3, max_length=3)]
    page_memory: str | None = Field(description="The stored memory that the page opens.")
    has_store: bool
    known_from: float = Field(description="The confidence from which on a reading is known.")
    max_images: int
    max_items: int


class ErrorParts(BaseModel):
    """The parts of an error."""

    argument: str
    expected: str
    got: str
    fix: str
    message: str


class ErrorBody(BaseModel):
    """Every answer that is not a success."""

    error: ErrorParts
