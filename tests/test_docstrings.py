"""Docstrings of public names: their examples run, and they describe arguments and results."""

import ast
import dataclasses
import doctest
import importlib
import inspect
import io
import pkgutil
import re
import textwrap
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType

import pytest

# Modules and packages whose examples are executed; a package stands for all its modules.
WITH_EXAMPLES = (
    "kanerva.errors",
    "kanerva.memory",
    "kanerva.models",
    "kanerva.store",
    "kanerva.web",
)
# Where public names are listed (`__all__`), and the layers whose public names are checked.
PUBLIC = ("kanerva", "kanerva.memory", "kanerva.store")
CHECKED_LAYERS = WITH_EXAMPLES
OUTSIDE_ALL = {"kanerva": ("open",)}  # public, but `from kanerva import *` must not hide a built-in

# Operators that must be described like methods, and how an example shows them.
OPERATORS = {"__add__": " + ", "__radd__": "sum(", "__sub__": " - "}


def modules(names: tuple[str, ...]) -> Iterator[ModuleType]:
    """The modules of these names, and all modules inside the packages among them."""
    for name in names:
        module = importlib.import_module(name)
        yield module
        for found in pkgutil.walk_packages(getattr(module, "__path__", []), prefix=f"{name}."):
            yield importlib.import_module(found.name)


def examples() -> list[doctest.DocTest]:
    """The examples of all docstrings. They see no globals: each one imports what it uses."""
    finder = doctest.DocTestFinder()
    found = [test for module in modules(WITH_EXAMPLES) for test in finder.find(module, globs={})]
    return [test for test in found if test.examples]


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_examples_run(example):
    report = io.StringIO()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        results = doctest.DocTestRunner(verbose=False).run(example, out=report.write)
    assert results.failed == 0, report.getvalue()


def problems(name: str, item: object) -> list[str]:
    """What the docstrings of a public function or class, with its public members, do not say."""
    if inspect.isclass(item):
        return _class_problems(name, item)
    if callable(item):
        return _function_problems(name, item, example_in="")
    return []


def _function_problems(name: str, function: Callable[..., object], *, example_in: str) -> list[str]:
    """`example_in` is the docstring of the class of a method, which may hold its example."""
    documentation = inspect.getdoc(function)
    if not documentation:
        return [f"{name}: no docstring"]
    signature = inspect.signature(function)
    parameters = [parameter for parameter in signature.parameters if parameter != "self"]
    undescribed = [one for one in parameters if one not in _described_args(documentation)]
    found = [f"{name}: no line on {parameter!r} in Args" for parameter in undescribed]
    if signature.return_annotation not in (None, "None") and not _section(documentation, "Returns"):
        found.append(f"{name}: no Returns")
    short = name.split(".")[-1]
    shown = OPERATORS.get(short, f".{short}(") in _section(example_in, "Example")
    trivial = bool(example_in) and not parameters  # the class shows what it is for
    if not (_has_example(documentation) or shown or trivial):
        found.append(f"{name}: no Example")
    return found


def _class_problems(name: str, kind: type) -> list[str]:
    documentation = inspect.getdoc(kind) if kind.__doc__ else None
    if not documentation:
        return [f"{name}: no docstring"]
    found = [] if _has_example(documentation) else [f"{name}: no Example"]
    ours = [base for base in kind.__mro__ if base.__module__.split(".")[0] == "kanerva"] or [kind]

    makers = [base for base in ours if {"__init__", "__new__"} & vars(base).keys()]
    if makers:
        described = _described_args(inspect.getdoc(makers[0]) or "")
        described |= _described_args(inspect.getdoc(makers[0].__init__) or "")
        if dataclasses.is_dataclass(kind) or issubclass(kind, tuple):
            described |= {field for base in ours for field in _described_fields(base)}
        parameters = inspect.signature(kind).parameters
        undescribed = [parameter for parameter in parameters if parameter not in described]
        found += [f"{name}: no line on {parameter!r} in Args" for parameter in undescribed]

    for member, value in {
        key: vars(base)[key] for base in reversed(ours) for key in vars(base)
    }.items():
        if member.startswith("_") and member not in OPERATORS:
            continue
        attribute = getattr(kind, member)
        if isinstance(value, property):
            if not inspect.getdoc(attribute):
                found.append(f"{name}.{member}: no docstring")
        elif inspect.isfunction(attribute) or inspect.ismethod(attribute):
            found += _function_problems(f"{name}.{member}", attribute, example_in=documentation)
    return found


