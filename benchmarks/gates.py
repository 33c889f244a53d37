"""Do gates stop what they should? The same nights for rankmeter and for two other gates.

Every night a new ranker is compared with production, on the reciprocal ranks of the same queries.
For a tenth of the queries the relevant document changes places, up as often as down; besides, the
ranker has lost a share of what production finds, in all possible queries together. The gate is to
let through what loses nothing, and to stop what loses 2 % or more. Prints how often each gate
passes, with 8 systems how often the sets of ranks of rankmeter and of honestboard are right, and
the standard error that the nights leave.

    pip install honestboard retrieval-eval-gate toolkit-rag-quality
    python benchmarks/gates.py --nights 400
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections import Counter
from importlib.metadata import version

import honestboard
import numpy as np
from rag_eval_gate import stats as retrieval_eval_gate
from toolkit_rag_quality.compare import CompareBudget, compare_reports
from toolkit_rag_quality.report import RAGReport

import rankmeter as rm
from calibration import RANKED

LOSSES = (0.0, 0.01, 0.02, 0.05)
QUERIES = (100, 500, 2000)
MARGIN = 0.02
LEVEL = 0.05


def night(rng, n, loss):
    """Reciprocal ranks of production and of tonight, arrays of shape (n,)."""
    found = rng.random(n) < 0.8
    production = found / rng.integers(1, 11, n)
    tonight = production.copy()
    moved = np.flatnonzero(found & (rng.random(n) < 0.1))
    tonight[moved] = 1 / rng.integers(1, 11, moved.size)
    return production, np.where(rng.random(n) < loss, 0.0, tonight)


def report_of_toolkit(values):
    rows = [
        {"id": str(n), "mrr": value, "recall": float(value > 0)}
        for n, value in enumerate(values.tolist())
    ]
    means = {"mrr_at_k": float(values.mean()), "recall_at_k": float((values > 0).mean())}
    return RAGReport({"k": 10, **means}, rows)


def toolkit_passes(production, tonight, alpha):
    found = compare_reports(
        baseline=report_of_toolkit(production),
        candidate=report_of_toolkit(tonight),
        budget=CompareBudget(100 * MARGIN, per_metric={"recall_at_k": None}),
        alpha=alpha,
        test="t-test",
        n_resamples=1,
        primary_metric="mrr_at_k",
    )
    return found["passed"]


def retrieval_eval_gate_passes(production, tonight):
    """The rule of its policy "regression": no significant drop."""
    test = retrieval_eval_gate.paired_permutation_test(tonight, production, iters=1000)
    return not (test.observed_diff < 0 and test.p_value < LEVEL)


def passes(production, tonight):
    """Which gates let the ranker through."""
    values = {"prod": production, "new": tonight}
    (found,) = rm.compare_values(
        values, baseline="prod", scale=(0, 1), margin=f"{MARGIN:%}", test="t"
    ).differences
    return {
        "rankmeter: new not shown within 2% of prod": found.not_worse,
        "rankmeter: new shown worse than prod": found.verdict != "worse",
        "toolkit-rag-quality, budget of 2 %": toolkit_passes(production, tonight, None),
        "toolkit-rag-quality, budget of 2 %, alpha": toolkit_passes(production, tonight, LEVEL),
        "retrieval-eval-gate, regression": retrieval_eval_gate_passes(production, tonight),
    }


def print_table(title, columns):
    print(f"| {title} | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}")
    for row in next(iter(columns.values())):
        cells = (
            f"{share:.3f} ± {error:.3f}" for share, error in (c[row] for c in columns.values())
        )
        print(f"| {row} | {' | '.join(cells)} |")
    print()


def shares(counts, n):
    """Each share with its standard error."""
    return {
        name: (count / n, (count / n * (1 - count / n) / n) ** 0.5)
        for name, count in counts.items()
    }


def print_gates(nights, seed):
    for n in QUERIES:
        columns = {}
        for loss in LOSSES:
            rng, counts = np.random.default_rng(seed), Counter()
            for _ in range(nights):
                counts.update(passes(*night(rng, n, loss)))
            columns[f"loss {loss:.0%}"] = shares(counts, nights)
        print_table(f"{n} queries: the gate passes", columns)


def print_ranks(studies, seed):
    columns = {}
    for name in ("hits, 2 to 10 %", "half tied"):
        n, simulate = RANKED[name]
        rng, counts = np.random.default_rng(seed), Counter()
        for study in range(studies):
            values, worse, _ = simulate(rng, n)
            low = 1 + (worse[:, None] > worse).sum(axis=1)
            high = len(worse) - (worse[:, None] < worse).sum(axis=1)
            systems = {f"s{j}": column for j, column in enumerate(values.T)}
            leads = rm.compare_values(systems, seed=study).leads["value"].ranks.values()
            board = honestboard.Board([*systems], values.T)
            rows = {row["name"]: row for row in board.rank_summary(B=1000, seed=study)}
            others = [(rows[system]["rank_lo"], rows[system]["rank_hi"]) for system in systems]
            for tool, found in (
                ("rankmeter", [(of.low, of.high) for of in leads]),
                ("honestboard, rank intervals", others),
            ):
                counts[tool] += all(
                    left <= a and b <= right
                    for (left, right), a, b in zip(found, low, high, strict=True)
                )
        columns[f"{name}, {n} users"] = shares(counts, studies)
    print_table("8 systems: all ranks are in their sets", columns)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nights", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tools = ("rankmeter", "honestboard", "retrieval-eval-gate", "toolkit-rag-quality")
    print(
        f"`{shlex.join(['python', *sys.argv])}`, {', '.join(f'{t} {version(t)}' for t in tools)}\n"
    )
    print_gates(options.nights, options.seed)
    print_ranks(options.nights // 4, options.seed)


if __name__ == "__main__":
    main()
