"""Coordinators and agents as real processes: they agree, are killed, stopped and ended."""

import json
import signal
import unittest

from tests.e2e.cluster import Cluster, remove_programs
from tests.e2e.json_schema import differences


def tearDownModule():
    remove_programs()


class AgreementTest(unittest.TestCase):
    def setUp(self):
        self.cluster = Cluster(self)

    def records(self, *names):
        return [json.loads(self.cluster.record(name).read_text()) for name in names]

    def test_three_agents_agree_and_go_on_when_one_is_killed(self):
        cluster = self.cluster
        report = cluster.folder / "report.json"
        coordinator = cluster.coordinator("--max-nodes", "3", "--json", report, nodes="2")
        agents = [cluster.agent(name, "--json", cluster.folder / f"{name}.json", megabytes=megabytes)
                  for name, megabytes in (("n1", 300), ("n2", 120), ("n3", 300))]
        for agent in agents:
            agent.wait_for("training may start")
        first, second, third = self.records("n1", "n2", "n3")
        self.assertEqual(first, second)
        self.assertEqual(first, third)
        self.assertEqual(differences(first, "orchestrator/plan/schema/record.v1.json"), [])
        self.assertEqual(first["minimum_node"], "n2")
        self.assertEqual(first["world_size"], 3)
        coordinator.wait_for("batch .* on each of 3 ranks")

        self.assertEqual(agents[1].end(signal.SIGKILL), -signal.SIGKILL)
        coordinator.wait_for("n2 is lost")
        for agent in (agents[0], agents[2]):
            agent.wait_for("training may start: .* 2 ranks")
        later, other = self.records("n1", "n3")
        self.assertEqual(later, other)
        self.assertGreater(later["round"], first["round"])
        self.assertGreater(later["minimum_batch"], first["minimum_batch"])
        # From what is known: nobody ran a trial again.
        self.assertEqual(agents[0].said.count("confirm batch"), 1)

        self.assertEqual(coordinator.end(signal.SIGTERM), 128 + signal.SIGTERM)
        for agent in (agents[0], agents[2]):
            agent.wait_for("signal 15")
            self.assertEqual(agent.end(), 8)
        own = json.loads((cluster.folder / "n1.json").read_text())
        self.assertEqual(differences(own, "orchestrator/service/schema/agent_report.v1.json"), [])
        self.assertEqual((own["exit_code"], own["record"]), (8, later))
        whole = json.loads(report.read_text())
        self.assertEqual(differences(whole, "orchestrator/service/schema/coordinator_report.v1.json"), [])
        rounds = whole["rounds"]
        self.assertEqual([entry["round"] for entry in rounds if entry["committed"]],
                         [first["round"], later["round"]])
        self.assertEqual(rounds[0]["straggler"]["node"], "n2")

    def test_once_ends_with_the_first_commit_and_leaves_the_record(self):
        # As after a kill in the middle of a write.
        left = [self.cluster.folder / folder / f"{name}.tmp-a1B2c3"
                for folder, name in (("coordinator", "coordinator.state"), ("coordinator", "coordinator.state.next"),
                                     ("n1", "record.json"), ("n1", "record.json.prepared"))]
        for path in left:
            path.parent.mkdir(exist_ok=True)
            path.write_text("half of")
        coordinator = self.cluster.coordinator("--once", nodes="2")
        agents = [self.cluster.agent(name, "--once") for name in ("n1", "n2")]
        self.assertEqual([agent.end() for agent in agents], [0, 0])
        self.assertEqual(coordinator.end(), 0)
        first, second = self.records("n1", "n2")
        self.assertEqual(first, second)
        self.assertEqual([path for path in left if path.exists()], [])

    def test_joiner_takes_part_in_the_next_round(self):
        coordinator = self.cluster.coordinator("--max-nodes", "3", "--last-call", "1s", nodes="1")
        first = self.cluster.agent("n1")
        first.wait_for("training may start")
        joiner = self.cluster.agent("n2")
        joiner.wait_for("training may start: .* 2 ranks")
        first.wait_for("training may start: .* 2 ranks")
        self.assertEqual(*self.records("n1", "n2"))
        self.assertEqual(coordinator.end(signal.SIGINT), 128 + signal.SIGINT)

    def test_other_settings_are_named_and_refused(self):
        self.cluster.coordinator(nodes="2")
        first = self.cluster.agent("n1", "--config", "data=imagenet")
        first.wait_for("joined the run")
        second = self.cluster.agent("n2", "--config", "data=coco")
        self.assertEqual(second.end(), 7)
        self.assertIn("user.data: 'coco' on n2, 'imagenet' on n1", second.said)


