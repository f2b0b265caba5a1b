"""launch agrees itself: one node, two nodes, and what happens to training when one of them is lost."""

import json
import os
import signal
import subprocess
import sys
import unittest

from tests.e2e import launched
from tests.e2e.programs import descendants, setuid_program, wait_until_gone

PROBE = ["--image-size", "64", "--max-batch", "8", "--no-cache"]
SIMULATED = ["--device", "sim:rtx3090", "--allow-simulated", *PROBE]

# Says what it was handed; in a world of two it then trains until it is ended.
TRAIN = """
import json, os, signal, sys
seen = {name[10:]: value for name, value in os.environ.items() if name.startswith("AUTOBATCH_")}
print(json.dumps({"pid": os.getpid(), "argv": sys.argv[1:], "seen": seen}), flush=True)
if seen["WORLD_SIZE"] == "2":
    signal.pause()
"""


class AgreedTest(unittest.TestCase):
    def setUp(self):
        self.folder = launched.short_folder(self)
        self.train = launched.train_script(self.folder, TRAIN)
        self.environment = launched.environment(XDG_RUNTIME_DIR=self.folder, HOME=self.folder)
        self.secret = self.folder / "secret"
        self.secret.write_bytes(b"0123456789abcdef0123456789abcdef")
        self.secret.chmod(0o600)

    def launch(self, *arguments):
        return launched.launch(*arguments, env=self.environment, timeout=300)

    def start(self, *arguments, environment=None):
        process = subprocess.Popen([launched.LAUNCH, *map(str, arguments)], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, env=environment or self.environment)
        for stream in (process.stdout, process.stderr):
            self.addCleanup(stream.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def said(self, process, words):
        """The first line of its stderr with these words."""
        lines = []
        for line in process.stderr:
            lines.append(line)
            if words in line:
                return line
        self.fail("%r is not in:\n%s" % (words, "".join(lines)))

    def handed(self, process):
        line = process.stdout.readline()
        self.assertTrue(line, "it started nothing")
        return json.loads(line)

    def test_one_node_needs_no_coordinator_secret_or_run_id(self):
        run = self.launch("--device", "cpu", *PROBE, "--", *self.train, "{micro_batch}")
        self.assertEqual(run.returncode, 0, run.stderr)
        said = json.loads(run.stdout)
        self.assertEqual(said["argv"], ["8"])
        self.assertEqual(said["seen"]["WORLD_SIZE"], "1")
        self.assertTrue(said["seen"]["RUN_ID"].startswith("local-"))
        self.assertNotIn("SIMULATED", said["seen"])
        self.assertEqual(os.listdir(self.folder / "autobatch"), [])

    def test_one_device_alone_holds_nothing_back_for_others(self):
        # A communicator would take all of it.
        run = self.launch("--device", "cpu", "--memory-limit", "900MiB", *PROBE, "--", *self.train, "{micro_batch}")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(json.loads(run.stdout)["argv"], ["8"])

    def test_agent_beside_its_coordinator_needs_no_way_round(self):
        # Only others come by the gateway, which from here may lead nowhere.
        run = self.launch("--advertise-address", "gateway.test:7", *SIMULATED, "--", *self.train)
        self.assertEqual(run.returncode, 0, run.stderr)

    def test_simulated_devices_start_nothing_unless_they_may(self):
        run = self.launch("--device", "sim:rtx3090", *PROBE, "--", "touch", self.folder / "started")
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("--allow-simulated", run.stderr)
        self.assertNotIn("joined", run.stderr)  # It is told before anything is probed.
        self.assertFalse((self.folder / "started").exists())
        run = self.launch(*SIMULATED, "--", *self.train)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(json.loads(run.stdout)["seen"]["SIMULATED"], "1")

    def test_program_that_is_not_there_is_told_before_anything_is_probed(self):
        for program in ("/no/such/program", "no-such-program", str(self.secret)):
            run = self.launch(*SIMULATED, "--", program)
            self.assertEqual(run.returncode, 5, run.stderr)
            self.assertIn("cannot start '%s'" % program, run.stderr)
            self.assertNotIn("joined", run.stderr)

    def test_more_ranks_than_devices_are_refused_and_nothing_is_left(self):
        torchrun = self.folder / "torchrun"
        torchrun.write_text("#!/bin/sh\n")
        torchrun.chmod(0o755)
        run = self.launch(*SIMULATED, "--", torchrun, "--nproc-per-node=2", "t.py")
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("torchrun starts 2 ranks on this node, and it has 1 device;", run.stderr)
        self.assertEqual(os.listdir(self.folder / "autobatch"), [])

    def test_program_that_takes_no_preload_is_refused_before_anybody_joins(self):
        program = setuid_program(self, self.folder)
        run = self.launch("--probe", f"{program} {{batch}}", "--device", "sim:t4", "--allow-simulated", "--", "true")
        self.assertEqual(run.returncode, 2, run.stderr)
        self.assertIn("setuid", run.stderr)
        self.assertNotIn("joined", run.stderr)

    def test_workers_ask_the_agent_hosted_here(self):
        # What torchrun sets for a worker.
        ranks = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "LOCAL_WORLD_SIZE": "1"}
        variables = ["%s=%s" % pair for pair in ranks.items()]
        run = self.launch("--device", "cpu", *PROBE, "--", "env", *variables, launched.LAUNCH, "--worker", "--",
                          *self.train, "{micro_batch}")
        self.assertEqual(run.returncode, 0, run.stderr)
        said = json.loads(run.stdout)
        self.assertEqual(said["argv"], ["8"])
        self.assertEqual(said["seen"]["RANK"], "0")

    def test_signal_while_agreeing_leaves_and_starts_nothing(self):
        process = self.start("--device", "cpu", "--image-size", "224", "--no-cache", "--", "touch",
                             self.folder / "started")
        self.said(process, "joined the run")
        children = descendants(process.pid)
        process.terminate()
        self.assertEqual(process.wait(120), 128 + signal.SIGTERM)
        for child in children:
            wait_until_gone(child)
        self.assertFalse((self.folder / "started").exists())

    def test_published_files_serve_a_launch_elsewhere(self):
        shared = self.folder / "shared"
        run = self.launch("--publish", shared, "--run-id", "job1", "--secret-file", self.secret, *SIMULATED)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(sorted(os.listdir(shared)), ["launch.env", "launch.json", "record.json"])
        output = json.loads((shared / "launch.json").read_text())
        self.assertEqual(output["record_path"], str(shared / "record.json"))
        run = self.launch("--record", shared / "record.json", "--secret-file", self.secret, "--allow-simulated",
                          "--run-id", "job1", "--", *self.train, "{micro_batch}")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(json.loads(run.stdout)["argv"], ["8"])
        # Whoever does not know the secret cannot tell whether the record is this run's.
        run = self.launch("--record", shared / "record.json", "--allow-simulated", "--", "true")
        self.assertEqual(run.returncode, 7, run.stderr)
        self.assertIn("--secret-file", run.stderr)

    def test_no_coordinator_means_no_training_or_the_stated_batch(self):
        [port] = launched.free_ports(1)
        arguments = ["--run-id", "job1", "--secret-file", self.secret, "--coordinator", "127.0.0.1:%d" % port,
                     "--join-timeout", "1s", *SIMULATED]
        run = self.launch(*arguments, "--", *self.train)
        self.assertIn(run.returncode, (7, 8), run.stderr)
        self.assertEqual(run.stdout, "")
        run = self.launch(*arguments, "--max-nodes", 3, "--fallback-batch", 4, "--", *self.train, "{micro_batch}")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("NO AGREEMENT: training starts on --fallback-batch 4", run.stderr)
        said = json.loads(run.stdout)
        self.assertEqual((said["argv"], said["seen"]["FALLBACK"]), (["4"], "1"))
        self.assertEqual((said["seen"]["WORLD_SIZE"], said["seen"]["GLOBAL_BATCH"]), ("3", "12"))

    def two_nodes(self, *arguments, command=None, device="sim:rtx3090"):
        """The launches of a step of two nodes, of which the first hosts the coordinator."""
        common = ["--secret-file", self.secret, "--min-nodes", "1", "--max-nodes", "2", "--device", device,
                  "--allow-simulated", *PROBE, *arguments]
        command = command or [*self.train, "{micro_batch}"]

        def node(name, *more):
            rank = str(int(name[1:]) - 1)
            variables = {"SLURM_JOB_ID": "7", "SLURM_STEP_NODELIST": "n[1-2]", "SLURM_STEP_NUM_NODES": "2",
                         "SLURM_NTASKS": "2", "SLURM_STEP_TASKS_PER_NODE": "1(x2)", "SLURM_NODEID": rank,
                         "SLURM_PROCID": rank, "SLURM_LOCALID": "0", "SLURMD_NODENAME": name}
            return self.start(*common, "--state-dir", self.folder / name, *more, "--", *command,
                              environment=dict(self.environment, **variables))

        first = node("n1", "--last-call", "60s")
        address = self.said(first, "hosts the coordinator").split()[-1]
        second = node("n2", "--coordinator", "127.0.0.1:" + address.rsplit(":", 1)[1])
        return first, second

    def test_two_nodes_start_on_the_same_record(self):
        first, second = self.two_nodes()
        seen = [self.handed(process)["seen"] for process in (first, second)]
        self.assertEqual([each["WORLD_SIZE"] for each in seen], ["2", "2"])
        self.assertEqual([each["RUN_ID"] for each in seen], ["slurm-7", "slurm-7"])
        self.assertEqual(seen[0]["DIGEST"], seen[1]["DIGEST"])
        # Nothing restarts a world of fixed size: the command is ended.
        second.kill()
        self.assertEqual(first.wait(120), 8)

    def test_ranks_are_torchruns_where_slurm_started_one_task_a_node(self):
        torchrun = self.folder / "torchrun"
        torchrun.write_text("#!/bin/sh\nexec %s\n" % " ".join(self.train))
        torchrun.chmod(0o755)
        nodes = self.two_nodes(command=[torchrun, "--nnodes=2", "--nproc-per-node=2", "t.py", "{micro_batch}"],
                               device="sim:rtx3090:count=2")
        for node in nodes:
            self.assertEqual(self.handed(node)["seen"]["WORLD_SIZE"], "4")
        self.assertEqual([node.wait(120) for node in nodes], [0, 0])

    def test_lost_node_restarts_the_command_on_the_new_record(self):
        first, second = self.two_nodes("--when-world-changes", "restart")
        before = self.handed(first)
        self.assertEqual(before["seen"]["WORLD_SIZE"], "2")
        self.handed(second)
        second.kill()
        after = self.handed(first)
        self.assertEqual(after["seen"]["WORLD_SIZE"], "1")
        self.assertGreater(int(after["seen"]["ROUND"]), int(before["seen"]["ROUND"]))
        self.assertNotEqual(after["pid"], before["pid"])
        wait_until_gone(before["pid"])
        self.assertEqual(first.wait(120), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
