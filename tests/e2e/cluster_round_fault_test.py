"""Faults in the middle of a round, where some have reported and others have not, or the disk has no more room."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import unittest

from tests.e2e.cluster import PROGRAMS, Cluster, remove_programs
from tests.e2e.gate import Gate
from tests.e2e.hosts import NO_HOSTS, Network, run


def setUpModule():
    for library in ("libsimcuda.so", "driver/libcuda.so.1", "driver/libnvidia-ml.so.1"):
        shutil.copy(f"autobatch/simcuda/{library}", PROGRAMS)


def tearDownModule():
    remove_programs()


class ReportedTest(unittest.TestCase):
    """F4, F18, F31."""

    def setUp(self):
        self.cluster = Cluster(self)

    def test_agent_killed_after_its_report_is_not_counted(self):
        coordinator = self.cluster.coordinator("--max-nodes", "3", nodes="2")
        first = self.cluster.agent("n1")
        # It would set the minimum.
        small = self.cluster.agent("n3", megabytes=120)
        gate = Gate(self, self.cluster.folder / "gate")
        slow = self.cluster.agent("n2", environment=gate.environment)
        gate.wait_for("describe")
        coordinator.wait_for("reports: 2 of 3; missing: n2")
        self.assertEqual(small.end(signal.SIGKILL), -signal.SIGKILL)
        coordinator.wait_for("n3 is lost")
        gate.open()
        for agent in (first, slow):
            agent.wait_for("training may start: .* 2 ranks")
        record = json.loads(self.cluster.record("n1").read_text())
        self.assertIn(record["minimum_node"], ("n1", "n2"))
        self.assertNotIn("n3", self.cluster.record("n2").read_text())

    def on_gpu(self, gpu):
        """The environment of an agent that sees this GPU."""
        shared = self.cluster.folder / f"gpu-{gpu}"
        shared.mkdir(exist_ok=True)
        return {"LD_LIBRARY_PATH": str(PROGRAMS), "AUTOBATCH_SIM_DEVICES": "rtx3090", "AUTOBATCH_SIM_NODE": gpu,
                "AUTOBATCH_SIM_SHARED": str(shared)}

    def test_two_agents_with_one_gpu_are_both_named(self):
        # As two containers that see the same GPU.
        coordinator = self.cluster.coordinator(nodes="3")
        agents = [self.cluster.agent(name, device="cuda", environment=self.on_gpu(gpu))
                  for name, gpu in (("n1", "one"), ("n2", "two"))]
        for agent in agents:
            agent.wait_for("joined the run")
        third = self.cluster.agent("n3", "--duplicate-patience", "2s", device="cuda",
                                   environment=self.on_gpu("one"))
        self.assertEqual(third.end(), 7)
        for program in (third, coordinator):
            self.assertRegex(program.said, r"device GPU-\S+ of n3 is also that of n1 at 127\.0\.0\.1:\d+: "
                                           "two agents see one GPU")
        for agent in agents:
            self.assertIsNone(agent.process.poll())

    def test_trial_that_is_killed_or_hangs_names_its_device(self):
        for fault, word in (("killed", "SIGKILL"), ("hang", "hung|time")):
            with self.subTest(fault):
                cluster = Cluster(self)
                coordinator = cluster.coordinator(nodes="2")
                agents = [cluster.agent("n1"), cluster.agent("n2", "--trial-timeout", "2s", fault=fault)]
                self.assertEqual(coordinator.end(), 5)
                self.assertRegex(coordinator.lines[-1], "n2")
                self.assertRegex(coordinator.said, word)
                self.assertEqual([agent.end() for agent in agents], [5, 5])


@unittest.skipIf(NO_HOSTS, NO_HOSTS)
class SlowReaderTest(unittest.TestCase):
    """F10: the kernel takes a few pages for a peer that never reads, and the record is larger."""

    def test_member_that_reads_nothing_is_dropped_and_the_others_go_on(self):
        cluster = Cluster(self)
        network = Network(self, cluster.folder, 2)
        coordinator_host, agents_host = network.hosts
        for host, name in ((coordinator_host, "tcp_wmem"), (agents_host, "tcp_rmem")):
            host.run("sh", "-c", f"echo 4096 16384 16384 >/proc/sys/net/ipv4/{name}")
        start = cluster.start

        def on(host):
            cluster.start = lambda command, **environment: start(host.command(*command), **environment)

        on(coordinator_host)
        # Nobody is soon lost by what it does not say.
        coordinator = cluster.coordinator("--max-nodes", "3", "--lost-after", "60", "--min-ranks", "1",
                                          "--max-ranks", "2000", address=coordinator_host.address, nodes="2")
        on(agents_host)
        first, deaf = [cluster.agent(name) for name in ("n1", "n3")]
        gate = Gate(self, cluster.folder / "gate")
        slow = cluster.agent("n2", environment=gate.environment)
        gate.wait_for("describe")
        coordinator.wait_for("reports: 2 of 3; missing: n2")
        deaf.signal(signal.SIGSTOP)
        gate.open()
        coordinator.wait_for("the connection of n3 broke: sending to .*: not done in time")
        for agent in (first, slow):
            agent.wait_for("training may start: .* 2 ranks")
        self.assertGreater(cluster.record("n1").stat().st_size, 1 << 17)
        self.assertFalse(cluster.record("n3").exists())


@unittest.skipIf(NO_HOSTS, NO_HOSTS)
class DiskTest(unittest.TestCase):
    """F28, with disks of a few pages."""

    def setUp(self):
        self.cluster = Cluster(self)

    def start_on_disk(self, folder, start):
        """Starts a program that keeps its state there, on a disk of its own."""
        place = self.cluster.folder / folder
        place.mkdir(mode=0o700)
        plain = self.cluster.start
        self.cluster.start = lambda command, **environment: plain(
            ["unshare", "--mount", "sh", "-c",
             'mount -t tmpfs -o size=64k,mode=700 none "$0" && exec "$@"', place, *command], **environment)
        program = start()
        self.cluster.start = plain
        return program, pathlib.Path(f"/proc/{program.pid}/root{place}")

    def fill(self, disk):
        with open(disk / "filler", "wb", buffering=0) as filler, self.assertRaisesRegex(OSError, "No space"):
            while True:
                filler.write(bytes(4096))

    def test_programs_that_find_no_room_at_their_start_say_so_with_one_exit_code(self):
        cluster = self.cluster
        cluster.coordinator(nodes="1")
        for name in ("agent", "coordinator"):
            place = cluster.folder / f"full-{name}"
            place.mkdir(mode=0o700)
            where = ["--coordinator", cluster.address, "--device", "cpu"] if name == "agent" else ["--port", "0"]
            program = cluster.start(
                ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o nr_inodes=1,mode=700 none "$0" && exec "$@"',
                 place, PROGRAMS / name, "--run-id", cluster.run_id, "--secret-file", cluster.secret,
                 "--state-dir", place / "state", *where])
            self.assertEqual(program.end(), 1, program.said)
            self.assertIn("No space left", program.said)

    def test_agent_whose_disk_is_full_starts_nothing_anywhere(self):
        coordinator = self.cluster.coordinator(nodes="2")
        agent, disk = self.start_on_disk("n1", lambda: self.cluster.agent("n1"))
        agent.wait_for("joined the run")
        self.fill(disk)
        self.cluster.agent("n2")
        coordinator.wait_for("n1 leaves: the record cannot be written: .*No space left")
        coordinator.wait_for("round 1 is aborted: n1 is gone")
        self.assertEqual(agent.end(), 1)
        self.assertFalse(self.cluster.record("n2").exists())

    def test_agent_whose_disk_has_become_read_only_starts_nothing_anywhere(self):
        coordinator = self.cluster.coordinator(nodes="2")
        agent, _ = self.start_on_disk("n1", lambda: self.cluster.agent("n1"))
        agent.wait_for("joined the run")
        run("nsenter", "--target", str(agent.pid), "--mount", "mount", "-t", "tmpfs", "-o", "ro", "none",
            str(self.cluster.folder / "n1"))
        self.cluster.agent("n2")
        coordinator.wait_for("n1 leaves: the record cannot be written: .*Read-only")
        self.assertEqual(agent.end(), 1)
        self.assertFalse(self.cluster.record("n2").exists())

    def test_coordinator_whose_disk_is_full_commits_nothing(self):
        coordinator, disk = self.start_on_disk("coordinator", lambda: self.cluster.coordinator(nodes="2"))
        agents = [self.cluster.agent("n1")]
        agents[0].wait_for("joined the run")
        self.fill(disk)
        agents.append(self.cluster.agent("n2"))
        self.assertEqual(coordinator.end(), 1)
        self.assertRegex(coordinator.lines[-1], "state cannot be written: .*No space left")
        self.assertEqual([agent.end() for agent in agents], [8, 8])
        for name in ("n1", "n2"):
            self.assertFalse(self.cluster.record(name).exists())


class CrowdTest(unittest.TestCase):
    """F25."""

    AGENTS = 1000

    def test_a_thousand_agents_at_once_are_all_served(self):
        cluster = Cluster(self, run_id="benchmark")
        cluster.secret = cluster.write_secret("known", "a secret of the benchmark")
        coordinator = cluster.coordinator(nodes=str(self.AGENTS))
        agents = subprocess.Popen(
            [os.path.abspath("tests/benchmarks/cluster_agents"), cluster.address.rsplit(":", 1)[1],
             str(self.AGENTS), cluster.folder / "agents"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(agents.communicate)
        self.assertEqual(agents.stdout.readline(), "ready\n")
        agents.stdin.write("\n")
        agents.stdin.flush()
        coordinator.wait_for("round 1 is committed")
        # Of the last that may start.
        self.assertRegex(agents.stdout.readline(), "^seconds ")
        self.assertEqual(coordinator.end(signal.SIGTERM), 128 + signal.SIGTERM)


if __name__ == "__main__":
    unittest.main(verbosity=2)
