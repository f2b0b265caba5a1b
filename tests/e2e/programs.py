"""Starts the probe as a user does, and looks at what it leaves behind."""

import os
import pathlib
import select
import shutil
import subprocess

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


def setuid_program(test, folder):
    """A program with another user's rights, which takes no preload; skips `test` where there is no other user."""
    program = folder / "setuid"
    shutil.copy("/bin/true", program)
    try:
        os.chown(program, 1234, 1234)
    except OSError:
        test.skipTest("needs root to give a program to another user")
    program.chmod(0o4755)
    return program


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


def wait_until_gone(pid, seconds=60):
    """Waits for the end of a process that need not be our child."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    try:
        poll = select.poll()
        poll.register(handle, select.POLLIN)
        if not poll.poll(seconds * 1000):
            raise AssertionError(f"process {pid} still runs after {seconds} s")
    finally:
        os.close(handle)
