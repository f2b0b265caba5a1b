"""Peaks of training runs that were measured on real cards, against the same runs on simulated ones."""

import dataclasses
import re
import statistics

from tests.accuracy import rows

COLUMNS = ["model", "optimizer", "batch", "input", "gpu", "total_gpu_bytes", "nvml_peak_bytes", "real_oom",
           "zero_grad_mode", "dtype", "num_classes", "iterations", "campaign"]

# Of a campaign: the CUDA version of its driver, and when gradients were cleared where a row does not say.
# The unrecorded rows agree with 1 (after forward) and with no other.
_DRIVERS = {"2024": "12.1", "2025": "12.4"}
_UNRECORDED_ZERO_GRAD = 1
# Of a campaign: whether the measurement's first sample of a CNN's run, from which growth counts, was taken while the first
# batch was loaded: with the model on the card, and with what the optimizer makes of it at its birth (Adagrad's sums). Both
# start the sampling thread and then move the model, without waiting for a sample; in 2024 the allocator's history was
# switched on in between. (A transformer's run waits for two seconds.) Which of the two won is read off ConvNeXt's rows of
# 2025-05 anova: without it, they are too high by just the model, and Adagrad's by the sums too.
_BASELINE_IS_BEFORE_THE_BATCH = {"2024": False, "2025": True}
# Names of the rows -> catalogue ids; others become custom cards.
_CARDS = {"RTX 3060": "rtx3060", "RTX 4060": "rtx4060", "A100-SXM4-40GB": "a100-40"}
# The length of the sequences is not recorded: up to 128 tokens.
_LENGTH = 128

# Bars: CNNs that did not run out of memory, |error| in percent.
BARS = {"2025": {"median": 2.0, "p90": 6.0}, "2024": {"median": 5.0}}


@dataclasses.dataclass
class Point:
    row: dict
    result: dict

    @property
    def year(self):
        return self.row["campaign"][:4]

    @property
    def is_cnn(self):
        return _takes_images(self.row)

    @property
    def is_judged(self):
        """Whether the row could be compared at all."""
        return "skipped" not in self.result

    @property
    def measured(self):
        """Bytes; None where the row says none, as one that ran out of memory may."""
        measured = self.row["nvml_peak_bytes"]
        return int(measured) if measured.isdecimal() else None

    @property
    def ran_out(self):
        """Whether the real run ended out of memory."""
        return self.row["real_oom"].lower() == "true"

    @property
    def verdict_is_right(self):
        return "failed" not in self.result and self.ran_out == ("out_of_memory" in self.result)

    @property
    def error(self):
        """Of the growth to the reserved peak, in percent; None where there is nothing to compare."""
        if self.ran_out or self.growth is None:
            return None
        return 100 * (self.growth / self.measured - 1)

    @property
    def _had_a_process_of_its_own(self):
        """Whether the run's kernels and library handles came with it: NVML sees these too.

        The program that recorded when gradients were cleared started a container for each run. The one before it, in 2025,
        trained all models in one process, where earlier runs had loaded them.
        """
        return self.row["zero_grad_mode"] != ""

    @property
    def growth(self):
        """Bytes that the card held at the peak and not yet in the measurement's baseline."""
        if "reserved" not in self.result:
            return None
        before, after = self.result.get("before"), self.result.get("after")
        if not self.is_cnn or not _BASELINE_IS_BEFORE_THE_BATCH[self.year] or before is None:
            return self.result["reserved"]
        growth = self.result["reserved"] - before["reserved"]
        if self._had_a_process_of_its_own and after is not None:
            growth += after["beside"] - before["beside"]
        return growth


def read(path):
    return rows.read(path, COLUMNS)


def _takes_images(row):
    """Whether the row is of a CNN; the others are a hub's transformers and read text."""
    return re.match(r"\d+x", row["input"]) is not None


def _check(row):
    """NotJudged: the row says what cannot be run as it says."""
    for column, known in [("real_oom", {"true", "false"}), ("dtype", {"fp32"}),
                          ("zero_grad_mode", {"", "0", "1", "2"})]:
        if row[column].lower() not in known:
            raise rows.NotJudged(f"{column} is {row[column]!r}, not {' or '.join(sorted(known - {''}))}")
    if row["campaign"][:4] not in _DRIVERS:
        raise rows.NotJudged(f"campaign is {row['campaign']!r}, which does not begin with {' or '.join(_DRIVERS)}")
    if _takes_images(row) and not re.fullmatch(r"(\d+)x\1x3", row["input"]):
        raise rows.NotJudged(f"input is {row['input']!r}, not a square image such as 86x86x3")
    if row["real_oom"].lower() == "false":
        rows.number(row, "nvml_peak_bytes")


def job_of(row):
    """The row's steps. NotJudged: they cannot be made of it."""
    _check(row)
    job = {
        "card": f"{_CARDS.get(row['gpu'], 'custom')}:memory={rows.number(row, 'total_gpu_bytes')}",
        "driver": _DRIVERS[row["campaign"][:4]],
        "library": "torchvision" if _takes_images(row) else "transformers",
        "model": row["model"],
        "optimizer": row["optimizer"],
        "batch": rows.number(row, "batch"),
        # "4", or "2 (target_iteration)".
        "steps": rows.number({"iterations": row["iterations"].partition(" ")[0]}, "iterations"),
        "zero_grad": int(row["zero_grad_mode"] or _UNRECORDED_ZERO_GRAD),
    }
    if not _takes_images(row):
        return {**job, "length": _LENGTH}
    return {**job, "image": int(row["input"].partition("x")[0]), "classes": rows.number(row, "num_classes")}


def compare(row, run):
    """The row beside what `run` says of its job."""
    try:
        return Point(row, run(job_of(row)))
    except rows.NotJudged as why:
        return Point(row, {"skipped": str(why)})


def percentile(values, part):
    """The value below or at which `part` of the values lie, between two of them by a straight line."""
    ordered = sorted(values)
    at = (len(ordered) - 1) * part
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def figures_of(points):
    """{year: figures} of the CNNs that are judged, and of such transformers under "transformers"."""
    figures = {}
    points = [point for point in points if point.is_judged]
    for name in ["2025", "2024", "transformers"]:
        group = [point for point in points if (point.year == name and point.is_cnn) or
                 (name == "transformers" and not point.is_cnn)]
        errors = [abs(point.error) for point in group if point.error is not None]
        if not group:
            continue
        figures[name] = {"rows": len(group), "compared": len(errors),
                         "wrong_verdicts": sum(not point.verdict_is_right for point in group)}
        if errors:
            figures[name]["median"] = statistics.median(errors)
            figures[name]["p90"] = percentile(errors, 0.9)
    return figures


def bars_hold(figures):
    """Whether every campaign that has a bar and rows keeps it; all verdicts have to be right.

    Without a median, all its rows ran out of memory or their verdicts are wrong.
    """
    return bool(figures) and all(
        figures[name]["wrong_verdicts"] == 0 and all(figures[name].get(part, 0) <= bar for part, bar in bars.items())
        for name, bars in BARS.items() if name in figures)
