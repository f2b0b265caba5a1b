"""How the true maximum is found."""

import unittest

from tests.peers import truth


def card(limit, holes=()):
    tried = []

    def runs(batch):
        tried.append(batch)
        return batch <= limit and batch not in holes
    return runs, tried


class TruthTest(unittest.TestCase):
    def test_boundary_is_found_from_any_guess(self):
        for limit in (1, 2, 19, 20, 287, 1577):
            for guess in (1, 32, 4096):
                with self.subTest(limit=limit, guess=guess):
                    self.assertEqual(truth.true_maximum(card(limit)[0], guess), limit)

    def test_nothing_fits_is_zero(self):
        self.assertEqual(truth.true_maximum(card(0)[0]), 0)

    def test_no_batch_is_tried_twice(self):
        runs, tried = card(311)
        truth.true_maximum(runs)
        self.assertEqual(len(tried), len(set(tried)))

    def test_hole_below_the_boundary_is_the_maximum(self):
        # 3 % of 400 are 12 batches: 397, 394, 391 and 388 are looked into.
        self.assertEqual(truth.true_maximum(card(400, holes={391})[0]), 390)


if __name__ == "__main__":
    unittest.main()
