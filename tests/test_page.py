"""The page in a real browser: what a visitor does, and what is then on the page."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pytest
from axe_playwright_python import base as axe
from PIL import Image
from playwright.sync_api import Browser, BrowserContext, Page, Route, expect, sync_playwright

from kanerva.web.background import serving
from web_cases import CHROMIUM, FLAGS, command, need_browser

expect.set_options(timeout=20_000)  # a busy machine is no mistake
AXE = Path(axe.__file__).with_name("axe.min.js")
NewPage = Callable[..., Page]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    need_browser()
    with serving() as address:
        yield address


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    need_browser()
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))


@pytest.fixture
def new_page(browser: Browser, url: str) -> Iterator[NewPage]:
    """Pages of new visitors. At the end: no error on any of them, no request to another host."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []
    hosts: set[str] = set()

    def make(address: str = url, *, wait: bool = True, **options) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        context.set_default_timeout(15_000)
        page = context.new_page()
        page.on("console", lambda one: problems.append(one.text) if one.type == "error" else None)
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.on("request", lambda one: hosts.add(urlsplit(one.url).netloc))
        page.goto(address)
        if wait:
            expect(page.locator("#characters .tile")).to_have_count(18)
        return page

    make.problems = problems  # pyright: ignore[reportFunctionMemberAccess]
    yield make
    for context in contexts:
        context.close()
    assert problems == []
    assert {host.split(":")[0] for host in hosts} <= {"127.0.0.1", ""}  # "" is data: and blob:


def pick(page: Page, *numbers: int) -> None:
    """Click ready-made characters, and wait for each to be written."""
    for number in numbers:
        before = page.locator("#items li").count()
        page.locator("#characters .tile").nth(number).click()
        expect(page.locator("#items li")).to_have_count(before + 1)


def draw(page: Page, *points: tuple[float, float]) -> None:
    """Draw with the mouse; points are shares of the canvas."""
    page.locator("#pad").scroll_into_view_if_needed()
    box = page.locator("#pad").bounding_box()
    assert box is not None
    places = [(box["x"] + x * box["width"], box["y"] + y * box["height"]) for x, y in points]
    page.mouse.move(*places[0])
    page.mouse.down()
    for place in places[1:]:
        page.mouse.move(*place, steps=8)
    page.mouse.up()


def pixels(page: Page, selector: str) -> np.ndarray:
    """The canvas in the middle of each large pixel, as 28 x 28 grey values."""
    found = page.locator(selector).evaluate(
        """canvas => {
            const {data} = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            const step = canvas.width / 28;
            return Array.from({length: 784}, (_, index) => {
                const x = Math.floor((index % 28 + 0.5) * step);
                const y = Math.floor((Math.floor(index / 28) + 0.5) * step);
                return data[4 * (y * canvas.width + x)];
            });
        }"""
    )
    return np.array(found).reshape(28, 28)


def read_to_the_end(page: Page) -> None:
    expect(page.locator("#reading")).to_have_attribute("data-state", "done")


