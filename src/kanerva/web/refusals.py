"""Requests that the server refuses: a `KanervaError` with a status, and its form in JSON."""

from typing import TypedDict

from kanerva.errors import KanervaError


class RefusedError(KanervaError):
    """A request that is refused, with the status of the answer."""

    def __init__(self, status: int, argument: str, *, expected: str, got: str, fix: str) -> None:
        super().__init__(argument, expected=expected, got=got, fix=fix)
        self.status = status


class ErrorParts(TypedDict):
    """The parts of an error."""

    argument: str
    expected: str
    got: str
    fix: str
    message: str


class ErrorAnswer(TypedDict):
    """The body of every answer that is not a success."""

    error: ErrorParts


def as_json(error: KanervaError) -> ErrorAnswer:
    """An error as the body of an answer."""
    return {
        "error": {
            "argument": error.argument,
            "expected": error.expected,
            "got": error.got,
            "fix": error.fix,
            "message": str(error),
        }
    }


def no_memory(name: str) -> RefusedError:
    """The error for a memory that this session cannot see."""
    return RefusedError(
        404,
        "name",
        expected="a memory of this session or of the server's folder",
        got=f"'{name}'",
        fix="List them with GET /api/memories, or create it with POST /api/memories.",
    )


def busy() -> RefusedError:
    """The error for a server that has too much to do."""
    return RefusedError(
        503,
        "request",
        expected="a server with time for it",
        got="one that is busy with other requests",
        fix="Try again in a few seconds, or ask for fewer images.",
    )
