"""torchrun drives CPU jobs through launch: a killed worker, a world that shrinks."""

import json
import os
import signal
import subprocess
import sys
import unittest

from tests.e2e import launched

FRAMEWORKS = os.environ.get("AUTOBATCH_TEST_FRAMEWORKS", "")

# Every rank says what it was handed, once all have met; while TRAIN_WHILE ("ROUND=1") holds it then trains until
# it is ended.
TRAIN = """
import json, os, sys
import torch, torch.distributed as dist
dist.init_process_group("gloo")
seen = {name[10:]: value for name, value in os.environ.items() if name.startswith("AUTOBATCH_")}
digests = [None] * dist.get_world_size()
dist.all_gather_object(digests, seen["DIGEST"])
samples = torch.tensor(float(seen["MICRO_BATCH"]) * float(seen["ACCUMULATION"]))
dist.all_reduce(samples)
line = json.dumps({"pid": os.getpid(), "argv": sys.argv[1:], "seen": seen, "digests": len(set(digests)),
                   "samples": samples.item(), "world": dist.get_world_size(),
                   "restarts": os.environ["TORCHELASTIC_RESTART_COUNT"]})
# One write, that lines of several ranks do not mix.
os.write(1, (line + "\\n").encode())
name, _, value = os.environ["TRAIN_WHILE"].partition("=")
while seen[name] == value:
    dist.all_reduce(samples)
dist.destroy_process_group()
"""


@unittest.skipUnless(FRAMEWORKS, "tools/ci_setup has not installed torch's Python dependencies")
class TorchrunTest(unittest.TestCase):
    def setUp(self):
        self.folder = launched.short_folder(self)
        self.agent = launched.Agent(self, self.folder)
        self.train = launched.train_script(self.folder, TRAIN)
        self.worker = [launched.LAUNCH, "--worker", "--socket", self.agent.socket, "--", *self.train,
                       "--batch-size={micro_batch}"]

    def start(self, *torchrun, under=(), worker=None, **variables):
        """A torchrun with these arguments whose workers come through launch."""
        variables = dict({"TRAIN_WHILE": "ROUND=1"}, **variables)
        environment = launched.environment(PYTHONPATH=FRAMEWORKS, OMP_NUM_THREADS=1, HOME=self.folder,
                                           TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1, **variables)
        log = open(self.folder / ("log%d" % len(os.listdir(self.folder))), "w+")
        self.addCleanup(log.close)
        process = subprocess.Popen(
            [*map(str, under), sys.executable, "-m", "torch.distributed.run", *torchrun, "--no-python",
             *(worker or self.worker)], stdout=subprocess.PIPE, stderr=log, text=True, env=environment)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        process.log = log
        return process

    @staticmethod
    def elastic(port, host):
        """torchrun's arguments for one of one to two nodes."""
        return ["--nnodes=1:2", "--nproc-per-node=1", "--max-restarts=3", "--rdzv-id=job1", "--rdzv-backend=c10d",
                "--rdzv-endpoint=127.0.0.1:%d" % port, "--local-addr=127.0.0.1",
                "--rdzv-conf=last_call_timeout=10,keep_alive_interval=1,keep_alive_max_attempt=5,is_host=" + host]

    def lines(self, process, count):
        """What so many ranks said."""
        said = []
        while len(said) < count:
            line = process.stdout.readline()
            if not line:
                process.log.seek(0)
                self.fail("torchrun ended after %r:\n%s" % (said, process.log.read()))
            if line.startswith("{"):
                said.append(json.loads(line))
        return sorted(said, key=lambda rank: int(rank["seen"]["RANK"]))

    def test_killed_worker_restarts_both_on_the_new_round(self):
        self.agent.agree(16)
        under = [launched.LAUNCH, "--record", self.agent.record, "--"]
        process = self.start("--standalone", "--nproc-per-node=2", "--max-restarts=1", under=under)
        first = self.lines(process, 2)
        for rank, said in enumerate(first):
            self.assertEqual(said["argv"], ["--batch-size=16"])
            self.assertEqual(said["seen"]["RANK"], str(rank))
            self.assertEqual(said["seen"]["WORLD_SIZE"], "2")
            self.assertEqual(said["seen"]["ROUND"], "1")
            self.assertEqual(said["seen"]["GLOBAL_BATCH"], "32")
            self.assertEqual((said["samples"], said["digests"]), (32, 1))
        self.agent.agree(8)
        os.kill(first[1]["pid"], signal.SIGKILL)
        for said in self.lines(process, 2):
            self.assertEqual(said["argv"], ["--batch-size=8"])
            self.assertEqual(said["seen"]["ROUND"], "2")
            self.assertEqual((said["samples"], said["digests"]), (16, 1))
        self.assertEqual(process.wait(120), 0)

    def test_world_that_shrinks_gets_the_row_of_its_size(self):
        self.agent.agree(16)
        port = launched.free_ports(1)[0]
        stays, leaves = (self.start(*self.elastic(port, host)) for host in ("true", "false"))
        both = self.lines(stays, 1) + self.lines(leaves, 1)
        self.assertEqual([said["world"] for said in both], [2, 2])
        self.assertEqual([said["samples"] for said in both], [32, 32])
        self.agent.agree(12)
        # As a node that is gone: the agent says nothing any more, and neither does its worker.
        leaves.kill()
        os.kill(both[1]["pid"], signal.SIGKILL)
        [left] = self.lines(stays, 1)
        self.assertEqual(left["world"], 1)
        self.assertEqual(left["argv"], ["--batch-size=12"])
        self.assertEqual(left["seen"]["WORLD_SIZE"], "1")
        self.assertEqual(left["seen"]["RANK"], "0")
        self.assertEqual(left["seen"]["GLOBAL_BATCH"], "12")
        self.assertEqual(stays.wait(120), 0)

    def test_nodes_that_agree_themselves_go_on_when_one_is_lost(self):
        secret = self.folder / "secret"
        secret.write_text("0123456789abcdef0123456789abcdef")
        secret.chmod(0o600)
        port, coordinator = launched.free_ports(2)
        worker = [launched.LAUNCH, "--worker", "--allow-simulated", "--", *self.train, "--batch-size={micro_batch}"]

        def node(name, card, host, *coordinator_is):
            under = [launched.LAUNCH, "--run-id", "job1", "--secret-file", secret,
                     "--device", "sim:" + card, "--allow-simulated", "--image-size", "64", "--max-batch", "8",
                     "--no-cache", "--node-id", name, "--name", name, "--state-dir", self.folder / name,
                     *coordinator_is, "--"]
            return self.start(*self.elastic(port, host), under=under, worker=worker, TRAIN_WHILE="WORLD_SIZE=2")

        stays = node("n1", "rtx3090", "true", "--host-coordinator", "--port", coordinator, "--last-call", "60s")
        leaves = node("n2", "a100-80", "false", "--coordinator", "127.0.0.1:%d" % coordinator)
        both = self.lines(stays, 1) + self.lines(leaves, 1)
        self.assertEqual([said["world"] for said in both], [2, 2])
        self.assertEqual([said["digests"] for said in both], [1, 1])
        self.assertEqual([said["argv"] for said in both], [["--batch-size=8"]] * 2)
        leaves.kill()
        [left] = self.lines(stays, 1)
        self.assertEqual((left["world"], left["seen"]["WORLD_SIZE"], left["seen"]["GLOBAL_BATCH"]), (1, "1", "8"))
        self.assertEqual(stays.wait(120), 0)


if __name__ == "__main__":
    unittest.main()
