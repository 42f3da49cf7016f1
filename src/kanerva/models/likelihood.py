"""p(x|z) of pixels: Bernoulli for ink and background, Gaussian for colour (appendix C)."""

import math

import torch
from torch import Tensor, nn


class BernoulliPixels(nn.Module):
    """Each pixel is ink with probability sigmoid(logit)."""

    def prepare(self, images: Tensor, generator: torch.Generator | None) -> Tensor:
        """Training images, unchanged: 0 or 1."""
        return images

    def log_prob(self, parameters: Tensor, images: Tensor) -> Tensor:
        """Summed over channels and pixels."""
        loss = nn.functional.binary_cross_entropy_with_logits(parameters, images, reduction="none")
        return -loss.flatten(-3).sum(-1)

    def parameter_of(self, mean: float) -> float:
        """The parameter of a pixel with this mean."""
        return math.log(mean / (1 - mean))

    def mean(self, parameters: Tensor) -> Tensor:
        return parameters.sigmoid()

    def mode(self, parameters: Tensor) -> Tensor:
        return (parameters > 0).to(parameters.dtype)

    def sample(self, parameters: Tensor, generator: torch.Generator | None = None) -> Tensor:
        probabilities = parameters.sigmoid()
        noise = torch.rand(probabilities.shape, device=probabilities.device, generator=generator)
        return (noise < probabilities).to(parameters.dtype)


class GaussianPixels(nn.Module):
    """Each pixel is N(mean, v), v learned, one for all.

    Training images get uniform noise of one grey level (1/256), so that v cannot collapse.
    """

    log_var: nn.Parameter

    def __init__(self) -> None:
        super().__init__()
        self.log_var = nn.Parameter(torch.tensor(-3.0))

    def prepare(self, images: Tensor, generator: torch.Generator | None) -> Tensor:
        noise = torch.rand(images.shape, device=images.device, generator=generator)
        return images + noise / 256

    def log_prob(self, parameters: Tensor, images: Tensor) -> Tensor:
        squared = (images - parameters).square() / self.log_var.exp()
        return -0.5 * (squared + self.log_var + math.log(2 * math.pi)).flatten(-3).sum(-1)

    def parameter_of(self, mean: float) -> float:
        """The parameter of a pixel with this mean."""
        return mean

    def mean(self, parameters: Tensor) -> Tensor:
        return parameters.clamp(0, 1)

    def mode(self, parameters: Tensor) -> Tensor:
        return self.mean(parameters)

    def sample(self, parameters: Tensor, generator: torch.Generator | None = None) -> Tensor:
        noise = torch.randn(parameters.shape, device=parameters.device, generator=generator)
        return (parameters + (0.5 * self.log_var).exp() * noise).clamp(0, 1)


Likelihood = BernoulliPixels | GaussianPixels


def make_likelihood(name: str) -> Likelihood:
    return BernoulliPixels() if name == "bernoulli" else GaussianPixels()
