"""Rows of a table of measurements: anybody may hand one in."""

import csv


class BadTable(ValueError):
    """The file is no such table."""


class NotJudged(ValueError):
    """A row that nothing can be compared with, and why."""


def read(path, columns):
    """The file's rows by the names of its columns, which may be more than `columns`."""
    with open(path, newline="", encoding="utf-8-sig") as file:
        table = csv.DictReader(file, restval="", skipinitialspace=True)
        try:
            known = table.fieldnames or []
            rows = list(table)
        except (UnicodeDecodeError, csv.Error) as error:
            raise BadTable(f"{path} is no CSV file in UTF-8: {error}") from error
    missing = [column for column in columns if column not in known]
    if missing:
        raise BadTable(f"{path} has no column {', '.join(missing)}: its first line has to name the columns")
    if not rows:
        raise BadTable(f"{path} has no rows")
    return rows


def number(row, column, kind=int):
    """The row's number in the column, above 0."""
    try:
        value = kind(row[column])
    except ValueError:
        value = 0
    if not 0 < value < float("inf"):
        raise NotJudged(f"{column} is {row[column]!r}, not a number above 0")
    return value
