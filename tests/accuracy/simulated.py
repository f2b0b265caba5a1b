"""Starts programs on simulated cards; among them such as take jobs on stdin, training.py for one."""

import json
import os
import subprocess
import sys

LIBRARY = os.path.abspath("autobatch/simcuda/libsimcuda.so")


def environment(card=None, driver=None):
    """What makes a program see the card; without one, it says itself which one it wants."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("AUTOBATCH_", "CUDA_", "PYTORCH_", "TORCH"))}
    if card is not None:
        clean.update(AUTOBATCH_SIM_DEVICES=card, AUTOBATCH_SIM_DRIVER=driver)
    return {**clean, "LD_PRELOAD": LIBRARY, "AUTOBATCH_SIM_NODE": "accuracy", "OMP_NUM_THREADS": "1",
            "TRANSFORMERS_VERBOSITY": "error"}


class Trainer:
    """A program that takes jobs, started when it is first asked. Jobs run one after the other."""

    def __init__(self, frameworks, program="tests.accuracy.training", variables=None):
        """`frameworks`: the PYTHONPATH of torch and its companions; `variables`: of the environment, beside ours."""
        self._frameworks = frameworks
        self._program = program
        self._variables = variables or {}
        self._process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process is not None:
            self._process.stdin.close()
            self._process.wait()

    def _start(self):
        path = os.pathsep.join([os.getcwd(), self._frameworks])
        # Attention was not fused in the timm of the measured rows; nothing is fetched from a hub.
        # transformers asks the device whether every sequence is one piece, and would hold a mask if not:
        # it is, but no kernel has looked.
        yes = "CompareEqFunctor=1;and_kernel_cuda=1"
        own = {"PYTHONPATH": path, "AUTOBATCH_SIM_READ_BACK": yes, "TIMM_FUSED_ATTN": "0", "HF_HUB_OFFLINE": "1",
               "PYTHONWARNINGS": "ignore", **self._variables}
        self._process = subprocess.Popen(
            [sys.executable, "-m", self._program], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env={**environment(), **own})

    def run(self, job):
        """What the program says of the job."""
        if self._process is None:
            self._start()
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self._program} ended; its last words are above")
        return json.loads(line)
