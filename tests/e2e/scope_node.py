"""Starts a data-parallel program on two simulated GPUs at once, by torchrun under a probe."""

import json
import os
import pathlib
import sys
import unittest

from tests.e2e.programs import probe, scratch

FRAMEWORKS = os.environ.get("AUTOBATCH_TEST_FRAMEWORKS", "")
SCRIPT = os.path.abspath("tests/e2e/ddp_train.py")


@unittest.skipUnless(FRAMEWORKS, "torch's companions for Python are not here: run tools/ci_setup")
class ScopeNodeCase(unittest.TestCase):
    def run_probe(self, *arguments, devices="rtx3080-12,rtx3090", ranks=2):
        """`arguments`: of the probe, then "--" and of the script."""
        own, script = arguments[:arguments.index("--")], arguments[arguments.index("--") + 1:]
        path = os.pathsep.join([str(pathlib.Path("tools/python").resolve()), FRAMEWORKS])
        run = probe("--device", f"sim:{devices}", "--scope", "node", "--no-cache", "--json", "-", *own, "--",
                    sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", SCRIPT, *script,
                    cwd=scratch(), env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1",
                                        "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
        return run, json.loads(run.stdout) if run.stdout else None
