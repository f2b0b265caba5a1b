"""How rows become figures, and which figures hold."""

import os
import tempfile
import unittest

from tests.peers import table


def row(tool="autobatch", **fields):
    return {"card": "rtx3090", "workload": "w", "tool": tool, "answer": 98, "why": "", "true_maximum": 100,
            "budgets_maximum": 100, "ran": True, "samples": 400, "seconds": 2.0, **fields}


class TableTest(unittest.TestCase):
    def test_shares_are_of_answers_that_train(self):
        figures = table.figures_of([row(), row(answer=90), row(answer=150, ran=False), row(answer=None, ran=None)])
        self.assertEqual((figures["autobatch"]["out_of_memory"], figures["autobatch"]["no_answer"]), (1, 1))
        self.assertAlmostEqual(figures["autobatch"]["budget"]["median"], 0.94)
        self.assertAlmostEqual(figures["autobatch"]["budget"]["worst"], 0.90)

    def test_budgets_maximum_is_told_from_the_cards(self):
        figures = table.figures_of([row(budgets_maximum=98)])["autobatch"]
        self.assertAlmostEqual(figures["card"]["worst"], 0.98)
        self.assertAlmostEqual(figures["budget"]["worst"], 1)

    def test_line_says_how_an_answer_ended(self):
        self.assertIn(" yes ", table.line(row()))
        self.assertIn("out of memory", table.line(row(ran=False)))
        self.assertIn("knows images only", table.line(row(answer=None, ran=None, why="knows images only")))

    def test_bars_hold_within_every_one_of_them(self):
        other = row("lightning binsearch", samples=1000)
        self.assertTrue(table.bars_hold(table.figures_of([row(), other]), "autobatch"))
        for bad in [row(answer=96), row(answer=92), row(ran=False), row(answer=None, ran=None), row(samples=501)]:
            with self.subTest(bad):
                self.assertFalse(table.bars_hold(table.figures_of([bad, other]), "autobatch"))

    def test_worst_is_barred_beside_the_median(self):
        other = row("lightning binsearch", samples=10000)
        figures = table.figures_of([row(), row(), row(answer=92), other])
        self.assertFalse(table.bars_hold(figures, "autobatch"))

    def test_ours_not_asked_holds_no_bar(self):
        figures = table.figures_of([row("lightning binsearch", samples=1000)])
        self.assertFalse(table.bars_hold(figures, "autobatch"))
        self.assertIn("no answer", table.closing(figures, "autobatch"))

    def test_closing_line_holds_the_figures(self):
        figures = table.figures_of([row(), row("lightning binsearch", samples=1000)])
        self.assertIn("0.980 of the true maximum", table.closing(figures, "autobatch"))
        self.assertIn("0.40 of the samples", table.closing(figures, "autobatch"))

    def test_kept_rows_are_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "rows")
            self.assertEqual(table.read(path), [])
            table.append(path, row())
            table.append(path, row("yolov5"))
            self.assertEqual(table.read(path), [row(), row("yolov5")])


if __name__ == "__main__":
    unittest.main()
