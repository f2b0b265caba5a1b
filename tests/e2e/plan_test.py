"""The plan tool as a user starts it: what it prints, writes and refuses."""

import json
import os
import pathlib
import subprocess
import unittest

from tests.e2e.json_schema import differences

PLAN = os.path.abspath("tools/plan")
PLAN_SCHEMA = "orchestrator/plan/schema/plan.v1.json"


class PlanTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(os.environ["TEST_TMPDIR"]) / self.id()
        self.folder.mkdir()

    def plan(self, *arguments, **environment):
        return subprocess.run([PLAN, *arguments], cwd=self.folder, text=True, timeout=60, check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=dict(os.environ, **environment))

    def write(self, name, value):
        (self.folder / name).write_text(json.dumps(value))
        return name

    def report(self, name, host, batches, status="confirmed", **device):
        devices = []
        for index, batch in enumerate(batches):
            devices.append({
                "device": {"uuid": f"GPU-{host}-{index}", "address": f"cuda:{index}", "name": "A100",
                           "memory": {"total_bytes": 80 << 30}, **device},
                "status": status if batch else "failed", "bound": "memory",
                "estimated_batch" if status == "estimated" else "confirmed_batch": batch or None,
                "failure": None if batch else {"kind": "cannot_start", "message": "no \x1b[2Jworker"}})
        return self.write(name, {"schema": "autobatch.node_report.v1", "host": {"host": host},
                                 "devices": devices})

    def test_exact_batch_has_a_line_for_every_world_size(self):
        done = self.plan("--batch", "77", "--world-size", "8", "--min-world-size", "2",
                         "--global-batch", "512", "--rule", "exact")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), 9)
        self.assertIn("2 ranks 3×57, 1 rank 2×57+56", lines[3])
        self.assertIn("8*", lines[8])

    def test_json_adds_up(self):
        done = self.plan("--batch", "77", "--world-size", "64", "--global-batch", "4099",
                         "--dataset-size", "1000000", "--json", "-")
        self.assertEqual(done.returncode, 0, done.stderr)
        plan = json.loads(done.stdout)
        self.assertEqual(differences(plan, PLAN_SCHEMA), [])
        self.assertEqual(plan["schema"], "autobatch.plan.v1")
        self.assertEqual([row["world_size"] for row in plan["rows"]], list(range(1, 65)))
        for row in plan["rows"]:
            samples = weights = 0
            for group in row["groups"]:
                self.assertEqual(sum(part["count"] for part in group["steps"]), row["accumulation"])
                for part in group["steps"]:
                    self.assertLessEqual(part["micro_batch"], 77)
                    samples += group["ranks"] * part["count"] * part["micro_batch"]
                    weights += (group["ranks"] * part["count"] *
                                part["micro_batch"] * row["sample_weight"])
            self.assertEqual(samples, 4099)
            self.assertAlmostEqual(weights / row["world_size"], 1)

    def test_deepspeed_block_gives_the_batch_and_our_table_more_worlds(self):
        config = self.write("config.json", {"elasticity": {
            "enabled": True, "max_train_batch_size": 2000, "micro_batch_sizes": [2, 4, 6],
            "version": 0.1}})
        done = self.plan("--deepspeed", config, "--world-size", "11", "--json", "plan.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("DeepSpeed could run in 9 of these 11 world sizes", done.stdout)
        plan = json.loads((self.folder / "plan.json").read_text())
        self.assertEqual(differences(plan, PLAN_SCHEMA), [])
        self.assertEqual(plan["request"]["global_batch"], 1680)
        self.assertEqual(len(plan["rows"]), 11)
        self.assertEqual([world["world_size"] for world in plan["deepspeed"]],
                         [1, 2, 3, 4, 5, 6, 7, 8, 10])

    def test_bad_deepspeed_block_is_named_by_file_and_key(self):
        config = self.write("config.json", {"elasticity": {
            "enabled": True, "max_train_batch_size": "2000", "micro_batch_sizes": [2]}})
        done = self.plan("--deepspeed", config, "--world-size", "2")
        self.assertEqual(done.returncode, 2)
        self.assertIn('config.json: elasticity.max_train_batch_size "2000": expected a number',
                      done.stderr)

    def test_reports_of_all_nodes_name_the_straggler(self):
        reports = ["--report", self.report("a.json", "node-a", [77, 77]),
                   "--report", self.report("b.json", "node-b", [77, 24])]
        done = self.plan(*reports)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("The minimum, 24, is set by node-b cuda:1 (A100)", done.stdout)
        self.assertIn("4*      96", done.stdout)
        done = self.plan(*reports, "--per-device", "--json", "-")
        plan = json.loads(done.stdout)
        self.assertEqual(differences(plan, PLAN_SCHEMA), [])
        self.assertEqual(plan["rows"][-1]["global_batch"], 255)
        self.assertEqual(plan["rows"][-1]["devices"][3], "GPU-node-b-1")
        self.assertEqual(plan["rows"][0]["global_batch"], 24)
        self.assertEqual(plan["straggler"]["without_device"]["samples"], 231)

    def test_node_that_is_given_twice_is_refused(self):
        report = self.report("a.json", "node-a", [77, 77])
        done = self.plan("--report", report, "--report", report)
        self.assertEqual(done.returncode, 2)
        self.assertIn("device GPU-node-a-0 is in ", done.stderr)

    def test_least_certain_report_is_what_the_batch_is_called_by(self):
        reports = [self.report(status + ".json", status, [77], status=status)
                   for status in ("confirmed", "partial", "estimated")]
        for order in (reports, reports[::-1]):
            done = self.plan(*(word for report in order for word in ("--report", report)))
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("Estimated batch, not run: 77", done.stdout)

    def test_device_without_a_batch_leaves_no_plan(self):
        done = self.plan("--report", self.report("a.json", "node-a", [77, 0]))
        self.assertEqual(done.returncode, 4)
        self.assertIn("node-a cuda:1: cannot start: no \\x1b[2Jworker", done.stderr)

    def test_wish_that_cannot_be_met_says_what_would_work(self):
        done = self.plan("--batch", "77", "--world-size", "600", "--global-batch", "512")
        self.assertEqual(done.returncode, 4)
        self.assertIn("world size 600: the global batch has 512 samples", done.stderr)
        self.assertIn("up to 512 ranks", done.stderr)

    def test_resume_counts_samples(self):
        done = self.plan("--batch", "77", "--world-size", "8", "--global-batch", "512",
                         "--dataset-size", "10000", "--samples-seen", "22100")
        self.assertIn("After 22,100 samples: epoch 2 (from 0), 2,100 samples into it, 16 steps",
                      done.stdout)

    def test_wrong_usage_exits_with_2(self):
        for arguments, says in ([["--batch", "77"], "--world-size N is needed"],
                                [["--report", "none.json"], "cannot read"],
                                [["--batch", "8", "--world-size", "2000000"], "--world-size 2000000: from 1"],
                                [["--batch", "8", "--world-size", "8", "--dataset-size", "9", "--samples-seen", "-1"],
                                 "--samples-seen"],
                                [["--batch", "8", "--world-size", "8", "--min-world-size", "9"],
                                 "--min-world-size 9 is above 8, the present world"],
                                [["--batch", "8", "--world-size", "8", "--min-world-size", "0"],
                                 "--min-world-size 0: from 1"],
                                [["--batch", "8", "--world-size", "8", "--rule", "band", "--global-batch", "64"],
                                 "--band: the rule band needs it"],
                                [["--batch", "0", "--world-size", "2"],
                                 "plan: --batch: '0' is not a whole number from 1 up"],
                                [["--batch", "8", "--world-size", "2", "--json", "no/plan.json"],
                                 "plan: --json: cannot write no/plan.json: there is no folder no"],
                                [["--batch", "8", "--world-size", "7", "--model-parallel-size", "2"],
                                 "--world-size 7: a replica takes 2 processes"]):
            done = self.plan(*arguments)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(says, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_lost_output_exits_with_1(self):
        done = self.plan("--batch", "8", "--world-size", "2", "--json", "/dev/full")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/dev/full", done.stderr)

    def test_paths_are_the_users_under_bazel_run(self):
        elsewhere = self.folder / "elsewhere"
        elsewhere.mkdir()
        done = self.plan("--batch", "8", "--world-size", "2", "--json", "plan.json",
                         BUILD_WORKING_DIRECTORY=str(elsewhere))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((elsewhere / "plan.json").exists())


if __name__ == "__main__":
    unittest.main()
