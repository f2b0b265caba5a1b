"""Lightning's own strategy="ddp" on two simulated GPUs: its ranks send each other objects before the first step."""

import json
import os
import pathlib
import subprocess
import sys
import unittest

FRAMEWORKS = os.environ.get("AUTOBATCH_TEST_FRAMEWORKS", "")
SCRIPT = os.path.abspath("tests/e2e/lightning_train.py")
TOOL = os.path.abspath("tools/simcuda")


@unittest.skipUnless(FRAMEWORKS, "torch's companions for Python are not here: run tools/ci_setup")
class LightningTest(unittest.TestCase):
    def test_two_ranks_train_and_agree_on_where_they_log(self):
        folder = pathlib.Path(os.environ["TEST_TMPDIR"], "training")
        variables = {**os.environ, "PYTHONPATH": FRAMEWORKS, "OMP_NUM_THREADS": "1"}
        run = subprocess.run([TOOL, "--device", "rtx3090:count=2", "--", sys.executable, SCRIPT, folder, "5"],
                             env=variables, text=True, capture_output=True, timeout=240, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        ranks = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
        log = str(folder / "lightning_logs" / "version_0")
        self.assertEqual(sorted(ranks, key=lambda rank: rank["rank"]),
                         [{"rank": rank, "steps": 5, "log": log} for rank in range(2)], run.stderr)
        self.assertTrue(list(folder.rglob("*.ckpt")), run.stderr)


if __name__ == "__main__":
    unittest.main()
