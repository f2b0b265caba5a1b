"""A worker without a model, in place of the real one: FAKE names what is wrong with it.

Each of its processes writes "PHASE PID" to the FIFO FAKE_FIFO, where that is named.
"""

import ctypes
import json
import os
import signal
import sys
import uuid

FAULT = os.environ.get("FAKE", "")
MIB = 1 << 20


def forever():
    while True:
        signal.pause()


def tell(phase):
    if "FAKE_FIFO" not in os.environ:
        return
    fifo = os.open(os.environ["FAKE_FIFO"], os.O_WRONLY)
    os.write(fifo, f"{phase} {os.getpid()}\n".encode())
    os.close(fifo)


def devices():
    """Those of a simulated driver, where there is one."""
    if "AUTOBATCH_SIM_DEVICES" not in os.environ:
        return []
    driver = ctypes.CDLL("libcuda.so.1")
    count, identity = ctypes.c_int(), (ctypes.c_ubyte * 16)()
    driver.cuInit(0)
    driver.cuDeviceGetCount(ctypes.byref(count))
    found = []
    for number in range(count.value):
        driver.cuDeviceGetUuid_v2(identity, number)
        found.append({"uuid": f"GPU-{uuid.UUID(bytes=bytes(identity))}", "kind": "cuda"})
    return found


def describe():
    tell("describe")
    if FAULT == "describe-hang":
        forever()
    if FAULT == "describe-library":
        sys.exit("worker: error while loading shared libraries: libc10.so: cannot open")
    print("no description" if FAULT == "describe-garbage" else
          json.dumps({"libtorch_version": "2.11.0", "devices": devices()}))


def daemonise():
    """A grandchild in a session of its own, deaf to SIGTERM, whose parent is gone."""
    if os.fork() != 0:
        os.wait()
        return
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        tell("daemon")
        forever()
    os._exit(0)


def flood(descriptors):
    block = (b"x" * 1023 + b"\n") * 1024
    for _ in range(256):
        for descriptor in descriptors:
            os.write(descriptor, block)


def observation(trial):
    """What a model of 1 MiB a sample would report."""
    peak = {name: trial["batch"] * MIB
            for name in ("reserved_bytes", "allocated_bytes", "requested_bytes")}
    steps = [{"step": step + 1, "ms": 3, "loss": 1.0, "peak": peak}
             for step in range(trial["steps"])]
    return {"trial": trial, "batch_seen": trial["batch"], "steps": steps, "first_step": peak,
            "steady": peak, "step_ms": 3.0, "budget_bytes": trial["limit_bytes"]}


def misbehave(report):
    """In the middle of a trial."""
    if FAULT == "hang":
        forever()
    elif FAULT == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        forever()
    elif FAULT == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    elif FAULT == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    elif FAULT == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif FAULT == "exit":
        os.write(report, b'{"type":"res')
        sys.exit("the last words")
    elif FAULT == "garbage":
        os.write(report, b"hello, world\n")
    elif FAULT == "binary":
        os.write(report, bytes(range(256)))
    elif FAULT == "endless-line":
        while True:
            os.write(report, b"x" * MIB)
    elif FAULT == "chatter":
        flood((1, 2))
    elif FAULT == "closed":
        os.closerange(0, 64)
        forever()
    elif FAULT in ("daemon", "daemon-hang"):
        daemonise()
        if FAULT == "daemon-hang":
            forever()


def main():
    if sys.argv[1:] == ["--describe"]:
        describe()
        return
    report = int(os.environ["AUTOBATCH_REPORT_FD"])

    def say(**reply):
        os.write(report, json.dumps(reply).encode() + b"\n")

    with os.fdopen(int(os.environ["AUTOBATCH_REQUEST_FD"])) as requests:
        requests.readline()
        if FAULT == "no-start":
            sys.exit("no libcudart")
        say(type="hello", hello={"protocol": 99 if FAULT == "version" else 1, "pid": os.getpid()})
        for line in requests:
            trial = json.loads(line)["trial"]
            say(type="phase", phase="forward")
            tell("trial")
            misbehave(report)
            result = observation(trial)
            if FAULT == "other-batch":
                result["batch_seen"] = 1
            if FAULT == "no-steps":
                result["steps"] = []
            if FAULT == "hostile":
                text = "\x1b[31mred\x1b]0;title\x07 \u009b31m <script>alert(1)</script>"
                result["failure"] = {"kind": "model_error", "message": text, "advice": text,
                                     "stderr_tail": text}
            say(type="result", result=result)


main()
