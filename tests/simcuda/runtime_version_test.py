"""A framework whose CUDA cannot be simulated is told so, with the version found."""

import ctypes
import os
import subprocess
import sys
import unittest

from tests.simcuda.simulated import LIBRARY, environment

OLD_RUNTIME = os.path.abspath("tests/simcuda/libcudart.so.11.0")
INSUFFICIENT_DRIVER = 35


def count_devices():
    """As a program would that was linked with the old runtime."""
    ctypes.CDLL(OLD_RUNTIME)
    print(ctypes.CDLL(LIBRARY).cudaGetDeviceCount(ctypes.byref(ctypes.c_int())))


class RuntimeVersionTest(unittest.TestCase):
    def test_cuda_11_is_refused_with_its_version(self):
        run = subprocess.run([sys.executable, __file__, "count"], env=environment("rtx3090"),
                             text=True, capture_output=True, timeout=60, check=True)
        self.assertEqual(run.stdout, f"{INSUFFICIENT_DRIVER}\n")
        self.assertIn("the CUDA runtime is 11.8; 12 and 13 can be simulated", run.stderr)


if __name__ == "__main__":
    if sys.argv[1:] == ["count"]:
        count_devices()
    else:
        unittest.main()
