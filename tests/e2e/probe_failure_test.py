"""How a probe fails: each cause has its words and its exit code, and nothing is left behind."""

import json
import os
import signal
import subprocess
import unittest

from tests.e2e.programs import PROBE, SMALL, alive, descendants, probe, scratch, wait_until

LONG = [*SMALL, "--memory-limit", "2GiB", "--no-cache", "--time-limit", "250s"]


class UsageTest(unittest.TestCase):
    def test_wrong_usage_is_2_and_names_the_nearest(self):
        for arguments, words in [
            (["--worklod", "gpt2"], "--workload"),
            (["--workload", "resnet19"], "resnet18"),
            (["--max-batch", "0"], "1 or more"),
            (["--device", "cuda:x"], "cuda:x"),
            (["--device", "gpu"], "cuda"),
            (["--workload", "no/such.pt", "--input", "float32:3", "--target", "int64::0..2"],
             "no/such.pt"),
        ]:
            run = probe(*arguments)
            self.assertEqual(run.returncode, 2, f"{arguments}: {run.stderr}")
            self.assertIn(words, run.stderr)
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
        run = probe(*SMALL, "--memory-limit", "300MiB", "--no-cache", "--format", "json")
        self.assertEqual(run.returncode, 4, run.stderr)
        [device] = json.loads(run.stdout)["devices"]
        self.assertEqual(device["failure"]["kind"], "out_of_memory")
        self.assertIn("budget", device["failure"]["message"])

    def test_no_env_line_without_a_safe_batch(self):
        run = probe(*SMALL, "--memory-limit", "300MiB", "--no-cache", "--format", "env", "--quiet")
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
    TINY = [*SMALL, "--memory-limit", "600MiB", "--max-batch", "2", "--no-cache"]

    def test_full_disk_is_named_and_the_answer_still_printed(self):
        run = probe(*self.TINY, "--json", "/dev/full")
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("/dev/full", run.stderr)
        self.assertIn("minimum", run.stdout.lower())

    def test_closed_stdout_is_an_error_not_a_crash(self):
        reading, writing = os.pipe()
        os.close(reading)
        run = probe(*self.TINY, stdout=writing)
        os.close(writing)
        self.assertEqual(run.returncode, 1, run.stderr)
        self.assertIn("stdout", run.stderr)

    def test_read_only_cache_is_a_warning(self):
        run = probe(*SMALL, "--memory-limit", "600MiB", "--max-batch", "2", "--cache-dir",
                    "/proc/nowhere", "--format", "json")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("/proc/nowhere", " ".join(json.loads(run.stdout)["devices"][0]["warnings"]))


class SignalTest(unittest.TestCase):
    def start(self):
        return subprocess.Popen([PROBE, *LONG], text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, start_new_session=True)

    def end_after(self, lines, number):
        """Sends a signal once stderr has shown a line that begins like one of a trial."""
        run = self.start()
        seen = []
        while sum(" batch " in line for line in seen) < lines:
            line = run.stderr.readline()
            self.assertNotEqual(line, "", "".join(seen))
            seen.append(line)
        below = descendants(run.pid)
        self.assertTrue(below)
        run.send_signal(number)
        stdout, stderr = run.communicate(timeout=30)
        for pid in below:
            wait_until(lambda: not alive(pid), f"process {pid} is gone")
        return run.returncode, stdout, "".join(seen) + stderr

    def test_ctrl_c_prints_what_there_is_and_leaves_nothing(self):
        code, stdout, stderr = self.end_after(2, signal.SIGINT)
        self.assertEqual(code, 130, stderr)
        self.assertIn("cpu", stdout)

    def test_sigterm_has_its_own_code(self):
        code, _, stderr = self.end_after(1, signal.SIGTERM)
        self.assertEqual(code, 143, stderr)

    def test_ctrl_c_before_the_first_trial(self):
        run = self.start()
        run.stderr.readline()
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=30)
        self.assertEqual(run.returncode, 130)

    def test_killed_parent_leaves_no_child(self):
        run = self.start()
        while " batch " not in run.stderr.readline():
            pass
        below = descendants(run.pid)
        self.assertGreaterEqual(len(below), 2, "the guard and the worker")
        run.kill()
        run.communicate(timeout=30)
        for pid in below:
            wait_until(lambda: not alive(pid), f"process {pid} is gone")

    def test_killed_worker_is_a_failure_with_a_name_not_the_end(self):
        run = self.start()
        while " batch " not in run.stderr.readline():
            pass
        wait_until(lambda: descendants(run.pid), "a child")
        os.kill(descendants(run.pid)[-1], signal.SIGKILL)
        line = ""
        while "killed" not in line.lower():
            line = run.stderr.readline()
            self.assertNotEqual(line, "")
        run.send_signal(signal.SIGINT)
        run.communicate(timeout=30)


if __name__ == "__main__":
    unittest.main()
