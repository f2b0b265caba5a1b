"""Programs on hosts of their own: the ways between them break, and names lead nowhere or to the wrong place."""

import json
import signal
import sys
import unittest

from tests.e2e.cluster import Cluster, remove_programs
from tests.e2e.hosts import NO_HOSTS, Network


def tearDownModule():
    remove_programs()


class HostedCluster(Cluster):
    """Programs start on the host that was named last."""

    host = None

    def on(self, host):
        self.host = host
        return self

    def start(self, command, **environment):
        return super().start(self.host.command(*command), **environment)


class NetworkTest(unittest.TestCase):
    def make(self, hosts, **options):
        self.cluster = HostedCluster(self)
        self.network = Network(self, self.cluster.folder, hosts, **options)
        self.hosts = self.network.hosts

    def coordinator(self, *arguments, **options):
        """On the first host."""
        return self.cluster.on(self.hosts[0]).coordinator(
            *arguments, **{"address": self.hosts[0].address, **options})

    def agents(self, *arguments):
        """One on each of the others, called n2 and so on."""
        return [self.cluster.on(host).agent(f"n{number}", *arguments)
                for number, host in enumerate(self.hosts[1:], 2)]


@unittest.skipIf(NO_HOSTS, NO_HOSTS)
class PartitionTest(NetworkTest):
    """F9, F21: what is lost on the way says nothing, and no end of a connection is told."""

    def check_half_open(self, *ways):
        """A connection that carries nothing that way any more; by TCP's own count it would last for a quarter of
        an hour."""
        self.make(4)
        coordinator = self.coordinator("--max-nodes", "3", "--last-call", "1s", nodes="2")
        agents = self.agents()
        for agent in agents:
            agent.wait_for("training may start: .* 3 ranks")
        marks = [len(agent.lines) for agent in agents]
        for sender, receiver in ways:
            self.network.block(self.hosts[sender], self.hosts[receiver])
        coordinator.wait_for("n4 is lost: no sign of life in 5 heartbeats")
        for agent, mark in zip(agents[:2], marks):
            agent.wait_for("training may start: .* 2 ranks", after=mark)
        agents[2].wait_for("the coordinator has answered none of 5 heartbeats|stale round", after=marks[2])
        self.network.heal()
        for agent, mark in zip(agents, marks):
            agent.wait_for("training may start: .* 3 ranks", after=mark)
        records = [json.loads(self.cluster.record(name).read_text()) for name in ("n2", "n3", "n4")]
        self.assertEqual(records[0], records[1])
        self.assertEqual(records[0], records[2])
        self.assertEqual(coordinator.end(signal.SIGTERM), 128 + signal.SIGTERM)
        for agent in agents:
            self.assertEqual(agent.end(), 8)

    def test_connection_that_is_dead_both_ways_is_noticed_at_both_ends(self):
        self.check_half_open((3, 0), (0, 3))

    def test_connection_that_brings_nothing_to_the_coordinator_is_noticed_at_both_ends(self):
        self.check_half_open((3, 0))

    def test_connection_that_brings_nothing_to_the_agent_is_noticed_at_both_ends(self):
        self.check_half_open((0, 3))

    def test_partition_during_the_last_call_leaves_the_others_their_round(self):
        self.make(4)
        coordinator = self.coordinator("--max-nodes", "4", "--last-call", "15s", nodes="2")
        agents = self.agents()
        for agent in agents:
            agent.wait_for("joined the run")
        self.network.block(self.hosts[3], self.hosts[0])
        self.network.block(self.hosts[0], self.hosts[3])
        coordinator.wait_for("n4 is lost")
        for agent in agents[:2]:
            agent.wait_for("training may start: .* 2 ranks")
        self.assertFalse(self.cluster.record("n4").exists())

    def test_partition_below_the_minimum_ends_with_a_list(self):
        self.make(4)
        coordinator = self.coordinator("--expect", "n2,n3,n4", "--join-timeout", "15s", nodes="3")
        for host in self.hosts[2:]:
            self.network.block(host, self.hosts[0])
        agents = self.agents("--join-timeout", "15s")
        self.assertEqual(coordinator.end(), 7)
        self.assertRegex(coordinator.lines[-1], "missing: n3, n4")
        self.assertEqual([agent.end() for agent in agents], [7, 8, 8])
        for name in ("n2", "n3", "n4"):
            self.assertFalse(self.cluster.record(name).exists())


