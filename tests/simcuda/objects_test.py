"""Python objects that ranks send each other by torch.distributed over simulated NCCL."""

import json
import os
import subprocess
import tempfile
import unittest

from tests.simcuda.simulated import PYTHON, python_environment

RANK = os.path.abspath("tests/simcuda/objects_rank.py")


@unittest.skipUnless(PYTHON, "torch's companions for Python are not here: run tools/ci_setup")
class ObjectsTest(unittest.TestCase):
    def test_objects_of_two_processes_arrive_as_they_were_sent(self):
        variables = python_environment("rtx3090:count=2")
        with tempfile.TemporaryDirectory() as folder:
            ranks = [subprocess.Popen([PYTHON, RANK, str(rank), "2", folder], env=variables, text=True,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE) for rank in range(2)]
            said = ""
            try:
                for process in ranks:
                    out, err = process.communicate(timeout=240)
                    self.assertEqual(process.returncode, 0, err)
                    said += err
                    answers = json.loads(out)
                    self.assertEqual(answers, dict.fromkeys(answers, True))
                self.assertIn("bytes above 1 MiB that a rank gives to NCCL arrive as zeros", said)
            finally:
                for process in ranks:
                    process.kill()
                    process.communicate()


if __name__ == "__main__":
    unittest.main()
