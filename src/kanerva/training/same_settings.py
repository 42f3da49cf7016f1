"""Whether a run that is to be continued has the settings that it began with."""

from dataclasses import replace

from kanerva.errors import KanervaError
from kanerva.training.config import Config, config_to_json
from kanerva.training.prepare import is_there, with_source


def check_same_settings(there: Config, here: Config, *, may_extend: bool = False) -> None:
    """Refuse to continue a run with other settings."""
    there = with_source(there)  # version 0.1 wrote relative paths
    if there.training.compile is None:  # and did not decide whether to compile
        there = _deciding_as(here, there)
    if here.training.compile is None:
        here = _deciding_as(there, here)
    if may_extend and not is_there(there):  # the images were moved; they are compared later
        there = replace(there, data=replace(there.data, name=here.data.name))
    if may_extend and there.training.steps < here.training.steps:
        there = replace(there, training=replace(there.training, steps=here.training.steps))
    if there != here:
        fix = "Leave the settings as they were, or name another folder with --out."
        if may_extend:
            fix = (
                "Leave these flags out: the run keeps its settings. Only more --training.steps, "
                "--device and --data-folder may change, and --data.name if the folder of images "
                "was moved, so that it is not at its old place any more."
            )
        raise KanervaError(
            "run folder",
            expected="the same settings as the run that began there",
            got=_difference(there, here),
            fix=fix,
        )


def _deciding_as(decided: Config, config: Config) -> Config:
    """A config with the decision of another one whether to compile."""
    compile, compile_from = decided.training.compile, decided.training.compile_from
    training = replace(config.training, compile=compile, compile_from=compile_from)
    return replace(config, training=training)


def _difference(there: Config, here: Config) -> str:
    old, new = config_to_json(there), config_to_json(here)
    return "; ".join(
        f"{part}.{name} {old[part].get(name)} there, {new[part].get(name)} here"
        for part in new
        for name in {**old[part], **new[part]}
        if old[part].get(name) != new[part].get(name)
    )
