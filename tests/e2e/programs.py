"""Starts the probe as a user does, and looks at what it leaves behind."""

import os
import pathlib
import subprocess
import time

PROBE = os.path.abspath("tools/probe")


def small(pixels=64):
    """Arguments of a probe whose steps take milliseconds on the CPU."""
    return ["--workload", "resnet18", "--image-size", str(pixels), "--device", "cpu"]


def scratch():
    """A folder of this test's own."""
    return pathlib.Path(os.environ["TEST_TMPDIR"])


def probe(*arguments, **options):
    """Runs the probe to its end."""
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    return subprocess.run([PROBE, *arguments], text=True, timeout=300, check=False, **options)


def descendants(pid):
    """Every living process below `pid`, whoever its parent is by now."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            fields = (entry / "stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        if fields[0] != "Z":
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found, todo = [], [pid]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def alive(pid):
    """Whether a process runs (a zombie does not)."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, what, seconds=60):
    """Polls, since nothing tells us when a process of somebody else's is gone."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what}")
        time.sleep(0.02)  # house(sleep): another program's child tells nobody
