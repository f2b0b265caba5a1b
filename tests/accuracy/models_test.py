"""How a row's name for a model becomes a library's."""

import unittest

from tests.accuracy import models


class PlainNameTest(unittest.TestCase):
    def test_capitals_and_what_parts_words_do_not_count(self):
        self.assertEqual(models.plain("ConvNeXtTiny"), models.plain("convnext_tiny"))
        self.assertEqual(models.plain("VGG16_BN"), models.plain("vgg16bn"))
        self.assertEqual(models.plain("Qwen3-0.6B"), "qwen3_0_6b")

    def test_figures_stay_apart(self):
        self.assertEqual(models.plain("RegNetY3.2GF"), models.plain("regnet_y_3_2gf"))
        self.assertNotEqual(models.plain("regnet_y_3_2gf"), models.plain("regnet_y_32gf"))


if __name__ == "__main__":
    unittest.main()
