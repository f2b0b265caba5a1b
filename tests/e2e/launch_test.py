"""launch as a program: values, refusals, signals and exit codes."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from tests.e2e import launched
from tests.e2e.json_schema import differences
from tests.e2e.programs import descendants, wait_until_gone

RANK = {"RANK": 1, "LOCAL_RANK": 1, "WORLD_SIZE": 4, "LOCAL_WORLD_SIZE": 2, "TORCHELASTIC_RUN_ID": "job1"}


class LaunchTest(unittest.TestCase):
    def setUp(self):
        self.folder = launched.short_folder(self)
        self.agent = launched.Agent(self, self.folder)
        self.train = launched.train_script(self.folder)

    def worker(self, *arguments, environment=None, **options):
        return launched.launch("--worker", "--socket", self.agent.socket, *arguments,
                               env=environment or launched.environment(**RANK), **options)

    def test_worker_becomes_its_command_with_its_share(self):
        self.agent.agree(16)
        run = self.worker("--", *self.train, "--batch={micro_batch}", "{{steps}}", "a b", cwd=self.folder)
        self.assertEqual(run.returncode, 0, run.stderr)
        said = json.loads(run.stdout)
        self.assertEqual(said["argv"], ["--batch=16", "{steps}", "a b"])
        self.assertEqual(said["cwd"], str(self.folder))
        expected = {"MICRO_BATCH": "16", "ACCUMULATION": "1", "GLOBAL_BATCH": "64", "WEIGHT": "1",
                    "LR_FACTOR": "1", "WORLD_SIZE": "4", "RANK": "1", "ROUND": "1", "RUN_ID": "job1",
                    "RECORD": self.agent.record}
        for name, value in expected.items():
            self.assertEqual(said["environment"]["AUTOBATCH_" + name], value, name)
        record = json.loads(pathlib.Path(self.agent.record).read_text())
        self.assertEqual(said["environment"]["AUTOBATCH_DIGEST"], record["digest"])

    def test_one_choice_of_interface_is_exported_for_every_library(self):
        self.agent.agree(16)
        show = ["sh", "-c", "echo $NCCL_SOCKET_IFNAME $GLOO_SOCKET_IFNAME $TP_SOCKET_IFNAME"]
        run = self.worker("--interface", "127.0.0.0/8", "--", *show)
        self.assertEqual((run.returncode, run.stdout), (0, "=lo lo lo\n"), run.stderr)
        run = self.worker("--interface", "lo", "--format", "env")
        self.assertIn("export GLOO_SOCKET_IFNAME=lo\n", run.stdout)
        self.assertEqual(self.worker("--", *show).stdout, "\n")

    def test_interface_that_cannot_be_is_refused_with_those_that_can(self):
        self.agent.agree(16)
        for choice, environment, says in (
                ("none0", {}, "--interface none0: there is no such interface on this host; there are lo (127.0.0.1)"),
                ("10.0.0.0/99", {}, "no network such as"),
                ("", {}, "--interface is empty"),
                ("lo", {"GROUP_WORLD_SIZE": 2, "GROUP_RANK": 0}, "the job has other nodes"),
                ("lo", {"NCCL_SOCKET_IFNAME": "^lo"}, "NCCL_SOCKET_IFNAME='^lo' contradict"),
                ("lo", {"GLOO_SOCKET_IFNAME": "eth9"}, "GLOO_SOCKET_IFNAME='eth9' contradict")):
            run = self.worker("--interface", choice, "--", "touch", self.folder / "started",
                              environment=launched.environment(**RANK, **environment))
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn(says, run.stderr)
        self.assertFalse((self.folder / "started").exists())

    def test_workers_own_exit_code_and_signals_are_those_of_the_command(self):
        self.agent.agree(16)
        self.assertEqual(self.worker("--", "sh", "-c", "exit 23").returncode, 23)
        self.assertEqual(self.worker("--", "sh", "-c", "kill -TERM $$").returncode, -signal.SIGTERM)
        run = self.worker("--", "no-such-program")
        self.assertEqual(run.returncode, 5)
        self.assertIn("cannot start 'no-such-program'", run.stderr)

    def test_task_prolog_writes_export_lines_and_nothing_else(self):
        self.agent.agree(16)
        step = dict(SLURM_JOB_ID=7, SLURM_PROCID=1, SLURM_LOCALID=0, SLURM_NODEID=1, SLURM_NTASKS=2,
                    SLURM_STEP_NUM_NODES=2, SLURM_STEP_NODELIST="n[1-2]", SLURMD_NODENAME="n2")
        run = self.worker("--format", "slurm-task-prolog", environment=launched.environment(**step))
        self.assertEqual(run.returncode, 0, run.stderr)
        lines = run.stdout.splitlines()
        self.assertGreater(len(lines), 8)
        for line in lines:
            self.assertRegex(line, r"^export AUTOBATCH_[A-Z_]+=.+$")
        self.assertIn("export AUTOBATCH_RANK=1", lines)
        # A batch script is no rank, and gets nothing.
        batch = launched.environment(SLURM_JOB_ID=7, SLURM_PROCID=0, SLURM_NTASKS=2)
        run = self.worker("--format", "slurm-task-prolog", environment=batch)
        self.assertEqual((run.returncode, run.stdout), (0, ""))

    def test_formats_are_read_back(self):
        self.agent.agree(16)
        output = json.loads(self.worker("--format", "json").stdout)
        self.assertEqual(differences(output, "orchestrator/launch/schema/launch.v1.json"), [])
        self.assertEqual(output["share"]["micro_batch"], 16)
        shell = self.worker("--format", "env").stdout
        run = subprocess.run(["sh", "-c", shell + "echo $AUTOBATCH_GLOBAL_BATCH"], stdout=subprocess.PIPE,
                             text=True, check=True)
        self.assertEqual(run.stdout, "64\n")

    def test_worker_waits_for_the_commit(self):
        process = subprocess.Popen([launched.LAUNCH, "--worker", "--socket", self.agent.socket, "--", "true"],
                                   env=launched.environment(**RANK))
        self.assertIsNone(process.poll())
        self.agent.agree(8)
        self.assertEqual(process.wait(60), 0)

    def test_nothing_starts_without_a_record(self):
        run = self.worker("--wait", "0.2", "--", "touch", self.folder / "started")
        self.assertEqual(run.returncode, 7, run.stderr)
        self.agent.stop()
        run = self.worker("--wait", "0.2", "--", "touch", self.folder / "started")
        self.assertEqual(run.returncode, 8, run.stderr)
        self.assertIn(self.agent.socket, run.stderr)
        self.assertFalse((self.folder / "started").exists())

    def test_fallback_starts_loudly_and_records_it(self):
        run = self.worker("--wait", "0.2", "--fallback-batch", 4, "--", *self.train, "{micro_batch}")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("NO AGREEMENT: training starts on --fallback-batch 4", run.stderr)
        said = json.loads(run.stdout)
        self.assertEqual(said["argv"], ["4"])
        self.assertEqual(said["environment"]["AUTOBATCH_FALLBACK"], "1")
        record = json.loads(pathlib.Path(said["environment"]["AUTOBATCH_RECORD"]).read_text())
        self.assertTrue(record["fallback"])

    def test_contradictions_are_named_and_nothing_starts(self):
        self.agent.agree(16)
        run = self.worker("--", "true", environment=launched.environment(**dict(RANK, RANK=4)))
        self.assertEqual(run.returncode, 2)
        self.assertIn("RANK=4 is not below WORLD_SIZE=4", run.stderr)
        run = self.worker("--", "true", environment=launched.environment())
        self.assertEqual(run.returncode, 2)
        self.assertIn("torchrun --no-python", run.stderr)
        big = launched.environment(**dict(RANK, WORLD_SIZE=99))
        run = self.worker("--", "true", environment=big)
        self.assertEqual(run.returncode, 7)
        self.assertIn("99", run.stderr)

    def test_all_ranks_on_a_record(self):
        self.agent.agree(16)
        run = launched.launch("--record", self.agent.record, "--world-size", 8, "--", *self.train,
                              "{micro_batch}", "{global_batch}", env=launched.environment())
        self.assertEqual(run.returncode, 0, run.stderr)
        said = json.loads(run.stdout)
        self.assertEqual(said["argv"], ["16", "128"])
        self.assertNotIn("AUTOBATCH_RANK", said["environment"])
        self.assertEqual(said["environment"]["AUTOBATCH_WORLD_SIZE"], "8")

    def test_tampered_record_starts_nothing(self):
        self.agent.agree(16)
        path = pathlib.Path(self.agent.record)
        path.write_text(path.read_text().replace('"minimum_batch":16', '"minimum_batch":64'))
        run = launched.launch("--record", path, "--", "true", env=launched.environment())
        self.assertEqual(run.returncode, 7)
        self.assertIn("digest is not that of its content", run.stderr)

    def test_elastic_torchrun_is_refused_with_the_per_worker_form(self):
        self.agent.agree(16)
        run = launched.launch("--record", self.agent.record, "--", "torchrun", "--nnodes=1:3", "train.py",
                              "--batch-size", "{micro_batch}", env=launched.environment())
        self.assertEqual(run.returncode, 2)
        self.assertIn("--no-python", run.stderr)
        self.assertIn("--worker -- python -u train.py --batch-size '{micro_batch}'", run.stderr)

    def supervised(self, script):
        process = subprocess.Popen([launched.LAUNCH, "--record", self.agent.record, "--grace", "30", "--",
                                    sys.executable, "-u", "-c", script],
                                   stdout=subprocess.PIPE, text=True, env=launched.environment())
        self.addCleanup(process.stdout.close)
        return process

    def test_signals_pass_through_and_the_commands_code_comes_back(self):
        self.agent.agree(16)
        script = ("import signal, sys\n"
                  "signal.signal(signal.%s, lambda *_: sys.exit(41))\n"
                  "print('ready')\n"
                  "signal.pause()\n")
        for name in ("SIGTERM", "SIGINT", "SIGUSR1"):
            process = self.supervised(script % name)
            self.assertEqual(process.stdout.readline(), "ready\n")
            process.send_signal(getattr(signal, name))
            self.assertEqual(process.wait(60), 41, name)
        process = self.supervised("import signal\nprint('ready')\nsignal.pause()\n")
        self.assertEqual(process.stdout.readline(), "ready\n")
        process.terminate()
        self.assertEqual(process.wait(60), 128 + signal.SIGTERM)

    def test_killed_launch_leaves_no_command(self):
        self.agent.agree(16)
        process = self.supervised("import os, signal\nprint(os.getpid())\nsignal.pause()\n")
        pid = int(process.stdout.readline())
        process.kill()
        process.wait()
        wait_until_gone(pid)

    def test_what_the_command_leaves_behind_is_ended(self):
        self.agent.agree(16)
        process = self.supervised(
            "import subprocess\n"
            "child = subprocess.Popen(['tail', '-f', '/dev/null'], start_new_session=True)\n"
            "print(child.pid)\n")
        pid = int(process.stdout.readline())
        self.assertEqual(process.wait(60), 0)
        wait_until_gone(pid)
        self.assertEqual(descendants(process.pid), [])


if __name__ == "__main__":
    unittest.main()
