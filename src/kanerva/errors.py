"""Errors and warnings of the package. Each message says what to do next."""

import re

MAX_LENGTH = 500
"""How much of a wrong value an error shows: a whole tensor would hide the fix."""


class KanervaError(ValueError):
    """A mistake that the caller can correct: a wrong argument, option or file.

    The message is one line and has four parts, which are attributes too. Every mistake that a user
    of this package can make raises this error, so one `except KanervaError` catches them all.

    Args:
        argument: the name of the argument, option or file.
        expected: what was expected.
        got: what came instead.
        fix: what the caller can do about it, as a complete sentence.

    Example:
        >>> import torch
        >>> from kanerva import KanervaError, MemoryState, recall
        >>> memory = MemoryState(torch.zeros(3, 2), torch.eye(3))
        >>> try:
        ...     recall(memory, torch.zeros(1, 4))
        ... except KanervaError as error:
        ...     print(f"{error.argument}: expected {error.expected}")
        weights: expected size 3 in dimension -1 (the memory's rows K)

    """

    def __init__(self, argument: str, *, expected: str, got: str, fix: str) -> None:
        argument, expected, got, fix = map(_one_line, (argument, expected, got, fix))
        super().__init__(printable(f"{argument}: expected {expected}, got {got}. {fix}"))
        self.argument = argument
        self.expected = expected
        self.got = got
        self.fix = fix

    def __reduce__(self):
        # Keyword-only arguments do not survive pickling by default (worker processes need this).
        return _rebuild, (type(self), self.argument, self.expected, self.got, self.fix)


class NotPositiveDefiniteError(KanervaError):
    """A matrix has no Cholesky factor, even after jitter was added to its diagonal.

    A `KanervaError` whose `argument` says which matrix it is. The usual reason is that the weights
    are too large compared with `noise_var`.

    Example:
        >>> import torch
        >>> from kanerva import NotPositiveDefiniteError, linalg
        >>> try:
        ...     linalg.cholesky(-torch.eye(2, dtype=torch.float64), name="the system")
        ... except NotPositiveDefiniteError as error:
        ...     print(error.argument, "is", error.got)
        the system is one that has no Cholesky factor even with a jitter of 1e-06

    """


class FullMemoryWarning(UserWarning):
    """More was written than a memory can hold, measured by `fill`: recall gets worse.

    Example:
        >>> import warnings
        >>> import torch
        >>> import kanerva
        >>> from kanerva.data import render_glyphs
        >>> km = kanerva.load("omniglot")
        >>> images = (render_glyphs(torch.arange(200), seed=0) > 20).float()
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     memory = km.write(images)
        >>> [warning.category.__name__ for warning in caught]
        ['FullMemoryWarning']

    """


class JitterWarning(UserWarning):
    """Rounding made a matrix lose positive definiteness, and jitter on its diagonal repaired it.

    The warning says which matrix it was and how much was added. The result is as if the items had
    a little more noise. Turn the warning into an error to find the call.

    Example:
        >>> import warnings
        >>> import torch
        >>> from kanerva import JitterWarning, linalg
        >>> singular = torch.ones(2, 2, dtype=torch.float64)
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", JitterWarning)
        ...     try:
        ...         linalg.cholesky(singular, name="the system")
        ...     except JitterWarning as warning:
        ...         print(str(warning).split(";")[0])
        the system was not positive definite because of rounding

    """


class PrecisionWarning(UserWarning):
    """Weights are so large next to the noise that a result may be nothing but float64 rounding.

    It comes when |w|^2 / noise_var is above 1e14 and the result depends on the digits that float64
    no longer has. A variance that is read is never below `noise_var`, whatever rounding does.

    Example:
        >>> import warnings
        >>> import torch
        >>> from kanerva import MemoryState, PrecisionWarning, condition, predict
        >>> prior = MemoryState(torch.zeros(3, 2), torch.eye(3))
        >>> weights, codes = torch.ones(1, 3), torch.ones(1, 2)
        >>> memory = condition(prior, weights, codes, noise_var=1e-16)
        >>> with warnings.catch_warnings():
        ...     warnings.simplefilter("error", PrecisionWarning)
        ...     try:
        ...         predict(memory, weights, noise_var=1e-16)
        ...     except PrecisionWarning as warning:
        ...         print(str(warning).split(":")[0])
        the variance that is read may be nothing but rounding errors

    """


def printable(text: str) -> str:
    """The text in one line; names of files may hold line breaks and bytes that are not text."""
    return "".join(
        character
        if character.isprintable()
        else character.encode("unicode_escape", "surrogatepass").decode()
        for character in text
    )


def _rebuild(kind: type[KanervaError], argument: str, expected: str, got: str, fix: str):
    return kind(argument, expected=expected, got=got, fix=fix)


def _one_line(text: str) -> str:
    """The text without line breaks, shortened in the middle if it is very long."""
    line = re.sub(r"\s*\n\s*", " ", text)
    half = MAX_LENGTH // 2
    return line if len(line) <= MAX_LENGTH else f"{line[:half]} ... {line[-half:]}"
