"""What cannot work on simulated devices is said at once, or by the trial that met it, with what would work."""

import json
import os
import sys
import unittest

from tests.e2e.programs import descendants, probe, scratch, setuid_program

OLD_RUNTIME = os.path.abspath("tests/simcuda/libcudart.so.11.0")

# Takes 512 MiB of a GPU, of CUDA's runtime itself, in the process that the mode says.
PROGRAM = """
import ctypes, os, signal, sys
def take():
    cuda, address = ctypes.CDLL(None), ctypes.c_void_p()
    assert cuda.cudaMalloc(ctypes.byref(address), ctypes.c_size_t(512 << 20)) == 0
    for _ in range(10 ** 6):
        pass
mode = sys.argv[1]
if mode == "fork":
    if os.fork() == 0:
        take()
        sys.exit(0)
    os.wait()
elif mode == "daemon":
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            take()
            os.write(writing, b".")
            signal.pause()
        os._exit(0)
    os.wait()
    os.read(reading, 1)
elif mode == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    take()
    while True:
        signal.pause()
"""


class BadInputTest(unittest.TestCase):
    def run_probe(self, devices, *arguments, **variables):
        run = probe("--device", f"sim:{devices}", "--no-cache", "--max-batch", "2", "--json", "-", *arguments,
                    cwd=scratch(), env={**os.environ, **variables})
        return run, json.loads(run.stdout)["devices"][0] if run.stdout else None

    def program(self, mode, *options):
        return self.run_probe("rtx3090", *options, "--", sys.executable, "-c", PROGRAM, mode, "{batch}")

    def test_devices_that_cannot_be_are_refused_before_anything_starts(self):
        for devices, words in [
            ("rtx3099", "the nearest is 'rtx3090'"),
            ("", "right would be sim:rtx3090,a100-80"),
            ("rtx3090,,t4", "an empty entry"),
            ("custom", "needs its memory"),
            ("custom:memory=0", "64MiB to 16TiB"),
            ("custom:memory=24GiB:context=30GiB", "no room"),
            ("custom:memory=24GiB:sm=86", "write it like 8.6"),
            ("rtx3090:used=24GiB", "more than the card has"),
            ("rtx3090:mig=1g.5gb", "has no MIG"),
            ("a100-80:mig=1g.5gb", "it has 1g.10gb, "),
        ]:
            run, _ = self.run_probe(devices)
            self.assertEqual(run.returncode, 2, f"{devices}: {run.stderr}")
            self.assertIn(words, run.stderr)

    def test_fault_that_is_misspelt_is_refused(self):
        run, _ = self.run_probe("t4", AUTOBATCH_SIM_FAULTS="oom_att=3")
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("AUTOBATCH_SIM_FAULTS: unknown fault 'oom_att'; the nearest is 'oom_at'", run.stderr)

    def test_help_has_the_cards_and_the_faults(self):
        text = probe("--help").stdout
        for words in ["sim:rtx3090", "custom:memory=24GiB:sm=8.6", "AUTOBATCH_SIM_FAULTS", "stolen=2GiB@N",
                      "checks what it computed"]:
            self.assertIn(words, text)

    def test_card_that_others_fill_has_no_room_for_a_context(self):
        run, device = self.run_probe("rtx3090:used=23.6GiB")
        self.assertEqual(run.returncode, 4, run.stderr)
        self.assertEqual(device["failure"]["kind"], "out_of_memory")
        self.assertIn("no room for CUDA's own context", device["failure"]["message"])
        self.assertIn("free the device", device["failure"]["advice"])

    def test_card_without_kernels_says_what_is_missing(self):
        run, device = self.run_probe("v100-16")
        self.assertEqual(run.returncode, 5, run.stderr)
        self.assertIn("no kernel image", device["failure"]["message"])
        self.assertIn("compute capability", device["failure"]["advice"])

    def test_allocator_without_peaks_is_refused(self):
        for command in [[], ["--", sys.executable, "-c", PROGRAM, "fork", "{batch}"]]:
            run, device = self.run_probe("t4", *command, PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")
            self.assertEqual(run.returncode, 5, run.stderr)
            self.assertIn("cudaMallocAsync keeps no peaks", device["failure"]["message"])
            self.assertIn("eave that setting out", device["failure"]["advice"])

    def test_framework_of_another_cuda_is_told_the_version_that_was_found(self):
        program = ("import ctypes, sys; ctypes.CDLL(sys.argv[1]); "
                   "ctypes.CDLL(None).cudaGetDeviceCount(ctypes.byref(ctypes.c_int()))")
        run, device = self.run_probe("rtx3090", "--", sys.executable, "-c", program, OLD_RUNTIME, "{batch}")
        self.assertEqual(run.returncode, 5, run.stderr)
        self.assertIn("never used the GPU (simcuda: the CUDA runtime is 11.8; 12 and 13 can be simulated",
                      device["failure"]["message"])

    def test_program_that_is_not_there_is_named(self):
        run, device = self.run_probe("t4", "--", "python3 train.py {batch}")
        self.assertEqual(run.returncode, 5, run.stderr)
        self.assertIn("'python3 train.py {batch}' cannot be executed", device["failure"]["message"])
        self.assertIn("one word", device["failure"]["advice"])

    def test_program_with_anothers_rights_is_refused(self):
        program = setuid_program(self, scratch())
        run, _ = self.run_probe("t4", "--", str(program), "{batch}")
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("setuid", run.stderr)

    def test_program_that_forks_is_measured_in_its_child(self):
        run, device = self.program("fork")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertGreater(device["peak_bytes"], 512 << 20)

    def test_program_that_daemonises_is_measured_and_ended(self):
        run, device = self.program("daemon")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertGreater(device["peak_bytes"], 512 << 20)
        self.assertIn("left processes behind, which were ended: ", " ".join(device["warnings"]))

    def test_program_deaf_to_signals_ends_at_the_trials_timeout(self):
        run, device = self.program("deaf", "--trial-timeout", "10s")
        self.assertEqual(run.returncode, 6, run.stderr)
        self.assertEqual(device["failure"]["kind"], "timeout")
        self.assertIn("{steps}", device["failure"]["advice"])
        self.assertEqual(descendants(os.getpid()), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