def test_a_visit(new_page: NewPage):
    """Draw, write, damage, read back, make new ones, forget."""
    page = new_page()
    expect(page.locator("#write")).to_have_class(re.compile("next"))
    expect(page.locator("#make")).to_be_disabled()
    draw(page, (0.2, 0.2), (0.5, 0.8), (0.8, 0.2))
    page.get_by_role("button", name="Write my drawing").click()
    expect(page.locator("#count")).to_have_text("1")
    read_to_the_end(page)
    tile = pixels(page, "#items canvas") < 128
    assert 20 < tile.sum() < 200
    assert tile[4:8, 4:8].any()  # where the stroke began
    assert tile[20:25, 12:16].any()  # its corner
    assert (pixels(page, "#cue") < 128).tolist() == tile.tolist()
    expect(page.locator("#verdict")).to_have_text("It recognises this.")
    reading = pixels(page, "#reading") < 128
    assert (reading == tile).mean() > 0.95

    pick(page, 0, 1)
    expect(page.locator("#repair")).to_have_class(re.compile("next"))
    page.get_by_role("button", name="Character 1: damage and repair it").click()
    page.get_by_role("button", name="Cover a block").click()
    expect(page.locator("#reading")).to_have_attribute("data-state", re.compile("wait|play|done"))
    read_to_the_end(page)
    damaged = pixels(page, "#cue") < 128
    assert (damaged & ~tile).sum() > 60
    readings = page.locator("#film .tile").count() - 1  # the first tile is the cue
    assert readings >= 1  # a search may be at its end after one
    expect(page.locator("#reading-number")).to_have_text(f"{readings} of {readings}")
    page.locator("#film .tile").first.click()
    assert ((pixels(page, "#reading") < 128) == damaged).all()
    expect(page.locator("#confidence-text")).to_have_text(re.compile(r"^\d+ %$"))
    expect(page.locator("#repaired")).to_have_text(
        re.compile(r"^\d+ of \d+ damaged pixels put right\.$")
    )

    expect(page.locator("#new")).to_have_class(re.compile("next"))
    page.get_by_role("button", name="Make new characters").click()
    expect(page.locator("#samples .tile")).to_have_count(16)
    expect(page.get_by_text("Click one to write it into the memory.")).to_be_visible()
    page.locator("#samples .tile").first.click()
    expect(page.locator("#count")).to_have_text("4")
    expect(page.locator("#samples-note")).to_have_text("Written. In memory: 4.")

    expect(page.locator("#between-area")).to_be_visible()
    page.locator("#slide").fill("0")
    page.locator("#start").select_option(index=0)
    expect(page.locator("#middle")).to_have_attribute("data-frames", "21")
    first = pixels(page, "#middle")
    page.locator("#slide").fill("20")
    assert not (pixels(page, "#middle") == first).all()

    page.get_by_role("button", name="Forget Character 1").click()
    expect(page.locator("#count")).to_have_text("3")
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.locator("#count")).to_have_text("4")
    assert ((pixels(page, "#items li:first-child canvas") < 128) == tile).all()
    page.get_by_role("button", name="Clear").click()
    expect(page.locator("#count")).to_have_text("0")
    expect(page.locator("#fill-text")).to_have_text("empty")
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(page.locator("#count")).to_have_text("4")


def test_what_was_never_written_is_not_in_memory(new_page: NewPage):
    page = new_page()
    pick(page, 0, 1, 2)
    draw(page, (0.1, 0.9), (0.9, 0.1), (0.9, 0.9), (0.1, 0.1), (0.5, 0.9))
    page.get_by_role("button", name="Complete my drawing").click()
    expect(page.locator("#verdict")).to_have_text(
        "Not in memory: nothing matches this well enough."
    )
    expect(page.locator("#news")).to_contain_text("Not in memory")
    expect(page.locator("#count")).to_have_text("3")


@pytest.mark.parametrize("way", ["Clear", "Forget Character 1", "Undo"])
def test_an_empty_memory_has_nothing_to_repair(new_page: NewPage, way: str):
    page = new_page()
    pick(page, 0)
    read_to_the_end(page)
    expect(page.locator("#fill-text")).to_have_text(re.compile(r"^\d\.\d %$"))
    page.get_by_role("button", name="Cover a block").click()
    page.get_by_role("button", name=way, exact=True).click()
    expect(page.locator("#count")).to_have_text("0")
    expect(page.locator("#repair-area")).to_be_hidden()
    expect(page.locator("#repair-lead")).to_contain_text("Write a character first")
    expect(page.locator("#fill-text")).to_have_text("empty")
    page.wait_for_timeout(500)  # the reading of the block must not come after all
    expect(page.locator("#repair-area")).to_be_hidden()
    expect(page.locator("#verdict")).to_be_empty()
    expect(page.locator("#film .tile")).to_have_count(0)
    if way != "Undo":
        page.get_by_role("button", name="Undo", exact=True).click()
        expect(page.locator("#repair-area")).to_be_visible()
    else:
        pick(page, 1)
    expect(page.locator("#verdict")).to_have_text("It recognises this.")


@pytest.mark.parametrize(
    ("confidence", "text"),
    [
        (0.5, "It recognises this."),
        (0.49, "Not sure. This is the closest one."),
        (0.2, "Not sure. This is the closest one."),
        (0.19, "Not in memory: nothing matches this well enough."),
    ],
)
def test_three_verdicts(new_page: NewPage, confidence: float, text: str):
    """Real readings; only the confidence in the answer is set, to reach each side of a limit."""
    page = new_page(reduced_motion="reduce")

    def answer(route: Route) -> None:
        response = route.fetch()
        found = response.json()
        found["readings"][0].update(confidence=confidence, known=confidence >= 0.5)
        route.fulfill(response=response, json=found)

    page.route("**/read", answer)
    pick(page, 0)
    expect(page.locator("#verdict")).to_have_text(text)


