"""Runs what it is asked for on stdin, each job in a process of its own: one JSON object a line, in and out.

A job is {"card", "workload"} with either "tool", which looks for a batch, or "batch", which trains it; "limit": within
so many bytes of the allocator's.
"""

import contextlib
import importlib
import json
import os
import sys
import time

import torch

from tests.peers import tools, workloads

# What is imported before any job is, since it takes seconds; the rest is imported by the job that needs it.
_SLOW = ["torchvision", "transformers", "ultralytics.nn.tasks", "yolov5.utils.autobatch", "lightning", "accelerate"]
# Steps that a batch has to last: as many as ours takes to confirm one.
_STEPS = 8
# How memory that ran out is called by those who took it outside the allocator.
_OUT_OF_MEMORY = ("CUBLAS_STATUS_ALLOC_FAILED", "unable to find an engine")


def _train(workload, batch, limit):
    if limit is not None:
        total = torch.cuda.get_device_properties(0).total_memory
        torch.cuda.set_per_process_memory_fraction(limit / total)
    model = workload.model().cuda()
    optimizer = workload.optimizer(model.parameters())
    for _ in range(_STEPS):
        workload.step(model, optimizer, workload.kind.batch(batch, "cuda"))
    torch.cuda.synchronize()


def result_of(job):
    """{"ran": whether}, or a tool's {"answer", "samples", "seconds"}; "why" there was none."""
    os.environ["AUTOBATCH_SIM_DEVICES"] = job["card"]
    workload = workloads.WORKLOADS[job["workload"]]
    if "batch" in job:
        try:
            _train(workload, job["batch"], job.get("limit"))
        except RuntimeError as error:
            if isinstance(error, torch.OutOfMemoryError) or any(words in str(error) for words in _OUT_OF_MEMORY):
                return {"ran": False}
            raise
        return {"ran": True}
    counter = {"samples": 0}
    begin = time.monotonic()
    answer, why = None, ""
    try:
        answer = tools.TOOLS[job["tool"]](workload, counter)
    except tools.NotForThis as error:
        why = str(error)
    except Exception as error:  # A tool that breaks is a row of the table.
        why = f"{type(error).__name__}: {str(error)[:200]}"
    return {"answer": answer, "why": why, "seconds": time.monotonic() - begin, **counter}


def main():
    torch.set_num_threads(1)
    # Results have a descriptor of their own: what tools print goes to stderr.
    results = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for name in _SLOW:
        importlib.import_module(name)
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            result = {"why": "it ended without an answer"}
            with contextlib.suppress(SystemExit):
                try:
                    result = result_of(json.loads(line))
                except Exception as error:  # The table tells it, and goes on.
                    result = {"why": f"{type(error).__name__}: {str(error)[:300]}"}
            os.write(results, (json.dumps(result) + "\n").encode())
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status != 0:
            os.write(results, (json.dumps({"why": f"its process ended with status {status}"}) + "\n").encode())


if __name__ == "__main__":
    main()
