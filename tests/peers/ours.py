"""Asks our own probe, as a user does: a command in a terminal."""

import json
import os
import subprocess
import sys
import tempfile

PROBE = os.path.abspath("tools/probe")


def ask(card, workload, variables):
    """Of the probe's report: {"answer", "budget" in bytes, "samples", "seconds", "why"}."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("AUTOBATCH_", "CUDA_", "PYTORCH_", "TORCH"))}
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        done = subprocess.run(
            [PROBE, "--device", f"sim:{card}", "--no-cache", "--quiet", "--json", report, "--", sys.executable, "-m",
             "tests.peers.train", workload], env={**clean, **variables}, text=True, capture_output=True, check=False)
        if not os.path.exists(report):
            return {"answer": None, "why": done.stderr.strip()[-300:], "samples": 0, "seconds": 0.0}
        with open(report, encoding="utf-8") as file:
            [device] = json.load(file)["devices"]
    failure = device["failure"]
    return {"answer": device["confirmed_batch"], "budget": device["budget_bytes"],
            "why": failure["message"] if failure else device["status"],
            "samples": device["samples_stepped"], "seconds": device["elapsed_ms"] / 1000}
