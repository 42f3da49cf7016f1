"""The HTTP API of the playground does what the library does."""

import base64
import io
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from PIL import Image

import kanerva
from kanerva.web.background import serving
from kanerva.web.limits import KNOWN_FROM, MAX_ITEMS
from web_cases import ask, drawings, new_session, pixels, state_of, torch_images


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(model="omniglot", samples="omniglot") as address:
        yield address


def write(url: str, session: dict[str, str], images: torch.Tensor, **facts: list) -> list[str]:
    items = [
        {"image": pixels(image), **{key: values[number] for key, values in facts.items()}}
        for number, image in enumerate(images)
    ]
    done = ask(url, "POST", "/api/memories/mine/items", {"items": items}, headers=session)
    assert done.status == 201, done.body
    return done.json["ids"]


def test_reading_is_that_of_the_library(url: str):
    images, session = drawings(5), new_session(url)
    write(url, session, images)
    cues = images.clone()
    cues[:, :, 5:17, 5:17] = 1
    body = {"cues": [pixels(cue) for cue in cues], "format": "array", "steps": True}
    readings = ask(url, "POST", "/api/memories/mine/read", body, headers=session).json["readings"]
    km = kanerva.load("omniglot")
    expected = km.read(cues, km.write(images))
    found = torch_images([one["image"] for one in readings])
    assert torch.allclose(found, expected.images, atol=2e-3)
    assert len(readings[0]["steps"]) == len(expected.steps)
    assert len(readings[0]["step_weights"]) == len(expected.steps) + 1
    for one, confidence in zip(readings, expected.confidence.tolist(), strict=True):
        assert one["confidence"] == pytest.approx(confidence, abs=1e-3)
        assert one["known"] == (one["confidence"] >= KNOWN_FROM)
        assert len(one["weights"]) == km.config.num_rows


def test_what_was_never_written_is_not_in_memory(url: str):
    session = new_session(url)
    write(url, session, drawings(4))
    body = {"cues": [pixels(drawings(1, first=9)[0])]}
    (reading,) = ask(url, "POST", "/api/memories/mine/read", body, headers=session).json["readings"]
    assert reading["known"] is False
    assert reading["steps"] == []


def test_forgetting_is_exact(url: str):
    session, images = new_session(url), drawings(6)
    write(url, session, images[:4])
    before = state_of(url, session)
    ids = write(url, session, images[4:])
    query = "&".join(f"id={one}" for one in ids)
    done = ask(url, "DELETE", f"/api/memories/mine/items?{query}", headers=session).json
    assert done["num_items"] == 2
    assert done["after"] == before == state_of(url, session)


def test_items_come_back_bit_for_bit(url: str):
    session, images = new_session(url), drawings(3)
    write(url, session, images, label=["a", None, "c"], id=["1", "2", "3"])
    listed = ask(url, "GET", "/api/memories/mine/items?format=array", headers=session).json
    assert torch.equal(torch_images([one["image"] for one in listed["items"]]), images)
    assert [(one["id"], one["label"]) for one in listed["items"]] == [
        ("1", "a"),
        ("2", None),
        ("3", "c"),
    ]


def test_an_image_has_three_forms(url: str):
    """PNG, arrays and bytes of one drawing are the same item."""
    image = drawings(1)[0]
    whole = (image.numpy() * 255).astype(np.uint8)
    file = io.BytesIO()
    Image.fromarray(255 - whole[0]).save(file, "PNG")
    forms = [
        pixels(image),
        {"bytes": base64.b64encode(whole.tobytes()).decode()},
        "data:image/png;base64," + base64.b64encode(file.getvalue()).decode(),
    ]
    states = set()
    for form in forms:
        session = new_session(url)
        body = {"items": [{"image": form}]}
        assert ask(url, "POST", "/api/memories/mine/items", body, headers=session).status == 201
        states.add(state_of(url, session))
    assert len(states) == 1


def test_the_ends_between_which_images_are_made(url: str):
    """Any text is an id, except a PNG file, which is an image."""
    session, images = new_session(url), drawings(2)
    write(url, session, images, id=["note 17", "b.png"])
    file = io.BytesIO()
    Image.fromarray(255 - (images[1, 0].numpy() * 255).astype(np.uint8)).save(file, "PNG")
    drawn = "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
    lines = [
        ask(
            url,
            "POST",
            "/api/memories/mine/interpolate",
            {"start": "note 17", "end": end, "steps": 3},
            headers=session,
        ).json["images"]
        for end in ("b.png", drawn, pixels(images[1]))
    ]
    assert lines[0] == lines[1] == lines[2]


