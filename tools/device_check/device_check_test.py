"""Parts of the device check that need no framework; a simulated node plays the real one."""

import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import time
import unittest

SCRIPT = os.path.abspath("tools/device_check/device_check")
LIBRARY = os.path.abspath("autobatch/simcuda/libsimcuda.so")
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


class DeviceCheckTest(unittest.TestCase):
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
