"""The documentation of `kanerva.data` and `kanerva.sparse`: it is complete and its examples run."""

import ast
import doctest
import inspect
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import get_type_hints

import pytest

import kanerva.data
import kanerva.data.damage
import kanerva.data.load
import kanerva.sparse
import kanerva.sparse.theory
from kanerva.atomic import write_atomically
from kanerva.sparse import hamming_balls, readout

PACKAGES: tuple[ModuleType, ...] = (kanerva.data, kanerva.sparse)
"""What they export is documented."""
MODULES: tuple[ModuleType, ...] = (kanerva.data.damage, kanerva.sparse.theory)
"""All their functions and classes without an underscore are documented."""
OTHERS = (
    write_atomically,
    hamming_balls.active_share,
    hamming_balls.active_share_normal,
    hamming_balls.overlap,
    readout.readout,
    readout.signal_to_noise,
    readout.first_order_ratio,
)


def public() -> Iterator[type | FunctionType]:
    for package in PACKAGES:
        for name in package.__all__:
            value = getattr(package, name)
            if isinstance(value, type | FunctionType):
                yield value
    for module in MODULES:
        for name, value in vars(module).items():
            defined_here = getattr(value, "__module__", None) == module.__name__
            if isinstance(value, type | FunctionType) and defined_here and name[0] != "_":
                yield value
    yield from OTHERS


def members(kind: type) -> Iterator[tuple[str, Callable[..., object]]]:
    """Public methods and properties that the class itself defines."""
    for name, value in vars(kind).items():
        if isinstance(value, classmethod | staticmethod):
            value = value.__func__
        if isinstance(value, property):
            value = value.fget
        if name[0] != "_" and isinstance(value, FunctionType):
            yield f"{kind.__name__}.{name}", value


def documented() -> dict[str, type | Callable[..., object]]:
    found: dict[str, type | Callable[..., object]] = {}
    for value in public():
        found[value.__name__] = value
        if isinstance(value, type):
            found |= dict(members(value))
    return found


DOCUMENTED = documented()


def test_the_list_is_not_empty():
    expected = {"load_dataset", "Dataset.to", "DamageNoise.draw", "SparseMemory.random"}
    assert expected | {"radius_for", "capacity", "EpisodeSampler.sample"} <= DOCUMENTED.keys()


@pytest.mark.parametrize("name", DOCUMENTED)
def test_arguments_return_value_and_example_are_documented(name):
    thing = DOCUMENTED[name]
    text = inspect.getdoc(thing)
    assert text
    assert text.split("\n")[0].endswith("."), "the first line is a sentence"
    assert "Example:\n    >>> " in text
    if isinstance(thing, type):
        fields = getattr(thing, "_fields", None)
        arguments = fields or ([] if issubclass(thing, Warning) else _parameters(thing))
        section = "Attributes:" if fields else "Args:"
    else:
        arguments = _parameters(thing)
        section = "Args:"
        if get_type_hints(thing)["return"] is not type(None):
            assert "Returns:" in text
    if arguments:
        _, _, listed = text.partition(section + "\n")
        for argument in arguments:
            assert f"    {argument}: " in listed, argument


def _parameters(thing: Callable[..., object]) -> list[str]:
    return [name for name in inspect.signature(thing).parameters if name not in ("self", "cls")]


@pytest.mark.parametrize("name", DOCUMENTED)
def test_examples_run(name):
    """Warnings are errors here, as in all tests."""
    thing = DOCUMENTED[name]
    text, module = inspect.getdoc(thing), inspect.getmodule(thing)
    assert text
    assert module
    run(text, dict(vars(module)), name)


def test_example_of_the_names_of_data_sets():
    """It stands below the constant, where Python does not keep it."""
    body = ast.parse(Path(kanerva.data.load.__file__).read_text()).body
    (text,) = [
        after.value.value
        for before, after in itertools.pairwise(body)
        if isinstance(before, ast.Assign)
        and ast.unparse(before.targets[0]) == "DATASETS"
        and isinstance(after, ast.Expr)
        and isinstance(after.value, ast.Constant)
    ]
    assert isinstance(text, str)
    run(inspect.cleandoc(text), {}, "DATASETS")


def run(text: str, names: dict[str, object], title: str) -> None:
    test = doctest.DocTestParser().get_doctest(text, names, title, None, None)
    assert test.examples
    problems: list[str] = []
    doctest.DocTestRunner(verbose=False).run(test, out=problems.append)
    assert not problems, "".join(problems)
