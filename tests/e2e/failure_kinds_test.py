"""Every kind of failure there is (types/failure.h), as a user's command meets it on a simulated GPU."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import unittest

from tests.e2e.programs import PROBE, probe, scratch

# Of CUDA's runtime itself, without a framework: `take` in MiB, until it is refused if that is 0.
PREFIX = """
import ctypes, os, signal, sys
cuda = ctypes.CDLL(None)
def take(mib):
    address, taken = ctypes.c_void_p(), 0
    while cuda.cudaMalloc(ctypes.byref(address), ctypes.c_size_t((mib or 16) << 20)) == 0:
        taken += 1
        if mib:
            break
    for _ in range(10 ** 6):
        pass
batch = int(sys.argv[1])
"""

HELPED = """
import autobatch
with autobatch.trial():
    while True:
        take(64)
        autobatch.step(loss=LOSS, batch=BATCH)
"""

# What a command does -> how that is called, what is said, and the exit status.
KINDS = {
    "out_of_memory": ("take(0); sys.exit('torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 16.00 MiB')",
                      "not even a batch of 1 fits: it needs at least ", 4),
    "suspected_out_of_memory": ("if batch > 1: take(0); sys.exit('RuntimeError: CUDNN_STATUS_INTERNAL_ERROR')\ntake(64)",
                                None, 0),
    "model_error": ("take(64); raise ValueError('shapes differ')", "ValueError: shapes differ", 5),
    "illegal_access": ("take(64); sys.exit('RuntimeError: CUDA error: an illegal memory access was encountered')",
                       "an illegal memory access", 5),
    "non_finite_loss": (HELPED.replace("LOSS", "float('nan')").replace("BATCH", "batch"), "nan", 5),
    "host_out_of_memory": ("take(64); raise MemoryError()", "MemoryError", 4),
    "timeout": ("take(64); signal.pause()", "no result within 5s", 6),
    "cannot_start": ("", "cannot be executed", 5),
    "crashed": ("take(64); os.kill(os.getpid(), signal.SIGSEGV)", "crashed (SIGSEGV)", 5),
    "protocol": ("take(64); os.write(int(os.environ['AUTOBATCH_REPORT_FD']), b'hello\\n')", "spoke no trial protocol", 5),
    "batch_ignored": (HELPED.replace("LOSS", "1.0").replace("BATCH", "7"), "the model saw 7", 5),
}


class FailureKindsTest(unittest.TestCase):
    def command(self, script):
        return [sys.executable, "-c", PREFIX + script, "{batch}"]

    def run_probe(self, command, *options):
        run = probe("--device", "sim:rtx3090", "--memory-limit", "2GiB", "--no-cache", "--max-batch", "4",
                    "--trial-timeout", "5s", "--json", "-", *options, "--", *command, cwd=scratch(),
                    env={**os.environ, "PYTHONPATH": str(pathlib.Path("tools/python").resolve())})
        return run, json.loads(run.stdout)["devices"][0]

    def test_every_kind_that_there_is_has_a_case(self):
        header = pathlib.Path("autobatch/types/failure.h").read_text()
        names = re.findall(r"^  k(\w+),", header[:header.index("BOOST_DESCRIBE_ENUM")], re.M)
        kinds = {re.sub(r"(?<!^)([A-Z])", r"_\1", name).lower() for name in names}
        self.assertEqual(kinds, {*KINDS, "cancelled"})

    def test_each_has_its_name_words_and_exit_status(self):
        for kind, (script, words, status) in KINDS.items():
            with self.subTest(kind):
                command = ["/no/such/program", "{batch}"] if kind == "cannot_start" else self.command(script)
                run, device = self.run_probe(command)
                failures = [seen["failure"] for seen in device["observations"] if seen["failure"]]
                self.assertEqual(run.returncode, status, run.stderr)
                self.assertIn(kind, {failure["kind"] for failure in failures}, run.stderr)
                self.assertTrue(all(failure["advice"] for failure in failures), failures)
                if words is None:
                    self.assertEqual(device["confirmed_batch"], 1, run.stderr)
                else:
                    self.assertEqual(device["failure"]["kind"], kind)
                    self.assertIn(words, device["failure"]["message"])

    def test_cancelled_trial_is_called_so(self):
        pipe = scratch() / "running"
        os.mkfifo(pipe)
        run = subprocess.Popen([PROBE, "--device", "sim:rtx3090", "--no-cache", "--json", "-", "--",
                                *self.command(f"take(64); open({str(pipe)!r}, 'w').close(); signal.pause()")],
                               text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=scratch())
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        pipe.read_text()  # Until the command is there.
        run.send_signal(signal.SIGINT)
        stdout, stderr = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 130, stderr)
        self.assertEqual(json.loads(stdout)["devices"][0]["failure"]["kind"], "cancelled")


if __name__ == "__main__":
    unittest.main()
