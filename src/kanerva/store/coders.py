"""Which coder belongs to a memory."""

from kanerva.errors import KanervaError
from kanerva.models.kanerva_machine import KanervaMachine
from kanerva.store.images import ImageCoder, find_model
from kanerva.store.item_coder import ItemCoder
from kanerva.store.memory_config import MemoryConfig
from kanerva.store.plan import VectorPlan
from kanerva.store.vectors import VectorCoder


def check_model(model: object) -> None:
    """Refuse what is neither a model, nor the name of one, nor None."""
    if model is not None and not isinstance(model, str | KanervaMachine):
        raise KanervaError(
            "model",
            expected="a Kanerva Machine, the name of one, or None",
            got=f"{model!r}"[:80],
            fix="Pass model='omniglot', or leave it out.",
        )


def coder_of(model: KanervaMachine | str | None, plan: VectorPlan | None) -> ItemCoder:
    """The coder of a new memory: of images if a model is given, of vectors if a plan is."""
    if (model is None) == (plan is None):
        raise KanervaError(
            "model",
            expected="a model for images or a plan for vectors",
            got="neither" if model is None else "both",
            fix="Pass model='omniglot', or plan=plan_vectors(num_items, size).",
        )
    if plan is not None:
        if not isinstance(plan, VectorPlan):
            raise KanervaError(
                "plan",
                expected="what plan_vectors returned",
                got=type(plan).__name__,
                fix="Pass plan=plan_vectors(num_items, size).",
            )
        return VectorCoder(plan)
    assert model is not None
    return ImageCoder(*find_model(model))


def new_config(
    coder: ItemCoder, *, ledger: bool, half_life: float | None, dtype: str
) -> MemoryConfig:
    """The config of a new memory."""
    return MemoryConfig(
        kind=coder.kind,
        fingerprint=coder.fingerprint,
        ledger=ledger,
        half_life=None if half_life is None else float(half_life),
        dtype=dtype,
        num_rows=coder.num_rows,
        code_size=coder.code_size,
        num_blocks=coder.num_blocks,
        noise_var=coder.noise_var,
        grid=coder.grid,
        coder=coder.describe(),
    )


def make_coder(config: MemoryConfig, model: KanervaMachine | str | None) -> ItemCoder:
    """The coder of a memory that is there; `model` is the one the store was opened with."""
    if config.kind == "vectors":
        fields = config.coder["plan"]
        assert isinstance(fields, dict)
        centre = fields["centre"]
        return VectorCoder(
            VectorPlan(**{**fields, "centre": None if centre is None else tuple(centre)})
        )
    reference = config.coder.get("model")
    chosen = model if model is not None else reference
    if not isinstance(chosen, str | KanervaMachine):
        raise KanervaError(
            "model",
            expected="the model that this memory was created with: it was given as an object",
            got="none",
            fix="Open the store with it: kanerva.open(path, model=km).",
        )
    return ImageCoder(*find_model(chosen))
