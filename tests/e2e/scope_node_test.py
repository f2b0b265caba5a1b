"""A data-parallel program on two simulated GPUs at once, started by torchrun."""

import unittest

from tests.e2e.programs import probe
from tests.e2e.scope_node import ScopeNodeCase


class ScopeNodeTest(ScopeNodeCase):
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
