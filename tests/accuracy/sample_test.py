"""A few rows of each table of the accuracy program; all of them are `./bazelw run //tests/accuracy`."""

import os
import unittest

from tests.accuracy import ladder, points, simulated, workloads

DATA = "tests/accuracy/data/"
VGG16 = ("VGG16", "SGD", 130, "2024-11 anova")
FRAMEWORKS = os.environ.get("AUTOBATCH_TEST_FRAMEWORKS", "")


@unittest.skipUnless(FRAMEWORKS, "torch's companions for Python are not here: run tools/ci_setup")
class SampleTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.trainer = cls.enterClassContext(simulated.Trainer(FRAMEWORKS))

    def points(self, *wanted, **fields):
        """The rows of xmem_points.csv that (model, optimizer, batch, campaign) name; with other fields, if given."""
        rows = points.read(DATA + "xmem_points.csv")
        found = [row for row in rows
                 if (row["model"], row["optimizer"], int(row["batch"]), row["campaign"]) in wanted]
        self.assertEqual(len(found), len(wanted))
        return [points.compare({**row, **fields}, self.trainer.run) for row in found]

    def test_measured_peaks_are_met(self):
        for point in self.points(("MnasNet", "SGD", 445, "2025-05 monte carlo"),
                                 ("MobeNetV3Large", "RMSprop", 698, "2025-05 monte carlo"),
                                 VGG16,
                                 ("ConvNeXtTiny", "Adam", 700, "2025-05 anova")):
            with self.subTest(point.row["model"]):
                self.assertTrue(point.verdict_is_right, point.result)
                self.assertLess(abs(point.error), 2)

    def test_transformers_run(self):
        for point in self.points(("T5-small", "SGD", 15, "2025-05 anova"),
                                 ("Qwen/Qwen3-4B", "Adafactor", 1, "2025 colab")):
            with self.subTest(point.row["model"]):
                self.assertIn("after", point.result)
                self.assertLess(abs(point.error), 10)

    def test_models_and_optimizers_of_no_row_run(self):
        for fields in [{"model": "GoogLeNet"}, {"model": "WideResNet50"}, {"optimizer": "Adadelta"},
                       {"optimizer": "NAdam"}]:
            [point] = self.points(VGG16, **fields)
            with self.subTest(fields):
                self.assertIn("after", point.result)

    def test_what_nobody_knows_is_not_judged_and_named(self):
        for column, library in [("model", "torchvision"), ("optimizer", "torch")]:
            [point] = self.points(VGG16, **{column: "Nobodys"})
            with self.subTest(column):
                self.assertFalse(point.is_judged)
                self.assertEqual(point.result["skipped"], f"{library} has no {column} Nobodys")

    def test_run_that_ended_out_of_memory_does_so_here(self):
        [point] = self.points(("ConvNeXtTiny", "RMSprop", 755, "2025-05 monte carlo"))
        self.assertIn("out_of_memory", point.result)

    def test_largest_batches_are_the_measured_ones(self):
        for name, layout in [("resnet50d", "nchw"), ("vit_small_patch16_224", "nchw"), ("resnet50d", "nhwc")]:
            with self.subTest(name, layout=layout):
                path = f"{DATA}timm-amp-rtx3090-{layout}.csv"
                [row] = [row for row in ladder.read(path, None, 0) if row["model"] == name]
                model = ladder.climb(row, self.trainer.run, ladder.is_channels_last(path))
                self.assertEqual((model.why, model.found is not None and model.off), ("", 0))

    def test_our_model_takes_what_its_peer_takes(self):
        for pair in workloads.compare(self.trainer.run, [("resnet18", "torchvision", "resnet18", (32, 256))]):
            self.assertEqual(pair.why, "")
            self.assertLessEqual(abs(pair.error), workloads.BAR)


if __name__ == "__main__":
    unittest.main()
