"""The covariance between the rows of the memory: one interface, three representations."""

from kanerva.memory.covariance.base import RowCovariance
from kanerva.memory.covariance.diagonal import DiagonalCovariance
from kanerva.memory.covariance.full import FullCovariance
from kanerva.memory.covariance.low_rank import LowRankCovariance

__all__ = ["DiagonalCovariance", "FullCovariance", "LowRankCovariance", "RowCovariance"]
