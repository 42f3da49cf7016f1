"""Rows of images with a word before each, as one picture: ink dark on white paper."""

import io

import numpy as np
from PIL import Image, ImageDraw, ImageFont, ImageOps
from torch import Tensor

GAP = 3
GROUND = 225


def sheet(rows: dict[str, Tensor], *, scale: int = 2) -> Image.Image:
    """Rows of images (N, channels, H, W) with values between 0 (paper) and 1 (ink), or colours.

    The label of a row is its key.
    """
    tallest, widest = (max(row.shape[axis] for row in rows.values()) for axis in (-2, -1))
    cell_height, cell_width = tallest * scale + GAP, widest * scale + GAP
    font = ImageFont.load_default(size=14)
    margin = int(max(font.getlength(label) for label in rows)) + 2 * GAP
    columns = max(len(row) for row in rows.values())
    size = (margin + columns * cell_width + GAP, len(rows) * cell_height + GAP)
    canvas = Image.new("RGB", size, (GROUND,) * 3)
    pen = ImageDraw.Draw(canvas)
    for number, (label, row) in enumerate(rows.items()):
        top = GAP + number * cell_height
        pen.text((GAP, top + tallest * scale // 2), label, fill=(40,) * 3, font=font, anchor="lm")
        for column, image in enumerate(row):
            canvas.paste(_as_picture(image, scale), (margin + column * cell_width, top))
    return canvas


def png(picture: Image.Image) -> bytes:
    """What its PNG file holds."""
    stream = io.BytesIO()
    picture.save(stream, format="PNG")
    return stream.getvalue()


def film(rows: dict[str, Tensor], *, milliseconds: int = 400) -> bytes:
    """A GIF with a frame for each row, at most eight images wide; the last one stays longer."""
    frames = [
        sheet({label if not line else " " * line: part for line, part in enumerate(row.split(8))})
        for label, row in rows.items()
    ]
    size = (max(frame.width for frame in frames), max(frame.height for frame in frames))
    same = [ImageOps.pad(frame, size, color=(GROUND,) * 3, centering=(0, 0)) for frame in frames]
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


def _as_picture(image: Tensor, scale: int) -> Image.Image:
    values = image.detach().float().cpu().clamp(0, 1).numpy()
    pixels = 1 - values[0] if len(values) == 1 else values.transpose(1, 2, 0)
    picture = Image.fromarray(np.round(pixels * 255).astype(np.uint8)).convert("RGB")
    return picture.resize((picture.width * scale, picture.height * scale), Image.Resampling.NEAREST)
