"""Compares the simulator with measurements of real cards: one command, one table, one closing line.

  ./bazelw run //tests/accuracy -- --points CSV             peaks, rows like data/xmem_points.csv
  ./bazelw run //tests/accuracy -- --ladder CSV [--sample N --seed S]
                                                            largest batches, rows like data/timm-amp-rtx3090-*.csv
  ./bazelw run //tests/accuracy -- --models                 our own models against their peers in Python

The first call installs torchvision, timm and transformers. The exit status says whether the bars hold: 0 they do, 1 they do
not, 2 it was used wrongly.
"""

import argparse
import json
import os
import sys

from tests.accuracy import ladder, packages, points, simulated, workloads
from tests.accuracy.rows import BadTable

MIB = 1 << 20
RECORDED = "tests/accuracy/recorded.json"
# timm as it was when the ladder was measured.
LADDER = "ladder=tests/accuracy/ladder_requirements.lock"


def _percent(value):
    return "-" if value is None else f"{value:+.1f} %"


def _mib(value):
    return "-" if value is None else f"{value / MIB:,.0f}"


def _ended(result):
    for word in ("failed", "skipped"):
        if word in result:
            return f"{word}: {result[word]}"
    return "out of memory" if "out_of_memory" in result else "ran"


def run_points(rows, trainer):
    """Prints the table; whether the bars hold, and the closing words."""
    print(f"{'campaign':8} {'model':28} {'optimizer':9} {'batch':>5} {'card':15} {'measured':>9} {'simulated':>9} "
          f"{'error':>8}  ended")
    compared = []
    for row in rows:
        point = points.compare(row, trainer.run)
        compared.append(point)
        verdict = "" if point.verdict_is_right or not point.is_judged or not point.is_cnn else " (WRONG)"
        print(f"{point.year:8} {row['model'][:28]:28} {row['optimizer']:9} {row['batch']:>5} {row['gpu'][:15]:15} "
              f"{_mib(point.measured):>9} {_mib(point.growth):>9} "
              f"{_percent(point.error):>8}  {_ended(point.result)}{verdict}", flush=True)
    figures = points.figures_of(compared)
    words = []
    for name, figure in figures.items():
        median = "none compared"
        if "median" in figure:
            median = f"median {figure['median']:.1f} %, p90 {figure['p90']:.1f} %"
        bars = ", ".join(f"{part} <= {bar:g} %" for part, bar in points.BARS.get(name, {}).items())
        words.append(f"{name}: {figure['compared']} of {figure['rows']} rows, {median}, {figure['wrong_verdicts']} "
                     f"wrong verdicts" + (f" (bars: {bars}, 0)" if bars else " (no bar)"))
    not_judged = sum(not point.is_judged for point in compared)
    if not_judged:
        words.append(f"{not_judged} rows not judged")
    return points.bars_hold(figures), "; ".join(words)


def run_ladder(rows, channels_last, floor, trainer):
    """Prints the table; whether the bars hold, and the closing words. `floor`: what the file's last figure was."""
    found = []
    print(f"{'model':44} {'pixels':>6} {'measured':>8} {'simulated':>9}  rungs off")
    for row in rows:
        model = ladder.climb(row, trainer.run, channels_last)
        found.append(model)
        batch = "-" if model.found is None else [*ladder.RUNGS, 0][model.found]
        words = "left out: " if model.is_left_out else "FAILED: " if model.off is None else f"{model.off or '':>2} "
        print(f"{row['model'][:44]:44} {row['train_img_size']:>6} {row['train_batch_size']:>8} {batch:>9}  "
              f"{words}{model.why}".rstrip(), flush=True)
    figures = ladder.figures_of(found)
    if figures["models"] == 0:
        return False, "no model could be compared"
    words = (f"{figures['models']} models ({len(found) - figures['models']} left out): "
             f"{figures['same']} ({figures['exact']:.1f} %) the same rung, {figures['within_one']:.1f} % within one, "
             f"{figures['above']} too high, {figures['below']} too low, {figures['failed']} failed "
             f"(bars: {ladder.BARS['exact']:g} %, {ladder.BARS['within_one']:g} %" +
             (f", last recorded {floor} the same" if floor is not None else "") + ")")
    return ladder.bars_hold(figures, floor), words


def run_models(trainer):
    """Prints the table; whether every pair is within the bar, and the closing words."""
    print(f"{'workload':10} {'peer':13} {'batch':>5} {'ours':>9} {'peer':>9} {'error':>8}")
    worst = 0.0
    broken = 0
    for pair in workloads.compare(trainer.run):
        print(f"{pair.workload:10} {pair.peer:13} {pair.batch:>5} {_mib(pair.ours):>9} {_mib(pair.theirs):>9} "
              f"{_percent(pair.error):>8}  {pair.why}", flush=True)
        if pair.error is None:
            broken += 1
        else:
            worst = max(worst, abs(pair.error))
    return (broken == 0 and worst <= workloads.BAR,
            f"worst difference {worst:.2f} % (bar: {workloads.BAR:g} %), {broken} pairs without a figure")


def _recorded(path):
    """How many models of the whole file had the same rung last; None: it is not recorded."""
    with open(RECORDED, encoding="utf-8") as file:
        return json.load(file)["ladder"].get(os.path.basename(path))


def _count(text):
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is not a number above 0")
    return int(text)


def main(arguments):
    parser = argparse.ArgumentParser(prog="accuracy", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--points", metavar="CSV", help="measured peaks")
    what.add_argument("--ladder", metavar="CSV", help="largest batches; nhwc in its name: channels last")
    what.add_argument("--models", action="store_true", help="our models against their peers in Python")
    parser.add_argument("--sample", type=_count, metavar="N", help="of the ladder: only N models")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="which ones (default 0)")
    options = parser.parse_args(arguments)
    # bazel run starts programs elsewhere.
    given = options.points or options.ladder
    path = given and os.path.join(os.environ.get("BUILD_WORKING_DIRECTORY", ""), given)
    if options.sample and not options.ladder:
        parser.error("--sample is for --ladder")
    try:
        if options.points:
            rows = points.read(path)
        elif options.ladder:
            rows = ladder.read(path, options.sample, options.seed)
        frameworks = packages.installed(*([LADDER] if options.ladder else []), packages.PYTHON)
    except (ChildProcessError, OSError, BadTable) as error:
        print(f"accuracy: {error}", file=sys.stderr)
        return 2
    with simulated.Trainer(frameworks) as trainer:
        if options.points:
            hold, words = run_points(rows, trainer)
        elif options.ladder:
            floor = None if options.sample else _recorded(path)
            hold, words = run_ladder(rows, ladder.is_channels_last(path), floor, trainer)
        else:
            hold, words = run_models(trainer)
    print(f"accuracy (simulated against measured): {words}: {'the bars hold' if hold else 'the bars DO NOT hold'}")
    return 0 if hold else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
