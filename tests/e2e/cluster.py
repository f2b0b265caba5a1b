"""Starts coordinators and agents as a user does, on workers without a model, and watches what they say."""

import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from tests.e2e.programs import descendants, wait_until_gone

# Of a busy machine: a test that needs it all has failed.
PATIENCE = 120


class Program:
    """A running program, whose stderr is read as it comes."""

    def __init__(self, command, environment):
        self.lines = []
        self._changed = threading.Condition()
        self._closed = False
        self.process = subprocess.Popen([str(part) for part in command], text=True,
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, env=environment)
        self.pid = self.process.pid
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self):
        with self.process.stderr as stderr:
            for line in stderr:
                with self._changed:
                    self.lines.append(line.rstrip("\n"))
                    self._changed.notify_all()
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    @property
    def said(self):
        """Everything that it has said so far."""
        with self._changed:
            return "\n".join(self.lines)

    def wait_for(self, pattern, after=0):
        """The match of a line that comes, or came after so many lines."""
        deadline = time.monotonic() + PATIENCE
        with self._changed:
            while True:
                for line in self.lines[after:]:
                    match = re.search(pattern, line)
                    if match:
                        return match
                after = max(after, len(self.lines))
                left = deadline - time.monotonic()
                if self._closed or left <= 0:
                    raise AssertionError(f"no line with '{pattern}' in:\n" + "\n".join(self.lines))
                self._changed.wait(left)

    def signal(self, number):
        """Sends a signal to the program alone."""
        self.process.send_signal(number)

    def end(self, number=None):
        """Its exit code, once it and all of its children are gone."""
        children = descendants(self.pid)
        if number is not None:
            self.process.send_signal(number)
        code = self.process.wait(PATIENCE)
        for child in children:
            wait_until_gone(child)
        self._reader.join(PATIENCE)
        return code

    def discard(self):
        """Whatever state it is in."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        self._reader.join(PATIENCE)


class Cluster:
    """The programs of one run, in a folder of their own whose name is short enough for sockets."""

    def __init__(self, test, run_id="job"):
        self.test = test
        self.run_id = run_id
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="ab", dir="/tmp"))
        test.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.secret = self.write_secret("secret", "0123456789abcdef0123456789abcdef")
        self.address = None

    def write_secret(self, name, text):
        path = self.folder / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)
        return path

    def start(self, command, **environment):
        # Nothing of the launcher that may run these tests.
        clean = {name: value for name, value in os.environ.items()
                 if not name.startswith(("SLURM", "TORCHELASTIC", "AUTOBATCH", "FAKE"))}
        program = Program(command, {**clean, **environment})
        self.test.addCleanup(program.discard)
        return program

    def coordinator(self, *arguments, nodes="3", address="127.0.0.1", port="0", secret=None,
                    environment=None):
        """Starts one and waits until it listens."""
        program = self.start([PROGRAMS / "coordinator", "--run-id", self.run_id,
                              "--secret-file", secret or self.secret, "--bind", address,
                              "--port", port, "--state-dir", self.folder / "coordinator",
                              "--min-nodes", nodes, *arguments], **(environment or {}))
        self.address = program.wait_for(r"listens on (\S+),").group(1)
        return program

    def agent(self, name, *arguments, run_id=None, secret=None, fault="", megabytes=300,
              folder=None, device="cpu", environment=None):
        """Starts one; each is a node of its own."""
        return self.start([PROGRAMS / "agent", "--run-id", run_id or self.run_id,
                           "--secret-file", secret or self.secret, "--coordinator", self.address,
                           "--name", name, "--node-id", f"node-of-{name}",
                           "--state-dir", self.folder / (folder or name), "--no-cache", "--device", device,
                           "--memory-limit", f"{megabytes}MiB", "--headroom", "64MiB",
                           "--max-batch", "64", *arguments], FAKE=fault, **(environment or {}))

    def record(self, name):
        """The record that this agent's training may start on."""
        return self.folder / name / "record.json"


def make_programs():
    """The programs beside a worker without a model: they take what lies beside them."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="abp", dir="/tmp"))
    for program in ("tools/coordinator", "tools/agent", "autobatch/trial/guard"):
        shutil.copy(program, folder)
    worker = folder / "worker"
    source = pathlib.Path("tests/e2e/fake_worker.py").read_text(encoding="utf-8")
    worker.write_text(f"#!{sys.executable}\n{source}", encoding="utf-8")
    worker.chmod(0o755)
    return folder


PROGRAMS = make_programs()


def remove_programs():
    """For tearDownModule."""
    shutil.rmtree(PROGRAMS, ignore_errors=True)
