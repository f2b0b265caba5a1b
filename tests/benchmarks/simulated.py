"""What simulated devices cost, against peers in the same run: a step beside one whose kernel launches are
empty functions, a whole answer, and host memory beside a worker that has only loaded its libraries.

Prints a row each, then the bars; the exit status says whether they hold.
"""

import json
import os
import statistics
import subprocess
import sys
import time

PROBE = os.path.abspath("tools/probe")
WORKER = os.path.abspath("autobatch/worker/worker")
SIMULATOR = os.path.abspath("autobatch/simcuda/libsimcuda.so")
EMPTY = os.path.abspath("tests/benchmarks/libemptylaunch.so")

STEPS = 40
RUNS = 5
STEP_FACTOR = 3
ANSWER_S = 5
HOST_MIB = 700


def environment(card, *preloads):
    """Only the card; no other setting of the user's."""
    clean = {name: value for name, value in os.environ.items()
             if not name.startswith(("AUTOBATCH_", "CUDA_", "PYTORCH_"))}
    return {**clean, "AUTOBATCH_SIM_DEVICES": card, "LD_PRELOAD": " ".join(preloads), "OMP_NUM_THREADS": "1"}


def trial(card, batch, *preloads):
    """Milliseconds of a median step of ResNet-50, and the worker's greatest resident MiB."""
    request_in, request_out = os.pipe()
    report_in, report_out = os.pipe()
    variables = {**environment(card, *preloads), "AUTOBATCH_REQUEST_FD": str(request_in),
                 "AUTOBATCH_REPORT_FD": str(report_out)}
    workload = {"kind": "built_in", "name": "resnet50", "precision": "amp_fp16", "optimizer": "momentum",
                "zero_grad": "none", "image_size": 224, "sequence_length": 1024, "classes": 1000,
                "evaluation_batch": 0}
    requests = [{"type": "setup", "protocol": 1, "device": "cuda", "workload": workload},
                {"type": "trial", "trial": {"purpose": "confirm", "batch": batch, "steps": STEPS}}]
    with subprocess.Popen([WORKER], env=variables, pass_fds=[request_in, report_out]) as worker:
        os.close(request_in)
        os.close(report_out)
        with os.fdopen(request_out, "w") as asked:
            asked.writelines(json.dumps(request) + "\n" for request in requests)
        with os.fdopen(report_in) as reports:
            result = [json.loads(line) for line in reports][-1]["result"]
    if result["failure"]:
        sys.exit(f"the worker failed: {result['failure']['message']}")
    return result["step_ms"], result["host_peak_bytes"] / 2**20


def loaded_mib():
    """Resident MiB of a worker that has its libraries, and no device."""
    with subprocess.Popen([WORKER, "--describe"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
    return usage.ru_maxrss / 1024


def answer_s(card):
    """Seconds of a whole probe of ResNet-50, and of the processors' work in it."""
    start = time.perf_counter()
    command = [PROBE, "--device", "sim:" + card, "--workload", "resnet50", "--no-cache", "--quiet"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"the probe ended with {child.returncode}")
    return time.perf_counter() - start, usage.ru_utime + usage.ru_stime


def main():
    # In turn, so that a machine that drifts drifts for all; the least of several runs has had the least company.
    steps = {"empty launch": [], "simulated": []}
    for _ in range(RUNS):
        steps["empty launch"].append(trial("a100-80", 16, EMPTY, SIMULATOR)[0])
        steps["simulated"].append(trial("a100-80", 16, SIMULATOR)[0])
    least = {name: min(times) for name, times in steps.items()}
    for name, times in steps.items():
        print(f"step, {name:14} {least[name]:8.2f} ms least, {statistics.median(times):8.2f} ms median of {RUNS}")
    factor = least["simulated"] / least["empty launch"]
    answers = [answer_s("h100-80") for _ in range(RUNS)]
    seconds = [wall for wall, _ in answers]
    print(f"ResNet-50 on an 80 GB card {min(seconds):6.2f} s least, {statistics.median(seconds):6.2f} s median; "
          f"{min(work for _, work in answers):.2f} s of processor")
    own = loaded_mib()
    above = {}
    for card, batch in (("t4", 64), ("a100-80", 1024), ("h200", 2048)):
        above[card] = trial(card, batch, SIMULATOR)[1] - own
        print(f"host memory, {card:8} batch {batch:5} {above[card]:6.0f} MiB above the {own:.0f} MiB of loaded libraries")
    held = factor <= STEP_FACTOR and min(seconds) <= ANSWER_S and max(above.values()) <= HOST_MIB
    print(f"bars: a step {factor:.2f} of {STEP_FACTOR} x an empty launch's; {min(seconds):.1f} of {ANSWER_S} s an answer; "
          f"{max(above.values()):.0f} of {HOST_MIB} MiB of host memory: {'hold' if held else 'missed'}")
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
