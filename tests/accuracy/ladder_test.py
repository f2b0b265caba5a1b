"""How the largest rung is found, and how the figures are made."""

import unittest

from tests.accuracy import ladder


def row(batch):
    return {"model": "m", "train_batch_size": str(batch), "train_img_size": "224", "param_count": "1.5"}


def card(limit, tried):
    """A card on which batches up to `limit` run."""
    def run(job):
        tried.append(job["batch"])
        return {} if job["batch"] <= limit else {"out_of_memory": True}
    return run


class LadderTest(unittest.TestCase):
    def climbed(self, measured, limit):
        tried = []
        return ladder.climb(row(measured), card(limit, tried), False), tried

    def test_same_rung_takes_two_runs(self):
        model, tried = self.climbed(64, 70)
        self.assertEqual((model.off, tried), (0, [64, 96]))

    def test_rung_above_and_below_are_found(self):
        self.assertEqual(self.climbed(64, 130)[0].off, 2)
        self.assertEqual(self.climbed(64, 50)[0].off, -1)

    def test_top_and_bottom_end_the_ladder(self):
        self.assertEqual(self.climbed(512, 9999), (ladder.Model(row(512), 0), [512]))
        self.assertEqual(self.climbed(1, 1)[0].off, 0)

    def test_nothing_fits_is_left_out_with_its_reason(self):
        model, _ = self.climbed(2, 0)
        self.assertIsNone(model.found)
        self.assertIn("not even", model.why)

    def test_model_that_changed_is_left_out(self):
        model = ladder.climb(row(64), lambda job: {"skipped": "another model"}, False)
        self.assertEqual((model.found, model.why), (None, "another model"))

    def test_job_is_the_benchmarks_step(self):
        job = ladder.job_of(row(64), 32, True)
        self.assertTrue(job["amp"] and job["benchmark"] and job["channels_last"] and job["zeroed_gradients"])
        self.assertEqual((job["optimizer"], job["batch"]), ("Nesterov", 32))

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
