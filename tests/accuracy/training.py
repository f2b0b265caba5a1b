"""Runs training steps as they are asked for on stdin, each in a process of its own.

The program is started once under the simulation and imports the frameworks; every job is a fork of it, which sees
the card that the job names. One JSON object a line: a job comes in, its result goes out.
"""

import importlib
import json
import os
import signal
import sys

import torch

from tests.accuracy import benchmark, models

RATE = 0.001
# What a library's own module does not import before it is used.
_MODULES = {"transformers": "transformers.modeling_utils"}
# No job may stop the table; the longest takes a minute.
SECONDS_A_JOB = 900

# When gradients are cleared, as xmem_points.csv numbers it.
BEFORE_THE_BATCH, AFTER_FORWARD, AFTER_THE_STEP = range(3)


def _optimizer(name, parameters):
    if name == "Momentum":
        return torch.optim.SGD(parameters, lr=RATE, momentum=0.9)
    known = {other.__name__.lower(): other for other in vars(torch.optim).values() if isinstance(other, type)}
    if name.lower() not in known:
        raise models.NotHere(f"torch has no optimizer {name}")
    return known[name.lower()](parameters, lr=RATE)


def _batch(job, device):
    """Inputs and targets."""
    count = job["batch"]
    if job["library"] == "transformers":
        tokens = torch.zeros(count, job["length"], dtype=torch.long, device=device)
        return tokens, tokens.clone()
    images = torch.zeros(count, 3, job["image"], job["image"], device=device)
    return images, torch.zeros(count, dtype=torch.long, device=device)


def _forward(model, inputs, targets, job):
    """What keeps the graph alive, and the loss."""
    if job["library"] == "transformers":
        outputs = model(input_ids=inputs, labels=targets, use_cache=job.get("keeps_cache", True))
        return outputs, outputs.loss
    outputs = model(inputs)
    if isinstance(outputs, tuple):
        # Beside it, what helps the first layers to learn.
        outputs = outputs[0]
    return outputs, torch.nn.functional.cross_entropy(outputs, targets)


def _use():
    """What this process holds of the device: in the framework's allocator, and beside it; bytes."""
    free, total = torch.cuda.mem_get_info()
    reserved = torch.cuda.memory_reserved()
    return {"reserved": reserved, "beside": total - free - reserved}


def train(model, optimizer, job):
    """Runs the job's steps on the current device, where the model is."""
    cleared = job["zero_grad"]
    # A batch that stays on the device, or one a step from the host.
    batches = [_batch(job, "cuda" if job.get("batch_stays") else "cpu")] * job["steps"]
    for inputs, targets in batches:
        if cleared == BEFORE_THE_BATCH:
            optimizer.zero_grad()
        # Under the same names, as in most programs: by now the step before has given its batch back.
        inputs = inputs.cuda()
        targets = targets.cuda()
        outputs, loss = _forward(model, inputs, targets, job)
        if cleared == AFTER_FORWARD:
            optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if cleared == AFTER_THE_STEP:
            optimizer.zero_grad()
    torch.cuda.synchronize()
    del outputs


def result_of(job):
    """What the job's steps took, or how they ended; bytes, "before" the first batch and "after" the last step."""
    os.environ["AUTOBATCH_SIM_DEVICES"] = job["card"]
    os.environ["AUTOBATCH_SIM_DRIVER"] = job["driver"]
    result = {}
    try:
        if "batches" in job:
            return benchmark.descend(job)
        model = models.make(job).to("cuda")
        optimizer = _optimizer(job["optimizer"], model.parameters())
        result["before"] = _use()
        train(model, optimizer, job)
        result["after"] = _use()
    except (models.NotHere, ImportError) as error:  # Some models import what few have when they first run.
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
        importlib.import_module(_MODULES.get(job["library"], job["library"]))
        child = os.fork()
        if child == 0:
            signal.alarm(SECONDS_A_JOB)
            os.write(results, (json.dumps(result_of(job)) + "\n").encode())
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status != 0:
            code = os.waitstatus_to_exitcode(status)
            why = f"its process ended with status {code}"
            if code == -signal.SIGALRM:
                why = f"it was not done after {SECONDS_A_JOB} seconds"
            os.write(results, (json.dumps({"failed": why}) + "\n").encode())


if __name__ == "__main__":
    main()
