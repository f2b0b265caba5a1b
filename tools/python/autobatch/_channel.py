"""The child's end of the trial protocol: JSON lines on two descriptors (autobatch/types/protocol.h)."""

from __future__ import annotations

import ctypes
import json
import os
import select
import time
from typing import Any, Dict, List, Optional, Tuple

REQUEST_FD = "AUTOBATCH_REQUEST_FD"
REPORT_FD = "AUTOBATCH_REPORT_FD"
PROTOCOL = 1

# How long the requests are waited for. The parent writes them before this program is loaded.
_PATIENCE_S = 30.0
# What a write to a pipe keeps together, on Linux.
_PIPE_BUF = getattr(select, "PIPE_BUF", 4096)
# What a pipe holds: more than this cannot be looked at.
_PIPE_BYTES = 1 << 16
_SPLICE_F_NONBLOCK = 2

Json = Dict[str, Any]


class ProtocolError(RuntimeError):
    """The environment says that this is a trial, and nobody is there who runs one."""


class Channel:
    """Two descriptors, and what the parent asked for on the first.

    `setup` and `trial` are the parent's two requests. They are looked at and left in the pipe, so that
    every process of a data-parallel run reads them. `devices` are the limits of each device of a trial on
    several; empty: there is one.
    """

    def __init__(self, report_fd: int, setup: Json, trial: Json, devices: Optional[List[Json]] = None) -> None:
        self.setup = setup
        self.trial = trial
        self.devices = devices or []
        self._report_fd = report_fd

    def send(self, reply: Json) -> None:
        """Writes one line. Raises OSError when the parent is gone."""
        rank = rank_of_world()
        if rank is not None:
            reply = dict(reply, rank=rank[0], world_size=rank[1])
        line = _encode(reply)
        if rank is not None and len(line) > _PIPE_BUF:
            line = _encode(_shortened(reply))
        while line:
            line = line[os.write(self._report_fd, line) :]


def is_named() -> bool:
    """Whether the environment names a trial's descriptors."""
    return REQUEST_FD in os.environ


def connect() -> Channel:
    """The channel of this process, or of the ancestor that the trial started.

    Launchers close every descriptor but the standard ones (torchrun does); the ancestor still has them.
    """
    request_fd, report_fd = _number(REQUEST_FD), _number(REPORT_FD)
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        pipes = [pid for pid in _line_of_ancestors() if _are_pipes(pid, request_fd, report_fd)]
        for pid in pipes:
            requests = _look(_path(pid, request_fd))
            if requests is not None:
                report = os.open(_path(pid, report_fd), os.O_WRONLY | os.O_CLOEXEC)
                return Channel(report, requests[0], requests[1]["trial"], requests[1].get("devices"))
        if not pipes or time.monotonic() > deadline:
            raise ProtocolError(
                "autobatch: %s is set, but no trial is on that descriptor. If this is no trial, "
                "unset it: it was left over from one." % REQUEST_FD
            )
        time.sleep(0.01)


def rank_of_world() -> Optional[Tuple[int, int]]:
    """(rank, world size) of a run of several processes, else None. Each launcher names them its own way."""
    for rank, world in (
        ("RANK", "WORLD_SIZE"),
        ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
        ("PMI_RANK", "PMI_SIZE"),
        ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS"),
    ):
        if os.environ.get(rank, "").isdigit() and os.environ.get(world, "").isdigit():
            return _if_several(int(os.environ[rank]), int(os.environ[world]))
    distributed = _torch_distributed()
    if distributed is not None:
        return _if_several(distributed.get_rank(), distributed.get_world_size())
    return None


def _if_several(rank: int, world_size: int) -> Optional[Tuple[int, int]]:
    return (rank, world_size) if world_size > 1 else None


def _torch_distributed() -> Optional[Any]:
    """torch.distributed once it runs: processes that were spawned and not launched have no variables."""
    import sys

    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return distributed


def _encode(reply: Json) -> bytes:
    return json.dumps(reply, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _shortened(reply: Json) -> Json:
    """A result that fits one write. The parent has the steps already; long texts lose their ends."""
    result = dict(reply.get("result") or {})
    result.update(steps=[], input_shapes=[], output_shapes=[])
    failure = result.get("failure")
    if failure is not None:
        result["failure"] = dict(failure, message=failure["message"][:200], advice=failure["advice"][:200])
    return dict(reply, result=result)


def _number(variable: str) -> int:
    text = os.environ.get(variable, "")
    if not text.isdigit():
        raise ProtocolError("autobatch: %s=%r names no descriptor" % (variable, text))
    return int(text)


def _path(pid: int, fd: int) -> str:
    return "/proc/%d/fd/%d" % (pid, fd)


def _line_of_ancestors() -> List[int]:
    """This process, its parent, and so on."""
    line: List[int] = []
    pid = os.getpid()
    while pid > 1 and len(line) < 32:
        line.append(pid)
        try:
            with open("/proc/%d/stat" % pid) as stat:
                # "pid (name) state parent …"; the name may hold spaces and parentheses.
                pid = int(stat.read().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            break
    return line


def _are_pipes(pid: int, *fds: int) -> bool:
    try:
        return all(os.readlink(_path(pid, fd)).startswith("pipe:") for fd in fds)
    except OSError:
        return False


def _look(path: str) -> Optional[Tuple[Json, Json]]:
    """The setup and the trial that wait in a pipe, left where they are; None if it holds anything else."""
    try:
        pipe = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        lines = _peek(pipe).split(b"\n")
    finally:
        os.close(pipe)
    if len(lines) < 3:
        return None
    try:
        setup, trial = json.loads(lines[0]), json.loads(lines[1])
        if setup["type"] == "setup" and trial["type"] == "trial" and trial["trial"]:
            return setup, trial
    except (ValueError, KeyError, TypeError):
        pass
    return None


def _peek(pipe: int) -> bytes:
    copy_read, copy_write = os.pipe()
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        held = libc.tee(pipe, copy_write, ctypes.c_size_t(_PIPE_BYTES), ctypes.c_uint(_SPLICE_F_NONBLOCK))
        return os.read(copy_read, held) if held > 0 else b""
    finally:
        os.close(copy_read)
        os.close(copy_write)
