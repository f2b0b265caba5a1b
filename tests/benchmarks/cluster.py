"""How fast a cluster agrees, as ratios to peers in the same run: time from the first join to the last commit.

Two processes do the work, one for all agents and one for what they agree through: our coordinator, a bare
sketch (Asio, TLS, report, answer), LibTorch's TCPStore, and etcd; the last two do the bare equivalent without
authentication. Turns are interleaved, medians are shown, and the processor time of both processes beside them:
on a busy machine that says more than the clock. The exit status says whether the bars hold.
"""

import argparse
import contextlib
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.abspath("tests/benchmarks")
SKETCH_RATIO = 1.5
PEER_RATIO = 1.0
KIB_A_NODE = 64
REPLAN_MS = 100
LINEAR_RATIO = 1.5
PATIENCE_S = 120


def program(name):
    return os.path.join(HERE, name)


class Child:
    """A program that talks in lines "<word> <value>", and ends when its input does; on these cores, if given."""

    def __init__(self, command, cores=None, stderr=None):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=stderr, text=True)
        if cores:
            os.sched_setaffinity(self.process.pid, cores)

    def expect(self, word):
        for line in self.process.stdout:
            found, _, value = line.strip().partition(" ")
            if found == word:
                return value
            if found in ("failed", "ended"):
                raise RuntimeError(f"{self.process.args[0]}: {line.strip()}")
        raise RuntimeError(f"{' '.join(self.process.args)} ended without saying {word!r}")

    def say_go(self):
        self.process.stdin.write("g")
        self.process.stdin.flush()

    def cpu_ms(self):
        """Of all its threads, those that have ended included: what clock_getcpuclockid() names."""
        return time.clock_gettime((~self.process.pid << 3) | 2) * 1e3

    def resident_kib(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            fields = dict(line.split(":", 1) for line in file)
        return int(fields["VmRSS"].split()[0])

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


class Etcd(Child):
    """Debian's etcd on a folder of its own; it may use every core, and does not end with its input."""

    def __init__(self, folder):
        clients, peers = (f"http://127.0.0.1:{port}" for port in free_ports(2))
        command = ["etcd", "--data-dir", folder, "--log-level", "error",
                   "--listen-client-urls", clients, "--advertise-client-urls", clients,
                   "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
                   "--initial-cluster", f"default={peers}"]
        super().__init__(command, stderr=subprocess.DEVNULL)
        self.port = clients.rsplit(":", 1)[1]
        deadline = time.monotonic() + PATIENCE_S
        while True:
            try:
                with urllib.request.urlopen(f"{clients}/health", timeout=1) as reply:
                    if b"true" in reply.read():
                        return
            except OSError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(0.02)  # house(sleep): another's program says nothing when it is ready

    def expect(self, word):
        return self.port

    def close(self):
        self.process.kill()
        super().close()


def free_ports(count):
    """Ports that were free a moment ago."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


# A core for each of the two: the scheduler likes to wake a peer on the core of its caller, and then one idles. Other
# peoples' programs may use all, as they do best: LibTorch's store asks and waits, and is quicker on one.
CORES = sorted(os.sched_getaffinity(0))
SERVER, AGENTS = {CORES[-1]}, {CORES[0]}


class Turn:
    """What one round of one contestant took."""

    def __init__(self, server, agents_command, nodes, agents_cores=AGENTS):
        with contextlib.closing(server):
            port = server.expect("port")
            cpu, resident = server.cpu_ms(), server.resident_kib()
            with contextlib.closing(Child([word.format(port=port) for word in agents_command], agents_cores)) as agents:
                agents.expect("ready")
                agents_cpu = agents.cpu_ms()
                agents.say_go()
                self.ms = float(agents.expect("seconds")) * 1e3
                self.server_cpu_ms = server.cpu_ms() - cpu
                self.cpu_ms = self.server_cpu_ms + agents.cpu_ms() - agents_cpu
                self.kib_a_node = (server.resident_kib() - resident) / nodes
                self.more(server, agents)

    def more(self, server, agents):
        """What else is measured while all are connected."""


class OurTurn(Turn):
    """Our round, and the one after a loss."""

    def more(self, server, agents):
        server.expect("confirmed")
        agents.say_go()
        self.replan_ms = float(server.expect("replanned"))
        self.everywhere_ms = float(server.expect("everywhere"))
        agents.expect("seconds")


def ours(nodes, folder, memory):
    return OurTurn(Child([program("cluster_coordinator"), str(nodes), folder], SERVER),
                   [program("cluster_agents"), "{port}", str(nodes), memory], nodes)


def sketch(nodes, folder, memory):
    return Turn(Child([program("sketch"), "serve", str(nodes)], SERVER),
                [program("sketch"), "agents", str(nodes), "{port}"], nodes)


def tcp_store(nodes, folder, memory):
    return Turn(Child([program("tcp_store"), "serve"]),
                [program("tcp_store"), "agents", str(nodes), "{port}"], nodes, agents_cores=None)


def etcd(nodes, folder, memory):
    return Turn(Etcd(folder), [program("etcd_agents"), "{port}", str(nodes)], nodes, agents_cores=None)


CONTESTANTS = {"autobatch": ours, "sketch": sketch, "TCPStore": tcp_store, "etcd": etcd}


def measure(nodes, turns, contestants):
    """{name: {what: median}} of interleaved turns."""
    seen = {name: [] for name in contestants}
    for _ in range(turns):
        for name in contestants:
            # The coordinator's state and etcd's log are on the disk. Agents' records stand for a thousand disks.
            with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory(dir="/dev/shm") as memory:
                seen[name].append(vars(CONTESTANTS[name](nodes, folder, memory)))
    return {name: {what: statistics.median(turn[what] for turn in turns_of) for what in turns_of[0]}
            for name, turns_of in seen.items()}


def core_replan(nodes):
    """CPU milliseconds of the core, and of reading messages, without sockets."""
    text = subprocess.run([program("replan"), str(nodes)], stdout=subprocess.PIPE, text=True, check=True).stdout
    return [float(line.split()[1]) for line in text.splitlines()]


def show(nodes, medians):
    for name, row in medians.items():
        print(f"{nodes:6} {name:10} {row['ms']:9.1f} ms {row['cpu_ms']:9.1f} ms cpu"
              f" {row['server_cpu_ms'] / nodes * 1e3:8.0f} us/node {row['kib_a_node']:7.1f} KiB/node")
    sys.stdout.flush()


class Bars:
    def __init__(self):
        self.hold = True

    def check(self, what, value, limit, unit=""):
        held = value <= limit
        self.hold &= held
        print(f"{'holds ' if held else 'MISSED'} {what}: {value:.2f}{unit} of {limit}{unit}")


def judge(results):
    bars = Bars()
    most = max(results)
    for nodes, medians in results.items():
        mine = medians["autobatch"]
        if "sketch" in medians:
            bars.check(f"{nodes} nodes, cpu / sketch", mine["cpu_ms"] / medians["sketch"]["cpu_ms"], SKETCH_RATIO)
        for name, limit in (("sketch", SKETCH_RATIO), ("TCPStore", PEER_RATIO), ("etcd", PEER_RATIO)):
            if name in medians:
                bars.check(f"{nodes} nodes, time / {name}", mine["ms"] / medians[name]["ms"], limit)
    mine = results[most]["autobatch"]
    if "sketch" in results[most]:
        bars.check("coordinator memory a node beyond TLS's own",
                   mine["kib_a_node"] - results[most]["sketch"]["kib_a_node"], KIB_A_NODE, " KiB")
    bars.check("a lost node: coordinator's CPU until the commit is out", mine["replan_ms"], REPLAN_MS, " ms")
    print(f"       and until it is confirmed everywhere: {mine['everywhere_ms']:.2f} ms")
    core, reading = core_replan(most)
    print(f"       of it the core {core:.2f} ms, reading messages {reading:.2f} ms")
    if len(results) > 1:
        before = sorted(results)[-2]
        bars.check(f"CPU a node at {most} / at {before}",
                   mine["cpu_ms"] / most / (results[before]["autobatch"]["cpu_ms"] / before), LINEAR_RATIO)
    return bars.hold


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, nargs="+", default=[8, 64, 256, 1024])
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=CONTESTANTS, default=list(CONTESTANTS))
    arguments = parser.parse_args()
    contestants = [name for name in CONTESTANTS if name in arguments.only or name == "autobatch"]
    if "etcd" in contestants and shutil.which("etcd") is None:
        print("etcd is not installed (apt-get install etcd-server): left out")
        contestants.remove("etcd")
    results = {}
    for nodes in arguments.nodes:
        results[nodes] = measure(nodes, arguments.turns, contestants)
        show(nodes, results[nodes])
    print(f"load {', '.join(f'{load:.1f}' for load in os.getloadavg())} on {os.cpu_count()} cores")
    return 0 if judge(results) else 1


if __name__ == "__main__":
    sys.exit(main())