def test_the_hint_leads_to_the_second_step(new_page: NewPage):
    page = new_page(viewport={"width": 390, "height": 700})
    pick(page, 0, 1, 2)
    expect(page.locator("html")).to_have_attribute("data-in-address", "3")
    address = page.url
    page.get_by_role("button", name="step 2").click()
    expect(page.locator("#repair")).to_be_focused()
    expect(page.locator("#repair-title")).to_be_in_viewport()
    assert page.url == address  # it holds the characters
    page.get_by_role("button", name="Cover a block").click()
    read_to_the_end(page)
    assert page.locator("#film").evaluate("film => film.scrollWidth <= film.clientWidth")


def test_a_damaged_cue_is_seen_before_the_readings(new_page: NewPage):
    """And only then: what was just written is read at once."""
    page = new_page()
    page.locator("#reading").evaluate(
        """reading => {
            window.seen = [];
            new MutationObserver(() => window.seen.push(reading.dataset.number))
                .observe(reading, {attributeFilter: ["data-number"]});
        }"""
    )
    pick(page, 0)
    read_to_the_end(page)
    assert page.evaluate("window.seen.splice(0)")[0] == "1"
    page.get_by_role("button", name="Cover a block").click()
    expect(page.locator("#repaired")).to_contain_text("put right")
    assert page.evaluate("window.seen")[:2] == ["0", "1"]


def test_brush_noise_and_back(new_page: NewPage):
    page = new_page()
    pick(page, 0)
    read_to_the_end(page)
    whole = pixels(page, "#cue")
    page.locator("#cue").scroll_into_view_if_needed()
    box = page.locator("#cue").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 5, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] - 5, box["y"] + box["height"] / 2, steps=30)
    page.mouse.up()
    assert (pixels(page, "#cue")[14] > 128).all()
    page.get_by_role("button", name="Sprinkle noise").click()
    expect(page.locator("#verdict")).not_to_be_empty()
    assert (pixels(page, "#cue") < 128).sum() > (whole < 128).sum() / 2
    page.get_by_role("button", name="Undo damage").click()
    assert (pixels(page, "#cue") == whole).all()


def test_the_keyboard_is_enough(new_page: NewPage):
    page = new_page(reduced_motion="reduce")
    page.locator("#characters .tile").first.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text("1")
    page.locator("#pad").focus()
    page.keyboard.press("Space")
    for key in ("ArrowDown", "ArrowRight"):
        for _ in range(6):
            page.keyboard.press(key)
    page.keyboard.press("Tab")
    expect(page.locator("#write-drawing")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#count")).to_have_text("2")
    assert (pixels(page, "#items li:nth-child(2) canvas") < 128).sum() > 15
    page.locator("#block").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#news")).to_contain_text("Confidence")
    page.locator("#cue").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Space")
    page.locator("#items .tile").first.focus()
    page.keyboard.press("Delete")
    expect(page.locator("#count")).to_have_text("1")


def test_saving_and_loading(new_page: NewPage, tmp_path: Path):
    page = new_page()
    pick(page, 0, 1, 2)
    with page.expect_download() as saving:
        page.get_by_role("button", name="Save", exact=True).click()
    saving.value.save_as(tmp_path / "memory.json")
    assert len(json.loads((tmp_path / "memory.json").read_text())["items"]) == 3
    before = pixels(page, "#items li:nth-child(2) canvas")
    other = new_page()
    other.locator("#file").set_input_files(tmp_path / "memory.json")
    expect(other.locator("#count")).to_have_text("3")
    assert (pixels(other, "#items li:nth-child(2) canvas") == before).all()
    picture = Image.new("RGB", (400, 300), "white")
    picture.paste("black", (180, 40, 200, 260))
    picture.save(tmp_path / "photo.jpg")
    other.locator("#file").set_input_files(tmp_path / "photo.jpg")
    expect(other.locator("#count")).to_have_text("4")
    assert (pixels(other, "#items li:last-child canvas") < 128)[:, 12:16].sum() > 15


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        ("notes.txt", b"hello", "not a memory"),
        ("broken.json", b'{"format": "kanerva playground"', "not a memory"),
        ("other.json", b'{"items": [1, 2]}', "not a memory"),
        (
            "short.json",
            b'{"format": "kanerva playground", "version": 1, "image_shape": [1, 28, 28], '
            b'"items": [{"image": {"bytes": "AAAA"}}]}',
            "not a memory",
        ),
        (
            "size.json",
            b'{"format": "kanerva playground", "version": 1, "image_shape": [1, 32, 32], '
            b'"items": []}',
            "another image size",
        ),
        ("fake.png", b"not a picture", "not a picture"),
        ("memory.safetensors", bytes(1000), "not a memory"),
    ],
)
def test_wrong_files_change_nothing(
    new_page: NewPage, tmp_path: Path, name: str, contents: bytes, message: str
):
    page = new_page()
    pick(page, 0)
    (tmp_path / name).write_bytes(contents)
    page.locator("#file").set_input_files(tmp_path / name)
    expect(page.get_by_role("alert")).to_contain_text(message)
    expect(page.locator("#count")).to_have_text("1")
    pick(page, 1)
    expect(page.locator("#problem")).to_be_hidden()


