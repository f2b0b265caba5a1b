"""Our answer beside those of the tools that people use, on the same simulated cards: one command, one table.

  ./bazelw run //tests/peers [-- --card CARD… --workload NAME… --tool TOOL… --keep FILE --redo]

Its packages are installed by the first call, hash-checked (tests/peers/requirements.lock). The whole table takes about an
hour; with --keep, rows found before are not run again, and with --redo only theirs of --tool are. The exit status says
whether our bars hold: 0 they do, 1 they do not, 2 it was used wrongly.
"""

import argparse
import json
import os
import sys
import tempfile

from tests.accuracy import packages, simulated
from tests.peers import ours, table, truth

OURS = "autobatch"
CARDS = ["rtx3090", "rtx4060", "a100-80"]
WORKLOADS = ["resnet50-fp32-sgd", "resnet50-amp-sgd", "vgg16-fp32-sgd", "mobilenet_v3-amp-sgd",
             "convnext_tiny-fp32-adamw", "convnext_tiny-amp-adamw", "vit_b_16-amp-adamw", "gpt2-fp32-adamw",
             "gpt2-amp-adamw", "unet-amp-adamw", "yolo11n-amp-sgd", "yolo11x-amp-adamw"]
TOOLS = ["ultralytics", "yolov5", "lightning power", "lightning binsearch", "accelerate"]
_PACKAGES = "peers=tests/peers/requirements.lock"


def _environment(frameworks, folder):
    path = os.pathsep.join([os.path.abspath("tools/python"), os.getcwd(), frameworks])
    return {"PYTHONPATH": path, "YOLO_CONFIG_DIR": folder, "MPLCONFIGDIR": folder, "HF_HUB_OFFLINE": "1",
            "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}


class _Cell:
    """A workload on a card."""

    def __init__(self, card, workload, run, true_maximum=None):
        self._where = {"card": card, "workload": workload}
        self._run = run
        self._most = true_maximum or truth.true_maximum(self._runs)

    def _runs(self, batch, limit=None):
        result = self._run({**self._where, "batch": batch, "limit": limit})
        if "ran" not in result:
            raise RuntimeError(f"{self._where}, batch {batch}: {result['why']}")
        return result["ran"]

    def _row(self, tool, found, budgets_maximum):
        answer = found.get("answer")
        return {**self._where, "tool": tool, "answer": answer, "why": found["why"], "true_maximum": self._most,
                "budgets_maximum": budgets_maximum, "ran": None if answer is None else self._runs(answer),
                "samples": found.get("samples", 0), "seconds": found.get("seconds", 0.0)}

    def row_of(self, tool):
        return self._row(tool, self._run({**self._where, "tool": tool}), self._most)

    def our_row(self, variables):
        found = ours.ask(self._where["card"], self._where["workload"], variables)
        within = self._most
        if found["answer"]:
            within = truth.true_maximum(lambda batch: self._runs(batch, found["budget"]), self._most)
        return self._row(OURS, found, within)


def _rows_of(card, workload, options, kept, run, variables):
    """Yields (row, whether it is new) for each tool, ours last: those kept, and the wanted ones as they are found."""
    known = {row["tool"]: row for row in kept if (row["card"], row["workload"]) == (card, workload)}
    # The card's own maximum does not hang on who asks.
    most = next(iter(known.values()))["true_maximum"] if known else None
    cell = None
    for tool in [*TOOLS, OURS]:
        wanted = tool in options.tool and (options.redo or tool not in known)
        if wanted:
            cell = cell or _Cell(card, workload, run, most)
            known[tool] = cell.our_row(variables) if tool == OURS else cell.row_of(tool)
        if tool in known:
            yield known[tool], wanted


def main(arguments):
    parser = argparse.ArgumentParser(prog="peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--card", nargs="+", default=CARDS, help=f"default: {' '.join(CARDS)}")
    parser.add_argument("--workload", nargs="+", default=WORKLOADS, choices=WORKLOADS, metavar="NAME",
                        help=f"some of: {' '.join(WORKLOADS)}")
    parser.add_argument("--tool", nargs="+", default=[*TOOLS, OURS], choices=[*TOOLS, OURS], metavar="NAME",
                        help=f"whose rows are found: some of {', '.join([*TOOLS, OURS])}; of the others those kept")
    parser.add_argument("--keep", metavar="FILE",
                        help="rows as JSON lines: read first, then appended to; of two of one kind the later counts")
    parser.add_argument("--redo", action="store_true", help="find the tools' rows anew, those kept too")
    options = parser.parse_args(arguments)
    try:
        frameworks = packages.installed(_PACKAGES, packages.PYTHON)
    except ChildProcessError as error:
        print(f"peers: {error}", file=sys.stderr)
        return 2
    keep = options.keep and os.path.join(os.environ.get("BUILD_WORKING_DIRECTORY", ""), options.keep)
    kept = table.read(keep)
    rows = []
    print(table.HEADER, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        variables = _environment(frameworks, folder)
        with simulated.Trainer(frameworks, "tests.peers.job", variables) as trainer:
            for card in options.card:
                for workload in options.workload:
                    for row, new in _rows_of(card, workload, options, kept, trainer.run, variables):
                        rows.append(row)
                        if new:
                            table.append(keep, row)
                        print(table.line(row), flush=True)
    figures = table.figures_of(rows)
    print()
    for line in table.summary(figures):
        print(line)
    hold = table.bars_hold(figures, OURS)
    print(f"peers (simulated): {len(options.workload)} workloads on {len(options.card)} cards: "
          f"{table.closing(figures, OURS)}: {'the bars hold' if hold else 'the bars DO NOT hold'}")
    return 0 if hold else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
