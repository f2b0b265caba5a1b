"""The largest batch of a data-parallel program on two unlike simulated GPUs at once: the one test that searches."""

import unittest

from tests.e2e.scope_node import ScopeNodeCase


def margins(device):
    return {margin["name"]: margin for margin in device["margins"]}


class ScopeNodeSearchTest(ScopeNodeCase):
    def test_ranks_on_unlike_cards_are_each_observed_and_the_smaller_sets_the_minimum(self):
        # Every trial starts the ranks anew, so the smaller card is one that few trials fill.
        run, report = self.run_probe("--tolerance", "0.4", "--headroom", "64MiB", "--", "ddp", "own", "100",
                                     devices="custom:memory=2400MiB,rtx3090")
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


if __name__ == "__main__":
    unittest.main()
