"""Repair damaged drawings with the shipped model: python repair_images.py [FOLDER] [--out PNG].

Without a folder it draws letterforms of its own. A folder may hold drawings of any size.
"""

import argparse
from pathlib import Path

import torch
from PIL import Image
from torch import Tensor

import kanerva
from kanerva.data import render_glyphs
from kanerva.data.damage import damage


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--out", type=Path, default=Path("repaired.png"))
    options = parser.parse_args()

    km = kanerva.load("omniglot")
    if options.folder is None:
        images = (render_glyphs(torch.arange(200, 216), seed=0) > 20).float()
    else:
        images = kanerva.read_images(options.folder)

    memory = km.write(images)
    cues = damage(images, "block12", generator=torch.Generator().manual_seed(0))
    result = km.read(cues, memory, num_readings=3)

    for name, row in (("damaged", cues), ("repaired", result.images)):
        print(f"{name}: mean error of a pixel {(row - images).abs().mean():.3f}")
    print(f"confidence: {result.confidence.mean():.2f}")
    save_rows(options.out, [images, cues, result.images])


def save_rows(path: Path, rows: list[Tensor]) -> None:
    """Each row of images (N, 1, 28, 28) becomes a row of one picture, black ink on white."""
    grid = torch.cat([torch.cat(list(row[:, 0]), dim=1) for row in rows])
    Image.fromarray((255 * (1 - grid)).byte().numpy()).save(path)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
