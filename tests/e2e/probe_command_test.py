"""A probe of the user's own program: one that knows nothing of us, and one that measures itself."""

import json
import os
import pathlib
import sys
import unittest

from tests.e2e.programs import probe, scratch

# Holds 40 MiB, and a MiB a sample while it steps.
STRANGER = """
import sys
batch, steps = int(sys.argv[1]), int(sys.argv[2])
base = b"m" * (40 << 20)
for _ in range(steps):
    work = None
    work = b"x" * (batch << 20)
"""

# A long start, and then steps of the same memory or, as asked, of 4 MiB more each time.
WITH_IMPORTS = """
import sys
batch, steps, growth = map(int, sys.argv[1:])
base = []
for _ in range(40):
    base.append(b"m" * (1 << 20))
    for _ in range(10):
        work = b"i" * (4 << 20)
for step in range(steps):
    for _ in range(8):
        work = None
        work = b"x" * ((batch + 4 * growth * step) << 20)
"""

HELPED = """
import autobatch
with autobatch.trial():
    batch = autobatch.batch(32)
    while True:
        work = None
        work = b"x" * (batch << 20)
        autobatch.step(loss=1.0, batch=batch)
"""

# As torchrun does it: a process for each rank, with the standard descriptors only.
LAUNCHER = """#!/usr/bin/env python3
import os, subprocess, sys
ranks = [subprocess.Popen([sys.executable, sys.argv[2]], close_fds=True,
                          env=dict(os.environ, RANK=str(rank), WORLD_SIZE="2")) for rank in (0, 1)]
sys.exit(max(rank.wait() for rank in ranks))
"""


# Takes 512 MiB and 16 MiB a sample of a GPU, of CUDA's runtime itself: no framework.
CUDA = """
import ctypes, sys
cuda, address = ctypes.CDLL(None), ctypes.c_void_p()
size = ctypes.c_size_t((512 << 20) + (int(sys.argv[1]) << 24))
status = cuda.cudaMalloc(ctypes.byref(address), size)
if status:
    sys.exit("cudaMalloc says %d" % status)
for _ in range(10 ** 7):
    pass
"""

# The same with a longer sample in each step, as of a data set that is sorted by length.
LONGER_AND_LONGER = """
import ctypes, sys
cuda, address = ctypes.CDLL(None), ctypes.c_void_p()
class Extent(ctypes.Structure):
    _fields_ = [("x", ctypes.c_uint), ("y", ctypes.c_uint), ("z", ctypes.c_uint)]
cuda.cudaLaunchKernel.argtypes = [ctypes.c_void_p, Extent, Extent, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
for step in range(int(sys.argv[2])):
    cuda.cudaFree(address)
    if cuda.cudaMalloc(ctypes.byref(address), ctypes.c_size_t((int(sys.argv[1]) + step) << 26)):
        sys.exit("cudaMalloc failed")
    for _ in range(50):
        cuda.cudaLaunchKernel(None, Extent(1, 1, 1), Extent(1, 1, 1), None, 0, None)
"""