def _section(documentation: str, title: str) -> str:
    """The text of a Google-style section, or nothing."""
    pattern = rf"^{title}:\n((?:[ ]+.*\n|\n)+)"
    match = re.search(pattern, documentation + "\n", re.MULTILINE)
    return match[1] if match else ""


def _described_args(documentation: str) -> set[str]:
    lines = textwrap.dedent(_section(documentation, "Args"))
    return set(re.findall(r"^\*{0,2}(\w+)(?: \(.*\))?: \S", lines, re.MULTILINE))


def _described_fields(kind: type) -> set[str]:
    """Fields of a dataclass or named tuple that have a docstring of their own below them."""
    (definition,) = ast.parse(textwrap.dedent(inspect.getsource(kind))).body
    assert isinstance(definition, ast.ClassDef)
    pairs = zip(definition.body, definition.body[1:], strict=False)
    return {
        field.target.id
        for field, below in pairs
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(below, ast.Expr)
        and isinstance(below.value, ast.Constant)
        and isinstance(below.value.value, str)
    }


def _has_example(documentation: str) -> bool:
    return ">>> " in _section(documentation, "Example")


def public_names() -> dict[str, object]:
    """The public names of the layers that are checked, each once."""
    found: dict[int, tuple[str, object]] = {}
    for module in map(importlib.import_module, PUBLIC):
        for name in (*module.__all__, *OUTSIDE_ALL.get(module.__name__, ())):
            item = getattr(module, name)
            if getattr(item, "__module__", "").startswith(CHECKED_LAYERS):
                found.setdefault(id(item), (f"{module.__name__}.{name}", item))
    return dict(found.values())


@pytest.mark.parametrize("name", public_names())
def test_public_names_describe_arguments_and_results(name):
    assert problems(name, public_names()[name]) == []


def test_the_check_sees_what_is_missing():
    """Each part of a docstring that is taken away is reported."""
    complete = """Add one.

    Args:
        value: a number.

    Returns:
        The next number.

    Example:
        >>> 1 + 1
        2

    """

    def function(value: int) -> int:
        return value + 1

    def problems_with(documentation: str | None) -> list[str]:
        function.__doc__ = documentation
        return problems("function", function)

    assert problems_with(complete) == []
    assert problems_with(None) == ["function: no docstring"]
    assert problems_with(complete.replace("value:", "other:")) == [
        "function: no line on 'value' in Args"
    ]
    assert problems_with(complete.replace("Returns:", "")) == ["function: no Returns"]
    assert problems_with(complete.replace(">>>", "")) == ["function: no Example"]


def test_the_check_looks_into_classes():
    class Counter:
        """Counts.

        Args:
            first: where to begin.

        Example:
            >>> Counter(1).shown(1)
            2

        """

        def __init__(self, first: int, second: int) -> None:
            pass

        @property
        def silent(self) -> int:
            return 1

        def shown(self, value: int) -> int:
            """Add.

            Args:
                value: a number.

            Returns:
                The sum.

            """
            return value

        def hidden(self, value: int) -> None:
            """Do something."""

    assert problems("Counter", Counter) == [
        "Counter: no line on 'second' in Args",
        "Counter.silent: no docstring",
        "Counter.hidden: no line on 'value' in Args",
        "Counter.hidden: no Example",
    ]


def test_every_checked_name_is_found():
    assert len(public_names()) >= 19
    assert len(examples()) >= 15
