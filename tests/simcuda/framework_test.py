"""A training program in Python on a simulated card, with the locked torch or, by hand, with any other.

    ./bazelw test //tests/simcuda:framework_test //tests/simcuda:objects_test \\
        --test_env=AUTOBATCH_TEST_PYTHON=/path/to/venv/bin/python --test_output=all
"""

import json
import os
import subprocess
import tempfile
import unittest

from tests.simcuda.simulated import PYTHON, python_environment

PROGRAM = os.path.abspath("tests/simcuda/framework_program.py")


@unittest.skipUnless(PYTHON, "torch's companions for Python are not here: run tools/ci_setup")
class FrameworkTest(unittest.TestCase):
    def check(self, **variables):
        with tempfile.TemporaryDirectory() as folder:
            # torch.compile and Triton keep what they build.
            kept = {"TORCHINDUCTOR_CACHE_DIR": folder, "TRITON_CACHE_DIR": folder}
            run = subprocess.run([PYTHON, PROGRAM], env=python_environment("rtx4090", **kept, **variables), text=True,
                                 capture_output=True, timeout=240, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        answers = json.loads(run.stdout)
        print(answers)
        answers.pop("torch")
        self.assertEqual(answers, dict.fromkeys(answers, True))

    def test_a_program_trains_and_runs_out_of_memory(self):
        self.check()

    def test_so_it_does_with_expandable_segments(self):
        # Under its newer name, and under that of torch 2.8 and before.
        expandable = "expandable_segments:True"
        self.check(PYTORCH_ALLOC_CONF=expandable, PYTORCH_CUDA_ALLOC_CONF=expandable)


if __name__ == "__main__":
    unittest.main()
