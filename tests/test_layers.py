"""The import directions of the architecture, on the real import graph."""

import ast
import re
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
MODULES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__"): path
    for path in (SOURCE / "kanerva").rglob("*.py")
}

# What each layer may import, beside itself. A layer that is not here does not exist yet.
BELOW_MEMORY = {"errors", "checks", "linalg", "distributions"}
BELOW_MODELS = BELOW_MEMORY | {"memory", "atomic", "json_values", "tensor_file"}
MAY_IMPORT = {
    "errors": set(),
    "checks": {"errors"},
    "atomic": {"errors", "checks"},
    "json_values": set(),
    "tensor_file": {"errors", "atomic"},
    "linalg": {"errors", "checks"},
    "distributions": {"errors", "linalg"},
    "memory": BELOW_MEMORY | {"tensor_file"},
    "sparse": {"errors", "checks", "tensor_file"},
    "data": {"errors", "checks", "atomic"},
    "models": BELOW_MODELS,
    "training": BELOW_MODELS | {"models", "data", "evaluation"},
    "evaluation": BELOW_MODELS | {"models", "data"},
    "store": BELOW_MODELS | {"models", "data"},
    "rendering": {"errors", "checks"},
    "benchmarks": BELOW_MODELS | {"models"},
    "figures": {"errors", "checks", "atomic", "json_values", "rendering"},
    "web": BELOW_MODELS | {"models", "data", "store", "rendering"},
    "__main__": {"cli"},
    "cli": BELOW_MODELS
    | {
        "models",
        "data",
        "evaluation",
        "training",
        "store",
        "figures",
        "rendering",
        "benchmarks",
        "json_values",
        "web",
    },
}


def layer(module: str) -> str | None:
    """kanerva.memory.read -> memory; the package itself has none."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else None


def imports(path: Path) -> set[str]:
    """Every module of ours that a file imports, at the top or inside a function."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute here"
            assert node.module is not None
            for alias in node.names:
                submodule = f"{node.module}.{alias.name}"
                found.add(submodule if submodule in MODULES else node.module)
    return {name for name in found if name in MODULES and name != "kanerva"}


def test_the_graph_is_not_empty():
    assert "kanerva.linalg" in imports(MODULES["kanerva.memory.write"])
    assert "kanerva.memory.write" in imports(MODULES["kanerva.memory.evidence"])


@pytest.mark.parametrize("module", sorted(MODULES))
def test_imports_only_point_left(module):
    here = layer(module)
    if here is None:
        return  # the package's front door re-exports from every layer
    assert here in MAY_IMPORT, f"{module}: give its layer a place in MAY_IMPORT"
    for name in imports(MODULES[module]):
        target = layer(name)
        assert target == here or target in MAY_IMPORT[here], f"{module} imports {name}"


def test_no_import_cycles():
    graph = {module: imports(path) - {module} for module, path in MODULES.items()}
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path, module))
        if module not in done:
            for target in graph[module]:
                visit(target, (*path, module))
            done.add(module)

    for module in graph:
        visit(module, ())


FACTORISES = re.compile(r"torch\.linalg|torch\.cholesky|torch\.svd|torch\.qr")
INVERTS = re.compile(r"linalg\.inv|\.inverse\(|torch\.inverse|cholesky_inverse|pinv")


def test_only_linalg_factorises():
    """In the memory's algebra; measurements may look at a matrix as they like."""
    for module, path in MODULES.items():
        if layer(module) in ("memory", "distributions"):
            assert not FACTORISES.search(path.read_text()), module


def test_no_explicit_inverse():
    for module, path in MODULES.items():
        assert not INVERTS.search(path.read_text()), module