def test_a_blank_picture_is_refused_in_words(new_page: NewPage, tmp_path: Path):
    page = new_page()
    Image.new("L", (50, 50), "white").save(tmp_path / "blank.png")
    page.locator("#file").set_input_files(tmp_path / "blank.png")
    expect(page.get_by_role("alert")).to_contain_text("no ink")
    problems: list[str] = new_page.problems  # pyright: ignore[reportFunctionMemberAccess]
    assert len(problems) == 1  # the browser reports the refused request
    problems.clear()


def test_the_address_holds_the_characters(new_page: NewPage):
    """For a reload, and for another visitor who gets the link."""
    page = new_page()
    pick(page, 3, 4)
    expect(page).to_have_url(re.compile(r"#1\.[0-9a-f]+\.[\w-]+$"))
    before = pixels(page, "#items li:first-child canvas")
    page.reload()
    expect(page.locator("#count")).to_have_text("2")
    other = new_page(page.url)
    expect(other.locator("#count")).to_have_text("2")
    assert (pixels(other, "#items li:first-child canvas") == before).all()
    damaged = new_page(page.url[:-20] + "AAAAAAAAAAAAAAAAAAAA")
    expect(damaged.locator("#count")).to_have_text(re.compile("0|2"))


def test_a_killed_server_costs_nothing(new_page: NewPage):
    """After `kill -9` and a new start the open page goes on; a reload brings everything back."""
    problems: list[str] = new_page.problems  # pyright: ignore[reportFunctionMemberAccess]
    with command("serve", "--port", "0", "--json") as (process, address):
        page = new_page(address)
        pick(page, 0, 1)
        process.kill()
        process.wait()
        page.locator("#characters .tile").nth(2).click()
        expect(page.get_by_role("alert")).to_contain_text("kanerva play")
        expect(page.locator("#count")).to_have_text("2")
    problems.clear()
    port = str(urlsplit(address).port)
    with command("serve", "--port", port, "--json"):
        page.locator("#characters .tile").nth(2).click()
        expect(page.locator("#count")).to_have_text("3")
        problems.clear()  # the browser reports that the old session is unknown
        page.reload()
        expect(page.locator("#count")).to_have_text("3")
        page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1440])
def test_accessibility_and_layout(new_page: NewPage, scheme: str, width: int):
    """axe finds nothing serious, and nothing is wider than the screen."""
    page = new_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    pick(page, 0, 1)
    page.locator("#symbols").check()
    page.get_by_role("button", name="Make new characters").click()
    expect(page.locator("#samples .tile")).to_have_count(16)
    read_to_the_end(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert serious(page) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_the_api_works_off_line(new_page: NewPage, url: str, scheme: str):
    page = new_page(f"{url}docs", wait=False, color_scheme=scheme)
    for path in ("/api/memories/{name}/items", "/api/memories/{name}/read", "/api/about"):
        expect(page.get_by_text(path, exact=True).first).to_be_visible()
    assert serious(page) == []


def serious(page: Page) -> list[str]:
    """What axe finds that is serious or critical."""
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run()")["violations"]
    return [
        f"{one['id']}: {one['nodes'][0]['html']}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