class KilledTest(unittest.TestCase):
    """F1, F2, F4 to F8."""

    def setUp(self):
        self.cluster = Cluster(self)

    def test_agent_killed_before_its_hello_is_missing_by_name(self):
        coordinator = self.cluster.coordinator("--expect", "n1,n2", "--join-timeout", "15s",
                                               nodes="2")
        other = self.cluster.agent("n2")
        early = self.cluster.agent("n1", fault="describe-hang")
        other.wait_for("joined the run")
        self.assertEqual(early.end(signal.SIGKILL), -signal.SIGKILL)
        self.assertEqual(coordinator.end(), 7)
        self.assertRegex(coordinator.lines[-1], "n1")
        self.assertEqual(other.end(), 7)
        self.assertFalse(self.cluster.record("n2").exists())

    def test_agent_killed_while_it_probes_is_named_and_the_others_go_on(self):
        coordinator = self.cluster.coordinator("--max-nodes", "3", nodes="2")
        others = [self.cluster.agent(name) for name in ("n1", "n2")]
        slow = self.cluster.agent("n3", fault="hang")
        slow.wait_for("joined the run")
        coordinator.wait_for("reports: .*missing: .*n3")
        self.assertEqual(slow.end(signal.SIGKILL), -signal.SIGKILL)
        coordinator.wait_for("n3 is lost")
        for agent in others:
            agent.wait_for("training may start: .* 2 ranks")

    def test_coordinator_killed_before_the_commit_nobody_starts(self):
        coordinator = self.cluster.coordinator(nodes="2")
        agents = [self.cluster.agent(name, "--lost-timeout", "2s", fault=fault)
                  for name, fault in (("n1", ""), ("n2", "hang"))]
        coordinator.wait_for("reports: ")
        self.assertEqual(coordinator.end(signal.SIGKILL), -signal.SIGKILL)
        for agent, name in zip(agents, ("n1", "n2")):
            self.assertEqual(agent.end(), 8)
            self.assertFalse(self.cluster.record(name).exists())

    def test_coordinator_killed_at_the_commit_leaves_one_record_and_its_successor_goes_on(self):
        coordinator = self.cluster.coordinator(nodes="2")
        agents = [self.cluster.agent(name) for name in ("n1", "n2")]
        coordinator.wait_for("round 1 is committed")
        self.assertEqual(coordinator.end(signal.SIGKILL), -signal.SIGKILL)
        # Who has seen the commit has the same record as everybody who has.
        seen = {path.read_text() for path in map(self.cluster.record, ("n1", "n2"))
                if path.exists()}
        self.assertLessEqual(len(seen), 1)
        port = self.cluster.address.rsplit(":", 1)[1]
        marks = [len(agent.lines) for agent in agents]
        successor = self.cluster.coordinator(nodes="2", port=port)
        for agent, mark in zip(agents, marks):
            agent.wait_for("joined the run", after=mark)
        self.cluster.agent("n3")
        for agent in agents:
            agent.wait_for("training may start")
        first, second = (json.loads(self.cluster.record(name).read_text())
                         for name in ("n1", "n2"))
        self.assertEqual(first, second)
        self.assertEqual(successor.end(signal.SIGTERM), 128 + signal.SIGTERM)

    def test_successor_with_other_options_names_them_and_agrees_anew(self):
        coordinator = self.cluster.coordinator("--global-batch", "64", nodes="2")
        agents = [self.cluster.agent(name) for name in ("n1", "n2")]
        for agent in agents:
            agent.wait_for("training may start")
        self.assertEqual(coordinator.end(signal.SIGKILL), -signal.SIGKILL)
        marks = [len(agent.lines) for agent in agents]
        port = self.cluster.address.rsplit(":", 1)[1]
        successor = self.cluster.coordinator("--global-batch", "128", "--max-nodes", "3", nodes="2", port=port)
        successor.wait_for("other options than those of round 1: --max-nodes: 2 -> 3; --global-batch: 64 -> 128")
        for agent, mark in zip(agents, marks):
            agent.wait_for("training may start", after=mark)
        successor.wait_for("global batch 128")
        first, second = (json.loads(self.cluster.record(name).read_text()) for name in ("n1", "n2"))
        self.assertEqual(first, second)
        self.assertEqual((first["request"]["global_batch"], first["round"]), (128, 2))
        # From what is known: nobody ran a trial again.
        self.assertEqual([agent.said.count("confirm batch") for agent in agents], [1, 1])
        self.assertEqual(successor.end(signal.SIGTERM), 128 + signal.SIGTERM)

    def test_stopped_agent_is_put_out_and_comes_back_to_a_new_round(self):
        coordinator = self.cluster.coordinator("--max-nodes", "3", "--last-call", "1s", nodes="2")
        agents = [self.cluster.agent(name) for name in ("n1", "n2", "n3")]
        for agent in agents:
            agent.wait_for("training may start")
        agents[2].signal(signal.SIGSTOP)
        coordinator.wait_for("n3 is lost")
        agents[0].wait_for("training may start: .* 2 ranks")
        mark = len(agents[2].lines)
        agents[2].signal(signal.SIGCONT)
        agents[2].wait_for("training may start: .* 3 ranks", after=mark)
        agents[0].wait_for("training may start: .* 3 ranks")

    def test_stopped_coordinator_is_noticed_by_the_agents_own_clock(self):
        coordinator = self.cluster.coordinator(nodes="2")
        agents = [self.cluster.agent(name, "--lost-timeout", "2s", fault="hang")
                  for name in ("n1", "n2")]
        coordinator.wait_for("reports: ")
        coordinator.signal(signal.SIGSTOP)
        self.assertEqual([agent.end() for agent in agents], [8, 8])


