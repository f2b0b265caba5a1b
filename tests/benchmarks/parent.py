"""What the probe itself costs: time to --help and resident memory, against peers in the same run.

Prints a row a program, then the bars; the exit status says whether they hold.
"""

import os
import statistics
import subprocess
import sys
import time

RUNS = 31
HELP_MS = 50
RESIDENT_MB = 30


def run_once(command):
    """Wall milliseconds and greatest resident megabytes of one run."""
    start = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as child:
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
    return (time.perf_counter() - start) * 1e3, usage.ru_maxrss * 1024 / 1e6


def main():
    programs = {
        "/bin/true": ["/bin/true"],
        "probe --help": [os.path.abspath("tools/probe"), "--help"],
        "worker --help": [os.path.abspath("autobatch/worker/worker"), "--help"],
    }
    seen = {name: [] for name in programs}
    for _ in range(RUNS):  # In turn, so that a machine that drifts drifts for all.
        for name, command in programs.items():
            seen[name].append(run_once(command))
    medians = {name: [statistics.median(column) for column in zip(*runs)]
               for name, runs in seen.items()}
    true_ms = medians["/bin/true"][0]
    for name, (ms, megabytes) in medians.items():
        print(f"{name:15} {ms:8.1f} ms  {ms / true_ms:6.1f} x /bin/true  {megabytes:7.1f} MB resident")
    ms, megabytes = medians["probe --help"]
    print(f"bars: {ms:.1f} of {HELP_MS} ms, {megabytes:.1f} of {RESIDENT_MB} MB; "
          f"the worker takes {medians['worker --help'][0] / ms:.0f} times as long")
    return 0 if ms <= HELP_MS and megabytes <= RESIDENT_MB else 1


if __name__ == "__main__":
    sys.exit(main())