def test_new_images_and_those_between(url: str):
    session, images = new_session(url), drawings(4)
    ids = write(url, session, images)
    km = kanerva.load("omniglot")
    body = {"num": 3, "seed": 5, "format": "array"}
    made = ask(url, "POST", "/api/memories/mine/generate", body, headers=session).json["images"]
    again = km.generate(km.write(images), 3, generator=torch.Generator().manual_seed(5))
    assert torch.allclose(torch_images(made), again, atol=2e-3)
    body = {"start": ids[0], "end": pixels(images[1]), "steps": 4, "format": "array"}
    line = ask(url, "POST", "/api/memories/mine/interpolate", body, headers=session).json["images"]
    expected = km.interpolate(images[0], images[1], km.write(images), steps=4)
    assert torch.allclose(torch_images(line), expected, atol=2e-3)


def test_the_state_says_how_full_it_is(url: str):
    session = new_session(url)
    empty = ask(url, "GET", "/api/memories/mine/state", headers=session).json
    write(url, session, drawings(20))
    filled = ask(url, "GET", "/api/memories/mine/state", headers=session).json
    assert empty["fill"] == pytest.approx(0, abs=1e-6)
    assert 0.1 < filled["fill"] < 1
    assert not filled["full"]
    sums = [np.frombuffer(base64.b64decode(one["covariance"]), np.uint8) for one in (empty, filled)]
    assert len(sums[0]) == empty["num_rows"] ** 2
    assert sums[1].astype(int).sum() < sums[0].astype(int).sum()


def test_a_full_memory_takes_no_more(url: str):
    session = new_session(url)
    for start in range(0, MAX_ITEMS - MAX_ITEMS % 50, 50):
        write(url, session, drawings(50, first=start // 50))
    body = {"items": [{"image": pixels(drawings(1)[0])}] * (1 + MAX_ITEMS % 50)}
    refused = ask(url, "POST", "/api/memories/mine/items", body, headers=session)
    assert refused.status == 409
    assert "Forget some" in refused.json["error"]["fix"]


def test_memories_are_listed_merged_and_deleted(url: str):
    session = new_session(url)
    write(url, session, drawings(2))
    made = ask(url, "POST", "/api/memories", {"name": "other"}, headers=session)
    assert made.status == 201
    assert "set-cookie" not in made.headers
    assert ask(url, "POST", "/api/memories", {"name": "other"}, headers=session).status == 409
    body = {"items": [{"image": pixels(drawings(1, first=5)[0])}]}
    ask(url, "POST", "/api/memories/other/items", body, headers=session)
    merged = ask(
        url, "POST", "/api/memories/mine/merge", {"sources": ["other"]}, headers=session
    ).json
    assert merged["num_items"] == 3
    both = new_session(url)
    write(url, both, drawings(1, first=5))
    write(url, both, drawings(2))
    assert state_of(url, both) == merged["state"]
    assert ask(url, "DELETE", "/api/memories/other", headers=session).status == 204
    names = ask(url, "GET", "/api/memories", headers=session).json["memories"]
    assert [one["name"] for one in names] == ["mine"]


@pytest.mark.parametrize(
    ("ids", "status"),
    [(["a", "a"], 409), (["known", "b"], 409), (["", "c"], 422)],
    ids=["twice", "taken", "empty"],
)
def test_a_write_happens_whole_or_not_at_all(url: str, ids: list[str], status: int):
    session = new_session(url)
    write(url, session, drawings(1), id=["known"])
    before = state_of(url, session)
    items = [{"image": pixels(image), "id": id} for image, id in zip(drawings(2), ids, strict=True)]
    done = ask(url, "POST", "/api/memories/mine/items", {"items": items}, headers=session)
    assert done.status == status
    assert state_of(url, session) == before


def test_ready_made_characters_differ(url: str):
    answers = [
        ask(url, "GET", f"/api/characters?num=12&seed={seed}&format=array").json["items"]
        for seed in (1, 1, 2)
    ]
    first, same, other = (torch_images([one["image"] for one in items]) for items in answers)
    assert torch.equal(first, same)
    assert not torch.equal(first, other)
    assert len(first.flatten(1).unique(dim=0)) == 12
    assert (first.flatten(1).mean(1) > 0.02).all()


def test_another_model_may_make_the_new_images(tmp_path):
    """Then the items are written into a memory of that model."""
    from kanerva.models.checkpoint import save_model

    small = kanerva.KanervaMachine(kanerva.ModelConfig(num_filters=4, code_size=8, num_rows=8))
    save_model(tmp_path / "small.safetensors", small.eval(), {})
    with serving(model="omniglot", samples=str(tmp_path / "small.safetensors")) as url:
        session, images = new_session(url), drawings(3)
        body = {"num": 2, "seed": 1, "format": "array"}
        prior = ask(url, "POST", "/api/memories/mine/generate", body, headers=session).json
        write(url, session, images)
        found = ask(url, "POST", "/api/memories/mine/generate", body, headers=session).json
        expected = small.generate(
            small.evidence(images).posterior(small.prior_memory()),
            2,
            generator=torch.Generator().manual_seed(1),
        )
        assert torch.allclose(torch_images(found["images"]), expected, atol=2e-3)
        assert found != prior
