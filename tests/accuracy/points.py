"""Peaks of training runs that were measured on real cards, against the same runs on simulated ones."""

import csv
import dataclasses
import re
import statistics

from tests.accuracy import models

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
        return not models.is_transformer(self.row["model"])

    @property
    def ran_out(self):
        """Whether the real run ended out of memory."""
        return self.row["real_oom"] == "true"

    @property
    def verdict_is_right(self):
        return "failed" not in self.result and self.ran_out == ("out_of_memory" in self.result)

    @property
    def error(self):
        """Of the growth to the reserved peak, in percent; None where there is nothing to compare."""
        if self.ran_out or self.growth is None:
            return None
        measured = int(self.row["nvml_peak_bytes"])
        return 100 * (self.growth / measured - 1)

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
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def job_of(row):
    transformer = models.is_transformer(row["model"])
    job = {
        "card": f"{_CARDS.get(row['gpu'], 'custom')}:memory={row['total_gpu_bytes']}",
        "driver": _DRIVERS[row["campaign"][:4]],
        "library": "transformers" if transformer else "torchvision",
        "model": row["model"],
        "optimizer": row["optimizer"],
        "batch": int(row["batch"]),
        "steps": int(row["iterations"].split()[0]),
        "zero_grad": int(row["zero_grad_mode"] or _UNRECORDED_ZERO_GRAD),
    }
    if transformer:
        return {**job, "length": _LENGTH}
    return {**job, "image": int(re.match(r"\d+", row["input"])[0]), "classes": int(row["num_classes"])}


def percentile(values, part):
    """The value below or at which `part` of the values lie, between two of them by a straight line."""
    ordered = sorted(values)
    at = (len(ordered) - 1) * part
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def figures_of(points):
    """{year: figures} of the CNNs, and of the transformers under "transformers"."""
    figures = {}
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
    """Whether every campaign that has a bar and rows keeps it; all verdicts have to be right."""
    return all(figures[name]["wrong_verdicts"] == 0 and
               all(figures[name].get(part, float("inf")) <= bar for part, bar in bars.items())
               for name, bars in BARS.items() if name in figures)
