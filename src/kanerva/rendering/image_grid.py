"""Labelled rows of images as one picture, or as the frames of an animation.

Pixels of one channel are ink between 0 (background) and 1, and are drawn dark on white. Three
channels are colours.
"""

import base64
import io
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageOps

from kanerva.rendering.arrays import Images, as_array
from kanerva.rendering.bar_chart import bar_chart

GREY = (225, 225, 225)
"""Colour between the images."""
TEXT = (40, 40, 40)
LABEL_SIZE = 16
"""Height of the labels above pictures side by side, in pixels."""
FRAME_COLUMNS = 8
"""Images side by side in a frame of an animation."""


def image_grid(
    rows: Mapping[str, Images],
    *,
    bars: Mapping[str, Images] | None = None,
    num_columns: int | None = None,
    scale: int = 2,
) -> Image.Image:
    """Draw rows of images below each other, with a label before each row.

    Args:
        rows: for each label, images (N, channels, H, W); rows may differ in length and size.
        bars: for each label, numbers (N, K) that are drawn as N bar charts, below the images.
        num_columns: break longer rows into lines of this many images.
        scale: side of the square that a pixel becomes.

    Returns:
        The picture, in RGB.

    Example:
        >>> import numpy as np
        >>> ink = np.zeros((3, 1, 28, 28))
        >>> image_grid({"written": ink, "read": ink}).mode
        'RGB'

    """
    arrays = {label: as_array(row) for label, row in rows.items()}
    height, width = (scale * max(row.shape[axis] for row in arrays.values()) for axis in (-2, -1))
    lines: list[_Line] = []
    for label, row in arrays.items():
        cells = [enlarged(image, scale=scale).convert("RGB") for image in row]
        per_line = num_columns or max(len(cells), 1)
        parts = [cells[start : start + per_line] for start in range(0, len(cells), per_line)]
        lines += [_Line("" if number else label, part) for number, part in enumerate(parts)]
    for label, charts in (bars or {}).items():
        cells = [bar_chart(values, width=width, height=height) for values in as_array(charts)]
        lines.append(_Line(label, cells))
    return _draw(lines, height, width, scale)


def stacked(pictures: Sequence[Image.Image]) -> Image.Image:
    """Put pictures below each other; narrow ones are filled up on the right."""
    if len(pictures) == 1:
        return pictures[0]
    size = max(one.width for one in pictures), sum(one.height for one in pictures)
    canvas = Image.new("RGB", size, GREY)
    top = 0
    for one in pictures:
        canvas.paste(one, (0, top))
        top += one.height
    return canvas


def beside(pictures: Mapping[str, Image.Image]) -> Image.Image:
    """Put pictures next to each other, with a label above each.

    Args:
        pictures: a picture for each label.

    Returns:
        One picture, in RGB.

    Example:
        >>> from PIL import Image
        >>> one = Image.new("RGB", (40, 30))
        >>> beside({"left": one, "right": one}).height > 30
        True

    """
    font = ImageFont.load_default(size=LABEL_SIZE)
    top, gap = 2 * LABEL_SIZE, LABEL_SIZE
    widths = [max(one.width, int(font.getlength(label))) for label, one in pictures.items()]
    height = top + max(one.height for one in pictures.values())
    canvas = Image.new("RGB", (sum(widths) + gap * (len(widths) + 1), height), GREY)
    pen, left = ImageDraw.Draw(canvas), gap
    for (label, one), width in zip(pictures.items(), widths, strict=True):
        pen.text((left, top // 2), label, fill=TEXT, font=font, anchor="lm")
        canvas.paste(one, (left, top))
        left += width + gap
    return canvas


def enlarged(image: Images, *, scale: int) -> Image.Image:
    """Draw one image (channels, H, W), with a square for each of its pixels.

    Args:
        image: ink between 0 and 1, which is drawn dark on white, or three channels of colour.
        scale: side of the square that a pixel becomes.

    Returns:
        The picture, in grey or in colour.

    Example:
        >>> import numpy as np
        >>> enlarged(np.zeros((1, 28, 28)), scale=10).size
        (280, 280)

    """
    values = as_array(image).clip(0, 1)
    pixels = 1 - values[0] if len(values) == 1 else values.transpose(1, 2, 0)
    picture = Image.fromarray(np.round(pixels * 255).astype(np.uint8))
    return picture.resize((picture.width * scale, picture.height * scale), Image.Resampling.NEAREST)


def png(picture: Image.Image) -> bytes:
    """Encode a picture as a PNG file."""
    stream = io.BytesIO()
    picture.save(stream, format="PNG")
    return stream.getvalue()


def svg(picture: Image.Image) -> bytes:
    """Encode a picture as an SVG file, which keeps its pixels sharp at any size."""
    width, height = picture.size
    data = base64.b64encode(png(picture)).decode()
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">\n'
        f'<image width="{width}" height="{height}" style="image-rendering: pixelated" '
        f'href="data:image/png;base64,{data}"/>\n</svg>\n'
    ).encode()


def animation(rows: Mapping[str, Images], *, milliseconds: int = 400) -> bytes:
    """Encode rows of images as a GIF file with one frame for each row.

    Args:
        rows: for each label, images (N, channels, H, W). A frame has eight images side by side,
            and more lines if there are more.
        milliseconds: how long a frame is shown; the last one is shown four times as long.

    Returns:
        The bytes of a GIF file that repeats for ever.

    Example:
        >>> import numpy as np
        >>> animation({"reading 1": np.zeros((2, 1, 8, 8))})[:6]
        b'GIF89a'

    """
    frames = [image_grid({label: row}, num_columns=FRAME_COLUMNS) for label, row in rows.items()]
    size = (max(frame.width for frame in frames), max(frame.height for frame in frames))
    same = [ImageOps.pad(frame, size, color=GREY, centering=(0, 0)) for frame in frames]
    durations = [milliseconds] * (len(same) - 1) + [4 * milliseconds]
    stream = io.BytesIO()
    same[0].save(
        stream,
        format="GIF",
        save_all=True,
        append_images=same[1:],
        duration=durations,
        loop=0,
    )
    return stream.getvalue()


class _Line(NamedTuple):
    """Pictures side by side, and the label before them."""

    label: str
    cells: list[Image.Image]


def _draw(lines: list[_Line], height: int, width: int, scale: int) -> Image.Image:
    """Put the lines on a canvas; each cell has the same height and width."""
    gap = 3 * scale // 2
    font = ImageFont.load_default(size=7 * scale)
    margin = int(max(font.getlength(line.label) for line in lines)) + 2 * gap
    columns = max(len(line.cells) for line in lines)
    size = (margin + columns * (width + gap) + gap, len(lines) * (height + gap) + gap)
    canvas = Image.new("RGB", size, GREY)
    pen = ImageDraw.Draw(canvas)
    for number, line in enumerate(lines):
        top = gap + number * (height + gap)
        pen.text((gap, top + height // 2), line.label, fill=TEXT, font=font, anchor="lm")
        for column, cell in enumerate(line.cells):
            canvas.paste(cell, (margin + column * (width + gap), top))
    return canvas
