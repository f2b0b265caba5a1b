"""Slurm starts workers: its TaskProlog hands them their shares, or launch --worker takes them."""

import json
import os
import pathlib
import unittest

from tests.e2e import launched
from tests.e2e import slurm

MISSING = slurm.missing()
TASK_PROLOG = pathlib.Path("tools/examples/slurm_task_prolog.sh")


@unittest.skipIf(MISSING, MISSING)
class SlurmTest(unittest.TestCase):
    def setUp(self):
        self.folder = launched.short_folder(self)
        self.agent = launched.Agent(self, self.folder)
        self.train = launched.train_script(self.folder)

    def cluster(self):
        cluster = slurm.Cluster(self, self.folder, TASK_PROLOG.read_text())
        cluster.environment["AUTOBATCH_LAUNCH"] = launched.LAUNCH
        return cluster

    def prolog(self, cluster):
        """From here on tasks get their shares from the TaskProlog."""
        cluster.environment["AUTOBATCH_SOCKET"] = self.agent.socket

    def shares(self, run):
        self.assertEqual(run.returncode, 0, run.stderr)
        said = [json.loads(line) for line in run.stdout.splitlines()]
        return {int(rank["environment"]["AUTOBATCH_RANK"]): rank for rank in said}

    def test_task_prolog_hands_each_task_its_share(self):
        self.agent.agree(16)
        cluster = self.cluster()
        self.prolog(cluster)
        ranks = self.shares(cluster.run("srun", "-N2", "-n3", *self.train))
        self.assertEqual(sorted(ranks), [0, 1, 2])
        for said in ranks.values():
            self.assertEqual(said["environment"]["AUTOBATCH_MICRO_BATCH"], "16")
            self.assertEqual(said["environment"]["AUTOBATCH_WORLD_SIZE"], "3")
            self.assertEqual(said["environment"]["AUTOBATCH_GLOBAL_BATCH"], "48")
            self.assertEqual(said["environment"]["AUTOBATCH_RUN_ID"], "job1")
        # The same job script, in which srun starts the ranks, as sbatch runs it.
        script = self.folder / "job.sh"
        script.write_text("#!/bin/sh\nenv | grep AUTOBATCH_MICRO_BATCH >&2\nexec srun %s\n" % " ".join(self.train))
        output = self.folder / "out"
        run = cluster.run("sbatch", "--wait", "-N2", "-n4", "-o", output, "-e", self.folder / "err", script)
        self.assertEqual(run.returncode, 0, run.stderr)
        said = [json.loads(line) for line in output.read_text().splitlines()]
        self.assertEqual({rank["environment"]["AUTOBATCH_GLOBAL_BATCH"] for rank in said}, {"64"})
        # The batch script itself is no rank.
        self.assertEqual((self.folder / "err").read_text(), "")

    def test_worker_takes_its_share_of_the_step_that_runs(self):
        self.agent.agree(16)
        cluster = self.cluster()
        worker = [launched.LAUNCH, "--worker", "--socket", self.agent.socket, "--", *self.train,
                  "{global_batch}"]
        ranks = self.shares(cluster.run("srun", "-N3", "--ntasks-per-node=2", *worker))
        self.assertEqual(sorted(ranks), list(range(6)))
        self.assertEqual({tuple(said["argv"]) for said in ranks.values()}, {("96",)})
        run = cluster.run("srun", "-N1", "-n1", *worker)
        self.assertEqual(self.shares(run)[0]["argv"], ["16"])
        # Asked for so many tasks a node, and started fewer.
        run = cluster.run("srun", "-N1", "-n1", "env", "SLURM_NTASKS_PER_NODE=8", *worker)
        self.assertNotEqual(run.returncode, 0)
        self.assertIn("is less than SLURM_NTASKS_PER_NODE=8", run.stderr)

    def test_no_task_starts_without_a_share_and_its_output_says_why(self):
        self.agent.agree(16)
        cluster = self.cluster()
        self.prolog(cluster)
        started = self.folder / "started"
        # Another run's agent.
        cluster.environment["AUTOBATCH_RUN_ID"] = "job2"
        run = cluster.run("srun", "-N1", "-n1", "touch", started)
        self.assertNotEqual(run.returncode, 0)
        self.assertFalse(os.path.exists(started))
        self.assertIn("serves run 'job1', and this is run 'job2'", run.stdout)


if __name__ == "__main__":
    unittest.main()
