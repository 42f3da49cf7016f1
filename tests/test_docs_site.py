"""The documentation site builds strictly, asks no other host, and has every public name."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import kanerva
import kanerva.data
import kanerva.sparse

ROOT = Path(__file__).parents[1]


def build(config: Path, site: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(site)],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=300,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = build(ROOT / "mkdocs.yml", folder)
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


class Page(HTMLParser):
    """The ids of a page, and every address that a browser would load on its own."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.loads: list[str] = []
        self.classes: set[str] = set()
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        self.ids.add(values.get("id") or "")
        self.classes.update((values.get("class") or "").split())
        if tag == "link" and values.get("rel") not in ("canonical", "next", "prev"):
            self.loads.append(values.get("href") or "")
        if tag in ("script", "img", "iframe", "source", "video"):
            self.loads.append(values.get("src") or "")


def test_no_page_asks_another_host(site: Path):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for path in pages:
        page = Page(path)
        for address in page.loads:
            assert not re.match(r"(?:https?:)?//", address), f"{address} in {path.name}"
            found = (path.parent / address.split("?")[0]).exists()
            assert found or path.name == "404.html", address  # which only a server shows
        assert "mermaid" not in page.classes  # the theme would load its program from elsewhere
    for path in site.rglob("*.css"):
        for address in re.findall(r"(?:url\(|@import)\s*[\"']?([^\"')]+)", path.read_text()):
            assert not re.match(r"(?:https?:)?//", address), f"{address} in {path.name}"


def test_search_works_without_a_server(site: Path):
    assert (site / "search" / "search_index.js").exists()
    loads = Page(site / "tutorials" / "memory.html").loads
    assert "../assets/iframe-worker.js" in loads


def test_every_public_name_is_in_the_reference(site: Path):
    ids = {name for path in (site / "api").glob("*.html") for name in Page(path).ids}
    public = {f"kanerva.{name}" for name in (*kanerva.__all__, "open")}
    public |= {f"kanerva.data.{name}" for name in kanerva.data.__all__}
    public |= {f"kanerva.sparse.{name}" for name in kanerva.sparse.__all__}
    public -= {"kanerva.sparse.SparseMemory"}  # the same as kanerva.SparseMemory
    assert public - ids == set()


def test_help_and_marks_are_rendered(site: Path):
    for path in site.rglob("*.html"):
        text = path.read_text()
        assert "%help" not in text or path.name == "contributing.html"
        assert "sh run" not in text
    assert "--episode-length" in (site / "reference" / "commands.html").read_text()


@pytest.mark.parametrize(
    "mistake",
    [
        "[a page](missing.md)",
        "[a place](index.md#missing)",
        "[a name][kanerva.missing]",
        "::: kanerva.missing",
    ],
)
def test_a_mistake_fails_the_build(mistake: str, tmp_path: Path):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "index.md").write_text(f"# Start\n\n{mistake}\n")
    (tmp_path / "mkdocs.yml").write_text(
        f"INHERIT: {ROOT / 'mkdocs.yml'}\n"
        f"docs_dir: {tmp_path / 'docs'}\n"
        f"hooks: [{ROOT / 'docs' / 'hooks.py'}]\n"
        "extra_css: []\n"
        "watch: []\n"
        "nav: [index.md]\n"
        "plugins: {mkdocstrings: {handlers: {python: {paths: [%s]}}}}\n" % (ROOT / "src")
    )
    done = build(tmp_path / "mkdocs.yml", tmp_path / "site")
    assert done.returncode != 0
    assert "missing" in done.stderr
