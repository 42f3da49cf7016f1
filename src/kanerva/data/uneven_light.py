"""Drawings photographed in uneven light: gradients, dark corners, a lamp, the shadow of a hand.

Light multiplies what it falls on, so everything here is in logarithms. The background is estimated
as the light that would fall on an empty sheet: first as a smooth surface, and if that leaves the
border of the image uneven, by a large median filter, which can follow the edge of a shadow. Then
planes through the pixels around each pixel that are not ink make the estimate exact.
"""

import numpy as np
from PIL import Image

from kanerva.data.image_files import border, middle_square

GRID = 28
"""Height and width at which the light is estimated."""
FINE = 224
"""The largest height and width at which the image is looked at."""
DEGREE = 3
"""Of the polynomial in x and y that describes smooth light."""
MEDIAN = 15
"""Window of the median filter. Strokes up to half as wide are not mistaken for background."""
PLANE = 7
"""Window in which a plane is put through the background."""
INK = 0.16
"""A pixel whose logarithm differs more than this from the background is ink, not background."""
EDGE = 0.15
"""Two backgrounds whose logarithms differ more than this are on two sides of a shadow's edge."""
SOLID = 0.75
"""What differs from the background by this share of the strongest ink, or more, is ink too."""
MAX_UNEVEN = 0.05
"""The share of the border that may be uneven: strokes can reach it."""


def contrast_in_uneven_light(image: Image.Image, array: np.ndarray) -> np.ndarray | None:
    """How strongly each pixel of a photograph stands out from its background.

    Args:
        image: the photograph, upright and in grey.
        array: (size, size), its middle square at the size that is wanted.

    Returns:
        (size, size): about 0 for background and positive for ink, as a share of the background.
        None if the light is even.

    """
    if min(image.size) < 2 * GRID:  # not a photograph
        return None
    # More pixels show thin strokes as dark as their ink is, and the edges of strokes as narrow.
    large = middle_square(image, min(*image.size, FINE))[0]
    low, high = np.percentile(large, (0.1, 99.9))
    levels = border(large).astype(float)
    steps = np.abs(np.diff(levels, prepend=levels[0], append=levels[-1])) < 0.1 * (high - low)
    calm = steps[1:] & steps[:-1]  # not at the edge of a stroke, where pixels are mixtures
    uneven = _is_uneven(levels - np.median(levels), strongest=high - low)
    if (uneven & calm).mean() <= MAX_UNEVEN:
        return None
    small = middle_square(Image.fromarray(large), GRID)[0]
    light, sign = _estimate(_logarithm(small), _logarithm(large))
    if np.ptp(light) < EDGE / 3:
        return None
    return sign * np.expm1(_logarithm(array) - _resized(light, len(array)))


def _logarithm(array: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(array.astype(float), 2))


def _estimate(image: np.ndarray, large: np.ndarray) -> tuple[np.ndarray, int]:
    """The light on the background, and the sign of ink: -1 if it is darker, as usual."""
    light, sign = image, -1
    for estimate in (_smooth_light, _light_with_shadows):
        light = estimate(image)
        for _ in range(3):
            light = _refined(image, light)
        difference = image - light
        clear = np.where(np.abs(difference) > INK, difference, 0)
        sign = 1 if clear.sum() > 0 else -1
        if estimate is _light_with_shadows:
            light = -sign * _lower_at_edges(-sign * light)
        strongest = np.percentile(sign * np.expm1(large - _resized(light, len(large))), 99.9)
        edge = border(np.expm1(image - light))
        if _is_uneven(edge, strongest=max(strongest, 0.3)).mean() <= MAX_UNEVEN:
            break
    return light, sign


def _is_uneven(differences: np.ndarray, *, strongest: float) -> np.ndarray:
    """Which pixels of a border are neither background nor ink."""
    off = np.abs(differences)
    return (off > 0.07 * strongest) & (off < SOLID * strongest)


def _smooth_light(image: np.ndarray) -> np.ndarray:
    """A polynomial through most pixels; those far from it, such as ink, count little."""
    y, x = np.mgrid[-1 : 1 : 1j * GRID, -1 : 1 : 1j * GRID]
    terms = [x**i * y**j for i in range(DEGREE + 1) for j in range(DEGREE + 1 - i)]
    basis = np.stack(terms, axis=-1).reshape(image.size, -1)
    values = image.ravel()
    weights = np.ones_like(values)
    surface = values
    for _ in range(15):
        solution = np.linalg.lstsq(basis * weights[:, None], values * weights, rcond=None)[0]
        surface = basis @ solution
        spread = max(1.5 * np.median(np.abs(values - surface)), 0.01)
        weights = 1 / (1 + ((values - surface) / (2 * spread)) ** 2)
    return surface.reshape(image.shape)


def _light_with_shadows(image: np.ndarray) -> np.ndarray:
    """A median filter. Beyond the border the image is continued point by point, as slopes need."""
    continued = np.pad(image, MEDIAN // 2, mode="reflect", reflect_type="odd")
    return np.median(np.lib.stride_tricks.sliding_window_view(continued, (MEDIAN, MEDIAN)), (2, 3))


def _refined(image: np.ndarray, light: np.ndarray) -> np.ndarray:
    """At each pixel a plane through the background around it, on its side of a shadow's edge."""
    steps = np.arange(PLANE) - PLANE // 2.0
    y, x = (step.ravel() for step in np.meshgrid(steps, steps, indexing="ij"))
    plane = np.stack([np.ones_like(x), x, y], axis=-1)
    around = _around(light) - light[..., None]
    weights = _around((np.abs(image - light) < INK).astype(float)) * (np.abs(around) < EDGE)
    system = np.einsum("hwn,ni,nj->hwij", weights, plane, plane) + np.diag([1e-6, 1e-2, 1e-2])
    differences = weights * (_around(image) - light[..., None])
    sides = np.einsum("hwn,ni->hwi", differences, plane)
    height = np.linalg.solve(system, sides[..., None])[..., 0, 0]
    return np.where(weights.sum(-1) >= 6, light + height, light)


def _around(array: np.ndarray) -> np.ndarray:
    """(H, W, PLANE * PLANE): the window around each pixel, with zeros beyond the border."""
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(array, PLANE // 2), (PLANE, PLANE))
    return windows.reshape(*array.shape, -1)


def _lower_at_edges(light: np.ndarray) -> np.ndarray:
    """At a shadow's edge, where a pixel is a mixture, take the lower side: no ink is made up."""
    windows = np.lib.stride_tricks.sliding_window_view(np.pad(light, 1, mode="edge"), (3, 3))
    low, high = windows.min((2, 3)), windows.max((2, 3))
    return np.where(high - low > 2 * EDGE, low, light)


def _resized(light: np.ndarray, size: int) -> np.ndarray:
    if len(light) == size:
        return light
    image = Image.fromarray(light.astype(np.float32))
    return np.asarray(image.resize((size, size), Image.Resampling.BILINEAR))
