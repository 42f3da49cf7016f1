"""Mistakes with data sets, episodes, damage and theory: each error names the argument."""

import http.server
import os
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from data_cases import png
from kanerva import KanervaError, read_images
from kanerva.data import EpisodeSampler, fetch, load_dataset, render_glyphs
from kanerva.data.damage import DamageNoise, any_damage, apply_damage, damage
from kanerva.sparse import Sizes, radius_for
from kanerva.sparse.readout import first_order_ratio, readout, signal_to_noise
from kanerva.sparse.theory import (
    binomial_quadrature,
    capacity,
    critical_distance,
    first_order_capacity,
)
from test_data_episodes import dataset


@pytest.fixture(autouse=True)
def _own_folders(tmp_path, monkeypatch):
    monkeypatch.setenv("KANERVA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KANERVA_DATA", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)


def loose(value: object) -> Any:
    """Hide the type from the type checker, which would reject the call."""
    return value


def glyphs(**options: Any) -> object:
    return load_dataset("glyphs", "test", **options)


def sampler(**options: Any) -> EpisodeSampler:
    given: dict[str, Any] = {"num_items": 4, **options}
    return EpisodeSampler(dataset(), **given)


IMAGES = torch.zeros(2, 1, 28, 28)
NOISE = DamageNoise.draw(IMAGES, None)
BAD: dict[str, tuple[Callable[[], object], str]] = {
    # name: (call, argument)
    "size of no pixels": (lambda: glyphs(size=0), "size"),
    "size as a word": (lambda: glyphs(size="28"), "size"),
    "size as a float": (lambda: glyphs(size=28.0), "size"),
    "size too large": (lambda: glyphs(size=10**9), "size"),
    "size of burda": (lambda: load_dataset("omniglot-burda", "test", size=3), "size"),
    "grey as a word": (lambda: glyphs(grey="yes"), "grey"),
    "grey as a number": (lambda: glyphs(grey=1), "grey"),
    "likelihood as a number": (lambda: glyphs(likelihood=3), "likelihood"),
    "likelihood as a list": (lambda: glyphs(likelihood=["bernoulli"]), "likelihood"),
    "binarisation of colour": (lambda: glyphs(binarisation="none"), "binarisation"),
    "progress as a word": (lambda: glyphs(show_progress="no"), "show_progress"),
    "array for binarisation": (lambda: glyphs(binarisation=np.zeros(3)), "binarisation"),
    "split as a list": (lambda: load_dataset("glyphs", loose(["test"])), "split"),
    "no data set": (lambda: EpisodeSampler(loose(None), num_items=3), "dataset"),
    "images as data set": (lambda: EpisodeSampler(loose(IMAGES), num_items=3), "dataset"),
    "half an item": (lambda: sampler(num_items=1.5), "num_items"),
    "too many items": (lambda: sampler(num_items=10**12), "num_items"),
    "num_classes as a word": (lambda: sampler(num_classes="2"), "num_classes"),
    "no classes": (lambda: sampler(num_classes=0), "num_classes"),
    "half an episode": (lambda: sampler().sample(loose(0.5)), "num_episodes"),
    "too many episodes": (lambda: sampler().sample(10**12), "num_episodes"),
    "far too many episodes": (lambda: sampler().sample(10**30), "num_episodes"),
    "seed for generator": (lambda: sampler().sample(1, generator=loose(0)), "generator"),
    "array for generator": (
        lambda: sampler().sample_labelled(1, generator=loose(np.random.default_rng(0))),
        "generator",
    ),
    "classes as words": (lambda: render_glyphs(loose("abc"), seed=0), "classes"),
    "no classes at all": (lambda: render_glyphs(loose(None), seed=0), "classes"),
    "half classes": (lambda: render_glyphs(loose([1.5]), seed=0), "classes"),
    "true classes": (lambda: render_glyphs(loose([True]), seed=0), "classes"),
    "float tensor": (lambda: render_glyphs(torch.tensor([1.0]), seed=0), "classes"),
    "matrix of classes": (lambda: render_glyphs(torch.tensor([[1, 2]]), seed=0), "classes"),
    "a class number too large": (lambda: render_glyphs([10**30], seed=0), "classes"),
    "bytes for classes": (lambda: render_glyphs(loose(b"abc"), seed=0), "classes"),
    "sparse classes": (lambda: render_glyphs(torch.ones(3).to_sparse(), seed=0), "classes"),
    "meta classes": (lambda: render_glyphs(torch.ones(3, device="meta"), seed=0), "classes"),
    "negative seed": (lambda: render_glyphs([1], seed=-1), "seed"),
    "seed as a word": (lambda: render_glyphs([1], seed=loose("a")), "seed"),
    "no seed": (lambda: render_glyphs([1], seed=loose(None)), "seed"),
    "no pixels": (lambda: render_glyphs([1], seed=0, size=0), "size"),
    "half pixels": (lambda: render_glyphs([1], seed=0, size=loose(0.5)), "size"),
    "too many pixels": (lambda: render_glyphs([1], seed=0, size=10**7), "size"),
    "damage to nothing": (lambda: damage(loose(None), "block12"), "images"),
    "damage to an array": (lambda: damage(loose(np.zeros((1, 28, 28))), "block12"), "images"),
    "damage to bytes": (lambda: damage(IMAGES.byte(), "salt"), "images"),
    "damage to a row": (lambda: damage(torch.zeros(28), "half"), "images"),
    "damage to no pixels": (lambda: damage(torch.zeros(1, 0, 28), "half"), "images"),
    "unknown damage": (lambda: damage(IMAGES, loose("blok12")), "damage"),
    "damage as a list": (lambda: damage(IMAGES, loose(["salt"])), "damage"),
    "damage as an array": (lambda: damage(IMAGES, loose(np.zeros(3))), "damage"),
    "a number for paths": (lambda: read_images(loose(torch.tensor(1.0))), "paths"),
    "an array for paths": (lambda: read_images(loose(np.zeros((2, 2)))), "paths"),
    "tensors for a shape": (
        lambda: read_images(".", image_shape=loose((1, torch.ones(2), torch.ones(2)))),
        "image_shape",
    ),
    "damage with a seed": (lambda: damage(IMAGES, "salt", generator=loose(3)), "generator"),
    "unknown damage again": (lambda: apply_damage(IMAGES, loose("blok12"), NOISE), "damage"),
    "damage noise of others": (
        lambda: apply_damage(torch.zeros(3, 1, 28, 28), "salt", NOISE),
        "noise",
    ),
    "damage noise of another size": (
        lambda: apply_damage(torch.zeros(2, 1, 20, 28), "salt", NOISE),
        "noise",
    ),
    "damage without noise": (lambda: apply_damage(IMAGES, "salt", loose(None)), "noise"),
    "any damage to one image": (lambda: any_damage(IMAGES[0], loose(None)), "images"),
    "noise for nothing": (lambda: DamageNoise.draw(loose(3), None), "images"),
    "sizes as numbers": (lambda: capacity(loose(1000)), "sizes"),
    "no sizes": (lambda: critical_distance(loose(None), 3), "sizes"),
    "no sizes for sums": (lambda: readout(loose(None), 3), "sizes"),
    "no sizes for ratios": (lambda: signal_to_noise(loose((1, 2, 1)), 3), "sizes"),
    "no sizes to first order": (lambda: first_order_ratio(loose("x"), 3), "sizes"),
    "half a pattern": (lambda: critical_distance(Sizes(9, 8, 3), loose(0.5)), "num_patterns"),
    "half a draw": (lambda: binomial_quadrature(loose(0.5), np.array([0.5])), "n"),
    "no probability": (lambda: binomial_quadrature(3, np.array([1.5])), "q"),
    "probability as a word": (lambda: binomial_quadrature(3, loose("half")), "q"),
    "bits without end": (lambda: radius_for(2**70, 0.1), "num_bits"),
    "half a bit": (lambda: first_order_capacity(loose(0.5)), "num_bits"),
    "not a share": (lambda: radius_for(100, float("nan")), "share"),
    "share as a word": (lambda: radius_for(100, loose("a")), "share"),
    "name to fetch": (lambda: fetch(loose(None)), "name"),
    "array to fetch": (lambda: fetch(loose(np.zeros(3))), "name"),
    "list to fetch": (lambda: fetch(loose(["omniglot"])), "name"),
    "mirror as a number": (lambda: fetch("omniglot", mirror=loose(3)), "mirror"),
    "a file as mirror": (lambda: fetch("omniglot", mirror="file:///etc"), "mirror"),
    "no host": (lambda: fetch("omniglot", mirror="http://"), "mirror"),
    "half a host": (lambda: fetch("omniglot", mirror="http://[::1"), "mirror"),
    "spaces in a host": (lambda: fetch("omniglot", mirror="http://a b/"), "mirror"),
    "no port": (lambda: fetch("omniglot", mirror="http://127.0.0.1:x/"), "mirror"),
    "a port too large": (lambda: fetch("omniglot", mirror="http://127.0.0.1:99999/"), "mirror"),
    "a host that cannot be": (lambda: fetch("omniglot", mirror=f"http://{'a' * 70}.b/"), "mirror"),
    "two lines": (lambda: fetch("omniglot", mirror="http://127.0.0.1/\nx"), "mirror"),
    "not ASCII": (lambda: fetch("omniglot", mirror="http://127.0.0.1/ä ö"), "mirror"),
}


