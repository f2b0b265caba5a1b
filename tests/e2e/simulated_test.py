"""The probe on simulated CUDA devices: the CUDA paths of every room, from the driver to the table."""

import json
import os
import subprocess
import unittest

from tests.e2e.json_schema import differences
from tests.e2e.programs import probe, scratch


def report_of(devices, *arguments, **environment):
    """Runs a probe of simulated devices; its exit code, report and stderr."""
    run = probe("--device", f"sim:{devices}", "--no-cache", "--format", "json", *arguments,
                env={**os.environ, **environment})
    return run.returncode, json.loads(run.stdout) if run.stdout else None, run.stderr


def batches(report):
    """The confirmed batch of each device."""
    return [device["confirmed_batch"] for device in report["devices"]]


class SimulatedNodeTest(unittest.TestCase):
    def test_unlike_cards_the_smaller_sets_the_minimum(self):
        code, report, stderr = report_of("a100-80,rtx3090", "--workload", "resnet50",
                                         CUDA_DEVICE_ORDER="PCI_BUS_ID")
        self.assertEqual(code, 0, stderr)
        large, small = batches(report)
        self.assertGreater(large, 2 * small)
        self.assertEqual(report["minimum_batch"], small)
        self.assertEqual(report["minimum_device"], report["devices"][1]["device"]["uuid"])
        self.assertEqual(report["minimum_without_it"], large)
        for device in report["devices"]:
            self.assertLessEqual(device["peak_bytes"], device["budget_bytes"])
            growth = next(m for m in device["margins"] if m["name"] == "context_growth")
            self.assertEqual(growth["source"], "measured")
            self.assertGreater(growth["bytes"], 0)

    def test_every_output_says_simulated(self):
        page = scratch() / "simulated.html"
        run = probe("--device", "sim:t4", "--no-cache", "--max-batch", "8", "--html", str(page))
        self.assertEqual(run.returncode, 0, run.stderr)
        for text in (run.stdout, run.stderr, page.read_text()):
            self.assertIn("simulated", text)
        code, report, _ = report_of("t4", "--max-batch", "8")
        self.assertEqual(code, 0)
        self.assertTrue(report["simulated"])
        self.assertEqual(differences(report, "autobatch/report/schema/node_report.v1.json"), [])
        env = probe("--device", "sim:t4", "--no-cache", "--max-batch", "8", "--format", "env", "-q")
        self.assertIn("AUTOBATCH_SIMULATED=1", env.stdout)
        estimate = probe("--device", "sim:t4", "--no-cache", "--strategy", "ultralytics", "-q")
        self.assertIn("(simulated)", estimate.stdout)
        # Where nothing fits, too.
        nothing = probe("--device", "sim:custom:memory=64MiB", "--no-cache", "-q")
        self.assertIn("(simulated)", nothing.stdout)
        written = scratch() / "simulated.json"
        written.write_text(json.dumps(report))
        plan = subprocess.run([os.path.abspath("tools/plan"), "--report", written, "--json",
                               scratch() / "plan.json"], text=True, capture_output=True, check=True)
        self.assertIn("simulated", plan.stdout)
        self.assertIn('"simulated": true', (scratch() / "plan.json").read_text())

    def test_identical_cards_share_a_search_and_each_runs_the_answer(self):
        _, report, stderr = report_of("h100-80:count=2")
        first, second = report["devices"]
        self.assertEqual(first["confirmed_batch"], second["confirmed_batch"], stderr)
        self.assertEqual(second["shared_search_with"], first["device"]["uuid"])
        self.assertEqual(len(second["observations"]), 1)

    def test_memory_of_others_is_left_to_them(self):
        _, free, _ = report_of("rtx3090")
        _, used, _ = report_of("rtx3090:used=12GiB")
        self.assertLess(batches(used)[0], 0.6 * batches(free)[0])

    def test_visible_devices_keep_their_order_and_a_cut_is_named(self):
        _, report, _ = report_of("t4,rtx3090,a100-80", "--max-batch", "4",
                                 CUDA_VISIBLE_DEVICES="2,0", CUDA_DEVICE_ORDER="PCI_BUS_ID")
        names = [device["device"]["name"] for device in report["devices"]]
        self.assertIn("A100", names[0])
        self.assertIn("T4", names[1])
        _, report, stderr = report_of("t4,rtx3090,a100-80", "--max-batch", "4",
                                      CUDA_VISIBLE_DEVICES="1,7,0", CUDA_DEVICE_ORDER="PCI_BUS_ID")
        self.assertEqual(len(report["devices"]), 1)
        self.assertIn("7", " ".join(report["warnings"]), stderr)

    def test_mig_instance_is_a_device_of_its_own(self):
        _, report, _ = report_of("a100-80:mig=3g.40gb", "--max-batch", "8")
        [device] = report["devices"]
        self.assertEqual(device["device"]["kind"], "mig")
        self.assertTrue(device["device"]["uuid"].startswith("MIG-"))
        self.assertLess(device["device"]["memory"]["total_bytes"], 41 << 30)

    def test_old_driver_is_named_at_once(self):
        code, _, stderr = report_of("a100-80", AUTOBATCH_SIM_DRIVER="12.4")
        self.assertEqual(code, 3)
        self.assertIn("12.4", stderr)
        self.assertIn("580", stderr)

    def test_unknown_card_offers_the_nearest(self):
        code, _, stderr = report_of("rtx3099")
        self.assertEqual(code, 2)
        self.assertIn("rtx3090", stderr)

    def test_second_probe_of_a_card_comes_from_the_cache(self):
        arguments = ["--device", "sim:rtx3090", "--cache-dir", str(scratch() / "sim-cache"),
                     "--format", "json"]
        first = json.loads(probe(*arguments).stdout)["devices"][0]
        second = json.loads(probe(*arguments).stdout)["devices"][0]
        self.assertTrue(second["from_cache"])
        self.assertEqual(len(second["observations"]), 1)
        self.assertEqual(second["confirmed_batch"], first["confirmed_batch"])


class SimulatedFaultTest(unittest.TestCase):
    """Each way in which a GPU fails has its kind."""

    def failure_of(self, faults, *arguments):
        code, report, stderr = report_of("rtx3090", *arguments, AUTOBATCH_SIM_FAULTS=faults)
        [device] = report["devices"]
        self.assertIsNotNone(device["failure"], stderr)
        return code, device["failure"], device

    def test_out_of_memory_in_backward_is_out_of_memory(self):
        code, failure, _ = self.failure_of("oom_at=1;oom_in=backward")
        self.assertEqual(failure["kind"], "out_of_memory")
        self.assertEqual(code, 4)

    def test_illegal_access_is_no_ceiling_on_memory(self):
        code, failure, _ = self.failure_of("launch_error_at=600")
        self.assertEqual(failure["kind"], "illegal_access")
        self.assertEqual(code, 5)

    def test_lost_device_names_itself(self):
        code, failure, _ = self.failure_of("lost_at=600")
        self.assertEqual(failure["kind"], "illegal_access")
        self.assertEqual(code, 5)

    def test_crash_keeps_the_signal(self):
        code, failure, _ = self.failure_of("crash_at=600")
        self.assertEqual(failure["kind"], "crashed")
        self.assertEqual(failure["signal"], 11)
        self.assertEqual(code, 5)

    def test_hang_ends_at_the_trial_timeout(self):
        code, failure, _ = self.failure_of("hang_at=600", "--trial-timeout", "5s")
        self.assertEqual(failure["kind"], "timeout")
        self.assertEqual(code, 6)

    def test_failure_from_a_batch_on_is_gone_below(self):
        code, report, stderr = report_of("rtx3090", AUTOBATCH_SIM_FAULTS="oom_from_batch=100")
        self.assertEqual(code, 0, stderr)
        [device] = report["devices"]
        self.assertGreaterEqual(device["confirmed_batch"], 95)
        self.assertLess(device["confirmed_batch"], 100)


if __name__ == "__main__":
    unittest.main()
