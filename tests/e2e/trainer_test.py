"""Hugging Face's own Trainer on a simulated card, as it comes and with our callback."""

import json
import os
import pathlib
import sys
import unittest

from tests.e2e.programs import probe, scratch

FRAMEWORKS = os.environ.get("AUTOBATCH_TEST_FRAMEWORKS", "")
SCRIPT = os.path.abspath("tests/e2e/trainer_train.py")


@unittest.skipUnless(FRAMEWORKS, "torch's companions for Python are not here: run tools/ci_setup")
class TrainerTest(unittest.TestCase):
    def confirmed(self, *script):
        path = os.pathsep.join([str(pathlib.Path("tools/python").resolve()), FRAMEWORKS])
        run = probe("--device", "sim:rtx3060", "--no-cache", "--max-batch", "16", "--confirm-steps", "4", "--json", "-",
                    "--", sys.executable, SCRIPT, "{output_dir}", *script, cwd=scratch(),
                    env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"})
        self.assertEqual(run.returncode, 0, run.stderr)
        [device] = json.loads(run.stdout)["devices"]
        self.assertEqual(device["confirmed_batch"], 16, run.stderr)
        return device["observations"][-1]

    def test_trainer_that_knows_nothing_of_us_is_observed(self):
        seen = self.confirmed("{batch}", "{steps}")
        self.assertEqual(seen["method"], "observer")
        self.assertTrue(seen["simulated"])

    def test_trainer_with_the_callback_tells_its_steps_and_batch(self):
        seen = self.confirmed("own")
        self.assertEqual((seen["method"], seen["batch_seen"], len(seen["steps"])), ("python", 16, 4))
        # All of the mask may be true, and the tokens have a value: the loss is finite, and a step has a peak.
        self.assertGreater(seen["steady"]["allocated_bytes"], 0)


if __name__ == "__main__":
    unittest.main()
