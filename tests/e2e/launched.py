"""Starts `launch` as users and launchers do, beside an agent that has a record."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile

LAUNCH = os.path.abspath("tools/launch")
AGENT = os.path.abspath("tests/e2e/record_agent")

# A training program: says what it was handed, and does what its first argument says.
TRAIN = """
import json, os, sys
seen = {name: value for name, value in os.environ.items() if name.startswith("AUTOBATCH_")}
print(json.dumps({"argv": sys.argv[1:], "environment": seen, "cwd": os.getcwd()}), flush=True)
"""


def short_folder(test):
    """A folder whose name leaves room for a socket's; gone with the test."""
    folder = tempfile.mkdtemp(prefix="ab", dir="/tmp")
    os.chmod(folder, 0o755)
    test.addCleanup(shutil.rmtree, folder, ignore_errors=True)
    return pathlib.Path(folder)


def free_ports(count):
    """Ports that nothing listens on now."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Agent:
    """An agent whose cluster has agreed, so far as `agree` was called."""

    def __init__(self, test, folder, ranks=16):
        self.socket = str(folder / "agent.sock")
        self.record = str(folder / "record.json")
        self._process = subprocess.Popen([AGENT, self.socket, self.record, str(ranks)], text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        test.addCleanup(self.stop)

    def agree(self, batch):
        """One more round; its number."""
        self._process.stdin.write("%d\n" % batch)
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def stop(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


def launch(*arguments, **options):
    """Runs `launch` to its end."""
    options.setdefault("timeout", 120)
    return subprocess.run([LAUNCH, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, check=False, **options)


def environment(**more):
    """This process's environment without any launcher's variables."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("SLURM", "OMPI_", "PMI", "TORCHELASTIC", "AUTOBATCH_"))}
    return dict(kept, **{name: str(value) for name, value in more.items()})


def train_script(folder, text=TRAIN):
    """The training program as a file, and the command that runs it."""
    path = folder / "train.py"
    path.write_text(text)
    return [sys.executable, str(path)]
