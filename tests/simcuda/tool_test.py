"""The simulator as a command of its own."""

import os
import subprocess
import unittest

from tests.simcuda.simulated import PROGRAM

TOOL = os.path.abspath("tools/simcuda")


def simcuda(*arguments, **variables):
    return subprocess.run([TOOL, *arguments], env={**os.environ, **variables}, text=True,
                          capture_output=True, timeout=120, check=False)


class ToolTest(unittest.TestCase):
    def test_a_program_runs_and_its_peaks_are_named_by_phase(self):
        run = simcuda("--device", "rtx4090", "--", PROGRAM, "train=64")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn('"loss": 0.0', run.stdout)
        self.assertIn("NVIDIA GeForce RTX 4090 (simulated): peak ", run.stderr)
        for phase in ["setup", "forward", "backward"]:
            self.assertIn(phase, run.stderr)

    def test_the_programs_words_and_status_are_its_own(self):
        run = simcuda("--device=sim:t4", "--", "sh", "-c", 'printf "%s|" "$@"; exit 7', "sh",
                      "two words", 'a "quote"', "--device")
        self.assertEqual(run.returncode, 7)
        self.assertEqual(run.stdout, 'two words|a "quote"|--device|')
        self.assertIn("no process took memory", run.stderr)

    def test_a_program_that_dies_of_a_signal_says_so_by_its_status(self):
        run = simcuda("--device", "t4", "--faults", "crash_at=20", "--", PROGRAM, "train=8")
        self.assertEqual(run.returncode, 128 + 11)

    def test_a_command_starts_where_the_user_stands(self):
        run = simcuda("--device", "t4", "--", "pwd", BUILD_WORKING_DIRECTORY="/")
        self.assertEqual(run.stdout, "/\n")

    def test_wrong_usage_is_answered_with_what_is_right(self):
        for arguments, answer in [
                (["--device", "rtx4091", "--", "true"], "the nearest is 'rtx4090'"),
                (["--", "true"], "give --device LIST, such as --device rtx4090; --list names all"),
                (["--device", "t4"], "no command after --"),
                (["--device", "t4", "true"], "the command follows after --"),
                (["--device"], "--device needs a value")]:
            run = simcuda(*arguments)
            self.assertEqual(run.returncode, 2, run.stderr)
            self.assertIn(answer, run.stderr)
        self.assertEqual(simcuda("--device", "t4", "--", "/no/such/program").returncode, 127)

    def test_the_cards_are_listed(self):
        run = simcuda("--list")
        self.assertEqual(run.returncode, 0, run.stderr)
        rows = run.stdout.splitlines()
        self.assertEqual(len(rows), 42)
        self.assertEqual(next(row for row in rows if row.startswith("rtx4090 ")).split(),
                         ["rtx4090", "NVIDIA", "GeForce", "RTX", "4090", "23.64", "GiB", "8.9", "128"])


if __name__ == "__main__":
    unittest.main()
