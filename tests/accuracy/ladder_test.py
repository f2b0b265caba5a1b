"""How the largest rung is found, and how the figures are made."""

import unittest

from tests.accuracy import ladder


def row(batch):
    return {"model": "m", "train_batch_size": str(batch), "train_img_size": "224", "param_count": "1.5"}


class LadderTest(unittest.TestCase):
    def climbed(self, measured, ran):
        return ladder.climb(row(measured), lambda job: {"ran": ran}, False)

    def test_rungs_off_are_counted_upwards(self):
        self.assertEqual(self.climbed(64, 64).off, 0)
        self.assertEqual(self.climbed(64, 128).off, 2)
        self.assertEqual(self.climbed(64, 48).off, -1)

    def test_top_and_bottom_are_rungs(self):
        self.assertEqual(self.climbed(512, 512).off, 0)
        self.assertEqual(self.climbed(1, 1).off, 0)

    def test_nothing_fits_is_left_out_with_its_reason(self):
        model = self.climbed(2, 0)
        self.assertIsNone(model.found)
        self.assertIn("not even", model.why)

    def test_model_that_changed_is_left_out(self):
        model = ladder.climb(row(64), lambda job: {"skipped": "another model"}, False)
        self.assertEqual((model.found, model.why), (None, "another model"))

    def test_job_goes_down_every_rung_with_the_files_layout(self):
        job = ladder.job_of(row(64), True)
        self.assertTrue(job["channels_last"])
        self.assertEqual(job["batches"], sorted(ladder.RUNGS, reverse=True))

    def test_layout_is_in_the_files_name(self):
        self.assertTrue(ladder.is_channels_last("nhwc/timm-amp-rtx3090-nhwc.csv"))
        self.assertFalse(ladder.is_channels_last("nhwc/timm-amp-rtx3090-nchw.csv"))

    def test_figures_count_the_compared(self):
        found = [ladder.Model(row(64), 6), ladder.Model(row(64), 5), ladder.Model(row(64), 8),
                 ladder.Model(row(64), None)]
        figures = ladder.figures_of(found)
        self.assertEqual((figures["models"], figures["above"], figures["below"]), (3, 1, 1))
        self.assertAlmostEqual(figures["exact"], 100 / 3)
        self.assertAlmostEqual(figures["within_one"], 200 / 3)

    def test_bars_hold_against_the_last_record_too(self):
        figures = {"exact": 96.0, "within_one": 100.0}
        self.assertTrue(ladder.bars_hold(figures, None))
        self.assertTrue(ladder.bars_hold(figures, 96.0))
        self.assertFalse(ladder.bars_hold(figures, 96.5))
        self.assertFalse(ladder.bars_hold({"exact": 94.0, "within_one": 100.0}, None))
        self.assertFalse(ladder.bars_hold({"exact": 96.0, "within_one": 99.0}, None))

    def test_sample_is_the_seeds(self):
        path = "tests/accuracy/data/timm-amp-rtx3090-nchw.csv"
        self.assertEqual(ladder.read(path, 5, 1), ladder.read(path, 5, 1))
        self.assertNotEqual(ladder.read(path, 5, 1), ladder.read(path, 5, 2))
        self.assertEqual(len(ladder.read(path, 5, 1)), 5)


if __name__ == "__main__":
    unittest.main()
