"""A small classifier of drawings, to count how many new ones belong to the right character."""

import torch
from torch import Tensor, nn


def train_classifier(
    images: Tensor,
    labels: Tensor,
    num_classes: int,
    *,
    steps: int = 3_000,
    batch: int = 128,
    widths: tuple[int, int, int] = (32, 64, 128),
    seed: int = 0,
) -> nn.Module:
    """Learn characters from drawings that are moved, turned and stretched a little.

    Args:
        images: binary images (N, 1, 28, 28).
        labels: class numbers (N,), from 0.
        num_classes: how many classes there are.
        steps: how many batches to learn from.
        batch: drawings in a batch.
        widths: filters of the three convolutions.
        seed: seed of the weights and of the batches.

    Returns:
        A network from images (N, 1, 28, 28) to scores (N, num_classes), ready to use.

    """
    with torch.random.fork_rng([] if images.device.type == "cpu" else None):
        torch.manual_seed(seed)
        model = _network(num_classes, widths).to(images.device)
        optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-5)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(steps, 1))
        for _ in range(steps):
            index = torch.randint(len(images), (batch,), device=images.device)
            with torch.autocast(images.device.type, torch.bfloat16):
                scores = model(_moved(images[index]))
            loss = nn.functional.cross_entropy(scores.float(), labels[index])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return model.eval()


@torch.no_grad()
def classify(classifier: nn.Module, images: Tensor) -> Tensor:
    """The class of each image (N, 1, 28, 28), (N,)."""
    return torch.cat([classifier(part).argmax(-1) for part in images.split(500)])


def _network(num_classes: int, widths: tuple[int, int, int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    channels = 1
    for width in widths:
        layers += [
            nn.Conv2d(channels, width, 3, padding=1, bias=False),
            nn.BatchNorm2d(width),
            nn.ReLU(),
            nn.MaxPool2d(2),
        ]
        channels = width
    layers += [nn.Flatten(), nn.Dropout(0.3), nn.Linear(9 * channels, num_classes)]
    model = nn.Sequential(*layers)
    return model.to(memory_format=torch.channels_last)  # pyright: ignore[reportCallIssue]


def _moved(images: Tensor) -> Tensor:
    """Each image under a small random affine map of its own."""
    num = len(images)
    angle = 0.2 * torch.randn(num, device=images.device)
    stretch = torch.exp(0.1 * torch.randn(2, num, device=images.device))
    shift = 0.1 * torch.randn(2, num, device=images.device)
    cos, sin = angle.cos(), angle.sin()
    rows = [
        torch.stack([cos * stretch[0], -sin * stretch[1], shift[0]], -1),
        torch.stack([sin * stretch[0], cos * stretch[1], shift[1]], -1),
    ]
    grid = nn.functional.affine_grid(torch.stack(rows, 1), list(images.shape), align_corners=False)
    moved = nn.functional.grid_sample(images, grid, align_corners=False)
    return moved.contiguous(memory_format=torch.channels_last)
