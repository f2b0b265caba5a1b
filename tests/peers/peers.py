"""Our answer beside those of the tools that people use, on the same simulated cards: one command, one table.

  ./bazelw run //tests/peers [-- --card CARD… --workload NAME… --keep FILE]

Its packages are installed by the first call, hash-checked (tests/peers/requirements.lock). The whole table takes about an
hour; with --keep, rows found before are not run again. The exit status says whether our bars hold: 0 they do, 1 they do
not, 2 it was used wrongly.
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


def rows_of(card, workload, run, variables):
    """Yields a row for each tool, ours last."""
    def runs(limit=None):
        def at(batch):
            result = run({"card": card, "workload": workload, "batch": batch, "limit": limit})
            if "ran" not in result:
                raise RuntimeError(f"{workload}, batch {batch}: {result['why']}")
            return result["ran"]
        return at

    most = truth.true_maximum(runs())

    def row(tool, found, budgets_most):
        answer = found.get("answer")
        return {"card": card, "workload": workload, "tool": tool, "answer": answer, "why": found["why"],
                "true_maximum": most, "budgets_maximum": budgets_most,
                "ran": None if answer is None else runs()(answer),
                "samples": found.get("samples", 0), "seconds": found.get("seconds", 0.0)}

    for tool in TOOLS:
        yield row(tool, run({"card": card, "workload": workload, "tool": tool}), most)
    found = ours.ask(card, workload, variables)
    within = truth.true_maximum(runs(found["budget"]), most) if found["answer"] else most
    yield row(OURS, found, within)


def main(arguments):
    parser = argparse.ArgumentParser(prog="peers", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--card", nargs="+", default=CARDS, help=f"default: {' '.join(CARDS)}")
    parser.add_argument("--workload", nargs="+", default=WORKLOADS, choices=WORKLOADS, metavar="NAME",
                        help=f"some of: {' '.join(WORKLOADS)}")
    parser.add_argument("--keep", metavar="FILE", help="rows as JSON lines: read first, then appended to")
    options = parser.parse_args(arguments)
    try:
        frameworks = packages.installed(_PACKAGES, packages.PYTHON)
    except ChildProcessError as error:
        print(f"peers: {error}", file=sys.stderr)
        return 2
    keep = options.keep and os.path.join(os.environ.get("BUILD_WORKING_DIRECTORY", ""), options.keep)
    rows = table.read(keep)
    print(table.HEADER, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        variables = _environment(frameworks, folder)
        with simulated.Trainer(frameworks, "tests.peers.job", variables) as trainer:
            for card in options.card:
                for workload in options.workload:
                    known = [row for row in rows if (row["card"], row["workload"]) == (card, workload)]
                    if not known:
                        known = list(rows_of(card, workload, trainer.run, variables))
                        rows += known
                        table.append(keep, known)
                    for row in known:
                        print(table.line(row), flush=True)
    chosen = [row for row in rows if row["card"] in options.card and row["workload"] in options.workload]
    figures = table.figures_of(chosen)
    print()
    for line in table.summary(figures):
        print(line)
    hold = table.bars_hold(figures, OURS)
    print(f"peers (simulated): {len(options.workload)} workloads on {len(options.card)} cards: "
          f"{table.closing(figures, OURS)}: {'the bars hold' if hold else 'the bars DO NOT hold'}")
    return 0 if hold else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
