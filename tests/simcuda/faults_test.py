"""Faults on demand, as a LibTorch program meets them."""

import json
import os
import signal
import subprocess
import tempfile
import unittest

from tests.simcuda.simulated import run, start

GIB = 1 << 30
SMALL = "custom:memory=8GiB:sm=8.6:context=400MiB"


class FaultsTest(unittest.TestCase):
    def failed(self, faults, *actions, devices="rtx3090"):
        status, lines, stderr = run(devices, *actions, AUTOBATCH_SIM_FAULTS=faults)
        self.assertEqual(status, 1, f"{lines} {stderr}")
        return lines[-1]["failed"]

    def test_out_of_memory_comes_at_the_nth_allocation(self):
        self.assertIn("CUDA out of memory", self.failed("oom_at=3", "train=32"))

    def test_out_of_memory_that_passes_is_survived_by_a_retry(self):
        # The framework tries again after it emptied its cache.
        status, lines, _ = run("rtx3090", "train=32", AUTOBATCH_SIM_FAULTS="oom_at=3;oom_count=1")
        self.assertEqual(status, 0, lines)

    def test_out_of_memory_in_backward_spares_forward(self):
        status, lines, _ = run("rtx3090", "fill", AUTOBATCH_SIM_FAULTS="oom_in=backward")
        self.assertGreater(lines[0]["tensors"], 80)
        self.assertEqual(status, 0)
        self.assertIn("CUDA out of memory", self.failed("oom_in=backward", "train=512"))

    def test_out_of_memory_from_a_batch_spares_smaller_ones(self):
        status, lines, _ = run("rtx3090", "train=31", AUTOBATCH_SIM_FAULTS="oom_from_batch=32")
        self.assertEqual(status, 0, lines)
        self.assertIn("CUDA out of memory", self.failed("oom_from_batch=32", "train=32"))

    def test_launch_error_is_the_contexts_end(self):
        self.assertIn("an illegal memory access", self.failed("launch_error_at=20", "train=8"))

    def test_lost_device_fails_every_later_call(self):
        self.assertIn("CUDA error: unknown error", self.failed("lost_at=20", "train=8"))

    def test_crash_ends_the_process_by_a_signal(self):
        status, _, _ = run("rtx3090", "train=8", AUTOBATCH_SIM_FAULTS="crash_at=20")
        self.assertEqual(status, -signal.SIGSEGV)

    def test_hang_waits_forever(self):
        process = start("rtx3090", "memory", "train=8", AUTOBATCH_SIM_FAULTS="hang_at=20")
        self.assertIn("free", json.loads(process.stdout.readline()))
        with self.assertRaises(subprocess.TimeoutExpired):
            process.communicate(timeout=3)
        process.kill()
        process.communicate()

    def test_spilling_gives_more_memory_than_the_card_has(self):
        _, [plain], _ = run("rtx3090", "train=2048")
        self.assertGreater(plain["reserved"], 10 * GIB)
        _, [spilled], _ = run(SMALL, "train=2048", AUTOBATCH_SIM_FAULTS="spill=1")
        self.assertGreater(spilled["reserved"], 10 * GIB)

    def test_stolen_memory_is_gone_in_mid_run(self):
        status, [before, after], _ = run(SMALL, "fill", "fill",
                                         AUTOBATCH_SIM_FAULTS="stolen=2GiB@40")
        self.assertEqual(status, 0)
        self.assertEqual(before["tensors"] - after["tensors"], 8)

    def test_misspelt_fault_ends_the_program(self):
        status, _, stderr = run("rtx3090", "memory", AUTOBATCH_SIM_FAULTS="oom_att=3")
        self.assertEqual(status, 2)
        self.assertIn("the nearest is 'oom_at'", stderr)


class SharingTest(unittest.TestCase):
    def test_two_processes_on_one_card_see_each_other(self):
        with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
            _, [alone], _ = run(SMALL, "memory", AUTOBATCH_SIM_SHARED=folder)
            holder = start(SMALL, f"hold={2 * GIB}", AUTOBATCH_SIM_SHARED=folder)
            self.assertEqual(json.loads(holder.stdout.readline()), {"held": 2 * GIB})
            _, [beside], _ = run(SMALL, "memory", AUTOBATCH_SIM_SHARED=folder)
            # Its context takes room too.
            taken = alone["free"] - beside["free"]
            self.assertGreaterEqual(taken, 2 * GIB + (400 << 20))
            self.assertLess(taken, 2 * GIB + (410 << 20))
            _, [filled], _ = run(SMALL, "fill", AUTOBATCH_SIM_SHARED=folder)
            self.assertEqual(filled["tensors"], (6 * 1024 - 2 * 400 - 2) // 256)
            holder.kill()
            holder.communicate()
            _, [again], _ = run(SMALL, "memory", AUTOBATCH_SIM_SHARED=folder)
            self.assertEqual(again["free"], alone["free"])


if __name__ == "__main__":
    unittest.main()