class ProbeCommandTest(unittest.TestCase):
    def setUp(self):
        # Spaces and quotes reach nobody's shell.
        self.folder = scratch() / self.id() / "a user's folder"
        self.folder.mkdir(parents=True)

    def script(self, text):
        path = self.folder / "my train.py"
        path.write_text(text)
        return path.name

    def run_probe(self, *arguments, **options):
        run = probe("--device", "cpu", "--no-cache", "--memory-limit", "500MiB", "--json", "-", *arguments,
                    cwd=self.folder, **options)
        report = json.loads(run.stdout) if run.stdout else None
        return run, report

    def test_program_that_knows_nothing_of_us_gets_a_batch_that_ran(self):
        script = self.script(STRANGER)
        run, report = self.run_probe("--", sys.executable, script, "{batch}", "{steps}")
        self.assertEqual(run.returncode, 0, run.stderr)
        [device] = report["devices"]
        self.assertEqual(device["status"], "confirmed")
        # 244 MiB less its base and its interpreter.
        self.assertGreater(device["confirmed_batch"], 150)
        self.assertLess(device["confirmed_batch"], 204)
        self.assertEqual({seen["method"] for seen in device["observations"]}, {"driver"})
        self.assertEqual(report["workload"]["command"], [sys.executable, script, "{batch}", "{steps}"])
        self.assertIn("watched from outside", run.stderr)
        self.assertIn("'my train.py' {batch} {steps}", run.stderr)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["my train.py"])

    def test_framework_that_the_command_ran_on_is_named_and_one_that_nobody_saw_is_not(self):
        library = self.folder / "torch/lib/libtorch_cpu.so"
        library.parent.mkdir(parents=True)
        library.write_bytes(b"not one, but mapped")
        (self.folder / "torch/version.py").write_text("__version__ = '9.8.7+cpu'\n")
        mapped = ("import mmap, sys\nfile = open(sys.argv[3])\n"
                  "mapped = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)\n")
        for start, words in [(mapped, f"PyTorch 9.8.7+cpu in {self.folder}/torch"), ("", None)]:
            run, report = self.run_probe("--max-batch", "32", "--", sys.executable, self.script(start + STRANGER),
                                         "{batch}", "{steps}", str(library))
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertEqual(report["host"]["command_framework"], words)
            self.assertIn("its framework: " + ("PyTorch 9.8.7+cpu in" if words else "not known"), run.stderr)

    def test_program_with_the_python_package_measures_itself(self):
        script = self.script(HELPED)
        package = pathlib.Path("tools/python").resolve()
        run, report = self.run_probe("--max-batch", "64", "--", sys.executable, script,
                                     env={**os.environ, "PYTHONPATH": str(package)})
        self.assertEqual(run.returncode, 0, run.stderr)
        [device] = report["devices"]
        self.assertEqual(device["confirmed_batch"], 64)
        confirming = device["observations"][-1]
        self.assertEqual(confirming["method"], "python")
        self.assertEqual(confirming["batch_seen"], 64)
        self.assertEqual(len(confirming["steps"]), confirming["trial"]["steps"])

    def test_memory_of_the_cpu_that_grows_is_told_and_flat_steps_after_a_long_start_are_not(self):
        script = self.script(WITH_IMPORTS)
        for growth in (0, 1):
            run, report = self.run_probe("--max-batch", "32", "--", sys.executable, script, "{batch}", "{steps}",
                                         str(growth))
            self.assertEqual(run.returncode, 0, run.stderr)
            [device] = report["devices"]
            self.assertEqual(device["confirmed_batch"], 32)
            warnings = " ".join(device["warnings"])
            self.assertEqual("memory still grew after 32 steps" in warnings, growth == 1, run.stderr)

    def test_launcher_of_two_ranks_is_one_trial_with_both_ranks_memory_and_both_are_counted(self):
        launcher = self.folder / "torchrun"
        launcher.write_text(LAUNCHER)
        launcher.chmod(0o755)
        (self.folder / "rank.py").write_text(HELPED)
        package = pathlib.Path("tools/python").resolve()
        run, report = self.run_probe("--", "./torchrun", "--nproc-per-node=2", "rank.py",
                                     env={**os.environ, "PYTHONPATH": str(package)})
        self.assertEqual(run.returncode, 0, run.stderr)
        [device] = report["devices"]
        self.assertEqual(device["status"], "confirmed")
        # 244 MiB less two interpreters, and a MiB a sample of each rank.
        batch = device["confirmed_batch"]
        self.assertGreater(batch, 80)
        self.assertLess(batch, 122)
        self.assertEqual(report["world_size"], 2)
        self.assertIn(f"global batch {batch} × 2 ranks = {2 * batch}.", run.stderr)
        self.assertIn("counts the 2 ranks of torchrun --nproc-per-node=2", run.stderr)

    def test_any_cuda_program_is_observed_on_a_simulated_gpu(self):
        script = self.script(CUDA)
        run = probe("--device", "sim:rtx3090", "--no-cache", "--memory-limit", "4GiB", "--json", "-", "--",
                    sys.executable, script, "{batch}", cwd=self.folder)
        self.assertEqual(run.returncode, 0, run.stderr)
        [device] = json.loads(run.stdout)["devices"]
        confirming = device["observations"][-1]
        self.assertEqual(confirming["method"], "observer")
        self.assertTrue(confirming["simulated"])
        self.assertEqual(confirming["steady"]["reserved_bytes"],
                         (512 << 20) + (device["confirmed_batch"] << 24) + confirming["context_bytes"])
        self.assertGreater(confirming["context_bytes"], 100 << 20)
        self.assertLessEqual(device["peak_bytes"], device["budget_bytes"])

    def on_gpu(self, *command, devices="rtx3090", **options):
        run = probe("--device", f"sim:{devices}", "--no-cache", "--max-batch", "4", "--json", "-", "--", *command,
                    cwd=self.folder, **options)
        [device] = json.loads(run.stdout)["devices"]
        return run, device

    def test_program_whose_inputs_grow_gets_more_steps_and_is_called_unsettled(self):
        run, device = self.on_gpu(sys.executable, self.script(LONGER_AND_LONGER), "{batch}", "{steps}")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertGreater(device["observations"][-1]["trial"]["steps"], 8)
        self.assertTrue(device["observations"][-1]["unsettled"])
        self.assertIn("still grew", " ".join(device["warnings"]))
        run, device = self.on_gpu(sys.executable, self.script(CUDA), "{batch}")
        self.assertNotIn("still grew", " ".join(device["warnings"]))

    def test_program_that_leaves_the_gpu_alone_gets_no_answer(self):
        for command in [[sys.executable, self.script(STRANGER), "{batch}", "{steps}"],
                        # Static or setuid, it refuses the preload; here it leaves it out itself.
                        ["env", "-u", "LD_PRELOAD", "sleep", "0.{batch}"]]:
            run, device = self.on_gpu(*command)
            self.assertEqual(run.returncode, 5, run.stderr)
            self.assertEqual(device["failure"]["kind"], "model_error")
            self.assertIn("never used the GPU", device["failure"]["message"])
            self.assertIn("torch.version.cuda", device["failure"]["advice"])

    def test_program_that_ignores_its_batch_is_doubted(self):
        run, report = self.run_probe("--max-batch", "64", "--", sys.executable, "-c", "b = b'x' * 10000000",
                                     "{batch}")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("held no more memory", " ".join(report["devices"][0]["warnings"]))

    def test_lines_for_a_shell_do_not_hide_the_doubt(self):
        run = probe("--device", "cpu", "--no-cache", "--memory-limit", "500MiB", "--max-batch", "64", "--quiet",
                    "--format", "env", "--", sys.executable, "-c", "b = b'x' * 10000000", "{batch}", cwd=self.folder)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertTrue(run.stdout.startswith("AUTOBATCH_MICRO_BATCH=64\n"), run.stdout)
        self.assertIn("cpu: warning: a batch of 64 held no more memory", run.stderr)

    def test_program_that_fails_says_why(self):
        run, report = self.run_probe("--", sys.executable, "-c", "raise ValueError('no data in {batch}')")
        self.assertEqual(run.returncode, 5, run.stderr)
        failure = report["devices"][0]["failure"]
        self.assertEqual(failure["kind"], "model_error")
        self.assertIn("ValueError: no data in ", failure["message"])

    def test_command_without_a_batch_is_told_so(self):
        run, report = self.run_probe("--", "true")
        self.assertEqual(run.returncode, 5)
        self.assertEqual(report["devices"][0]["failure"]["kind"], "batch_ignored")

    def test_temporary_files_go_with_the_trial(self):
        temporary = self.folder / "temporary"
        temporary.mkdir()
        run, _ = self.run_probe("--max-batch", "1", "--", "sh", "-ec", 'mktemp -d; test -n "$TMPDIR" # {batch}',
                                env={**os.environ, "TMPDIR": str(temporary)})
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(list(temporary.iterdir()), [])

    def test_what_is_left_behind_is_named(self):
        run, report = self.run_probe("--max-batch", "1", "--", "sh", "-c",
                                     "echo {batch} > left.txt; setsid tail -f /dev/null > out 2>&1 &")
        self.assertEqual(run.returncode, 0, run.stderr)
        warnings = " ".join(report["devices"][0]["warnings"])
        self.assertIn("left in the working directory: left.txt, out", warnings)
        self.assertIn("left processes behind, which were ended: ", warnings)


if __name__ == "__main__":
    unittest.main()
