"""The same options give the per-user values of pytrec_eval, which runs trec_eval's own code."""

from __future__ import annotations

import numpy as np
import pytest
import pytrec_eval

import rankmeter as rm

pytestmark = pytest.mark.once

# pytrec_eval's measure → the metric with the same choices.
SAME = {
    "P_1": "precision@1",
    "P_5": "precision@5",
    "P_10": "precision@10",
    "P_100": "precision@100",
    "recall_5": "recall@5",
    "recall_10": "recall@10",
    "recall_1000": "recall@1000",
    "map": "ap",
    "map_cut_5": "ap(denominator=relevant)@5",
    "map_cut_10": "ap(denominator=relevant)@10",
    "map_cut_1000": "ap(denominator=relevant)@1000",
    "ndcg": "ndcg",
    "ndcg_cut_5": "ndcg@5",
    "ndcg_cut_10": "ndcg@10",
    "ndcg_cut_1000": "ndcg@1000",
    "recip_rank": "rr",
    "Rprec": "r_precision",
    "success_1": "hit_rate@1",
    "success_10": "hit_rate@10",
    "set_P": "precision",
    "set_recall": "recall",
    "relative_P_5": "precision(denominator=relevant)@5",
}


@pytest.mark.parametrize("seed", range(5))
def test_per_user_values_on_random_graded_data_without_ties(seed):
    rng = np.random.default_rng(seed)
    run, qrels = {}, {}
    for user in map(str, range(100)):
        length = int(rng.integers(1, 60))
        items = rng.permutation(80)[:length]
        # Scores far enough apart to stay distinct in single precision, which pytrec_eval uses.
        scores = rng.permutation(1000)[:length] / 8
        run[user] = {f"d{i:03d}": float(s) for i, s in zip(items, scores, strict=True)}
        judged = rng.permutation(80)[: int(rng.integers(1, 30))]
        grades = rng.integers(0, 4, judged.size)
        qrels[user] = {f"d{i:03d}": int(g) for i, g in zip(judged, grades, strict=True)}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, set(SAME)).evaluate(run)
    ours = rm.evaluate(run, qrels, list(SAME.values()), undefined="zero").per_user
    ours = {row["user"]: row for row in ours.iter_rows(named=True)}
    assert set(ours) == set(theirs)
    compared = 0
    for user, measures in theirs.items():
        for measure, value in measures.items():
            assert ours[user][SAME[measure]] == pytest.approx(value, rel=1e-12, abs=1e-12)
            compared += 1
    assert compared == 100 * len(SAME)
