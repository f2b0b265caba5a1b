"""The worker's own models against the same models in Python, on the same simulated card."""

import dataclasses
import json
import os
import subprocess

from tests.accuracy import simulated

WORKER = os.path.abspath("autobatch/worker/worker")
_CARD = "a100-80"
_DRIVER = "13.0"
_STEPS = 3
# Two batches each. fp32: a loss scaler is no part of the comparison.
BAR = 1.0  # percent


@dataclasses.dataclass
class Pair:
    workload: str
    peer: str
    batch: int
    ours: int | None
    theirs: int | None
    why: str = ""

    @property
    def error(self):
        return None if self.ours is None or self.theirs is None else 100 * (self.ours / self.theirs - 1)


# (our name, library, its name, batches)
PEERS = [
    ("resnet18", "torchvision", "resnet18", (32, 256)),
    ("resnet50", "torchvision", "resnet50", (16, 128)),
    ("resnet50", "timm", "resnet50.tv_in1k", (16, 128)),
    ("vit_b_16", "torchvision", "vit_b_16", (16, 128)),
    ("gpt2", "transformers", "gpt2", (2, 16)),
]


def _setting(name):
    """The workload as the worker is asked for it."""
    return {"kind": "built_in", "name": name, "precision": "fp32", "optimizer": "momentum", "zero_grad": "none",
            "image_size": 224, "sequence_length": 1024, "classes": 1000, "evaluation_batch": 0}


def _our_peak(name, batch):
    """(reserved peak, "") or (None, what went wrong)."""
    request_in, request_out = os.pipe()
    report_in, report_out = os.pipe()
    environment = {**simulated.environment(_CARD, _DRIVER), "AUTOBATCH_REQUEST_FD": str(request_in),
                   "AUTOBATCH_REPORT_FD": str(report_out)}
    # A core only: every step is no work at all.
    with subprocess.Popen([WORKER], env=environment, pass_fds=[request_in, report_out]) as worker:
        os.close(request_in)
        os.close(report_out)
        with os.fdopen(request_out, "w") as requests:
            for request in [
                    {"type": "setup", "protocol": 1, "device": "cuda", "workload": _setting(name)},
                    {"type": "trial", "trial": {"purpose": "confirm", "batch": batch, "steps": _STEPS}}]:
                requests.write(json.dumps(request) + "\n")
        with os.fdopen(report_in) as reports:
            lines = [json.loads(line) for line in reports]
    result = lines[-1].get("result") if lines else None
    if result is None:
        return None, "the worker gave no result"
    if result.get("failure"):
        return None, str(result["failure"])
    return max(step["peak"]["reserved_bytes"] for step in result["steps"]), ""


def _their_job(library, name, batch):
    return {"card": _CARD, "driver": _DRIVER, "library": library, "model": name, "batch": batch, "image": 224,
            "length": 1024, "classes": 1000, "optimizer": "Momentum", "zero_grad": 0, "batch_stays": True,
            # Keys and values kept for generation are no part of training.
            "keeps_cache": False, "steps": _STEPS}


def compare(run, peers=None):
    """Yields a pair for each workload, peer and batch. `run`: runs a job in Python."""
    for name, library, peer, batches in peers or PEERS:
        for batch in batches:
            ours, why = _our_peak(name, batch)
            result = run(_their_job(library, peer, batch))
            yield Pair(name, library, batch, ours, result.get("reserved"),
                       why or result.get("failed") or result.get("skipped") or "")
