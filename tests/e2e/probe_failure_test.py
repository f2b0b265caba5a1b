"""How a probe fails: each cause has its words and its exit code, and nothing is left behind."""

import json
import os
import signal
import subprocess
import tempfile
import unittest

from tests.e2e.programs import PROBE, descendants, probe, scratch, small, wait_until_gone

LONG = [*small(), "--memory-limit", "2GiB", "--no-cache", "--time-limit", "250s"]


class UsageTest(unittest.TestCase):
    def test_wrong_usage_is_2_and_names_the_nearest(self):
        for arguments, words in [
            (["--worklod", "gpt2"], "--workload"),
            (["--workload", "resnet19"], "resnet18"),
            (["--workload", "\x1b[31mred\x1b[0m.pt", "--input", "float32:3", "--loss", "mean"],
             r"\x1b[31mred"),
            (["--max-batch", "0"], "1 or more"),
            (["--device", "cuda:x"], "cuda:x"),
            (["--device", "gpu"], "cuda"),
            (["--workload", "no/such.pt"], "no/such.pt': No such file"),
        ]:
            run = probe(*arguments)
            self.assertEqual(run.returncode, 2, f"{arguments}: {run.stderr}")
            self.assertIn(words, run.stderr)
            self.assertNotRegex(run.stderr, "[\x00-\x09\x0b-\x1f\x7f]")
            self.assertEqual(run.stdout, "")

    def test_no_cuda_device_is_3_and_says_why(self):
        run = probe("--device", "cuda")
        self.assertEqual(run.returncode, 3, run.stderr)
        self.assertIn("driver", run.stderr)

    def test_file_that_is_no_torchscript_cannot_run(self):
        junk = scratch() / "junk.pt"
        junk.write_text("not a model")
        run = probe("--workload", str(junk), "--input", "float32:3x8x8", "--target",
                    "int64::0..10", "--device", "cpu", "--no-cache")
        self.assertEqual(run.returncode, 5, run.stderr)
        self.assertIn("junk.pt", run.stdout + run.stderr)


class LimitTest(unittest.TestCase):
    def test_nothing_fits_is_4_and_says_need_and_budget(self):
        run = probe(*small(), "--memory-limit", "300MiB", "--no-cache", "--format", "json")
        self.assertEqual(run.returncode, 4, run.stderr)
        [device] = json.loads(run.stdout)["devices"]
        self.assertEqual(device["failure"]["kind"], "out_of_memory")
        self.assertIn("budget", device["failure"]["message"])

    def test_no_env_line_without_a_safe_batch(self):
        run = probe(*small(), "--memory-limit", "300MiB", "--no-cache", "--format", "env", "--quiet")
        self.assertEqual(run.returncode, 4, run.stderr)
        self.assertEqual(run.stdout, "")

    def test_time_up_before_any_answer_is_6(self):
        run = probe("--workload", "resnet50", "--device", "cpu", "--time-limit", "1s", "--no-cache")
        self.assertEqual(run.returncode, 6, run.stdout + run.stderr)
        self.assertIn("--time-limit", run.stdout)

    def test_time_up_later_keeps_the_largest_confirmed(self):
        run = probe("--workload", "resnet18", "--device", "cpu", "--time-limit", "25s",
                    "--no-cache", "--format", "json")
        self.assertEqual(run.returncode, 0, run.stderr)
        [device] = json.loads(run.stdout)["devices"]
        self.assertEqual(device["status"], "partial", run.stderr)
        self.assertEqual(device["bound"], "time_limit")
        self.assertGreaterEqual(device["confirmed_batch"], 1)