@unittest.skipIf(NO_HOSTS, NO_HOSTS)
class NamesTest(NetworkTest):
    """F26."""

    # On its own the system's resolver would wait for two and a half minutes.
    PATIENT = {"resolv.conf": "nameserver 10.99.0.3\noptions timeout:30 attempts:5\n"}

    def name_server(self, *names):
        """On the third host: what it knows; it is silent until self.speaks is there."""
        self.speaks = self.cluster.folder / "speaks"
        server = self.cluster.on(self.hosts[2]).start(
            [sys.executable, "tests/e2e/name_server.py", self.hosts[2].address, self.speaks, *names])
        server.wait_for("serves")
        return server

    def known_as(self, *names):
        """The coordinator's address with these hosts in it."""
        port = self.cluster.address.rsplit(":", 1)[1]
        self.cluster.address = ",".join(f"{name}:{port}" for name in names)

    def test_silent_name_server_does_not_keep_an_agent_from_the_next_address(self):
        self.make(3, files={2: self.PATIENT})
        self.coordinator(nodes="1")
        self.name_server()
        self.known_as("far.test", self.hosts[0].address)
        self.cluster.on(self.hosts[1]).agent("n2", "--connect-timeout", "4s").wait_for("training may start")

    def test_silent_name_server_holds_up_no_end(self):
        self.make(3, files={2: self.PATIENT})
        self.coordinator(nodes="1")
        server = self.name_server()
        self.known_as("far.test")
        agent = self.cluster.on(self.hosts[1]).agent("n2", "--connect-timeout", "2s", "--join-timeout", "5s")
        self.assertEqual(agent.end(), 8)
        self.assertIn("far.test", agent.lines[-1])
        mark = len(server.lines)
        agent = self.cluster.on(self.hosts[1]).agent("n3")
        server.wait_for("far.test", after=mark)
        self.assertEqual(agent.end(signal.SIGTERM), 128 + signal.SIGTERM)

    def test_name_that_comes_late_is_asked_for_until_the_join_deadline(self):
        self.make(3, files={2: {"resolv.conf": "nameserver 10.99.0.3\noptions timeout:1 attempts:1\n"}})
        self.coordinator(nodes="1")
        server = self.name_server(f"near.test={self.hosts[0].address}")
        self.known_as("near.test")
        agent = self.cluster.on(self.hosts[1]).agent("n2")
        server.wait_for("near.test")
        server.wait_for("near.test", after=len(server.lines))
        self.speaks.touch()
        agent.wait_for("training may start")

    def check_first_address(self, address):
        """A name that leads there first, and then to the coordinator."""
        self.make(3, files={2: self.PATIENT})
        self.coordinator(nodes="1")
        self.name_server(f"both.test={address},{self.hosts[0].address}")
        self.speaks.touch()
        self.known_as("both.test")
        self.cluster.on(self.hosts[1]).agent("n2", "--join-timeout", "30s").wait_for("training may start")

    def test_address_without_a_route_is_no_obstacle(self):
        self.check_first_address("2001:db8::1")

    def test_address_that_nobody_answers_at_is_no_obstacle(self):
        self.check_first_address("fd00:99::dead")
        # It was the first that the system named.
        first = self.hosts[1].run(sys.executable, "-c", "import socket\n"
                                  "print(socket.getaddrinfo('both.test', 1, type=socket.SOCK_STREAM)[0][4][0])")
        self.assertEqual(first, "fd00:99::dead\n")

    def test_own_name_at_127_0_1_1_is_never_told_to_other_hosts(self):
        self.make(3)
        report = self.cluster.folder / "address"
        here = self.hosts[0].run(sys.executable, "-c", "import socket\n"
                                 "print(socket.gethostbyname(socket.gethostname()))")
        self.assertEqual(here, "127.0.1.1\n")
        self.coordinator("--address-file", report, address="::", nodes="2")
        self.assertEqual(self.cluster.address.rsplit(":", 1)[0], self.hosts[0].address)
        told = self.cluster.address
        there = self.cluster.on(self.hosts[1]).agent("n2")
        # On its own host that name does lead to it.
        self.known_as("h1")
        here = self.cluster.on(self.hosts[0]).agent("n1")
        for agent in (here, there):
            agent.wait_for("training may start: .* 2 ranks")
        self.assertEqual(report.read_text(), told + "\n")

    def test_advertised_address_is_told_instead_of_the_first(self):
        self.make(2)
        report = self.cluster.folder / "address"
        self.coordinator("--advertise-address", self.hosts[0].address6, "--address-file", report, address="::",
                         nodes="1")
        self.assertRegex(self.cluster.address, rf"^\[{self.hosts[0].address6}\]:[0-9]+$")
        self.agents()[0].wait_for("training may start")
        self.assertEqual(report.read_text(), self.cluster.address + "\n")

    def test_host_without_a_way_to_others_says_so(self):
        self.make(1)
        self.hosts[0].run("ip", "route", "del", "default")
        coordinator = self.coordinator(address="::", nodes="1")
        coordinator.wait_for("warning: this host has no default route, .* --advertise-address")


if __name__ == "__main__":
    unittest.main(verbosity=2)
