"""README and docs: their code runs, their commands parse, and what they name exists."""

import contextlib
import io
import re
from pathlib import Path

import pytest
import torch

from kanerva.cli.commands import COMMANDS, GROUPS, parse
from kanerva.training.recipes import RECIPES
from pages import PAGES, README, ROOT, blocks, commands, name_of, shown_commands, without_blocks

EVERYWHERE = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "src/kanerva/shipped/README.md"]


def call(words: list[str]) -> str:
    """What a command prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(io.StringIO()):
        parse(words)()
    return printed.getvalue()


# -- code and commands -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "page", [page for page in PAGES if any(b.kind == "python" for b in blocks(page))], ids=name_of
)
def test_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The blocks of a page in order, as a reader would paste them; output that follows is true."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    for block in blocks(page):
        if block.kind == "python":
            stream = io.StringIO()
            with contextlib.redirect_stdout(stream):
                exec(compile(block.body, name_of(page), "exec"), names)
            printed = stream.getvalue()
        elif block.kind == "sh run":
            printed = "".join(call(words) for words in commands(block.body))
        elif block.kind == "" and block.follows:
            assert block.body == printed


def test_few_blocks_are_not_run():
    skipped = [block for page in PAGES for block in blocks(page) if block.kind == "python notest"]
    assert len(skipped) <= 2
    assert sum(block.kind == "python" for page in PAGES for block in blocks(page)) >= 30


@pytest.mark.parametrize("page", [page for page in PAGES if shown_commands(page)], ids=name_of)
def test_commands_parse(page: Path, capsys: pytest.CaptureFixture[str]):
    for words in shown_commands(page):
        code = 0
        try:
            parse(words)
        except SystemExit as end:  # --help ends with 0
            code = end.code
        assert not code, f"kanerva {' '.join(words)}: {capsys.readouterr().err}"


def test_commands_outside_pages_with_code_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Blocks marked "sh run" on pages that have no Python."""
    monkeypatch.chdir(tmp_path)
    for page in PAGES:
        if not any(block.kind == "python" for block in blocks(page)):
            for block in blocks(page):
                if block.kind == "sh run":
                    for words in commands(block.body):
                        call(words)


def test_quick_commands_of_the_readme_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    import torch
    from PIL import Image

    from kanerva.data import render_glyphs

    monkeypatch.chdir(tmp_path)
    Path("drawings").mkdir()
    drawn = [image.numpy() for image in 255 - render_glyphs(torch.arange(11), seed=0)[:, 0]]
    for number, pixels in enumerate(drawn[:8]):
        Image.fromarray(pixels).save(f"drawings/{number}.png")
    for name, pixels in zip(("torn", "a", "b"), drawn[8:], strict=True):
        Image.fromarray(pixels).save(f"{name}.png")
    quick = [
        words
        for words in shown_commands(README)
        if "--help" not in words
        and (
            words[0] in ("demo", "generate", "interpolate", "data")
            or words[:2] == ["denoise", "--memory"]
        )
    ]
    assert len(quick) >= 6
    for words in quick:
        call(words)
    for made in ("runs/demo.png", "repaired.png", "new.gif", "line.gif"):
        assert Path(made).stat().st_size > 500


