"""How mkdocstrings reads our docstrings: a section `Example:` is code to render as code."""

import re

import griffe


class ExampleSections(griffe.Extension):
    """Give example sections the name by which the parser knows them."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Called for every module, class, function and attribute."""
        if obj.docstring is not None:
            text = obj.docstring.value
            obj.docstring.value = re.sub(
                r"^( *)Example:$", r"\1Examples:", text, flags=re.MULTILINE
            )
