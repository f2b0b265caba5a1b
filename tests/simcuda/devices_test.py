"""What a LibTorch program sees of simulated devices, and how it trains on them."""

import unittest

from tests.simcuda.simulated import run

MIB = 1 << 20
GIB = 1 << 30


class DevicesTest(unittest.TestCase):
    def lines(self, devices, *actions, **variables):
        status, lines, stderr = run(devices, *actions, **variables)
        self.assertEqual(status, 0, f"{lines} {stderr}")
        return lines

    def test_cards_of_a_mixed_node_are_seen_as_cuda_reports_them(self):
        self.assertEqual(self.lines("rtx3090,a100-80", "devices"), [
            {"name": "NVIDIA GeForce RTX 3090", "total": 25414860800, "capability": "8.6"},
            {"name": "NVIDIA A100-SXM4-80GB", "total": 85100068864, "capability": "8.0"}])

    def test_visible_devices_are_chosen_by_the_variable(self):
        [card] = self.lines("rtx3090,t4,a100-80", "devices", CUDA_VISIBLE_DEVICES="2")
        self.assertEqual(card["name"], "NVIDIA A100-SXM4-80GB")
        self.assertEqual(self.lines("rtx3090", "devices", CUDA_VISIBLE_DEVICES=""), [])

    def test_fastest_card_is_first_unless_the_bus_is_asked_for(self):
        first = self.lines("t4,rtx4090", "devices")[0]
        self.assertEqual(first["name"], "NVIDIA GeForce RTX 4090")
        first = self.lines("t4,rtx4090", "devices", CUDA_DEVICE_ORDER="PCI_BUS_ID")[0]
        self.assertEqual(first["name"], "Tesla T4")

    def test_free_memory_lacks_the_context_and_other_users(self):
        card = "custom:memory=24GiB:sm=8.6:context=400MiB"
        [alone] = self.lines(card, "memory")
        # The tensor's own 2 MiB, and at most one kernel.
        self.assertLess(abs(alone["total"] - 402 * MIB - alone["free"]), MIB)
        [shared] = self.lines(card + ":used=4GiB", "memory")
        self.assertEqual(alone["free"] - shared["free"], 4 * GIB)

    def test_mig_instance_is_a_device_of_its_own(self):
        [instance] = self.lines("a100-80:mig=3g.40gb+2g.20gb", "devices")
        self.assertEqual(instance["name"], "NVIDIA A100-SXM4-80GB MIG 3g.40gb")
        self.assertLess(instance["total"], 43 * GIB)

    def test_filling_a_card_ends_in_the_frameworks_own_out_of_memory_error(self):
        [filled] = self.lines("custom:memory=8GiB:sm=8.6:context=400MiB", "fill")
        self.assertEqual(filled["tensors"], (8 * 1024 - 400) // 256)
        self.assertTrue(filled["error"].startswith("CUDA out of memory. Tried to allocate 256.00 MiB."),
                        filled["error"])
        self.assertIn("8.00 GiB", filled["error"])

    def test_training_is_deterministic_and_its_loss_finite(self):
        first = self.lines("rtx3090", "train=32")[0]
        again = self.lines("rtx3090", "train=32")[0]
        self.assertEqual((first["reserved"], first["allocated"]),
                         (again["reserved"], again["allocated"]))
        self.assertEqual(first["loss"], 0)
        larger = self.lines("rtx3090", "train=64")[0]
        self.assertGreater(larger["allocated"], 1.8 * first["allocated"])

    def test_every_device_of_a_node_trains(self):
        lines = self.lines("rtx3090,a100-80", "train=8,1", "train=8,0")
        self.assertEqual(lines[0]["allocated"], lines[1]["allocated"])

    def test_a_large_batch_needs_no_host_memory(self):
        [large] = self.lines("h200", "train=8192")
        self.assertGreater(large["reserved"], 40 * GIB)

    def test_expandable_segments_reserve_by_mapping(self):
        [plain] = self.lines("rtx3090", "train=32")
        [expandable] = self.lines("rtx3090", "train=32",
                                  PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
        self.assertLess(abs(plain["allocated"] - expandable["allocated"]), 8 * MIB)

    def test_small_numbers_are_kept_and_added_until_another_kernel_runs(self):
        [copies] = self.lines("rtx3090", "copies")
        self.assertEqual(copies, {"back": [3, 1, 4], "filled": 5, "added": 11, "computed": 0})

    def test_a_count_is_what_a_rule_says_it_is(self):
        self.assertEqual(self.lines("rtx3090", "count"), [{"count": 0}])
        self.assertEqual(self.lines("rtx3090", "count", AUTOBATCH_SIM_READ_BACK="NonZeroOp=70"),
                         [{"count": 70}])

    def test_answers_are_those_of_data_as_programs_expect_it(self):
        self.assertEqual(self.lines("rtx3090", "answers"), [{"all": 1, "any": 0, "equal": 1, "unique": [1, 1]}])

    def test_other_ways_to_a_kernel_work(self):
        self.assertEqual(self.lines("rtx3090", "operations"), [{"operations": True}])

    def test_a_card_without_kernels_is_refused_as_the_driver_would(self):
        status, lines, _ = run("v100-16", "train=8")
        self.assertEqual(status, 1)
        self.assertIn("no kernel image is available", lines[0]["failed"])

    def test_unknown_card_is_said_and_leaves_no_device(self):
        status, lines, stderr = run("rtx3900", "devices", "memory")
        self.assertEqual(status, 1)
        self.assertIn("the nearest is 'rtx3090'", stderr)
        self.assertIn("No CUDA GPUs are available", lines[0]["failed"])

    def test_stream_ordered_allocator_is_refused(self):
        status, _, stderr = run("rtx3090", "train=8",
                                PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")
        self.assertNotEqual(status, 0)
        self.assertIn("cudaMallocAsync is not simulated", stderr)


if __name__ == "__main__":
    unittest.main()