def test_what_the_demo_prints_is_shown(tmp_path: Path):
    """Other versions of torch draw other letterforms from the same seed."""
    pinned = re.search(r"^torch==(.+)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
    assert pinned is not None
    if torch.__version__.split("+")[0] != pinned[1]:
        pytest.skip(f"the pages show numbers of torch {pinned[1]}")
    printed = call(["demo", "--picture", str(tmp_path / "demo.png")]).splitlines()
    shown = [b.body for page in PAGES for b in blocks(page) if b.body.startswith("put a 12 x 12")]
    assert shown
    for line in "".join(shown).splitlines():
        assert line in printed


# -- what pages name -------------------------------------------------------------------------------


def test_readme_is_short_and_complete():
    text = README.read_text()
    assert len(text.splitlines()) <= 200
    assert re.findall(r"!\[.+\]\((.+)\)", text) == ["docs/images/demo.png"]
    assert {words[0] for words in shown_commands(README)} == {*COMMANDS, *GROUPS}
    for number in ("30.3", "68.3", "96.1", "1,315", "1,345"):
        assert number in text


def test_make_targets_exist():
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    for page in EVERYWHERE:
        for target in re.findall(r"`make ([a-z]+)`|^make ([a-z]+)", page.read_text(), re.MULTILINE):
            assert "".join(target) in targets, name_of(page)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_exist(name: str):
    """Links of the files that are not part of the site; the site checks its own."""
    for link in re.findall(r"\]\(([^)#]+)(?:#[\w-]+)?\)", without_blocks(ROOT / name)):
        assert link.startswith("https://") or (ROOT / link).exists(), link


@pytest.mark.parametrize("page", EVERYWHERE, ids=name_of)
def test_files_that_are_named_exist(page: Path):
    folders = "results|experiments|src|tests|examples|docs"
    for path in re.findall(
        rf"[`\s]((?:{folders})/[\w./-]*\w\.\w+|(?:{folders})/[\w./-]*/)", page.read_text()
    ):
        assert (ROOT / path).exists(), path


def test_readme_names_every_folder():
    table = README.read_text().split("## Folders")[1]
    named = set(re.findall(r"`(?:src/kanerva/)?(\w+)`", table))
    package = ROOT / "src" / "kanerva"
    parts = {path.name for path in package.iterdir() if path.is_dir() and any(path.iterdir())}
    parts -= {"__pycache__"}
    outside = {"docs", "examples", "experiments", "results", "tests"}
    assert named == parts | outside


def test_recipes_are_listed():
    table = (ROOT / "docs" / "reference" / "recipes.md").read_text()
    assert set(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)) == set(RECIPES)


def test_every_command_has_its_help():
    page = (ROOT / "docs" / "reference" / "commands.md").read_text()
    documented = {words.split()[0] for words in re.findall(r"^%help (\S.*)$", page, re.MULTILINE)}
    assert documented == {*COMMANDS, *GROUPS}


# -- equations -------------------------------------------------------------------------------------

EQUATIONS = (ROOT / "docs" / "equations.md").read_text()


def test_equation_labels_are_in_the_code():
    source = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    labels = set(re.findall(r"`((?:eq|sec|app|fig):[\w-]+)`", EQUATIONS))
    assert {"eq:update-first", "eq:update-last", "eq:sigma_matrix", "eq:dist-posterior"} <= labels
    for label in labels:
        assert label in source, label


def test_equation_table_names_what_exists():
    """Each cell `FILE.py`: `name`, `name` says where something is."""
    pattern = r"`((?:\w+/)+[\w*]+\.py)`(?:: ((?:`[^`]+`(?:, )?(?: \([^)]*\)(?:, )?)?)+))?"
    found = re.findall(pattern, EQUATIONS)
    assert len(found) >= 25
    for name, members in found:
        root = ROOT if name.startswith(("tests/", "experiments/")) else ROOT / "src" / "kanerva"
        files = list(root.glob(name))
        assert files, name
        source = "\n".join(file.read_text() for file in files)
        for member in re.findall(r"`([^`]+)`", members):
            last = member.split("(")[0].split(".")[-1]
            assert re.search(rf"(?:def|class) {last}\b|^\s*{last}\b ?[:=]", source, re.MULTILINE), (
                f"{member} in {name}"
            )
    options = re.findall(r"`(\w+)(?: = [^`]+)?` in `((?:\w+/)+\w+\.py)`", EQUATIONS)
    assert len(options) >= 5
    for option, name in options:
        source = (ROOT / "src" / "kanerva" / name).read_text()
        is_there = re.search(rf"^ +{option}: |^def {option}\b", source, re.MULTILINE)
        assert is_there, f"{option} in {name}"
