"""The HTTP API: what each address does. The work itself is in `ServedMemory`."""

import base64
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import torch
from fastapi import APIRouter, Query, Request, Response
from fastapi import Path as InPath
from torch import Tensor

from kanerva import __version__
from kanerva.web import messages as m
from kanerva.web.answers import ERRORS, image_answer, numbers, summary
from kanerva.web.characters import ready_made
from kanerva.web.images import Format, decoded, to_bytes
from kanerva.web.limits import KNOWN_FROM, MAX_IMAGES, MAX_ITEMS
from kanerva.web.memories import Memories
from kanerva.web.refusals import RefusedError
from kanerva.web.served_memory import ServedMemory, mean_codes

Name = Annotated[str, InPath(pattern=m.NAME, description="The name of a memory.")]
Ids = Annotated[list[m.ItemId], Query(min_length=1, max_length=MAX_IMAGES)]


class Api:
    """The routes, with what they work on.

    Args:
        memories: all memories of the server.
        samples: the name of the model for new images.
        page_memory: the stored memory that the page opens; None for one of the session.
        cookie: the name of the cookie of a session.

    """

    def __init__(
        self, memories: Memories, *, samples: str, page_memory: str | None, cookie: str
    ) -> None:
        self.memories = memories
        self.samples_name = samples
        self.recall_name = Path(memories.reference).name  # where it is concerns nobody
        self.page_memory = page_memory
        self.cookie = cookie
        self.shape = memories.recall.config.image_shape
        self.router = APIRouter(prefix="/api", responses=ERRORS)  # pyright: ignore
        self._add_routes()

    def _add_routes(self) -> None:
        def add(method: str, path: str, function: Callable[..., object], **options: object) -> None:
            self.router.add_api_route(path, function, methods=[method], **options)  # pyright: ignore

        one = "/memories/{name}"
        add("GET", "/about", self.about, summary="What this server is")
        add("GET", "/characters", self.characters, summary="Ready-made drawings")
        add("GET", "/memories", self.list_memories, summary="List the memories you can use")
        add("POST", "/memories", self.create, status_code=201, summary="Create a memory")
        add("DELETE", one, self.delete, status_code=204, summary="Delete a memory")
        add("GET", f"{one}/items", self.items, summary="List what was written")
        add("POST", f"{one}/items", self.write, status_code=201, summary="Write images")
        add("DELETE", f"{one}/items", self.forget, summary="Forget items exactly")
        add("POST", f"{one}/read", self.read, summary="Read what the memory holds for cues")
        add("POST", f"{one}/generate", self.generate, summary="Make new images")
        add("POST", f"{one}/interpolate", self.interpolate, summary="Images between two")
        add("POST", f"{one}/merge", self.merge, summary="Merge other memories into this one")
        add("GET", f"{one}/state", self.state, summary="Sizes, fill and covariance")
        add(
            "GET", f"{one}/export", self.export, summary="The sums as a safetensors file",
            response_class=Response,
            responses={200: {"content": {"application/octet-stream": {
                "schema": {"type": "string", "format": "binary"}}}}},
        )  # fmt: skip

    # -- the server ------------------------------------------------------------------------------

    def about(self) -> m.About:
        """The version, the models, and the sizes and limits that requests must keep."""
        return m.About(
            version=__version__,
            models=m.Models(recall=self.recall_name, samples=Path(self.samples_name).name),
            image_shape=list(self.shape),
            page_memory=self.page_memory,
            has_store=self.memories.store is not None,
            known_from=KNOWN_FROM,
            max_images=MAX_IMAGES,
            max_items=MAX_ITEMS,
        )

    def characters(
        self,
        num: Annotated[int, Query(ge=1, le=MAX_IMAGES)] = 12,
        seed: Annotated[int, Query(ge=0, lt=2**31)] = 0,
        format: Format = "png",
    ) -> m.Items:
        """Letterforms that nobody has written yet, with their fonts as labels."""
        drawn, names = ready_made(num, seed=seed, size=self.shape[-1])
        items = [
            self._item(f"{seed}-{number}", name, 0.0, image, format)
            for number, (image, name) in enumerate(zip(drawn, names, strict=True))
        ]
        return m.Items(items=items, num_items=len(items))

    # -- memories --------------------------------------------------------------------------------

    def list_memories(self, request: Request) -> m.Memories:
        """Your own memories first, then those of the server's folder."""
        found = self.memories.names(self._session(request))
        return m.Memories(memories=[summary(one) for one in found])

    def create(self, new: m.NewMemory, request: Request, response: Response) -> m.Memory:
        """A new, empty memory. The answer sets a cookie if it is the first one of your session."""
        before = self._session(request)
        session, memory = self.memories.create(before, new.name, stored=new.stored)
        if session is not None and session != before:
            response.set_cookie(self.cookie, session, httponly=True, samesite="strict", path="/")
        return summary(memory)

    def delete(self, name: Name, request: Request) -> Response:
        """The memory and all its items are gone."""
        self.memories.delete(self._session(request), name)
        return Response(status_code=204)

    # -- items -----------------------------------------------------------------------------------

    def items(self, name: Name, request: Request, format: Format = "png") -> m.Items:
        """In the order in which they were written."""
        memory = self._find(request, name)
        rows = memory.items()
        items = [self._item(*row, format) for row in rows]
        return m.Items(items=items, num_items=memory.info().num_items)

    def write(self, name: Name, new: m.NewItems, request: Request) -> m.Written:
        """All of them are written, or none."""
        memory = self._find(request, name)
        images = self._images([item.image for item in new.items], "image")
        with self.memories.computing():
            done = memory.write(
                images,
                ids=[item.id for item in new.items],
                labels=[item.label for item in new.items],
            )
        info = memory.info()
        return m.Written(ids=done.ids, num_items=info.num_items, state=info.state)

    def forget(self, name: Name, id: Ids, request: Request) -> m.ForgetReceipt:
        """The memory is then as if they had never been written."""
        done = self._find(request, name).forget(id)
        return m.ForgetReceipt(
            ids=list(done.ids),
            num_items=done.num_items,
            time=done.time,
            before=done.before,
            after=done.after,
            purged=done.purged,
        )

    # -- reading ---------------------------------------------------------------------------------

    def read(self, name: Name, asked: m.Cues, request: Request) -> m.ReadAnswer:
        """Each reading has a confidence; a low one means "not in memory"."""
        memory = self._find(request, name)
        cues = self._images(asked.cues, "cues")
        with self.memories.computing():
            result = memory.read(cues, num_readings=asked.num_readings)
            steps = torch.stack([cues, *(step.cpu() for step in result.steps)], 1)  # (T, 1 + S)
            addresses = memory.addresses(steps.flatten(0, 1)).unflatten(0, steps.shape[:2])
        codes = mean_codes(result.weights, memory.state())
        return m.ReadAnswer(
            readings=[
                m.Reading(
                    image=image_answer(result.images[number], asked.format),
                    confidence=confidence,
                    known=confidence >= asked.threshold,
                    weights=numbers(result.weights[number]),
                    codes=codes[number].tolist(),
                    steps=[image_answer(s, asked.format) for s in steps[number, 1:]] * asked.steps,
                    step_weights=[numbers(one) for one in addresses[number]] * asked.steps,
                )
                for number, confidence in enumerate(result.confidence.clamp(0, 1).tolist())
            ]
        )

    def generate(self, name: Name, asked: m.Generate, request: Request) -> m.ImagesAnswer:
        """Like what was written. The same seed gives the same images."""
        memory = self._find(request, name)
        with self.memories.computing():
            images = memory.generate(asked.num, seed=asked.seed)
        return m.ImagesAnswer(images=[image_answer(image, asked.format) for image in images])

    def interpolate(self, name: Name, asked: m.Interpolate, request: Request) -> m.ImagesAnswer:
        """Read from the memory along the line between the weights of two images."""
        memory = self._find(request, name)
        ends = [
            memory.item(end) if isinstance(end, str) else self._images([end], argument)[0]
            for argument, end in (("start", asked.start), ("end", asked.end))
        ]
        with self.memories.computing():
            images = memory.interpolate(ends[0], ends[1], steps=asked.steps)
        return m.ImagesAnswer(images=[image_answer(image, asked.format) for image in images])

    def merge(self, name: Name, asked: m.Merge, request: Request) -> m.Memory:
        """As if everything had been written into this one."""
        if len(set(asked.sources)) < len(asked.sources):
            raise RefusedError(
                409, "sources", expected="each memory once", got=str(asked.sources)[:80],
                fix="Leave the second one out.",
            )  # fmt: skip
        memory = self._find(request, name)
        with self.memories.computing():
            memory.merge([self._source(request, source) for source in asked.sources])
        return summary(memory)

    def state(self, name: Name, request: Request) -> m.MemoryDetails:
        """How full the memory is, and how sure of its rows."""
        memory = self._find(request, name)
        info, filling = memory.info(), memory.filling()
        covariance, largest = memory.covariance()
        return m.MemoryDetails(
            **summary(memory).model_dump(),
            kind=info.kind,
            num_rows=info.num_rows,
            code_size=info.code_size,
            dtype=info.dtype,
            model=self.recall_name,
            fingerprint=info.fingerprint,
            num_bytes=info.num_bytes,
            fill=filling.share,
            full=filling.is_full,
            covariance=base64.b64encode(to_bytes(covariance).tobytes()).decode(),
            covariance_max=largest,
        )

    def export(self, name: Name, request: Request) -> Response:
        """To merge it into a store elsewhere. It holds no single item."""
        data = self._find(request, name).export()
        return Response(data, media_type="application/octet-stream")

    # -- helpers ---------------------------------------------------------------------------------

    def _session(self, request: Request) -> str | None:
        return request.cookies.get(self.cookie)

    def _find(self, request: Request, name: str) -> ServedMemory:
        return self.memories.find(self._session(request), name)

    def _source(self, request: Request, name: str) -> ServedMemory:
        """A memory to merge; 404 would mean that the one to merge into is missing."""
        try:
            return self._find(request, name)
        except RefusedError as error:
            raise RefusedError(
                409, "sources", expected=error.expected, got=error.got, fix=error.fix
            ) from None

    def _images(self, images: "list[m.Image]", argument: str) -> Tensor:
        binary = self.memories.recall.config.likelihood == "bernoulli"
        found = [
            decoded(image.model_dump(), argument=argument, image_shape=self.shape, binary=binary)
            for image in images
        ]
        return torch.stack(found)

    def _item(
        self, id: str, label: str | None, time: float, image: Tensor, format: Format
    ) -> m.Item:
        return m.Item(id=id, label=label, time=time, image=image_answer(image, format))