class OutputTest(unittest.TestCase):
    TINY = [*small(), "--memory-limit", "600MiB", "--max-batch", "2", "--no-cache"]

    def test_full_disk_is_named_and_the_answer_still_printed(self):
        run = probe(*self.TINY, "--json", "/dev/full")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("/dev/full", run.stderr)
        self.assertIn("Safe batch per device 2", run.stdout)

    def test_place_that_cannot_be_written_is_refused_before_any_step(self):
        for option, path in [("--json", "/proc/report.json"), ("--html", str(scratch() / "none/page.html"))]:
            run = probe(*self.TINY, option, path)
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn(f"probe: {option}: cannot write {path}: ", run.stderr)
            self.assertEqual(run.stdout, "")
        self.assertFalse((scratch() / "none").exists())

    def test_place_for_temporary_files_that_cannot_be_is_named(self):
        for arguments in [["--device", "sim:t4"], ["--device", "cpu", "--", "true", "{batch}"]]:
            run = probe("--no-cache", *arguments, env={**os.environ, "TMPDIR": "/no/such"})
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn("probe: TMPDIR=/no/such: ", run.stderr)
            self.assertIn("unset it, for /tmp", run.stderr)

    def test_every_lost_output_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            full = os.path.join(folder, "full.html")
            os.symlink("/dev/full", full)
            run = probe(*self.TINY, "--json", "/dev/full", "--html", full)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("cannot write /dev/full", run.stderr)
        self.assertIn(f"cannot write {full}", run.stderr)

    def test_closed_stdout_is_an_error_not_a_crash(self):
        reading, writing = os.pipe()
        os.close(reading)
        run = probe(*self.TINY, stdout=writing)
        os.close(writing)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("stdout", run.stderr)

    def test_read_only_cache_is_a_warning(self):
        run = probe(*small(), "--memory-limit", "600MiB", "--max-batch", "2", "--cache-dir",
                    "/proc/nowhere", "--format", "json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("/proc/nowhere", " ".join(json.loads(run.stdout)["devices"][0]["warnings"]))


class SignalTest(unittest.TestCase):
    def start(self, trials):
        """A probe that has ended so many trials, what it said, and the processes below it."""
        run = subprocess.Popen([PROBE, *LONG], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
        self.addCleanup(run.communicate)
        self.addCleanup(run.kill)
        said = self.read_until(run, " batch ") if trials > 0 else run.stderr.readline()
        for _ in range(trials - 1):
            said += self.read_until(run, " batch ")
        return run, said, descendants(run.pid)

    def read_until(self, run, words):
        """What stderr says up to the line with these words."""
        said = ""
        while True:
            line = run.stderr.readline()
            self.assertNotEqual(line, "", f"the probe ended without {words!r}: {said}")
            said += line
            if words in line:
                return said

    def test_ctrl_c_prints_what_there_is_and_leaves_nothing(self):
        run, said, below = self.start(trials=2)
        self.assertTrue(below)
        run.send_signal(signal.SIGINT)
        stdout, stderr = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 130, said + stderr)
        self.assertIn("cpu", stdout)
        for pid in below:
            wait_until_gone(pid)

    def test_sigterm_has_its_own_code(self):
        run, said, below = self.start(trials=1)
        run.send_signal(signal.SIGTERM)
        _, stderr = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 143, said + stderr)
        for pid in below:
            wait_until_gone(pid)

    def test_ctrl_c_before_the_first_trial(self):
        run, _, _ = self.start(trials=0)
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=60)
        self.assertEqual(run.returncode, 130)

    def test_ctrl_c_at_once_leaves_no_folder(self):
        folder = scratch() / "temporary"
        folder.mkdir()
        run = subprocess.Popen([PROBE, "--device", "sim:t4", "--no-cache"], env={**os.environ, "TMPDIR": str(folder)},
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        # The folder is made before the worker is asked what it sees, which takes a while.
        while not list(folder.iterdir()):
            self.assertIsNone(run.poll())
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(60), 130)
        self.assertEqual(list(folder.iterdir()), [])

    def test_killed_parent_leaves_no_child(self):
        run, _, below = self.start(trials=1)
        self.assertGreaterEqual(len(below), 2, "the guard and the worker")
        run.kill()
        run.communicate(timeout=60)
        for pid in below:
            wait_until_gone(pid)


if __name__ == "__main__":
    unittest.main()
