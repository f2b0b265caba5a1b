"""Rows, the table that they are printed as, and its figures."""

import json
import os
import statistics

# Of ours: shares of the true maximum under the same budget; samples stepped, as a share of Lightning's binary search.
BARS = {"median": 0.97, "worst": 0.93, "samples": 0.5}
_BINSEARCH = "lightning binsearch"

HEADER = (f"{'workload':25} {'card':8} {'tool':20} {'answer':>6} {'true max':>8} {'of it':>6} {'of budget':>9} "
          f"{'trains':7} {'samples':>8} {'seconds':>7}")


def read(path):
    """Rows kept before; none where there is no such file."""
    if not path or not os.path.exists(path):
        return []
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def append(path, row):
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")


def _share(row, of):
    """None: no answer, or nothing runs."""
    return row["answer"] / row[of] if row["answer"] is not None and row[of] else None


def _is_out(row):
    return row["ran"] is False


def _number(value, form):
    return "-" if value is None else format(value, form)


def line(row):
    trains = "-" if row["answer"] is None else "out of memory" if _is_out(row) else "yes"
    why = f"  {row['why'].partition(chr(10))[0]}" if row["answer"] is None else ""
    return (f"{row['workload']:25} {row['card']:8} {row['tool']:20} {_number(row['answer'], 'd'):>6} "
            f"{row['true_maximum']:>8} {_number(_share(row, 'true_maximum'), '.2f'):>6} "
            f"{_number(_share(row, 'budgets_maximum'), '.2f'):>9} {trains:7} {row['samples']:>8} "
            f"{row['seconds']:>7.0f}{why}")


def figures_of(rows):
    """{tool: figures}: shares are of answers that train; an answer that does not is counted instead."""
    figures = {}
    for tool in dict.fromkeys(row["tool"] for row in rows):
        own = [row for row in rows if row["tool"] == tool]
        trained = [row for row in own if row["ran"]]
        figures[tool] = {
            "rows": len(own), "out_of_memory": sum(_is_out(row) for row in own),
            "no_answer": sum(row["answer"] is None for row in own),
            "samples": sum(row["samples"] for row in own), "seconds": sum(row["seconds"] for row in own)}
        for name, of in [("card", "true_maximum"), ("budget", "budgets_maximum")]:
            shares = [_share(row, of) for row in trained if _share(row, of) is not None]
            figures[tool][name] = {"median": statistics.median(shares), "worst": min(shares)} if shares else None
    return figures


def summary(figures):
    """One line a tool."""
    def shares(of):
        return "-" if of is None else f"{of['median']:.2f} / {of['worst']:.2f}"

    yield (f"{'tool':20} {'of the card':>12} {'of its budget':>13} {'out of memory':>13} {'no answer':>9} "
           f"{'samples':>9} {'seconds':>7}   (shares: median / worst of the answers that train)")
    for tool, figure in figures.items():
        yield (f"{tool:20} {shares(figure['card']):>12} {shares(figure['budget']):>13} "
               f"{figure['out_of_memory']:>10}/{figure['rows']:<2} {figure['no_answer']:>6}/{figure['rows']:<2} "
               f"{figure['samples']:>9} {figure['seconds']:>7.0f}")


def _samples_share(figures, ours):
    """Of Lightning's binary search; None where it was not asked."""
    other = figures.get(_BINSEARCH, {}).get("samples", 0)
    return figures[ours]["samples"] / other if other else None


def closing(figures, ours):
    own = figures.get(ours)
    if own is None or own["budget"] is None:
        return "ours has no answer"
    return (f"ours {own['budget']['median']:.3f} of the true maximum in the median and {own['budget']['worst']:.3f} at "
            f"worst under the same budget, {own['out_of_memory']} out of memory, {own['no_answer']} without an answer, "
            f"{_number(_samples_share(figures, ours), '.2f')} of the samples that Lightning's binary search steps "
            f"(bars: {BARS['median']}, {BARS['worst']}, 0, 0, {BARS['samples']})")


def bars_hold(figures, ours):
    own = figures.get(ours)
    if own is None or own["budget"] is None:
        return False
    share = _samples_share(figures, ours)
    return (own["out_of_memory"] == 0 and own["no_answer"] == 0 and
            own["budget"]["median"] >= BARS["median"] and own["budget"]["worst"] >= BARS["worst"] and
            share is not None and share <= BARS["samples"])
