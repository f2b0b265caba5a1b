"""What an exception is taken for."""

import os
import re

import parent
import pytest

from autobatch import _failures


def describe(error, on_cpu=False, nearly_full=False, allocator_refused=False):
    return _failures.describe(
        error, on_cpu=on_cpu, nearly_full=nearly_full, allocator_refused=allocator_refused
    )


class OutOfMemoryError(RuntimeError):
    """As torch names it."""


CUDA_WORDS = "CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 79.11 GiB"


@pytest.mark.parametrize(
    "error, kind",
    [
        (OutOfMemoryError(CUDA_WORDS), "out_of_memory"),
        (OutOfMemoryError("in other words"), "out_of_memory"),
        (RuntimeError("CUDA error: out of memory"), "out_of_memory"),
        (RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"), "suspected_out_of_memory"),
        (RuntimeError("CUDA error: device-side assert triggered"), "illegal_access"),
        (MemoryError(), "host_out_of_memory"),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), "host_out_of_memory"),
        (ValueError("Expected more than 1 value per channel when training"), "model_error"),
        (KeyError("labels"), "model_error"),
    ],
)
def test_Exception_OnAGpu_IsClassified(error, kind):
    assert describe(error)["kind"] == kind


def test_HostMemory_OnTheCpu_IsTheDevices():
    assert describe(MemoryError(), on_cpu=True)["kind"] == "out_of_memory"


def test_LibraryError_MemoryNearlyFull_IsSuspected():
    error = RuntimeError("cuDNN error: CUDNN_STATUS_EXECUTION_FAILED")
    assert describe(error)["kind"] == "model_error"
    assert describe(error, nearly_full=True)["kind"] == "suspected_out_of_memory"


def test_Allocator_Refused_DecidesBeforeTheWords():
    assert describe(KeyError("x"), allocator_refused=True)["kind"] == "out_of_memory"


def test_OutOfMemory_WrappedInAnotherError_IsFound():
    try:
        try:
            raise OutOfMemoryError(CUDA_WORDS)
        except RuntimeError as cause:
            raise ValueError("training failed") from cause
    except ValueError as error:
        described = describe(error)
    assert described["kind"] == "out_of_memory"
    assert described["message"] == "ValueError: training failed"
    assert described["requested_bytes"] == int(2.5 * 2**30)


def test_Error_AfterOneThatWasDealtWith_IsItsOwn():
    try:
        try:
            raise OutOfMemoryError(CUDA_WORDS)
        except RuntimeError:
            raise ValueError("shapes differ") from None
    except ValueError as error:
        assert describe(error)["kind"] == "model_error"


@pytest.mark.parametrize(
    "text, size",
    [
        ("Tried to allocate 2.50 GiB.", int(2.5 * 2**30)),
        ("tried to allocate 2560000000 bytes.", 2560000000),
        ("Tried to allocate 20.00 MiB (GPU 0;", 20 << 20),
        ("Tried to allocate 512 KiB", 512 << 10),
        ("Tried to allocate 7 parsecs", None),
        ("Tried to allocate something", None),
        ("", None),
    ],
)
def test_RequestedBytes_InTheWords_AreRead(text, size):
    assert _failures.requested_bytes(text) == size


def test_Summary_OfALongText_IsOneLine():
    assert _failures.summary("\n  \n first\nsecond") == "first"
    assert len(_failures.summary("x" * 1000)) == 400
    assert _failures.summary("") == "an error without a text"


def test_Rules_AreThoseOfTheParent():
    source = os.path.join(parent.PACKAGE, "..", "..", "autobatch", "types", "failure_text.cc")
    with open(source) as text:
        rules = re.findall(r'\{"([^"]+)", FailureKind::k(\w+)(, true)?\}', text.read())
    expected = tuple(
        (words, re.sub(r"(?<!^)(?=[A-Z])", "_", kind).lower(), bool(nearly)) for words, kind, nearly in rules
    )
    assert len(expected) > 30
    assert _failures.RULES == expected


if __name__ == "__main__":
    raise SystemExit(parent.run_tests(__file__))
