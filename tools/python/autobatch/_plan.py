"""What was agreed for the training run, as its launcher hands it over in the environment."""

from __future__ import annotations

import dataclasses
import math
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple


class PlanError(ValueError):
    """A variable of the plan is missing or makes no sense; the message names each."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """This rank's part of the run.

    A rank runs `accumulation` forward passes of at most `micro_batch` samples for each optimizer step;
    all ranks together step `global_batch` samples. Multiply the loss by `weight`, and the learning rate
    by `lr_factor`. An epoch has `steps_per_epoch` optimizer steps, the same on every rank. `round` and
    `run_id` say which agreement this is.
    """

    micro_batch: int
    accumulation: int
    global_batch: int
    weight: float
    lr_factor: float
    steps_per_epoch: int
    world_size: int
    rank: int
    round: int
    run_id: str


def positive_integer(text: str) -> Optional[int]:
    """The number, if it is one from 1 to 2^63 - 1 in plain digits."""
    value = _integer(text)
    return value if value is not None and value > 0 else None


def _integer(text: str) -> Optional[int]:
    if not (text.isascii() and text.isdigit()) or int(text) >= 1 << 63:
        return None
    return int(text)


def _real(text: str) -> Optional[float]:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and value >= 0 else None


def _positive_real(text: str) -> Optional[float]:
    value = _real(text)
    return value if value is not None and value > 0 else None


def _words(text: str) -> Optional[str]:
    return text or None


_FIELDS: Dict[str, Tuple[Callable[[str], Any], str]] = {
    "micro_batch": (positive_integer, "a positive whole number"),
    "accumulation": (positive_integer, "a positive whole number"),
    "global_batch": (positive_integer, "a positive whole number"),
    "weight": (_real, "a number from 0 up"),
    "lr_factor": (_positive_real, "a positive number"),
    "steps_per_epoch": (positive_integer, "a positive whole number"),
    "world_size": (positive_integer, "a positive whole number"),
    "rank": (_integer, "a whole number from 0 up"),
    "round": (_integer, "a whole number from 0 up"),
    "run_id": (_words, "a name"),
}


def plan(environment: Optional[Mapping[str, str]] = None) -> Plan:
    """The plan in the AUTOBATCH_* variables that the launch hook sets (`environment`: of os.environ).

        plan = autobatch.plan()
        loader = DataLoader(data, batch_size=plan.micro_batch)
        optimizer = SGD(model.parameters(), lr=0.1 * plan.lr_factor)

    Raises PlanError that names every variable that is missing or makes no sense, and when the launcher's
    WORLD_SIZE or RANK says that this is another world than the one agreed.
    """
    given = os.environ if environment is None else environment
    values: Dict[str, Any] = {}
    wrong: List[str] = []
    for field, (read, expected) in _FIELDS.items():
        variable = "AUTOBATCH_" + field.upper()
        text = given.get(variable)
        value = None if text is None else read(text)
        if value is None:
            wrong.append(variable + (" is missing" if text is None else "=%r: expected %s" % (text, expected)))
        values[field] = value
    if wrong:
        raise PlanError("no agreed plan: " + "; ".join(wrong))
    _check(values, given)
    return Plan(**values)


def _check(values: Dict[str, Any], given: Mapping[str, str]) -> None:
    if values["rank"] >= values["world_size"]:
        raise PlanError(
            "AUTOBATCH_RANK=%(rank)d: expected a rank below AUTOBATCH_WORLD_SIZE=%(world_size)d" % values
        )
    if values["global_batch"] < values["micro_batch"]:
        raise PlanError(
            "AUTOBATCH_GLOBAL_BATCH=%(global_batch)d is less than AUTOBATCH_MICRO_BATCH=%(micro_batch)d" % values
        )
    for variable, field in (("WORLD_SIZE", "world_size"), ("RANK", "rank")):
        text = given.get(variable)
        if text is not None and text != str(values[field]):
            raise PlanError(
                "the plan is for %s %d, and the launcher started %s=%s: agree again"
                % (field.replace("_", " "), values[field], variable, text)
            )
