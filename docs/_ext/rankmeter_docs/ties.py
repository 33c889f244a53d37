"""The effect of the tie rules, computed by the library."""

from __future__ import annotations

import rankmeter as rm
from rankmeter_docs.rst import code, table

SPANS = ((1, 20), (2, 4), (9, 12))
"""The first and last possible rank of the relevant item."""

RULES = ("optimistic", "pessimistic", "realistic", "rounded", "expected")
METRICS = ("mean_rank", "rr", "hits@10", "ndcg")


def one(span: tuple[int, int], rule: str, metric: str) -> float:
    """The value of a metric for a list whose relevant item is tied over a span of ranks."""
    first, last = span
    scores = {f"above {i}": 2.0 for i in range(1, first)}
    scores |= {f"tied {i}": 1.0 for i in range(first, last)}
    scores |= {"relevant": 1.0} | {f"below {i}": 0.0 for i in range(last + 1, 31)}
    return rm.evaluate({"u": scores}, {"u": {"relevant"}}, metric, ties=rule)[metric].mean


def table_of_expectations() -> str:
    """The rules on three spans of tied ranks."""
    rows = []
    for span in SPANS:
        for number, rule in enumerate(RULES):
            label = f"{span[0]} … {span[1]}" if number == 0 else ""
            rows.append((label, f"``{rule}``", *(f"{one(span, rule, m):.7g}" for m in METRICS)))
    return table(["ranks", "rule", *map(code, METRICS)], rows, widths=[12, 20, 17, 17, 17, 17])
