"""Parts of the device check that need no framework; a simulated node plays the real one."""

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

from tests.e2e.json_schema import differences

SCRIPT = os.path.abspath("tools/device_check/device_check")
LIBRARY = os.path.abspath("autobatch/simcuda/libsimcuda.so")
SCHEMA = "tools/device_check/schema/device_check.v1.json"
MIB = 1 << 20


def load():
    loader = importlib.machinery.SourceFileLoader("device_check", SCRIPT)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("device_check", loader))
    loader.exec_module(module)
    return module


check = load()


def node(devices):
    """A side that is simulated, and taken for the real one."""
    environment = {**os.environ, "LD_PRELOAD": LIBRARY, "AUTOBATCH_SIM_DEVICES": devices,
                   "AUTOBATCH_SIM_NODE": "the real one"}
    return check.Side(sys.executable, environment, time.monotonic() + 100)


# Stands for a Python with PyTorch: the driver is asked as it is, all that needs PyTorch is answered at once, in the
# form of measure.py; the soak fails.
STAND_IN = """#!{python}
import json, subprocess, sys
part = sys.argv[2]
if part == "visible":
    sys.exit(subprocess.run([{python!r}, *sys.argv[1:]]).returncode)
if part == "soak":
    sys.exit("no such memory")
print(json.dumps({{
    "card": {{"name": "a card", "total": 24 << 30, "major": 8, "minor": 9, "multiprocessors": 128, "torch": "2.11.0",
             "context": 400 << 20, "kernels": 16 << 20, "kinds": 16, "cublas": 9 << 20, "cudnn": 3 << 20}},
    "convolutions": {{"copies": {{"float32_forward": {{"8x64x56x56 64x3x3": 1.0}}}}}},
    "nccl": {{"taken": 70 << 20, "result": 42}},
    "train": {{"reserved": 2 << 30, "allocated": 1 << 30, "events": 9, "segments": 2, "trace": "0123456789abcdef"}},
}}[part]))
"""


class DeviceCheckTest(unittest.TestCase):
    def test_report_is_what_its_schema_says(self):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            python = pathlib.Path(folder, "python")
            python.write_text(STAND_IN.format(python=sys.executable))
            python.chmod(0o755)
            done = subprocess.run([sys.executable, SCRIPT, "--python", str(python), "--out", folder],
                                  env=node("rtx4090").environment, text=True, capture_output=True, timeout=200,
                                  check=False)
            self.assertEqual(done.returncode, 0, done.stderr)
            report = json.loads(pathlib.Path(folder, "report.json").read_text())
        self.assertTrue(report["simulated"])
        self.assertEqual(report["soak"], {"failed": "no such memory"})
        self.assertEqual(len(report["peaks"]), 30)
        self.assertEqual(differences(report, SCHEMA), [])
        report["card"]["colour"] = "green"
        del report["nccl"]["taken"]
        self.assertEqual(len(differences(report, SCHEMA)), 2)

    def test_without_a_gpu_it_says_so_and_stops(self):
        done = subprocess.run([sys.executable, SCRIPT], env=node("").environment, text=True, capture_output=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, check.NO_GPU, done.stderr)
        self.assertEqual(done.stdout, "device_check: no GPU is at hand (the driver says 100); nothing was measured\n")

    def test_verdicts_of_two_like_nodes_agree(self):
        found = check.verdicts(node("rtx4090:count=2"), 2, "rtx4090:count=2")
        self.assertGreater(len(found["rows"]), 40)
        self.assertEqual([row for row in found["rows"] if row["real"] != row["simulated"]], [])
        by_text = {row["text"]: row["real"] for row in found["rows"]}
        self.assertEqual(by_text["0,2,-1,1"], [0])
        self.assertIn([1], list(by_text.values()))

    def test_verdicts_that_differ_are_counted(self):
        self.assertGreater(check.verdicts(node("rtx4090:count=2"), 2, "rtx4090:count=3")["different"], 0)

    def test_calibration_takes_apart_what_was_measured(self):
        card = {"context": 400 * MIB, "multiprocessors": 100, "kernels": 16 * MIB, "kinds": 16, "cublas": 9 * MIB,
                "cudnn": 3 * MIB}
        copies = {"float32_forward": {"a 64x3x3": 1.0, "b 64x3x3": 3.0, "c 64x1x1": 90.0}}
        parts = check.calibrate(card, {"copies": copies}, {"taken": 70 * MIB})
        self.assertAlmostEqual(parts["context_base"] / MIB, 400 - 291)
        self.assertEqual(parts["lazy_kernel"], MIB)
        self.assertEqual((parts["cublas_handle"], parts["cudnn_handle"], parts["nccl_base"]),
                         (9 * MIB, 3 * MIB, 70 * MIB))
        self.assertEqual(parts["convolution.float32_forward"], 2.0)

    def test_small_context_has_no_base(self):
        card = {"context": 100 * MIB, "multiprocessors": 100, "kernels": -5, "kinds": 16, "cublas": 0, "cudnn": 0}
        parts = check.calibrate(card, {"failed": "no time left"}, {"failed": "no time left"})
        self.assertEqual((parts["context_base"], parts["context_per_multiprocessor"], parts["lazy_kernel"]),
                         (0, MIB, 0))
        self.assertNotIn("nccl_base", parts)


if __name__ == "__main__":
    unittest.main()
