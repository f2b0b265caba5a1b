"""What was agreed for the training run, as its launcher hands it over in the environment."""

from __future__ import annotations

import dataclasses
import json
import math
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Tuple


class PlanError(ValueError):
    """A variable of the plan is missing or makes no sense; the message names each."""


@dataclasses.dataclass(frozen=True)
class Plan:
    """This rank's part of the run.

    A rank runs `accumulation` forward passes of at most `micro_batch` samples for each optimizer step
    (`micro_batches` has the samples of each); all ranks together step `global_batch` samples. Multiply the
    loss by `weight` (of each pass: `weights`), and the learning rate by `lr_factor`. An epoch has
    `steps_per_epoch` optimizer steps, the same on every rank; None where the data set's size is not known.
    `round`, `run_id` and the record's `digest` say which agreement this is; `fallback`: none was reached,
    and the batch was stated by hand.
    """

    micro_batch: int
    accumulation: int
    global_batch: int
    weight: float
    lr_factor: float
    steps_per_epoch: Optional[int]
    world_size: int
    rank: int
    round: int
    run_id: str
    digest: str = ""
    fallback: bool = False
    micro_batches: Tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not self.micro_batches:
            object.__setattr__(self, "micro_batches", (self.micro_batch,) * self.accumulation)

    @property
    def weights(self) -> Tuple[float, ...]:
        """The weight of each forward pass; their mean is `weight`."""
        samples = sum(self.micro_batches)
        factor = self.weight * self.accumulation / samples if samples else 0.0
        return tuple(size * factor for size in self.micro_batches)


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


def _micro_batches(text: str) -> Optional[Tuple[int, ...]]:
    """The samples of each pass of "57x2,56x1"."""
    sizes: List[int] = []
    for part in text.split(","):
        size, times, count = part.partition("x")
        samples, repeats = _integer(size), positive_integer(count)
        if not times or samples is None or repeats is None or len(sizes) + repeats > 1 << 20:
            return None
        sizes += [samples] * repeats
    return tuple(sizes)


def _flag(text: str) -> Optional[bool]:
    return {"0": False, "1": True}.get(text)


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
    "digest": (_words, "a digest"),
    "fallback": (_flag, "0 or 1"),
    "micro_batches": (_micro_batches, "sizes and counts, such as 57x2,56x1"),
}

# What is said only where there is something to say.
_OPTIONAL: Dict[str, Any] = {"steps_per_epoch": None, "digest": "", "fallback": False, "micro_batches": ()}


def plan_of_record(given: Mapping[str, str]) -> Plan:
    """The share of the launcher's RANK in the record's row for its WORLD_SIZE."""
    path = given["AUTOBATCH_RECORD"]
    rank, world = _integer(given["RANK"]), positive_integer(given["WORLD_SIZE"])
    if rank is None or world is None or rank >= world:
        told = (given["RANK"], given["WORLD_SIZE"])
        raise PlanError("RANK=%r, WORLD_SIZE=%r: expected a rank below the world size" % told)
    try:
        with open(path, encoding="utf-8") as file:
            record = json.load(file)
        rows = {row["processes"]: row for row in record["plan"]["rows"]}
        if world not in rows:
            raise PlanError("%s has no row for WORLD_SIZE %d; it has %s" % (path, world, sorted(rows)))
        row = rows[world]
        if row["devices"]:
            raise PlanError("in %s every device has a share of its own: start each rank by launch --worker" % path)
        return _share(record, row, rank, world)
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        if isinstance(error, PlanError):
            raise
        raise PlanError("no agreed plan: %s is no record: %r" % (path, error)) from error


def _share(record: Dict[str, Any], row: Dict[str, Any], rank: int, world: int) -> Plan:
    replica = rank // (world // row["world_size"])
    for group in row["groups"]:
        if replica < group["ranks"]:
            break
        replica -= group["ranks"]
    else:
        raise PlanError("the record's row for %d ranks has no rank %d" % (world, rank))
    sizes: List[int] = []
    for step in group["steps"]:
        sizes += [step["micro_batch"]] * step["count"]
    return Plan(
        micro_batch=max(sizes),
        accumulation=row["accumulation"],
        global_batch=row["global_batch"],
        weight=sum(sizes) * row["world_size"] / (row["global_batch"] * row["accumulation"]),
        lr_factor=row["lr_factor"],
        steps_per_epoch=row["steps_per_epoch"],
        world_size=world,
        rank=rank,
        round=record["round"],
        run_id=record["run_id"],
        digest=record["digest"],
        fallback=record["fallback"],
        micro_batches=tuple(sizes),
    )


def plan(environment: Optional[Mapping[str, str]] = None) -> Plan:
    """The plan in the AUTOBATCH_* variables that the launch hook sets (`environment`: of os.environ).

        plan = autobatch.plan()
        loader = DataLoader(data, batch_size=plan.micro_batch)
        optimizer = SGD(model.parameters(), lr=0.1 * plan.lr_factor)

    A launcher that started all ranks with the same variables leaves out those of one rank; then the row
    of this world and the share of this rank come from the record in AUTOBATCH_RECORD, by the launcher's
    WORLD_SIZE and RANK.

    Raises PlanError that names every variable that is missing or makes no sense, and when the launcher's
    WORLD_SIZE or RANK says that this is another world than the one agreed.
    """
    given = os.environ if environment is None else environment
    if "AUTOBATCH_RANK" not in given and "AUTOBATCH_RECORD" in given and "RANK" in given and "WORLD_SIZE" in given:
        return plan_of_record(given)
    values: Dict[str, Any] = {}
    wrong: List[str] = []
    for field, (read, expected) in _FIELDS.items():
        variable = "AUTOBATCH_" + field.upper()
        text = given.get(variable)
        if text is None and field in _OPTIONAL:
            values[field] = _OPTIONAL[field]
            continue
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
    sizes = values["micro_batches"]
    if sizes and (len(sizes) != values["accumulation"] or max(sizes) != values["micro_batch"]):
        raise PlanError(
            "AUTOBATCH_MICRO_BATCHES has %d passes of up to %d samples, and AUTOBATCH_ACCUMULATION=%d,"
            " AUTOBATCH_MICRO_BATCH=%d" % (len(sizes), max(sizes), values["accumulation"], values["micro_batch"])
        )
    for variable, field in (("WORLD_SIZE", "world_size"), ("RANK", "rank")):
        text = given.get(variable)
        if text is not None and text != str(values[field]):
            raise PlanError(
                "the plan is for %s %d, and the launcher started %s=%s: agree again"
                % (field.replace("_", " "), values[field], variable, text)
            )
