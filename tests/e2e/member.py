"""A member of a run made by hand: it says what it likes, whole frames or not, over the run's own TLS."""

import hmac
import json
import queue
import struct
import subprocess
import threading

from tests.e2e.cluster import PATIENCE

MAGIC = 0xAB414246
HELLO, REPORT, HEARTBEAT, PREPARED, COMMITTED = 1, 2, 3, 6, 7
WELCOME, COLLECT, PREPARE, COMMIT, REFUSE, HEARTBEAT_ACK = 101, 103, 106, 107, 109, 110


def derived(secret, purpose):
    """HKDF-SHA256 to one block, without a salt."""
    extracted = hmac.digest(bytes(32), secret, "sha256")
    return hmac.digest(extracted, purpose + b"\x01", "sha256")


def header(kind, length, version=1):
    return struct.pack(">IHHII", MAGIC, version, kind, length, 0)


def frame(kind, message, version=1):
    payload = json.dumps(message).encode()
    return header(kind, len(payload), version) + payload


class Member:
    """Connected, by the key that the run's secret gives; it has said nothing yet."""

    def __init__(self, cluster, name, incarnation="1"):
        self.run_id, self.name, self.incarnation = cluster.run_id, name, incarnation
        key = derived(cluster.secret.read_bytes(), b"autobatch tls psk v1").hex()
        self._tls = subprocess.Popen(
            ["openssl", "s_client", "-connect", cluster.address, "-tls1_3", "-quiet", "-psk", key,
             "-psk_identity", f"autobatch1 agent {self.run_id}"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        cluster.test.addCleanup(self.discard)
        self._frames = queue.SimpleQueue()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        with self._tls.stdout as stream:
            while len(head := stream.read(16)) == 16:
                _, _, kind, length, _ = struct.unpack(">IHHII", head)
                self._frames.put((kind, json.loads(stream.read(length))))
        self._frames.put((None, None))

    def send_bytes(self, data):
        self._tls.stdin.write(data)
        self._tls.stdin.flush()

    def say(self, kind, round_number=0, **fields):
        self.send_bytes(frame(kind, {"run_id": self.run_id, "round": round_number, **fields}))

    def hello(self, **fields):
        self.say(HELLO, agent=self.name, incarnation=self.incarnation, boot_id=f"boot-{self.name}",
                 devices=[{"uuid": f"GPU-{self.name}"}], workload="resnet18",
                 versions=[{"name": "autobatch", "value": "0.1.0"}], **fields)
        return self.wait_for(WELCOME)

    def report(self, round_number, batch):
        self.say(REPORT, round_number, summary="by hand", devices=[
            {"uuid": f"GPU-{self.name}", "name": "card", "status": "confirmed", "batch": batch}])

    def wait_for(self, kind):
        """The next message of this kind; others are passed over. None: for the end of the connection."""
        while True:
            came, message = self._frames.get(timeout=PATIENCE)
            if came == kind:
                return message
            if came is None:
                raise AssertionError(f"{self.name}: the connection ended before a message {kind}")

    def discard(self):
        """As when its process is killed: nothing more is said, no good-bye of TLS either."""
        self._tls.kill()
        self._tls.wait()
        self._reader.join(PATIENCE)
        self._tls.stdin.close()
