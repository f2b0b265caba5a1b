"""NCCL between processes of one machine, on simulated devices."""

import json
import os
import subprocess
import sys
import unittest

from tests.simcuda.simulated import environment

RANK = os.path.abspath("tests/simcuda/nccl_rank.py")
MIB = 1 << 20
NOT_READY, REMOTE_ERROR, INVALID_USAGE, IN_PROGRESS = 600, 6, 5, 7


class Ranks:
    """The processes of one NCCL program."""

    def __init__(self, ranks, action):
        variables = environment(f"rtx3090:count={ranks}", AUTOBATCH_SIM_CALIBRATION="")
        self.processes = [
            subprocess.Popen([sys.executable, RANK, str(rank), str(ranks), action], env=variables, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            for rank in range(ranks)]
        unique_id = self.processes[0].stdout.readline()
        for process in self.processes[1:]:
            process.stdin.write(unique_id)
            process.stdin.flush()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.communicate()

    def line(self, rank):
        text = self.processes[rank].stdout.readline()
        return json.loads(text) if text else self.processes[rank].stderr.read()

    def tell(self, rank):
        self.processes[rank].stdin.write("go\n")
        self.processes[rank].stdin.flush()

    def lines(self):
        return [self.line(rank) for rank in range(len(self.processes))]


class NcclTest(unittest.TestCase):
    def test_reductions_of_three_processes_give_true_results(self):
        with Ranks(3, "reductions") as ranks:
            for answer in ranks.lines():
                self.assertEqual(answer, {"sum": [6, -3, 30], "min": [1, -2, 10], "max": [3, 0, 10],
                                          "prod": [6, 0, 1000], "avg": [2, -1, 10]})

    def test_other_collectives_of_three_processes_give_true_results(self):
        with Ranks(3, "collectives") as ranks:
            for rank, answer in enumerate(ranks.lines()):
                self.assertEqual(answer, {"gathered": [10, 20, 11, 21, 12, 22], "broadcast": [11, 21],
                                          "scattered": [3 * rank], "swapped": [rank, 10 + rank, 20 + rank],
                                          "received": [100 + (rank - 1) % 3]})

    def test_split_parts_order_their_ranks_by_key(self):
        with Ranks(5, "split") as ranks:
            self.assertEqual(ranks.lines(), [
                {"rank": 1, "ranks": 2, "sum": [2]}, {"rank": 1, "ranks": 2, "sum": [4]},
                {"rank": 0, "ranks": 2, "sum": [2]}, {"rank": 0, "ranks": 2, "sum": [4]}, {"part": None}])

    def test_memory_of_a_communicator_grows_with_its_ranks(self):
        for count in (1, 3):
            with Ranks(count, "memory") as ranks:
                for answer in ranks.lines():
                    self.assertEqual(answer, {"taken": (64 + 32 * (count - 1)) * MIB, "left": 0})

    def test_nonblocking_communicator_is_in_progress_until_the_last_rank_comes(self):
        with Ranks(2, "without_waiting") as ranks:
            self.assertEqual(ranks.line(0), {"first": IN_PROGRESS, "state": IN_PROGRESS})
            ranks.tell(1)
            self.assertEqual(ranks.line(1), {"told": "go"})
            self.assertEqual(ranks.lines(), [{"sum": [2]}] * 2)

    def test_missing_rank_is_waited_for_until_the_communicator_is_aborted(self):
        with Ranks(2, "missing") as ranks:
            self.assertEqual(ranks.line(1), {"joined": True})
            self.assertEqual(ranks.line(0), {"query": NOT_READY, "state": 0})
            ranks.tell(0)
            self.assertEqual(ranks.line(0), {"query": NOT_READY, "state": 0, "waits": True})
            self.assertEqual(ranks.line(0), {"query": 0})

    def test_killed_rank_is_a_remote_error_for_those_who_wait(self):
        with Ranks(2, "bereaved") as ranks:
            self.assertEqual(ranks.lines(), [{"joined": True}] * 2)
            ranks.processes[1].kill()
            self.assertEqual(ranks.line(0), {"state": REMOTE_ERROR, "pending": NOT_READY, "next": REMOTE_ERROR})
            self.assertEqual(ranks.line(0), {"pending": 0})

    def test_ranks_that_ask_for_different_things_are_told(self):
        with Ranks(2, "disagreeing") as ranks:
            self.assertEqual(ranks.lines(), [{"state": INVALID_USAGE}] * 2)

    def test_one_thread_serves_all_ranks_in_a_group(self):
        with Ranks(3, "one_process") as ranks:
            self.assertEqual(ranks.line(0), {"sums": [6, 6, 6]})


if __name__ == "__main__":
    unittest.main()
