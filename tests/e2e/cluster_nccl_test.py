"""A run of two agents on simulated GPUs whose minimum is taken over NCCL too."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

COORDINATOR, AGENT = os.path.abspath("tools/coordinator"), os.path.abspath("tools/agent")
DIFFERS_OR_ABORTED = 7


class ClusterNcclTest(unittest.TestCase):
    def setUp(self):
        # The agents' sockets are in it, whose paths may have 107 bytes only.
        self.folder = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.secret = self.folder / "secret"
        self.secret.write_text("0123456789abcdef0123456789abcdef\n")
        self.secret.chmod(0o600)

    def start(self, program, *arguments, **environment):
        process = subprocess.Popen(
            [program, "--run-id", "nccl-test", "--secret-file", self.secret, "--once", *arguments],
            env={**os.environ, "HOME": str(self.folder), **environment}, text=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        return process

    def run_cluster(self, mode, *flags, faults_of_b=""):
        """(exit status, stderr) of the coordinator and of both agents."""
        coordinator = self.start(COORDINATOR, "--bind", "127.0.0.1", "--port", "0", "--min-nodes", "2",
                                 "--nccl", mode, XDG_STATE_HOME=str(self.folder))
        first = coordinator.stderr.readline()
        address = re.search(r"listens on (\S+:\d+)", first)
        self.assertTrue(address, first)
        agents = [
            self.start(AGENT, "--coordinator", address[1].rstrip(","), "--name", name, "--node-id", name,
                       "--state-dir", self.folder / name, "--no-cache", "--device", "sim:rtx3090:count=2",
                       "--max-batch", "8", "--image-size", "64", *flags,
                       AUTOBATCH_SIM_NODE=name, AUTOBATCH_SIM_FAULTS=faults)
            for name, faults in (("a", ""), ("b", faults_of_b))]
        results = []
        for process in (coordinator, *agents):
            _, errors = process.communicate(timeout=240)
            results.append((process.returncode, errors))
        return results

    def record(self, name):
        return json.loads((self.folder / name / "record.json").read_text())

    def test_both_minima_agree_and_the_record_is_committed(self):
        results = self.run_cluster("require")
        self.assertEqual([status for status, _ in results], [0, 0, 0], results)
        self.assertEqual(self.record("a"), self.record("b"))
        self.assertEqual((self.record("a")["minimum_batch"], self.record("a")["world_size"]), (8, 4))

    def test_false_number_of_one_node_ends_the_round_with_both_values(self):
        results = self.run_cluster("require", faults_of_b="nccl_less=1")
        self.assertEqual([status for status, _ in results], [DIFFERS_OR_ABORTED] * 3, results)
        for _, errors in results:
            self.assertIn("8 by the reports, 7 by NCCL", errors)
        self.assertFalse((self.folder / "a" / "record.json").exists())

    def test_larger_communicator_than_assumed_is_confirmed_once_more(self):
        results = self.run_cluster("require", "--communicator", "64MiB")
        self.assertEqual([status for status, _ in results], [0, 0, 0], results)
        coordinator = results[0][1]
        self.assertIn("the communicator takes 167772160 bytes, and 67108864 were held back", coordinator)
        self.assertEqual(coordinator.count("is aborted"), 1, coordinator)


if __name__ == "__main__":
    unittest.main()