class EndedTest(unittest.TestCase):
    """F17, F30, F31."""

    def setUp(self):
        self.cluster = Cluster(self)

    def test_ended_agent_leaves_with_a_message_and_without_children(self):
        coordinator = self.cluster.coordinator(nodes="2")
        agent = self.cluster.agent("n1", fault="hang")
        self.cluster.agent("n2", fault="hang")
        coordinator.wait_for("reports: ")
        self.assertEqual(agent.end(signal.SIGTERM), 128 + signal.SIGTERM)
        coordinator.wait_for("n1 leaves: .*signal 15")

    def test_ended_agent_leaves_no_record_to_start_on(self):
        self.cluster.coordinator("--max-nodes", "2", nodes="1")
        agents = [self.cluster.agent(name) for name in ("n1", "n2")]
        for agent in agents:
            agent.wait_for("training may start: .* 2 ranks")
        mark = len(agents[1].lines)
        self.assertEqual(agents[0].end(signal.SIGTERM), 128 + signal.SIGTERM)
        self.assertFalse(self.cluster.record("n1").exists())
        agents[1].wait_for("training may start: .* 1 ranks", after=mark)

    def test_same_name_twice_the_second_is_refused_with_the_holders_address(self):
        coordinator = self.cluster.coordinator(nodes="2")
        first = self.cluster.agent("n1")
        first.wait_for("joined the run")
        second = self.cluster.agent("n1", "--duplicate-patience", "2s", folder="second")
        self.assertEqual(second.end(), 7)
        self.assertRegex(second.lines[-1], r"127\.0\.0\.1:\d+")
        self.cluster.agent("n2")
        first.wait_for("training may start: .* 2 ranks")
        self.assertEqual(coordinator.end(signal.SIGTERM), 128 + signal.SIGTERM)

    def test_same_folder_twice_is_refused_at_once(self):
        self.cluster.coordinator(nodes="2")
        first = self.cluster.agent("n1")
        first.wait_for("joined the run")
        second = self.cluster.agent("n1")
        self.assertEqual(second.end(), 2)
        self.assertIn(f"in use by process {first.pid}", second.said)

    def test_node_rank_twice_is_refused(self):
        self.cluster.coordinator(nodes="2")
        first = self.cluster.agent("n1", "--node-rank", "0")
        first.wait_for("joined the run")
        second = self.cluster.agent("n2", "--node-rank", "0", "--duplicate-patience", "2s")
        self.assertEqual(second.end(), 7)
        self.assertRegex(second.lines[-1], "rank 0.*n1")

    def test_crashing_trial_names_its_device_and_ends_the_run(self):
        coordinator = self.cluster.coordinator(nodes="2")
        agents = [self.cluster.agent("n1"), self.cluster.agent("n2", fault="crash")]
        self.assertEqual(coordinator.end(), 5)
        self.assertRegex(coordinator.lines[-1], "n2")
        self.assertIn("SIGSEGV", coordinator.said)
        self.assertEqual([agent.end() for agent in agents], [5, 5])

    def test_crashing_trial_is_left_out_where_the_policy_says_so(self):
        coordinator = self.cluster.coordinator("--failed-device", "exclude", "--max-nodes", "3",
                                               nodes="2")
        agents = [self.cluster.agent("n1"), self.cluster.agent("n3")]
        self.cluster.agent("n2", fault="crash")
        for agent in agents:
            agent.wait_for("training may start: .* 2 ranks")
        self.assertIn("n2", coordinator.said)


if __name__ == "__main__":
    unittest.main()
