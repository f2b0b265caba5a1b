"""How rows of measured peaks become training steps, and how the figures are made."""

import unittest

from tests.accuracy import points, rows

ROW = {"model": "MnasNet", "optimizer": "AdamW", "batch": "200", "input": "86x86x3", "gpu": "RTX 3060",
       "total_gpu_bytes": "12622168064", "nvml_peak_bytes": "1000", "real_oom": "false", "zero_grad_mode": "",
       "dtype": "fp32", "num_classes": "10", "iterations": "2 (target_iteration)", "campaign": "2025-05 anova"}

TRANSFORMER = {"model": "T5-small", "input": "wikitext-2 seq<=128 (padded to longest in batch)", "num_classes": ""}


def point(result, **fields):
    return points.Point({**ROW, **fields}, result)


class PointsTest(unittest.TestCase):
    def test_job_has_the_rows_card_and_steps(self):
        job = points.job_of(ROW)
        self.assertEqual(job["card"], "rtx3060:memory=12622168064")
        self.assertEqual((job["batch"], job["image"], job["classes"], job["steps"]), (200, 86, 10, 2))
        self.assertEqual(job["library"], "torchvision")

    def test_gradients_not_recorded_are_cleared_after_forward(self):
        self.assertEqual(points.job_of(ROW)["zero_grad"], 1)
        self.assertEqual(points.job_of({**ROW, "zero_grad_mode": "0"})["zero_grad"], 0)

    def test_rows_of_text_are_transformers_without_a_bar(self):
        job = points.job_of({**ROW, **TRANSFORMER})
        self.assertEqual((job["library"], job["length"]), ("transformers", 128))
        self.assertFalse(point({}, **TRANSFORMER).is_cnn)
        self.assertTrue(point({}).is_cnn)

    def test_row_that_says_what_cannot_be_run_is_not_judged(self):
        for column, text in [("batch", "all"), ("total_gpu_bytes", ""), ("nvml_peak_bytes", "error"),
                             ("real_oom", "crashed"), ("zero_grad_mode", "3"), ("dtype", "bf16"),
                             ("num_classes", ""), ("iterations", ""), ("campaign", "1999 anova"), ("input", "86x87x3")]:
            with self.subTest(column), self.assertRaisesRegex(rows.NotJudged, column):
                points.job_of({**ROW, column: text})

    def test_row_not_judged_has_no_verdict_and_a_reason(self):
        jobs = []
        compared = points.compare({**ROW, "batch": "all"}, jobs.append)
        self.assertEqual((jobs, compared.is_judged), ([], False))
        self.assertIn("batch", compared.result["skipped"])
        self.assertEqual(points.figures_of([compared, point({"skipped": "no such model"}, real_oom="true")]), {})

    def test_peak_of_a_run_out_of_memory_may_be_missing(self):
        fields = {"real_oom": "TRUE", "nvml_peak_bytes": ""}
        self.assertEqual(points.job_of({**ROW, **fields})["batch"], 200)
        ended = point({"reserved": 9, "out_of_memory": True}, **fields)
        self.assertTrue(ended.verdict_is_right)
        self.assertIsNone(ended.measured)

    def test_card_unknown_to_the_table_is_a_custom_one(self):
        self.assertEqual(points.job_of({**ROW, "gpu": "RTX 9999"})["card"], "custom:memory=12622168064")

    def test_error_is_signed_percent_of_the_measured_peak(self):
        self.assertAlmostEqual(point({"reserved": 1100}).error, 10)
        self.assertAlmostEqual(point({"reserved": 900}).error, -10)

    def test_growth_of_2025_counts_from_what_is_there_before_the_first_batch(self):
        result = {"reserved": 1100, "before": {"reserved": 100, "beside": 7}, "after": {"reserved": 1050, "beside": 30}}
        self.assertEqual(point(result).growth, 1000)
        self.assertEqual(point(result, campaign="2024-11 anova").growth, 1100)
        self.assertEqual(point(result, **TRANSFORMER).growth, 1100)
        self.assertIsNone(point({"failed": "RuntimeError"}).growth)

    def test_kernels_count_where_the_run_had_a_process_of_its_own(self):
        result = {"reserved": 1100, "before": {"reserved": 100, "beside": 7}, "after": {"reserved": 1050, "beside": 30}}
        self.assertEqual(point(result, zero_grad_mode="2").growth, 1023)
        # No last step where it ran out of memory.
        self.assertEqual(point({"reserved": 1100, "before": result["before"]}, zero_grad_mode="2").growth, 1000)

    def test_run_out_of_memory_is_a_verdict_and_no_error(self):
        real = point({"reserved": 1100, "out_of_memory": True}, real_oom="true")
        self.assertTrue(real.verdict_is_right)
        self.assertIsNone(real.error)
        self.assertFalse(point({"reserved": 1100, "out_of_memory": True}).verdict_is_right)
        self.assertFalse(point({"reserved": 1100}, real_oom="true").verdict_is_right)

    def test_run_that_failed_has_no_verdict(self):
        self.assertFalse(point({"failed": "RuntimeError"}).verdict_is_right)

    def test_p90_lies_between_two_values(self):
        self.assertAlmostEqual(points.percentile([0, 10], 0.9), 9)
        self.assertAlmostEqual(points.percentile([3], 0.9), 3)

    def test_bars_of_2025_are_median_p90_and_verdicts(self):
        good = {"median": 1.9, "p90": 5.9, "wrong_verdicts": 0}
        self.assertTrue(points.bars_hold({"2025": good}))
        for part, value in [("median", 2.1), ("p90", 6.1), ("wrong_verdicts", 1)]:
            self.assertFalse(points.bars_hold({"2025": {**good, part: value}}), part)

    def test_bar_of_2024_is_the_median(self):
        self.assertTrue(points.bars_hold({"2024": {"median": 4.9, "p90": 30, "wrong_verdicts": 0}}))
        self.assertFalse(points.bars_hold({"2024": {"median": 5.1, "p90": 6, "wrong_verdicts": 0}}))

    def test_no_figures_hold_no_bar(self):
        self.assertFalse(points.bars_hold({}))

    def test_rows_that_all_ran_out_of_memory_are_verdicts_alone(self):
        self.assertTrue(points.bars_hold({"2025": {"compared": 0, "wrong_verdicts": 0}}))
        self.assertFalse(points.bars_hold({"2025": {"compared": 0, "wrong_verdicts": 1}}))

    def test_transformers_have_no_bar(self):
        self.assertTrue(points.bars_hold({"transformers": {"median": 50, "wrong_verdicts": 9}}))

    def test_figures_are_of_what_did_not_run_out(self):
        figures = points.figures_of([point({"reserved": 1100}), point({"reserved": 1020}),
                                     point({"reserved": 9, "out_of_memory": True}, real_oom="true")])
        self.assertEqual((figures["2025"]["rows"], figures["2025"]["compared"]), (3, 2))
        self.assertAlmostEqual(figures["2025"]["median"], 6)


if __name__ == "__main__":
    unittest.main()
