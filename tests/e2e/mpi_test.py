"""Open MPI and MPICH start workers through launch, each with its own share."""

import json
import shutil
import unittest

from tests.e2e import launched

# By name: of a path, Open MPI takes a prefix for its own files.
OPEN_MPI = "mpirun.openmpi"
MPICH = "mpiexec.hydra"


class MpiTest(unittest.TestCase):
    def setUp(self):
        self.folder = launched.short_folder(self)
        self.agent = launched.Agent(self, self.folder)
        self.agent.agree(16)
        self.train = launched.train_script(self.folder)

    def run_job(self, command, ranks):
        """What each rank was handed, by rank."""
        run = launched.launch("--record", self.agent.record, "--world-size", ranks, "--quiet", "--",
                              *command, launched.LAUNCH, "--worker", "--socket", self.agent.socket, "--",
                              *self.train, "{micro_batch}",
                              env=launched.environment(HOME=self.folder, TMPDIR=self.folder))
        self.assertEqual(run.returncode, 0, run.stderr)
        said = [json.loads(line) for line in run.stdout.splitlines()]
        return {int(rank["environment"]["AUTOBATCH_RANK"]): rank for rank in said}

    def check(self, ranks):
        self.assertEqual(sorted(ranks), list(range(len(ranks))))
        for said in ranks.values():
            self.assertEqual(said["argv"], ["16"])
            self.assertEqual(said["environment"]["AUTOBATCH_WORLD_SIZE"], str(len(ranks)))
            self.assertEqual(said["environment"]["AUTOBATCH_GLOBAL_BATCH"], str(16 * len(ranks)))

    @unittest.skipUnless(shutil.which(OPEN_MPI), "tools/ci_setup has not installed openmpi-bin")
    def test_open_mpi_starts_three_ranks(self):
        command = [OPEN_MPI, "--allow-run-as-root", "--oversubscribe", "--mca", "oob_tcp_if_include", "lo",
                   "--mca", "btl_tcp_if_include", "lo", "-np", "3"]
        self.check(self.run_job(command, 3))

    @unittest.skipUnless(shutil.which(OPEN_MPI), "tools/ci_setup has not installed openmpi-bin")
    def test_open_mpis_exit_code_comes_back(self):
        run = launched.launch("--record", self.agent.record, "--", OPEN_MPI, "--allow-run-as-root",
                              "--oversubscribe", "-np", "2", launched.LAUNCH, "--worker", "--socket",
                              self.agent.socket, "--", "sh", "-c", "exit 17",
                              env=launched.environment(HOME=self.folder, TMPDIR=self.folder))
        self.assertEqual(run.returncode, 17, run.stderr)

    @unittest.skipUnless(shutil.which(MPICH), "tools/ci_setup has not installed mpich")
    def test_mpich_starts_ranks_on_two_nodes(self):
        command = [MPICH, "-launcher", "fork", "-hosts", "h1:2,h2:2", "-np", "4"]
        self.check(self.run_job(command, 4))


if __name__ == "__main__":
    unittest.main()
