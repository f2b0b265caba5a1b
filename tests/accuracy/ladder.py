"""The largest batch that ran on a real card, against the largest that runs on a simulated one."""

import csv
import dataclasses
import random

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
    # Index of the largest rung that ran; None: the model was left out, and `why`.
    found: int | None
    why: str = ""

    @property
    def measured(self):
        return RUNGS.index(int(self.row["train_batch_size"]))

    @property
    def off(self):
        """Rungs above what was measured."""
        return self.measured - self.found


def read(path, sample, seed):
    """The file's rows, or `sample` of them."""
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if sample is None or sample >= len(rows):
        return rows
    return random.Random(seed).sample(rows, sample)


def is_channels_last(path):
    return "nhwc" in path.rsplit("/", 1)[-1]


def job_of(row, channels_last):
    return {
        "card": _CARD, "driver": _DRIVER, "library": "timm", "model": row["model"], "batches": RUNGS,
        "image": int(row["train_img_size"]), "classes": 1000, "million_parameters": float(row["param_count"]),
        "channels_last": channels_last,
    }


def climb(row, run, channels_last):
    """The largest rung that runs, from the top down in one process, as the benchmark looked for it."""
    result = run(job_of(row, channels_last))
    if "skipped" in result or "failed" in result:
        return Model(row, None, result.get("skipped") or result["failed"])
    if result["ran"] == 0:
        return Model(row, None, "not even a batch of one runs")
    return Model(row, RUNGS.index(result["ran"]))


def figures_of(found):
    """Of the models that were not left out."""
    compared = [model for model in found if model.found is not None]
    if not compared:
        return {"models": 0}
    count = len(compared)
    return {
        "models": count,
        "exact": 100 * sum(model.off == 0 for model in compared) / count,
        "within_one": 100 * sum(abs(model.off) <= 1 for model in compared) / count,
        "above": sum(model.off > 0 for model in compared),
        "below": sum(model.off < 0 for model in compared),
    }


def bars_hold(figures, recorded):
    """Whether the bars hold, and no less is exact than was recorded last (None: nothing was)."""
    return all(figures[part] >= bar for part, bar in BARS.items()) and figures["exact"] >= (recorded or 0)
