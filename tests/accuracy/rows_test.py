"""What a table may look like that somebody else made."""

import os
import tempfile
import unittest

from tests.accuracy import rows


class RowsTest(unittest.TestCase):
    def read(self, content, columns=("model", "batch")):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "table.csv")
            with open(path, "wb") as file:
                file.write(content)
            return rows.read(path, columns)

    def test_byte_order_mark_line_ends_spaces_and_more_columns_do_not_matter(self):
        expected = [{"model": "a", "batch": "8", "more": "x"}, {"model": "b", "batch": "4", "more": ""}]
        for content in [b"model,batch,more\na,8,x\nb,4\n", b"\xef\xbb\xbfmodel,batch,more\r\na,8,x\r\n\r\nb,4,\r\n",
                        b"model, batch, more\ra, 8, x\rb, 4,\r"]:
            with self.subTest(content):
                self.assertEqual(self.read(content), expected)

    def test_column_that_is_missing_is_named(self):
        for content in [b"", b"model;batch\na;8\n", b"model\na\n"]:
            with self.subTest(content), self.assertRaisesRegex(rows.BadTable, "no column .*batch: its first line"):
                self.read(content)

    def test_table_without_rows_is_none(self):
        with self.assertRaisesRegex(rows.BadTable, "no rows"):
            self.read(b"model,batch\n")

    def test_other_encoding_is_told(self):
        with self.assertRaisesRegex(rows.BadTable, "UTF-8"):
            self.read("model,batch\na,8\n".encode("utf-16"))

    def test_number_is_above_zero(self):
        self.assertEqual(rows.number({"batch": "8"}, "batch"), 8)
        self.assertEqual(rows.number({"millions": "2.5"}, "millions", float), 2.5)
        for text in ["", "0", "-1", "nan", "inf", "2.5", "out of memory"]:
            with self.subTest(text), self.assertRaisesRegex(rows.NotJudged, f"batch is '{text}'"):
                rows.number({"batch": text}, "batch")
        for text in ["nan", "inf"]:
            with self.subTest(text), self.assertRaises(rows.NotJudged):
                rows.number({"millions": text}, "millions", float)


if __name__ == "__main__":
    unittest.main()
