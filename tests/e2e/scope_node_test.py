"""A data-parallel program on two simulated GPUs at once, started by torchrun."""

import json
import os
import pathlib
import sys
import unittest

from tests.e2e.programs import probe, scratch

FRAMEWORKS = os.environ.get("AUTOBATCH_TEST_FRAMEWORKS", "")
SCRIPT = os.path.abspath("tests/e2e/ddp_train.py")


def margins(device):
    return {margin["name"]: margin for margin in device["margins"]}


@unittest.skipUnless(FRAMEWORKS, "torch's companions for Python are not here: run tools/ci_setup")
class ScopeNodeTest(unittest.TestCase):
    def run_probe(self, *arguments, ranks=2):
        """`arguments`: of the probe, then "--" and of the script."""
        own, script = arguments[:arguments.index("--")], arguments[arguments.index("--") + 1:]
        path = os.pathsep.join([str(pathlib.Path("tools/python").resolve()), FRAMEWORKS])
        run = probe("--device", "sim:rtx3080-12,rtx3090", "--scope", "node", "--no-cache", "--json", "-", *own, "--",
                    sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", SCRIPT, *script,
                    cwd=scratch(), env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1",
                                        "CUDA_DEVICE_ORDER": "PCI_BUS_ID"})
        return run, json.loads(run.stdout) if run.stdout else None

    def test_ranks_on_unlike_cards_are_each_observed_and_the_smaller_sets_the_minimum(self):
        run, report = self.run_probe("--tolerance", "0.4", "--", "ddp", "own", "100")
        self.assertEqual(run.returncode, 0, run.stderr)
        small, large = report["devices"]
        self.assertEqual(report["scope"], "node")
        self.assertEqual(report["minimum_device"], small["device"]["uuid"])
        self.assertEqual(small["confirmed_batch"], large["confirmed_batch"])
        self.assertEqual((small["bound"], large["bound"]), ("memory", "other_device"))
        self.assertGreater(large["headroom_bytes"], 8 << 30)
        for device in (small, large):
            confirmed = [seen for seen in device["observations"]
                         if seen["failure"] is None and seen["trial"]["batch"] == device["confirmed_batch"]][-1]
            self.assertEqual((confirmed["method"], confirmed["ranks"]), ("python", 1))
            self.assertLessEqual(device["peak_bytes"], device["budget_bytes"])
            self.assertLess(confirmed["budget_bytes"], confirmed["total_bytes"])
            communicator = margins(device)["communicator"]
            self.assertEqual((communicator["bytes"], communicator["source"]), (0, "measured"))
        self.assertGreater(small["peak_bytes"], 0.5 * small["budget_bytes"])
        self.assertIn("all 2 devices at once", run.stderr)
        self.assertIn("set by cuda:0", run.stderr)

    def test_program_that_knows_nothing_of_us_is_observed_on_each_device(self):
        run, report = self.run_probe("--max-batch", "4", "--", "ddp", "{batch}", "{steps}")
        self.assertEqual(run.returncode, 0, run.stderr)
        for device in report["devices"]:
            confirming = device["observations"][-1]
            self.assertEqual(confirming["method"], "observer")
            self.assertEqual(device["confirmed_batch"], 4)
            # Parameters, gradients, AdamW's state and DDP's buckets: 5 times 206 MB.
            self.assertGreater(device["peak_bytes"], 5 * 206 * 10 ** 6)
            self.assertGreater(confirming["context_bytes"], 100 << 20)

    def test_sharded_model_is_measured_as_it_trains(self):
        run, report = self.run_probe("--max-batch", "1", "--", "fsdp", "own", "100")
        self.assertEqual(run.returncode, 0, run.stderr)
        for device in report["devices"]:
            # Each rank keeps half of AdamW's state and of the gradients: under DDP it is 7 times the parameters.
            self.assertLess(device["peak_bytes"], 6.2 * 206 * 10 ** 6)

    def test_launcher_of_too_few_ranks_leaves_no_device_out_unsaid(self):
        run, report = self.run_probe("--max-batch", "1", "--", "ddp", "own", "100", ranks=1)
        self.assertEqual(run.returncode, 5, run.stderr)
        self.assertIn("cuda:1: nothing ran there: the command used 1 of 2 devices",
                      report["devices"][0]["failure"]["message"])

    def test_rank_that_fails_is_heard_through_torchruns_summary(self):
        run, report = self.run_probe("--max-batch", "2", "--", "ddp", "{batch}", "many")
        self.assertEqual(run.returncode, 5, run.stderr)
        failure = report["devices"][0]["failure"]
        self.assertEqual(failure["kind"], "model_error")
        self.assertRegex(failure["message"], r"ValueError: invalid literal.*'many'")
        self.assertRegex(failure["stderr_tail"], r"ValueError: invalid literal.*'many'$")

    def test_scope_that_makes_no_sense_is_refused(self):
        run = probe("--device", "cpu", "--scope", "node", "--", "true", "{batch}")
        self.assertEqual(run.returncode, 2)
        self.assertIn("--scope node is for GPUs", run.stderr)


if __name__ == "__main__":
    unittest.main()
