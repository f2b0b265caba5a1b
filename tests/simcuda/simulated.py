"""Runs a LibTorch program on simulated devices."""

import json
import os
import subprocess

PROGRAM = os.path.abspath("tests/simcuda/torch_program")
LIBRARY = os.path.abspath("autobatch/simcuda/libsimcuda.so")


def environment(devices, **variables):
    """What makes a program see `devices`."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("AUTOBATCH_", "CUDA_", "PYTORCH_"))}
    return {**clean, "LD_PRELOAD": LIBRARY, "AUTOBATCH_SIM_DEVICES": devices,
            "AUTOBATCH_SIM_NODE": "test", **variables}


def start(devices, *actions, **variables):
    """The running program, for tests that talk to it."""
    return subprocess.Popen([PROGRAM, *actions], env=environment(devices, **variables), text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run(devices, *actions, **variables):
    """(exit status, its JSON lines, stderr) of the program's whole run."""
    done = subprocess.run([PROGRAM, *actions], env=environment(devices, **variables), text=True,
                          capture_output=True, timeout=120, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr
