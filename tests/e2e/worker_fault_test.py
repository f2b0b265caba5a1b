"""What a worker may do to a probe: each fault has its words and its exit code, and nothing lives on."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import unittest

from tests.e2e.programs import PROBE, scratch, wait_until_gone

ARGUMENTS = ["--device", "cpu", "--no-cache", "--max-batch", "64", "--memory-limit", "300MiB",
             "--headroom", "64MiB"]


class WorkerFaultTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # A probe takes the programs that lie beside it.
        cls.folder = scratch() / "fake"
        cls.folder.mkdir()
        for program in (PROBE, os.path.abspath("autobatch/trial/guard")):
            shutil.copy(program, cls.folder)
        worker = cls.folder / "worker"
        source = pathlib.Path("tests/e2e/fake_worker.py").read_text(encoding="utf-8")
        worker.write_text(f"#!{sys.executable}\n{source}", encoding="utf-8")
        worker.chmod(0o755)

    def setUp(self):
        # Held open for both ends: nobody waits for the other to open it.
        self.path = scratch() / f"{self._testMethodName}.fifo"
        os.mkfifo(self.path)
        self.fifo = os.open(self.path, os.O_RDWR)
        self.addCleanup(os.close, self.fifo)
        self.pids = []

    def environment(self, fault=""):
        return {**os.environ, "FAKE": fault, "FAKE_FIFO": str(self.path)}

    def start(self, fault, *arguments):
        run = subprocess.Popen([self.folder / "probe", *ARGUMENTS, *arguments], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=self.environment(fault))
        self.addCleanup(run.kill)
        return run

    def wait_for(self, phase):
        """Until a process of the worker is in this phase."""
        while True:
            told = os.read(self.fifo, 4096).decode()
            self.pids += [int(line.split()[1]) for line in told.splitlines()]
            if f"{phase} " in told:
                return

    def finish(self, run):
        """Exit code, stdout and stderr of a probe of which nothing is left."""
        stdout, stderr = run.communicate(timeout=120)
        os.write(self.fifo, b"end 0\n")
        self.wait_for("end")
        for pid in self.pids:
            if pid != 0:
                wait_until_gone(pid)
        return run.returncode, stdout, stderr

    def test_each_fault_has_its_words_and_exit_code(self):
        for fault, code, words in [
            ("", 0, "Safe batch per device 64"),
            ("chatter", 0, "Safe batch per device 64"),
            ("daemon", 0, "Safe batch per device 64"),
            ("killed", 4, "SIGKILL"),
            ("crash", 5, "SIGSEGV"),
            ("exit", 5, "the last words"),
            ("no-start", 5, "no libcudart"),
            ("version", 5, "it speaks version 99"),
            ("garbage", 5, "hello, world"),
            ("binary", 5, "byte 0x00"),
            ("endless-line", 5, "a line of more than"),
            ("closed", 5, "closed its report descriptor"),
            ("other-batch", 5, "the model saw 1"),
            ("no-steps", 5, "ran 0 of 3 steps"),
            ("describe-garbage", 5, "--describe answered with no description"),
            ("describe-library", 5, "libc10.so"),
        ]:
            with self.subTest(fault=fault):
                returncode, stdout, stderr = self.finish(self.start(fault))
                self.assertEqual(returncode, code, stdout + stderr)
                self.assertIn(words, stdout + stderr)

    def test_a_worker_that_hangs_is_ended_at_the_time_limit(self):
        runs = {fault: self.start(fault, "--time-limit", "2s", "--json", "-")
                for fault in ("hang", "deaf", "stopped")}
        for fault, run in runs.items():
            with self.subTest(fault=fault):
                returncode, stdout, stderr = self.finish(run)
                self.assertEqual(returncode, 6, stderr)
                trials = json.loads(stdout)["devices"][0]["observations"]
                self.assertEqual([trial["failure"]["kind"] for trial in trials], ["timeout"])

    def test_no_fault_gives_lines_to_eval(self):
        for fault in ("crash", "killed", "garbage", "other-batch", "describe-garbage"):
            with self.subTest(fault=fault):
                returncode, stdout, stderr = self.finish(self.start(fault, "--format", "env"))
                self.assertNotEqual(returncode, 0)
                self.assertEqual(stdout, "")
                self.assertNotEqual(stderr, "")

    def test_what_a_model_says_commands_no_terminal_and_no_browser(self):
        page = scratch() / "hostile.html"
        returncode, stdout, stderr = self.finish(self.start("hostile", "--html", str(page)))
        self.assertEqual(returncode, 5)
        for text in (stdout, stderr, page.read_text(encoding="utf-8")):
            self.assertNotRegex(text, "[\x00-\x08\x0b-\x1f\x7f-\x9f]")
        self.assertNotIn("<script>alert", page.read_text(encoding="utf-8"))

    def test_interrupted_in_every_phase_it_leaves_nothing(self):
        for fault, phase, number in [
            ("describe-hang", "describe", signal.SIGINT),
            ("describe-hang", "describe", signal.SIGTERM),
            ("hang", "trial", signal.SIGINT),
            ("hang", "trial", signal.SIGHUP),
            ("deaf", "trial", signal.SIGTERM),
            ("daemon-hang", "daemon", signal.SIGINT),
        ]:
            with self.subTest(fault=fault, signal=number):
                run = self.start(fault)
                self.wait_for(phase)
                run.send_signal(number)
                returncode, stdout, stderr = self.finish(run)
                self.assertEqual(returncode, 128 + number, stderr)
                if phase != "describe":
                    self.assertIn("no safe batch: cancelled", stdout)

    def test_a_second_interrupt_waits_for_nobody(self):
        run = self.start("deaf")
        self.wait_for("trial")
        run.send_signal(signal.SIGINT)
        run.send_signal(signal.SIGTERM)
        returncode, stdout, _ = self.finish(run)
        self.assertEqual((returncode, stdout), (143, ""))

    def test_a_killed_probe_leaves_nothing(self):
        for fault, phase in [("describe-hang", "describe"), ("hang", "trial"), ("deaf", "trial"),
                             ("stopped", "trial"), ("daemon-hang", "daemon")]:
            with self.subTest(fault=fault):
                run = self.start(fault)
                self.wait_for(phase)
                run.kill()
                self.finish(run)

    def test_a_lost_answer_is_no_success(self):
        with open("/dev/full", "w", encoding="utf-8") as full:
            run = subprocess.run([self.folder / "probe", *ARGUMENTS, "--quiet"], stdout=full,
                                 stderr=subprocess.PIPE, env=self.environment(), text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("No space left", run.stderr)

    def test_a_closed_terminal_loses_no_file(self):
        for closed in ("<&- >&- 2>&-", ">&-"):
            with self.subTest(closed=closed):
                report = scratch() / "report.json"
                run = subprocess.run(["/bin/sh", "-c", f'exec "$@" {closed}', "sh",
                                      self.folder / "probe", *ARGUMENTS, "--json", report],
                                     env=self.environment(), check=False)
                self.assertEqual(run.returncode, 1)
                self.assertEqual(json.loads(report.read_text())["minimum_batch"], 64)


if __name__ == "__main__":
    unittest.main()
