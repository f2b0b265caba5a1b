"""What an exception means for the search: a lack of memory, or an error that a smaller batch has too."""

from __future__ import annotations

import re
from typing import Any, Dict, Iterator, Optional, Tuple

Json = Dict[str, Any]

MAX_SUMMARY = 400

# Words in lower case, the kind, and whether it holds only when memory was nearly full. The first that
# matches decides. The same table as in autobatch/types/failure_text.cc; a test holds them together.
RULES: Tuple[Tuple[str, str, bool], ...] = (
    ("out of memory. tried to allocate", "out_of_memory", False),
    ("cuda error: out of memory", "out_of_memory", False),
    ("cuda driver error: out of memory", "out_of_memory", False),
    ("cudaerrormemoryallocation", "out_of_memory", False),
    ("cuda_error_out_of_memory", "out_of_memory", False),
    ("cuda out of memory", "out_of_memory", False),
    ("hip out of memory", "out_of_memory", False),
    ("outofmemoryerror", "out_of_memory", False),
    ("internal_error_host_allocation_failed", "host_out_of_memory", False),
    ("defaultcpuallocator", "host_out_of_memory", False),
    ("cannot allocate memory", "host_out_of_memory", False),
    ("can't allocate memory", "host_out_of_memory", False),
    ("std::bad_alloc", "host_out_of_memory", False),
    ("memoryerror", "host_out_of_memory", False),
    ("insufficient shared memory", "host_out_of_memory", False),
    ("is killed by signal: killed", "host_out_of_memory", False),
    ("device-side assert triggered", "illegal_access", False),
    ("illegal memory access", "illegal_access", False),
    ("cudaerrorillegaladdress", "illegal_access", False),
    ("illegal instruction was encountered", "illegal_access", False),
    ("misaligned address", "illegal_access", False),
    ("unspecified launch failure", "illegal_access", False),
    ("invalid program counter", "illegal_access", False),
    ("hardware stack error", "illegal_access", False),
    ("uncorrectable ecc error", "illegal_access", False),
    ("gpu is lost", "illegal_access", False),
    ("cuda error: unknown error", "illegal_access", False),
    ("fallen off the bus", "illegal_access", False),
    ("nvrm: xid", "illegal_access", False),
    ("32bitindexmath", "illegal_access", False),
    ("32-bit index math", "illegal_access", False),
    ("32-bit indexing", "illegal_access", False),
    ("more than int_max elements", "illegal_access", False),
    ("invalid configuration argument", "illegal_access", False),
    ("_alloc_failed", "suspected_out_of_memory", False),
    ("device_allocation_failed", "suspected_out_of_memory", False),
    ("cublas_status_", "suspected_out_of_memory", True),
    ("cudnn_status_", "suspected_out_of_memory", True),
    ("cusolver_status_", "suspected_out_of_memory", True),
    ("cusparse_status_", "suspected_out_of_memory", True),
    ("cufft_", "suspected_out_of_memory", True),
    ("find was unable to find an engine", "suspected_out_of_memory", True),
    ("get was unable to find an engine", "suspected_out_of_memory", True),
    ("unable to find a valid cudnn algorithm", "suspected_out_of_memory", True),
    ("no valid execution plans", "suspected_out_of_memory", True),
    ("device not ready", "suspected_out_of_memory", True),
    ("unhandled cuda error", "suspected_out_of_memory", True),
    ("internal assert failed", "suspected_out_of_memory", True),
)

_UNITS = {"": 1, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}
_UNITS.update({"kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12})


def failure(kind: str, message: str, advice: str = "") -> Json:
    """A Failure of the protocol (autobatch/types/failure.h)."""
    return {"kind": kind, "message": message, "advice": advice}


def describe(error: BaseException, *, on_cpu: bool, nearly_full: bool, allocator_refused: bool) -> Json:
    """The Failure that an exception is.

    `on_cpu`: the host's memory is the device's. `nearly_full`: next to no memory was left.
    `allocator_refused`: the allocator's own record says that it ran out, whatever came of that.
    """
    texts = ["%s: %s" % (type(part).__name__, part) for part in _chain(error)]
    kind = "out_of_memory" if allocator_refused else _kind(texts, on_cpu, nearly_full)
    described = failure(kind, summary(texts[0]))
    for text in texts:
        described["requested_bytes"] = requested_bytes(text)
        if described["requested_bytes"] is not None:
            break
    return described


def _kind(texts: "list[str]", on_cpu: bool, nearly_full: bool) -> str:
    for text in texts:
        lower = text.lower()
        for words, kind, needs_nearly_full in RULES:
            if words in lower and (nearly_full or not needs_nearly_full):
                return "out_of_memory" if on_cpu and kind == "host_out_of_memory" else kind
    return "model_error"


def _chain(error: Optional[BaseException]) -> Iterator[BaseException]:
    """The exception, and those that it came from: a wrapper hides an out-of-memory error in its cause."""
    seen = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)


def summary(text: str) -> str:
    """The first line that says something."""
    for line in text.splitlines():
        line = line.strip()
        if line:
            return line if len(line) <= MAX_SUMMARY else line[: MAX_SUMMARY - 3] + "..."
    return "an error without a text"


def requested_bytes(text: str) -> Optional[int]:
    """What "Tried to allocate 2.50 GiB" names."""
    match = re.search(r"ried to allocate ([0-9]+(?:\.[0-9]+)?) ?([A-Za-z]*)", text)
    if match is None:
        return None
    unit = match.group(2).lower()
    scale = _UNITS.get("" if unit in ("b", "byte", "bytes") else unit)
    return None if scale is None else int(float(match.group(1)) * scale)
