"""The largest batch that ran on a real card, against the largest that runs on a simulated one."""

import dataclasses
import random

from tests.accuracy import rows

COLUMNS = ["model", "train_batch_size", "train_img_size", "param_count"]
# The batches that timm's benchmark tries.
RUNGS = [512, 384, 256, 192, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1]
# The card and driver of the results: CUDA 11.3 loads every kernel with the context.
_CARD = "rtx3090:memory=25447170048"
_DRIVER = "11.3"

# Bars: models whose rung is the same, and within one; percent.
BARS = {"exact": 95.0, "within_one": 100.0}


@dataclasses.dataclass
class Model:
    row: dict
    # Index of the largest rung that ran, one past the last where none did; None: there is no such figure, and `why`.
    found: int | None
    why: str = ""
    # A model that cannot be made here is left out; one that fails here is not.
    is_left_out: bool = False

    @property
    def measured(self):
        return RUNGS.index(int(self.row["train_batch_size"]))

    @property
    def off(self):
        """Rungs above what was measured; None: it failed."""
        return None if self.found is None else self.measured - self.found


def read(path, sample, seed):
    """The file's rows, or `sample` of them."""
    every = rows.read(path, COLUMNS)
    if sample is None or sample >= len(every):
        return every
    return random.Random(seed).sample(every, sample)


def is_channels_last(path):
    return "nhwc" in path.rsplit("/", 1)[-1]


def job_of(row, channels_last):
    """The row's descent. NotJudged: it cannot be made of it."""
    if rows.number(row, "train_batch_size") not in RUNGS:
        raise rows.NotJudged(f"train_batch_size is {row['train_batch_size']}, none of the batches that are tried")
    return {
        "card": _CARD, "driver": _DRIVER, "library": "timm", "model": row["model"], "batches": RUNGS,
        # As many classes as the model has of itself.
        "image": rows.number(row, "train_img_size"), "classes": None,
        "million_parameters": rows.number(row, "param_count", float), "channels_last": channels_last,
    }


def climb(row, run, channels_last):
    """The largest rung that runs, from the top down in one process, as the benchmark looked for it."""
    try:
        result = run(job_of(row, channels_last))
    except rows.NotJudged as why:
        result = {"skipped": str(why)}
    if "skipped" in result:
        return Model(row, None, result["skipped"], is_left_out=True)
    if "failed" in result:
        return Model(row, None, result["failed"])
    other = result.get("other", "")
    if result["ran"] == 0:
        return Model(row, None if other else len(RUNGS), other)
    return Model(row, RUNGS.index(result["ran"]), other)


def figures_of(found):
    """Of the models that were not left out."""
    compared = [model for model in found if not model.is_left_out]
    if not compared:
        return {"models": 0}
    count = len(compared)
    same = sum(model.off == 0 for model in compared)
    return {
        "models": count,
        "same": same,
        "exact": 100 * same / count,
        "within_one": 100 * sum(model.off is not None and abs(model.off) <= 1 for model in compared) / count,
        "above": sum((model.off or 0) > 0 for model in compared),
        "below": sum((model.off or 0) < 0 for model in compared),
        "failed": sum(model.off is None for model in compared),
    }


def bars_hold(figures, recorded):
    """Whether the bars hold, and no fewer have the same rung than was recorded last (None: nothing was)."""
    return all(figures[part] >= bar for part, bar in BARS.items()) and figures["same"] >= (recorded or 0)
