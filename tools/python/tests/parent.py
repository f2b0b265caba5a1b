"""The parent's end of the trial protocol, as the C++ runner does it: two pipes, two lines, and listening."""

import json
import os
import subprocess
import sys
import tempfile
import textwrap
import threading

# Where the package is: importing this module makes it importable, here and in the programs started.
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, PACKAGE)
# Compiled once for all programs of a test file: wheels come without, and the checkout is left clean.
_compiled = tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR"))


class Ran:
    """What one program did."""

    def __init__(self, replies, code, stdout, stderr):
        self.replies = replies
        self.code = code
        self.stdout = stdout
        self.stderr = stderr

    def of(self, kind):
        return [reply[kind] for reply in self.replies if reply["type"] == kind]

    @property
    def kinds(self):
        return [reply["type"] for reply in self.replies]

    @property
    def result(self):
        results = self.of("result")
        assert len(results) == 1, (self.kinds, self.stderr)
        return results[0]


def environment(**more):
    """This process's own, without what a test must not depend on."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("AUTOBATCH_") and name not in ("RANK", "WORLD_SIZE", "PYTHONPATH")
    }
    kept["PYTHONPYCACHEPREFIX"] = _compiled.name
    here = os.path.dirname(os.path.abspath(__file__))
    kept["PYTHONPATH"] = os.pathsep.join([PACKAGE, here] + os.environ.get("PYTHONPATH", "").split(os.pathsep))
    kept.update(more)
    return kept


def run_plain(script, *arguments, **variables):
    """The script in a run that no probe started."""
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *arguments],
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=120,
    )
    return Ran([], ran.returncode, ran.stdout, ran.stderr)


def run_trial(script, *arguments, setup=None, command=None, devices=(), **trial):
    """The script (or `command`) in a trial; `trial` and `setup` change what is asked of it, `devices` are the
    limits of each of several."""
    request_read, request_write = os.pipe()
    report_read, report_write = os.pipe()
    asked = {"purpose": "explore", "batch": 4, "steps": 3, "accumulation": 1, "seed": 0}
    asked.update({"limit_bytes": None, "reserve_bytes": 0}, **trial)
    set_up = dict({"type": "setup", "protocol": 1, "device": "cpu"}, **(setup or {}))
    words = command or [sys.executable, "-c", textwrap.dedent(script), *arguments]
    named = environment(AUTOBATCH_REQUEST_FD=str(request_read), AUTOBATCH_REPORT_FD=str(report_write))
    child = subprocess.Popen(
        words,
        env=named,
        pass_fds=(request_read, report_write),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(request_read)
    os.close(report_write)
    for line in (set_up, {"type": "trial", "trial": asked, "devices": list(devices)}):
        os.write(request_write, json.dumps(line).encode() + b"\n")
    replies = []

    def listen():
        with open(report_read, "rb") as report:
            replies.extend(json.loads(line) for line in report)

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        stdout, stderr = child.communicate(timeout=120)
    finally:
        child.kill()
        listener.join()
    os.close(request_write)
    return Ran(replies, child.returncode, stdout.decode(), stderr.decode())


def run_tests(path):
    """Runs a file's tests under bazel, which is told of every skip."""
    import pytest

    arguments = ["-p", "no:cacheprovider", "-q", "-rs", path]
    if "TEST_TMPDIR" in os.environ:
        arguments.append("--basetemp=" + os.path.join(os.environ["TEST_TMPDIR"], "pytest"))
    if "XML_OUTPUT_FILE" in os.environ:
        arguments.append("--junitxml=" + os.environ["XML_OUTPUT_FILE"])
    return pytest.main(arguments)