@pytest.mark.parametrize("name", BAD)
def test_mistakes(name):
    call, argument = BAD[name]
    with pytest.raises(KanervaError) as caught:
        call()
    assert caught.value.argument == argument, caught.value
    assert len(str(caught.value).splitlines()) == 1


class Answers(http.server.BaseHTTPRequestHandler):
    """A server with some strange answers."""

    def do_GET(self):
        kind = self.path.split("/")[1]
        self.send_response(302 if kind == "elsewhere" else 200)
        if kind == "elsewhere":
            self.send_header("Location", "file:///etc/passwd")
        self.send_header("Content-Length", {"words": "many", "less": "-5"}.get(kind, "2"))
        self.end_headers()
        self.wfile.write(b"hi")

    def log_message(self, format, *args):
        pass


@pytest.fixture(scope="module")
def server():
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("kind", ["elsewhere", "words", "less", "fine"])
def test_strange_answers(server, tmp_path, kind):
    with pytest.raises(KanervaError) as caught:
        fetch("omniglot", mirror=f"{server}/{kind}")
    assert caught.value.argument.startswith(server)
    assert "root:" not in str(caught.value)


def test_downloads_that_cannot_be_written(server, tmp_path, monkeypatch):
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "chardata.mat.part").mkdir()
    with pytest.raises(KanervaError, match=r"chardata\.mat\.part"):
        fetch("omniglot-burda", mirror=f"{server}/fine")
    (folder / "chardata.mat.part").rmdir()

    def no_space(*args):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        with pytest.raises(KanervaError, match="no space left on device"):
            fetch("omniglot-burda", mirror=f"{server}/fine")
    (folder / "chardata.mat").mkdir()
    with pytest.raises(KanervaError, match=r"chardata\.mat.*a folder"):
        fetch("omniglot-burda", mirror=f"{server}/fine")


