"""How the largest rung is found, and how the figures are made."""

import unittest

from tests.accuracy import ladder


def row(batch, **fields):
    return {"model": "m", "train_batch_size": str(batch), "train_img_size": "224", "param_count": "1.5", **fields}


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

    def test_nothing_fits_is_a_rung_below_the_last(self):
        self.assertEqual(self.climbed(1, 0).off, -1)
        self.assertEqual(self.climbed(2, 0).off, -2)

    def test_model_that_changed_is_left_out(self):
        model = ladder.climb(row(64), lambda job: {"skipped": "another model"}, False)
        self.assertEqual((model.is_left_out, model.why), (True, "another model"))

    def test_model_that_fails_is_not_left_out(self):
        model = ladder.climb(row(64), lambda job: {"failed": "KeyError: 'x'"}, False)
        self.assertEqual((model.is_left_out, model.off, model.why), (False, None, "KeyError: 'x'"))
        model = ladder.climb(row(64), lambda job: {"ran": 0, "other": "at 512: no such card"}, False)
        self.assertEqual((model.is_left_out, model.off, model.why), (False, None, "at 512: no such card"))

    def test_row_that_cannot_be_climbed_is_left_out_and_the_column_named(self):
        for column, text in [("train_batch_size", "error"), ("train_batch_size", "320"), ("train_img_size", ""),
                             ("param_count", "nan")]:
            with self.subTest(column, text=text):
                model = ladder.climb(row(64, **{column: text}), lambda job: self.fail("it was run"), False)
                self.assertTrue(model.is_left_out)
                self.assertIn(column, model.why)

    def test_model_has_its_own_number_of_classes(self):
        self.assertIsNone(ladder.job_of(row(64), True)["classes"])

    def test_job_goes_down_every_rung_with_the_files_layout(self):
        job = ladder.job_of(row(64), True)
        self.assertTrue(job["channels_last"])
        self.assertEqual(job["batches"], sorted(ladder.RUNGS, reverse=True))

    def test_layout_is_in_the_files_name(self):
        self.assertTrue(ladder.is_channels_last("nhwc/timm-amp-rtx3090-nhwc.csv"))
        self.assertFalse(ladder.is_channels_last("nhwc/timm-amp-rtx3090-nchw.csv"))

    def test_figures_count_the_compared(self):
        found = [ladder.Model(row(64), 6), ladder.Model(row(64), 5), ladder.Model(row(64), 8),
                 ladder.Model(row(64), None, "failed"), ladder.Model(row(64), None, is_left_out=True)]
        figures = ladder.figures_of(found)
        self.assertEqual([figures[part] for part in ("models", "same", "above", "below", "failed")], [4, 1, 1, 1, 1])
        self.assertAlmostEqual(figures["exact"], 100 / 4)
        self.assertAlmostEqual(figures["within_one"], 200 / 4)

    def test_bars_hold_against_the_last_record_too(self):
        figures = {"same": 48, "exact": 96.0, "within_one": 100.0}
        self.assertTrue(ladder.bars_hold(figures, None))
        self.assertTrue(ladder.bars_hold(figures, 48))
        self.assertFalse(ladder.bars_hold(figures, 49))
        self.assertFalse(ladder.bars_hold({**figures, "exact": 94.0}, None))
        self.assertFalse(ladder.bars_hold({**figures, "within_one": 99.0}, None))

    def test_sample_is_the_seeds(self):
        path = "tests/accuracy/data/timm-amp-rtx3090-nchw.csv"
        self.assertEqual(ladder.read(path, 5, 1), ladder.read(path, 5, 1))
        self.assertNotEqual(ladder.read(path, 5, 1), ladder.read(path, 5, 2))
        self.assertEqual(len(ladder.read(path, 5, 1)), 5)


if __name__ == "__main__":
    unittest.main()
