"""What can go wrong, said so that the reader knows what to do next."""


class KanervaError(ValueError):
    """A mistake a user can make and mend: which argument, what was expected, what came, the fix."""

    def __init__(self, argument: str, *, expected: str, got: str, fix: str) -> None:
        super().__init__(f"{argument}: expected {expected}, got {got}. {fix}")
        self.argument = argument
        self.expected = expected
        self.got = got
        self.fix = fix

    def __reduce__(self):
        # Keyword-only arguments do not survive pickling by default (worker processes need this).
        return _rebuild, (type(self), self.argument, self.expected, self.got, self.fix)


class NotPositiveDefiniteError(KanervaError):
    """A matrix that has no Cholesky factor, even with jitter."""


class JitterWarning(UserWarning):
    """A matrix needed help on its diagonal before it could be factorised."""


def _rebuild(kind: type[KanervaError], argument: str, expected: str, got: str, fix: str):
    return kind(argument, expected=expected, got=got, fix=fix)
