"""Runs programs on simulated devices: one of LibTorch, and those of a framework in Python."""

import json
import os
import subprocess
import sys

PROGRAM = os.path.abspath("tests/simcuda/torch_program")
# What a framework in Python is found by: the locked one, or that of an interpreter.
FRAMEWORKS = os.environ.get("AUTOBATCH_TEST_FRAMEWORKS", "")
PYTHON = os.environ.get("AUTOBATCH_TEST_PYTHON", "") or (FRAMEWORKS and sys.executable)
LIBRARY = os.path.abspath("autobatch/simcuda/libsimcuda.so")
# For programs that look for the driver themselves, Triton for one.
DRIVER_FOLDER = os.path.abspath("autobatch/simcuda/driver")


def environment(devices, **variables):
    """What makes a program see `devices`."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("AUTOBATCH_", "CUDA_", "PYTORCH_"))}
    return {**clean, "LD_PRELOAD": LIBRARY, "AUTOBATCH_SIM_DEVICES": devices,
            "AUTOBATCH_SIM_NODE": "test", **variables}


def python_environment(devices, **variables):
    """What makes a program that PYTHON runs find its framework, and see `devices`."""
    path = {} if os.environ.get("AUTOBATCH_TEST_PYTHON") else {"PYTHONPATH": FRAMEWORKS}
    return environment(devices, LD_LIBRARY_PATH=DRIVER_FOLDER, OMP_NUM_THREADS="1", **path, **variables)


def start(devices, *actions, **variables):
    """The running program, for tests that talk to it."""
    return subprocess.Popen([PROGRAM, *actions], env=environment(devices, **variables), text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def run(devices, *actions, **variables):
    """(exit status, its JSON lines, stderr) of the program's whole run."""
    done = subprocess.run([PROGRAM, *actions], env=environment(devices, **variables), text=True,
                          capture_output=True, timeout=120, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr
