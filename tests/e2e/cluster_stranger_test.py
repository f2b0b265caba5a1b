"""Whoever does not belong to a run, and a machine that has no more to give: the run goes on without them."""

import contextlib
import os
import pathlib
import re
import signal
import socket
import ssl
import struct
import subprocess
import threading
import unittest

from tests.e2e.cluster import PROGRAMS, Cluster, remove_programs
from tests.e2e.member import MAGIC, Member, derived

# What services of other kinds say first.
FOREIGN = {
    "HTTP": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    "plain frame": struct.pack(">IHHII", MAGIC, 1, 1, 2, 0) + b"{}",
    "TCPStore": b"\0" + struct.pack("<I", 0x3C85F7CE) + bytes(8),
    "NCCL": bytes.fromhex("6c9d4bfcf2b94a56") + bytes(8),
    "SSH": b"SSH-2.0-OpenSSH_9.2\r\n",
    "zeros": bytes(1024),
    "random": bytes((i * 151 + 7) % 256 for i in range(4096)),
    "TLS record of 2^16 - 1 bytes": b"\x16\x03\x01\xff\xff" + bytes(64),
}


def tearDownModule():
    remove_programs()


def connect(address):
    host, port = address.rsplit(":", 1)
    return socket.create_connection((host, int(port)), timeout=60)


def alert(address, identity, key):
    """The number of the alert that ends TLS with this key."""
    run = subprocess.run(["openssl", "s_client", "-connect", address, "-tls1_3", "-psk", key.hex(),
                          "-psk_identity", identity], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         timeout=60, check=False)
    return re.search(r"alert number (\d+)", run.stderr).group(1)


class Recorder:
    """Passes one connection on to an address, and keeps what the caller says."""

    def __init__(self, test, address):
        self.said = b""
        self._server = socket.create_server(("127.0.0.1", 0))
        self._there = connect(address)
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self._threads = [threading.Thread(target=self._listen)]
        self._threads[0].start()
        test.addCleanup(self._end)

    def _listen(self):
        self._here, _ = self._server.accept()
        self._threads.append(threading.Thread(target=self._answer))
        self._threads[1].start()
        with contextlib.suppress(OSError):
            while part := self._here.recv(65536):
                self.said += part
                self._there.sendall(part)
            self._there.shutdown(socket.SHUT_WR)

    def _answer(self):
        with contextlib.suppress(OSError):
            while part := self._there.recv(65536):
                self._here.sendall(part)

    def _end(self):
        for end in (self._here, self._there):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()
        for end in (self._here, self._there, self._server):
            end.close()


def dumped_memory(pid):
    """What a process may write to and has not kept out of core dumps."""
    shown = []
    maps = pathlib.Path(f"/proc/{pid}/smaps").read_text(encoding="utf-8")
    with open(f"/proc/{pid}/mem", "rb", buffering=0) as memory:
        for begin, end, flags in re.findall(r"^(\w+)-(\w+) rw.*?^VmFlags:(.*?)$", maps,
                                            re.MULTILINE | re.DOTALL):
            if "dd" in flags.split():
                continue
            memory.seek(int(begin, 16))
            with contextlib.suppress(OSError):  # Beyond the end of a file.
                shown.append(memory.read(int(end, 16) - int(begin, 16)))
    return b"".join(shown)


class StrangerTest(unittest.TestCase):
    """F10 to F15: nobody but members takes a place or moves a deadline."""

    def setUp(self):
        self.cluster = Cluster(self)

    def agree(self, coordinator):
        """Two agents are let in and agree."""
        agents = [self.cluster.agent(name) for name in ("n1", "n2")]
        for agent in agents:
            agent.wait_for("training may start: .* 2 ranks")
        self.assertEqual(coordinator.end(signal.SIGTERM), 128 + signal.SIGTERM)
        self.assertLess(len(coordinator.lines), 100, coordinator.said)

    def test_other_protocols_are_turned_away(self):
        coordinator = self.cluster.coordinator(nodes="2")
        for words in FOREIGN.values():
            with connect(self.cluster.address) as peer:
                peer.sendall(words)
                # Until it hangs up; what it says is TLS's generic alert at most.
                answer = b""
                with contextlib.suppress(ConnectionError):
                    while chunk := peer.recv(4096):
                        answer += chunk
                self.assertLess(len(answer), 64, words)
        self.agree(coordinator)

    def test_tls_of_others_is_turned_away(self):
        coordinator = self.cluster.coordinator(nodes="2")
        browser = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        browser.check_hostname = False
        browser.verify_mode = ssl.CERT_NONE
        for oldest in (ssl.TLSVersion.TLSv1_3, ssl.TLSVersion.TLSv1_2):
            browser.maximum_version = oldest
            with connect(self.cluster.address) as peer, self.assertRaises((ssl.SSLError, ConnectionError)):
                browser.wrap_socket(peer)
        coordinator.wait_for("turned away .*TLS of something else")
        self.agree(coordinator)

    def test_wrong_secret_run_and_role_are_told_apart_here_and_not_there(self):
        coordinator = self.cluster.coordinator(nodes="2")
        key = derived(self.cluster.secret.read_bytes(), b"autobatch tls psk v1")
        alerts = []
        for identity, its_key, reason in (
                ("autobatch1 agent job", derived(b"another secret", b"autobatch tls psk v1"), "has another secret"),
                ("autobatch1 agent other", key, "belongs to another run"),
                ("autobatch1 coordinator job", key, "has the wrong role")):
            alerts.append(alert(self.cluster.address, identity, its_key))
            coordinator.wait_for(reason)
        self.assertEqual(len(set(alerts)), 1, alerts)
        self.agree(coordinator)

    def test_session_that_is_played_back_whole_or_in_part_is_turned_away(self):
        coordinator = self.cluster.coordinator(nodes="2")
        real = self.cluster.address
        recorder = Recorder(self, real)
        self.cluster.address = recorder.address
        honest = Member(self.cluster, "n9")
        honest.hello()
        self.cluster.address = real
        honest.discard()
        coordinator.wait_for("n9 is lost")
        joined = coordinator.said.count("n9 at")
        for part in (recorder.said, recorder.said[:len(recorder.said) // 2], recorder.said[:20]):
            with connect(real) as peer, contextlib.suppress(ConnectionError):
                peer.sendall(part)
                peer.shutdown(socket.SHUT_WR)
                while peer.recv(4096):
                    pass
        self.assertEqual(coordinator.said.count("n9 at"), joined)
        self.agree(coordinator)

    def test_silent_peers_and_slow_ones_have_one_deadline_in_all(self):
        coordinator = self.cluster.coordinator("--handshake-timeout", "2s", nodes="2")
        with contextlib.ExitStack() as stack:
            silent = [stack.enter_context(connect(self.cluster.address)) for _ in range(20)]
            slow = stack.enter_context(connect(self.cluster.address))
            slow.settimeout(0.2)
            # A byte now and then: the deadline does not move.
            with contextlib.suppress(ConnectionError):
                for byte in b"\x16\x03\x01\x01\x00" * 1000:
                    slow.sendall(bytes([byte]))
                    with contextlib.suppress(TimeoutError):
                        if not slow.recv(64):
                            break
                else:
                    self.fail("it was listened to for ever")
            for peer in silent:
                with contextlib.suppress(ConnectionError):
                    while peer.recv(64):
                        pass
        self.agree(coordinator)

    def test_port_scan_takes_no_place_and_floods_no_log(self):
        coordinator = self.cluster.coordinator(nodes="2")
        for i in range(1000):
            peer = connect(self.cluster.address)
            if i % 2:
                # Closed by a reset.
                peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            peer.close()
        self.agree(coordinator)

    def test_wrong_secret_is_refused_and_the_reason_stays_here(self):
        coordinator = self.cluster.coordinator(nodes="2")
        wrong = self.cluster.agent("n9", secret=self.cluster.write_secret("wrong", "f" * 32))
        self.assertEqual(wrong.end(), 9)
        self.assertNotIn("f" * 32, wrong.said + coordinator.said)
        self.assertNotIn("joined", coordinator.said)
        self.agree(coordinator)

    def test_agent_of_another_run_is_not_let_in(self):
        coordinator = self.cluster.coordinator(nodes="2")
        self.assertEqual(self.cluster.agent("n9", run_id="other").end(), 9)
        self.agree(coordinator)

    def test_secret_that_others_can_read_is_refused_before_anything_is_sent(self):
        self.cluster.coordinator(nodes="2")
        shown = self.cluster.write_secret("shown", "0123456789abcdef")
        shown.chmod(0o644)
        agent = self.cluster.agent("n1", secret=shown)
        self.assertEqual(agent.end(), 2)
        self.assertIn(str(shown), agent.said)

    def test_secret_is_in_no_argument_and_no_environment(self):
        coordinator = self.cluster.coordinator(nodes="2")
        agent = self.cluster.agent("n1")
        agent.wait_for("joined the run")
        secret = self.cluster.secret.read_text()
        for pid in (coordinator.pid, agent.pid):
            for name in ("cmdline", "environ"):
                self.assertNotIn(secret, pathlib.Path(f"/proc/{pid}/{name}").read_text())

    def test_neither_secret_nor_key_is_in_what_a_core_dump_shows(self):
        coordinator = self.cluster.coordinator(nodes="2")
        agent = self.cluster.agent("n1")
        agent.wait_for("joined the run")
        secret = self.cluster.secret.read_bytes()
        for pid in (coordinator.pid, agent.pid):
            shown = dumped_memory(pid)
            # It is to be found at all.
            self.assertIn(self.cluster.run_id.encode(), shown)
            self.assertNotIn(secret, shown)
            for purpose in (b"autobatch tls psk v1", b"autobatch seal v1"):
                self.assertNotIn(derived(secret, purpose), shown, purpose)


class ScarceTest(unittest.TestCase):
    """F25, F27, F28."""

    def setUp(self):
        self.cluster = Cluster(self)

    def test_without_descriptors_agents_wait_until_there_are_some(self):
        cluster = self.cluster
        coordinator = cluster.start(
            ["prlimit", "--nofile=40:40", PROGRAMS / "coordinator", "--run-id", cluster.run_id,
             "--secret-file", cluster.secret, "--bind", "127.0.0.1", "--port", "0", "--state-dir",
             cluster.folder / "coordinator", "--min-nodes", "2", "--handshake-timeout", "3s"])
        cluster.address = coordinator.wait_for(r"listens on (\S+),").group(1)
        with contextlib.ExitStack() as stack:
            for _ in range(60):
                stack.enter_context(connect(cluster.address))
            for agent in [cluster.agent(name) for name in ("n1", "n2")]:
                agent.wait_for("training may start: .* 2 ranks")

    def test_port_in_use_is_named(self):
        self.cluster.coordinator(nodes="2")
        port = self.cluster.address.rsplit(":", 1)[1]
        second = self.cluster.start(
            [PROGRAMS / "coordinator", "--run-id", "job2", "--secret-file", self.cluster.secret,
             "--bind", "127.0.0.1", "--port", port, "--state-dir", self.cluster.folder / "second"])
        self.assertEqual(second.end(), 2)
        self.assertIn(port, second.said)

    def test_same_port_again_after_a_restart(self):
        first = self.cluster.coordinator(nodes="2")
        port = self.cluster.address.rsplit(":", 1)[1]
        agent = self.cluster.agent("n1")
        agent.wait_for("joined the run")
        # It closes first, so that the port's connections linger.
        self.assertEqual(first.end(signal.SIGTERM), 128 + signal.SIGTERM)
        self.cluster.coordinator(nodes="2", port=port)

    def test_second_coordinator_on_the_same_state_is_refused(self):
        first = self.cluster.coordinator(nodes="2")
        second = self.cluster.start(
            [PROGRAMS / "coordinator", "--run-id", self.cluster.run_id, "--secret-file",
             self.cluster.secret, "--bind", "127.0.0.1", "--port", "0", "--state-dir",
             self.cluster.folder / "coordinator"])
        self.assertEqual(second.end(), 2)
        self.assertIn(f"in use by process {first.pid}", second.said)

    def test_tampered_and_torn_states_are_refused(self):
        coordinator = self.cluster.coordinator(nodes="2")
        agents = [self.cluster.agent(name) for name in ("n1", "n2")]
        coordinator.wait_for("round 1 is committed")
        coordinator.end(signal.SIGTERM)
        for agent in agents:
            agent.end()
        state = self.cluster.folder / "coordinator" / "coordinator.state"
        whole = state.read_bytes()
        for damaged, says in ((whole[:-7], "torn"), (whole.replace(b'"round":1', b'"round":2'),
                                                     "changed"), (b"", "empty")):
            self.assertNotEqual(damaged, whole)
            state.write_bytes(damaged)
            successor = self.cluster.start(
                [PROGRAMS / "coordinator", "--run-id", self.cluster.run_id, "--secret-file",
                 self.cluster.secret, "--port", "0", "--state-dir", state.parent])
            self.assertNotEqual(successor.end(), 0)
            self.assertIn(says, successor.said)
            self.assertIn(str(state), successor.said)

    def test_agent_without_room_for_the_record_starts_nothing_anywhere(self):
        coordinator = self.cluster.coordinator(nodes="2")
        self.cluster.agent("n1").wait_for("joined the run")
        # After the start, which takes away what is there.
        (self.cluster.folder / "n1" / "record.json.prepared").symlink_to("/dev/full")
        self.cluster.agent("n2")
        coordinator.wait_for("round 1 is aborted: .*n1")
        for name in ("n1", "n2"):
            self.assertFalse(self.cluster.record(name).exists())

    def test_older_record_is_gone_once_an_agent_has_started(self):
        self.cluster.coordinator(nodes="2")
        record = self.cluster.record("n1")
        record.parent.mkdir(mode=0o700)
        record.write_text("{}")
        self.cluster.agent("n1").wait_for("joined the run")
        self.assertFalse(record.exists())


if __name__ == "__main__":
    unittest.main()
