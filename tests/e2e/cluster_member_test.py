"""What a coordinator makes of members that know the secret and still break the rules, and of clocks that jump."""

import datetime
import json
import os
import pathlib
import signal
import unittest

from tests.e2e.cluster import Cluster, remove_programs
from tests.e2e.member import (COLLECT, COMMIT, COMMITTED, HEARTBEAT, HEARTBEAT_ACK, PREPARE, PREPARED,
                              REFUSE, REPORT, Member, frame, header)

# Bytes of one message.
LIMIT_BEFORE_HELLO, LIMIT = 64 << 10, 4 << 20


def tearDownModule():
    remove_programs()


class MemberTest(unittest.TestCase):
    """F3, F12, F16, F19."""

    def setUp(self):
        self.cluster = Cluster(self)
        self.coordinator = self.cluster.coordinator("--max-nodes", "3", "--last-call", "1s",
                                                    "--lost-after", "60")

    def join(self, *names, **fields):
        members = [Member(self.cluster, name) for name in names]
        for member in members:
            member.hello(**fields)
        return members

    def agree(self, members, batch=8):
        """They go through the round that they are asked for; the record that comes of it."""
        number = self.collect(members)
        return self.report_and_commit(members, number, batch)

    def collect(self, members):
        [number] = {member.wait_for(COLLECT)["round"] for member in members}
        return number

    def report_and_commit(self, members, number, batch=8):
        for member in members:
            member.report(number, batch)
        return self.prepare_and_commit(members, number)

    def prepare_and_commit(self, members, number):
        prepared = [member.wait_for(PREPARE) for member in members]
        [text] = {prepare["record"] for prepare in prepared}
        for member, prepare in zip(members, prepared):
            member.say(PREPARED, number, digest=prepare["digest"])
        for member in members:
            commit = member.wait_for(COMMIT)
            member.say(COMMITTED, number, digest=commit["digest"])
        self.coordinator.wait_for(f"round {number} is committed")
        return json.loads(text)

    def test_member_cut_off_in_the_middle_of_a_frame_keeps_no_place(self):
        whole = frame(REPORT, {"run_id": self.cluster.run_id, "round": 1, "devices": []})
        for cut in (8, len(whole) - 5):
            with self.subTest(cut=cut):
                run = Cluster(self, run_id=f"job{cut}")
                self.cluster = run
                self.coordinator = run.coordinator("--max-nodes", "3", nodes="2")
                first, second, broken = self.join("n1", "n2", "n3")
                broken.wait_for(COLLECT)
                broken.send_bytes(whole[:cut])
                broken.discard()
                self.coordinator.wait_for("n3 is lost")
                record = self.agree([first, second])
                self.assertEqual(record["world_size"], 2)
                # Its place is free for its next start.
                again = Member(run, "n3", incarnation="2")
                again.hello()
                self.assertEqual(self.agree([first, second, again])["world_size"], 3)

    def test_length_beyond_the_bound_ends_the_connection_and_takes_no_memory(self):
        [first] = self.join("n1")
        for limit, known in ((LIMIT_BEFORE_HELLO, False), (LIMIT, True)):
            # A third time would keep a member out.
            for length in (limit + 1, (1 << 32) - 1) if known else (limit + 1, 1 << 31, (1 << 32) - 1):
                said = len(self.coordinator.lines)
                giant = Member(self.cluster, "n2", incarnation=str(length))
                if known:
                    giant.hello()
                giant.send_bytes(header(REPORT, length))
                giant.wait_for(None)
                self.coordinator.wait_for(f"a message of {length} bytes; {limit} is the limit", said)
        # Of lengths that are allowed, what is in them counts.
        for payload in (b"", b"{"):
            odd = Member(self.cluster, f"odd{len(payload)}")
            odd.send_bytes(header(REPORT, len(payload)) + payload)
            odd.wait_for(None)
        status = pathlib.Path(f"/proc/{self.coordinator.pid}/status").read_text(encoding="utf-8")
        peak_kib = int(status.split("VmHWM:")[1].split()[0])
        self.assertLess(peak_kib, 128 << 10)
        self.assertEqual(self.agree([first, *self.join("n2", "n3")])["world_size"], 3)

    def test_other_protocol_version_is_refused_by_name(self):
        for version in (0, 2, 65535):
            with self.subTest(version=version):
                foreign = Member(self.cluster, f"v{version}")
                foreign.send_bytes(frame(1, {"run_id": self.cluster.run_id}, version=version))
                refusal = foreign.wait_for(REFUSE)
                self.assertEqual(refusal["code"], "version")
                self.assertIn(str(version), refusal["reason"])
                self.assertIn("1", refusal["reason"])
                foreign.wait_for(None)

    def test_unknown_message_is_refused_and_unknown_field_ignored(self):
        members = self.join("n1", "n2", "n3", a_field_of_tomorrow={"x": [1, 2]})
        number = self.collect(members)
        members[0].say(77, number, something="new")
        self.assertIn("77", members[0].wait_for(REFUSE)["reason"])
        self.assertEqual(self.report_and_commit(members, number)["world_size"], 3)

    def test_what_is_said_twice_late_or_in_the_wrong_order_changes_nothing(self):
        first, second, third = members = self.join("n1", "n2", "n3")
        self.collect(members)
        # Before its report, of a round to come, and of one that never was.
        first.say(PREPARED, 1, digest="sha256:00")
        first.report(2, 99)
        self.assertEqual(first.wait_for(REFUSE)["code"], "stale_round")
        first.report(1, 8)
        first.report(1, 4)
        second.report(1, 16)
        third.report(1, 16)
        record = self.prepare_and_commit(members, 1)
        self.assertEqual(record["minimum_batch"], 8)
        # After the commit: the record stands, and everybody is still a member.
        first.report(1, 2)
        first.say(COMMITTED, 1, digest=record["digest"])
        first.say(PREPARED, 1, digest=record["digest"])
        for number, member in enumerate(members, 1):
            member.say(HEARTBEAT, 1, sequence=number)
            self.assertEqual(member.wait_for(HEARTBEAT_ACK)["sequence"], number)
        self.assertEqual(self.coordinator.end(signal.SIGTERM), 128 + signal.SIGTERM)
        self.assertNotIn("round 2", self.coordinator.said)

    def test_round_that_no_run_has_seen_is_refused_and_the_run_goes_on(self):
        liar = Member(self.cluster, "n9")
        with self.assertRaisesRegex(AssertionError, "the connection ended"):
            liar.hello(round_number=1 << 53)
        self.coordinator.wait_for("refused n9 .* has seen round 9007199254740992")
        # What a member of a run may have seen, whose coordinator has lost its state, is passed.
        members = self.join("n1", "n2", "n3", round_number=41)
        self.assertEqual(self.agree(members)["round"], 42)

    def test_who_breaks_the_protocol_again_and_again_holds_up_no_round(self):
        self.cluster = Cluster(self, run_id="job2")
        self.coordinator = self.cluster.coordinator("--max-nodes", "3", "--last-call", "1s", nodes="2")
        first, second = self.join("n1", "n2")
        first.wait_for(COLLECT)
        second.wait_for(COLLECT)
        first.report(1, 8)
        breaches = (lambda member: member.send_bytes(header(REPORT, 1) + b"{"),
                    lambda member: member.send_bytes(bytes(16)),
                    lambda member: member.send_bytes(header(REPORT, LIMIT + 1)))
        for breach in breaches:
            bad = Member(self.cluster, "n3", incarnation="same")
            bad.hello()
            breach(bad)
            bad.wait_for(None)
        self.coordinator.wait_for("n3 is lost: it has broken the protocol 3 times")
        anew = Member(self.cluster, "n3", incarnation="another")
        with self.assertRaisesRegex(AssertionError, "the connection ended"):
            anew.hello()
        self.coordinator.wait_for("refused n3 .*may come back in")
        second.report(1, 8)
        self.assertEqual(self.prepare_and_commit([first, second], 1)["world_size"], 2)


class ClockTest(unittest.TestCase):
    """F20."""

    def test_wall_clocks_that_jump_by_hours_move_no_deadline(self):
        cluster = Cluster(self)
        jumping = {"LD_PRELOAD": os.path.abspath("tests/e2e/libjumping_clock.so")}
        coordinator = cluster.coordinator(nodes="2", environment=jumping)
        agents = [cluster.agent(name, environment=jumping) for name in ("n1", "n2")]
        for agent in agents:
            agent.wait_for("training may start: .* 2 ranks")
        record = json.loads(cluster.record("n1").read_text())
        agents[1].signal(signal.SIGKILL)
        coordinator.wait_for("n2 is lost")
        self.assertNotIn("n1 is lost", coordinator.said)
        self.assertEqual(coordinator.end(signal.SIGTERM), 128 + signal.SIGTERM)
        # The clocks did jump.
        created = datetime.datetime.fromisoformat(record["created"])
        away = abs(created - datetime.datetime.now(datetime.timezone.utc))
        self.assertGreater(away, datetime.timedelta(minutes=30))


if __name__ == "__main__":
    unittest.main()
