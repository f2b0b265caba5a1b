"""What a probe answers, in every format, and what its cache does."""

import json
import subprocess
import unittest

from tests.e2e.programs import probe, scratch, small


class ProbeTest(unittest.TestCase):
    def test_cpu_gets_a_batch_that_ran_under_its_budget(self):
        page = scratch() / "report.html"
        run = probe(*small(), "--memory-limit", "600MiB", "--max-batch", "64", "--no-cache",
                    "--json", "-", "--html", str(page))
        self.assertEqual(run.returncode, 0, run.stderr)
        report = json.loads(run.stdout)
        self.assertEqual(report["schema"], "autobatch.node_report.v1")
        [device] = report["devices"]
        self.assertEqual(device["status"], "confirmed")
        batch = device["confirmed_batch"]
        self.assertEqual(report["minimum_batch"], batch)
        confirming = [seen for seen in device["observations"]
                      if seen["trial"]["batch"] == batch and seen["trial"]["fresh_process"]]
        self.assertTrue(confirming, "the answer itself must have run in a fresh process")
        seen = confirming[-1]
        self.assertIsNone(seen["failure"])
        self.assertEqual(seen["batch_seen"], batch)
        self.assertEqual(len(seen["steps"]), seen["trial"]["steps"])
        self.assertLessEqual(device["peak_bytes"], device["budget_bytes"])
        self.assertEqual(seen["parameters"], 11689512)
        self.assertEqual({margin["name"] for margin in device["margins"]},
                         {"context_growth", "communicator", "gradient_buckets", "evaluation",
                          "fragmentation", "headroom"})
        self.assertIn("<svg", page.read_text())
        # The banner and a line a trial, for people.
        self.assertIn("LibTorch 2.11", run.stderr)
        self.assertIn("confirm batch", run.stderr)

    def test_memory_is_what_bounds_a_small_budget(self):
        run = probe(*small(128), "--memory-limit", "520MiB", "--headroom", "64MiB", "--no-cache",
                    "--time-limit", "200s", "--format", "json")
        self.assertEqual(run.returncode, 0, run.stderr)
        [device] = json.loads(run.stdout)["devices"]
        self.assertEqual(device["bound"], "memory", run.stderr)
        # What is left would not hold two steps of the tolerance more.
        self.assertLess(device["headroom_bytes"], 0.1 * device["budget_bytes"])
        self.assertEqual(device["budget_bytes"], (520 - 64) << 20)

    def test_env_lines_are_what_a_shell_evals(self):
        run = probe(*small(), "--memory-limit", "600MiB", "--max-batch", "4", "--no-cache",
                    "--format", "env", "--quiet")
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertEqual(run.stderr, "")
        shell = subprocess.run(["sh", "-ec", f'{run.stdout}\necho "$AUTOBATCH_MICRO_BATCH"'],
                               text=True, capture_output=True, check=True)
        self.assertEqual(shell.stdout, "4\n")

    def test_multiple_of_rounds_down_and_confirms_that(self):
        run = probe(*small(), "--memory-limit", "600MiB", "--max-batch", "13", "--multiple-of", "8",
                    "--no-cache", "--format", "json")
        [device] = json.loads(run.stdout)["devices"]
        self.assertEqual(device["confirmed_batch"], 8)

    def test_second_probe_verifies_with_one_trial_and_a_damaged_entry_is_replaced(self):
        cache = scratch() / "cache"
        arguments = [*small(), "--memory-limit", "600MiB", "--max-batch", "6", "--format", "json",
                     "--cache-dir", str(cache)]
        first = json.loads(probe(*arguments).stdout)["devices"][0]
        second = json.loads(probe(*arguments).stdout)["devices"][0]
        self.assertEqual(second["confirmed_batch"], first["confirmed_batch"])
        self.assertTrue(second["from_cache"])
        self.assertEqual(len(second["observations"]), 1)
        other = json.loads(probe(*arguments, "--optimizer", "adam").stdout)["devices"][0]
        self.assertFalse(other["from_cache"])
        for entry in cache.iterdir():
            entry.write_text("{")
        run = probe(*arguments)
        damaged = json.loads(run.stdout)["devices"][0]
        self.assertIn("damaged", " ".join(damaged["warnings"]))
        self.assertTrue(json.loads(probe(*arguments).stdout)["devices"][0]["from_cache"])

    def test_every_strategy_answers(self):
        for strategy in ["yolov5", "ultralytics", "ultralytics-8.4"]:
            run = probe(*small(128), "--memory-limit", "1GiB", "--strategy", strategy, "--no-cache",
                        "--format", "json")
            self.assertEqual(run.returncode, 0, run.stderr)
            [device] = json.loads(run.stdout)["devices"]
            self.assertEqual(device["status"], "estimated")
            self.assertIsNone(device["confirmed_batch"])
            self.assertIn("AutoBatch: Using batch-size", device["log"][-1])
            self.assertEqual([seen["trial"]["batch"] for seen in device["observations"]],
                             [1, 2, 4, 8, 16])


if __name__ == "__main__":
    unittest.main()