def test_sources_that_are_not_files(tmp_path):
    """A pipe where an archive should be would wait for ever."""
    folder = tmp_path / "data"
    folder.mkdir()
    for name in ("images_background.zip", "images_evaluation.zip", "chardata.mat"):
        os.mkfifo(folder / name)
    (folder / "cifar-10-binary.tar.gz").symlink_to("/dev/zero")
    for name in ("omniglot", "omniglot-burda", "cifar10"):
        with pytest.raises(KanervaError, match=r"a pipe|a device"):
            load_dataset(name, "test")


def test_an_empty_environment_is_no_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("KANERVA_DATA", "")
    with pytest.raises(KanervaError, match=f"in {tmp_path}/data"):
        load_dataset("omniglot", "test")


def test_a_present_folder_that_was_deleted(tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    monkeypatch.delenv("KANERVA_DATA")
    gone.rmdir()
    for name in ("omniglot", "mine", "./mine", "."):
        with pytest.raises(KanervaError):
            load_dataset(name, "test")


def test_an_image_that_disappears_while_the_folder_is_read(tmp_path, monkeypatch):
    from kanerva.data import folder as folder_file

    mine = tmp_path / "mine"
    mine.mkdir()
    for number in range(5):
        (mine / f"{number}.png").write_bytes(png(255))
    found = folder_file.find(mine)
    (mine / "3.png").unlink()
    monkeypatch.setattr(folder_file, "find", lambda folder: found)
    with pytest.raises(KanervaError, match=r"3\.png: .*nothing there"):
        load_dataset(mine, "test")
