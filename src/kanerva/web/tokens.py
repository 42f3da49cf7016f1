"""Which tokens a server and its clients use: what a header of HTTP can carry."""

import re

from kanerva.errors import KanervaError

TOKEN = re.compile(r"[!-~]([ -~]*[!-~])?")


def check_token(argument: str, token: object) -> None:
    """Printable ASCII without spaces around it, or None. No error shows the token."""
    if token is None or (isinstance(token, str) and TOKEN.fullmatch(token)):
        return
    if not isinstance(token, str):
        got = type(token).__name__
    elif not token:
        got = "an empty one"
    else:
        others = [place for place, one in enumerate(token.strip(" "), 1) if not " " <= one <= "~"]
        got = f"one with another character in place {others[0]}" if others else "spaces around it"
    raise KanervaError(
        argument,
        expected="a token of ASCII letters, digits and signs, without spaces around it",
        got=got,
        fix="Choose another one, for example with: "
        "python -c 'import secrets; print(secrets.token_urlsafe())'.",
    )
