"""Titles and verdicts as part of the pictures themselves, so that a picture can stand alone."""

import textwrap

from matplotlib.figure import Figure
from PIL import Image, ImageDraw, ImageFont

WHITE, TEXT, QUIET = (255, 255, 255), (20, 20, 20), (80, 80, 80)
TITLE_SIZE, VERDICT_SIZE = 22, 16
MARGIN, LINE_HEIGHT = 10, 1.3
LETTERS_PER_INCH = 15
"""Letters of a verdict on an inch of a matplotlib figure."""


def captioned(picture: Figure | Image.Image, title: str, verdict: str) -> Figure | Image.Image:
    """The picture with its title and its verdict above it.

    A matplotlib figure is changed in place; an image is copied to a larger one.
    """
    if isinstance(picture, Image.Image):
        return _above_image(picture, title, verdict)
    width = int(picture.get_figwidth() * LETTERS_PER_INCH)
    lines = textwrap.wrap(verdict, width=width)
    picture.suptitle("\n".join([title, *lines]), fontsize=9, x=0.01, ha="left")
    picture.set_figheight(picture.get_figheight() + 0.15 * (1 + len(lines)))
    return picture


def _above_image(picture: Image.Image, title: str, verdict: str) -> Image.Image:
    large, small = (ImageFont.load_default(size=size) for size in (TITLE_SIZE, VERDICT_SIZE))
    width = max(picture.width, 640)
    rows = [(line, large, TITLE_SIZE, TEXT) for line in _fitting(title, large, width)]
    rows += [(line, small, VERDICT_SIZE, QUIET) for line in _fitting(verdict, small, width)]
    height = sum(int(size * LINE_HEIGHT) for _, _, size, _ in rows) + 2 * MARGIN
    canvas = Image.new("RGB", (width, height + picture.height), WHITE)
    pen, top = ImageDraw.Draw(canvas), MARGIN
    for line, font, size, colour in rows:
        pen.text((MARGIN, top), line, fill=colour, font=font)
        top += int(size * LINE_HEIGHT)
    canvas.paste(picture, (0, height))
    return canvas


def _fitting(
    text: str, font: ImageFont.FreeTypeFont | ImageFont.ImageFont, width: int
) -> list[str]:
    """The text in lines that fit into a width in pixels."""
    lines: list[str] = []
    for word in text.split():
        longer = f"{lines[-1]} {word}" if lines else word
        if lines and font.getlength(longer) <= width - 2 * MARGIN:
            lines[-1] = longer
        else:
            lines.append(word)
    return lines
