"""Runs training steps as they are asked for on stdin, each in a process of its own.

The program is started once under the simulation and imports the frameworks; every job is a fork of it, which sees
the card that the job names. One JSON object a line: a job comes in, its result goes out.
"""

import contextlib
import importlib
import json
import os
import sys

import torch

from tests.accuracy import models

RATE = 0.001
OPTIMIZERS = {
    "SGD": lambda parameters: torch.optim.SGD(parameters, lr=RATE),
    "Momentum": lambda parameters: torch.optim.SGD(parameters, lr=RATE, momentum=0.9),
    "Nesterov": lambda parameters: torch.optim.SGD(parameters, lr=RATE, momentum=0.9, nesterov=True),
    "Adam": lambda parameters: torch.optim.Adam(parameters, lr=RATE),
    "AdamW": lambda parameters: torch.optim.AdamW(parameters, lr=RATE),
    "RMSprop": lambda parameters: torch.optim.RMSprop(parameters, lr=RATE),
    "Adagrad": lambda parameters: torch.optim.Adagrad(parameters, lr=RATE),
    "Adafactor": lambda parameters: torch.optim.Adafactor(parameters, lr=RATE),
}

# When gradients are cleared, as xmem_points.csv numbers it.
BEFORE_THE_BATCH, AFTER_FORWARD, AFTER_THE_STEP = range(3)


def _layout(job):
    return torch.channels_last if job.get("channels_last") else torch.contiguous_format


def _batch(job, device):
    """Inputs and targets."""
    count = job["batch"]
    if job["library"] == "transformers":
        tokens = torch.zeros(count, job["length"], dtype=torch.long, device=device)
        return tokens, tokens.clone()
    images = torch.zeros(count, 3, job["image"], job["image"], device=device)
    return images.contiguous(memory_format=_layout(job)), torch.zeros(count, dtype=torch.long, device=device)


def _autocast(job):
    return torch.autocast("cuda", dtype=torch.float16) if job.get("amp") else contextlib.nullcontext()


def _forward(model, inputs, targets, job):
    """What keeps the graph alive, and the loss."""
    with _autocast(job):
        if job["library"] == "transformers":
            outputs = model(input_ids=inputs, labels=targets, use_cache=job.get("keeps_cache", True))
            return outputs, outputs.loss
        outputs = model(inputs)
        return outputs, torch.nn.functional.cross_entropy(outputs, targets)


def train(model, job):
    """Runs the job's steps on the current device."""
    torch.backends.cudnn.benchmark = job.get("benchmark", False)
    model = model.to("cuda", memory_format=_layout(job))
    optimizer = OPTIMIZERS[job["optimizer"]](model.parameters())
    to_none = not job.get("zeroed_gradients", False)
    cleared = job["zero_grad"]
    # A batch that stays on the device, or one a step from the host.
    batches = [_batch(job, "cuda" if job.get("batch_stays") else "cpu")] * job["steps"]
    for inputs, targets in batches:
        if cleared == BEFORE_THE_BATCH:
            optimizer.zero_grad(to_none)
        # Under the same names, as in most programs: by now the step before has given its batch back.
        inputs = inputs.cuda()
        targets = targets.cuda()
        outputs, loss = _forward(model, inputs, targets, job)
        if cleared == AFTER_FORWARD:
            optimizer.zero_grad(to_none)
        loss.backward()
        optimizer.step()
        if cleared == AFTER_THE_STEP:
            optimizer.zero_grad(to_none)
    torch.cuda.synchronize()
    del outputs


def _is_as_measured(model, job):
    """Whether it is the model that was measured: models change from version to version."""
    expected = job.get("million_parameters")
    if expected is None:
        return True
    millions = sum(parameter.numel() for parameter in model.parameters()) / 1e6
    return abs(millions - expected) <= 0.006 + 0.001 * expected


def result_of(job):
    """What the job's steps took, or how they ended."""
    os.environ["AUTOBATCH_SIM_DEVICES"] = job["card"]
    os.environ["AUTOBATCH_SIM_DRIVER"] = job["driver"]
    result = {}
    try:
        model = models.make(job)
        if not _is_as_measured(model, job):
            return {"skipped": "another model by now: its parameters differ"}
        train(model, job)
    except LookupError as error:
        return {"skipped": str(error)}
    except torch.OutOfMemoryError:
        result["out_of_memory"] = True
    except Exception as error:  # Whatever it is: the table tells it, and the rows after it still run.
        return {"failed": f"{type(error).__name__}: {str(error)[:300]}"}
    statistics = torch.cuda.memory_stats()
    return {**result, "reserved": statistics["reserved_bytes.all.peak"],
            "allocated": statistics["allocated_bytes.all.peak"], "retries": statistics["num_alloc_retries"]}


def main():
    torch.set_num_threads(1)
    # Results have a descriptor of their own: a framework that prints must not spoil them.
    results = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        job = json.loads(line)
        # Here, so that the forks have it: it takes seconds.
        importlib.import_module(job["library"])
        child = os.fork()
        if child == 0:
            os.write(results, (json.dumps(result_of(job)) + "\n").encode())
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status != 0:
            os.write(results, (json.dumps({"failed": f"its process ended with status {status}"}) + "\n").encode())


if __name__ == "__main__":
    main()
