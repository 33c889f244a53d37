"""Generated cases: rankings and truths with every irregularity that real ones have."""

from __future__ import annotations

import numpy as np

GRADES = (-1.0, 0.0, 0.0, 1.0, 1.0, 2.0, 3.0)


def batch(seed, n_users=200, *, max_length=12, n_items=16, ties=False, grades=GRADES):
    """Users with scored lists (short, empty, full) and truths (graded, empty, of one item).

    Returns
    -------
    rankings : dict of user to dict of item to score
    truth : dict of user to dict of item to gain
    """
    rng = np.random.default_rng(seed)
    rankings, truth = {}, {}
    for user in range(n_users):
        length = int(rng.integers(0, max_length + 1))
        items = [f"i{j:02d}" for j in rng.permutation(n_items)[:length]]
        scores = rng.integers(0, 4, length) if ties else rng.permutation(length)
        rankings[f"u{user:04d}"] = dict(zip(items, scores.astype(float).tolist(), strict=True))
        size = min(int(rng.choice([0, 1, 1, 2, 4, 9])), n_items)
        judged = [f"i{j:02d}" for j in rng.permutation(n_items)[:size]]
        truth[f"u{user:04d}"] = dict(zip(judged, rng.choice(grades, size).tolist(), strict=True))
    return rankings, truth


# Every metric with every value of every option, at small and large cutoffs.
METRICS = [
    (name, k, options)
    for name, variants in {
        "precision": [{}, {"denominator": "ranked"}, {"denominator": "relevant"}],
        "recall": [{}, {"denominator": "min"}],
        "hit_rate": [{}],
        "f_beta": [{}, {"beta": 2.0}, {"beta": 0.5, "denominator": "ranked"}]
        + [{"denominator": "relevant"}],
        "r_precision": [{}],
        "accuracy": [{"n_items": 16}, {"n_items": 50, "chosen": "k"}],
        "cg": [{}],
        "ap": [{"denominator": d} for d in ("min", "relevant", "k", "hits", "ranked", "all")],
        "rr": [{}],
        "mean_rank": [
            {"of": of, "absent": absent}
            for of in ("first", "all")
            for absent in ("undefined", "next", 100.0)
        ],
        "dcg": [{"gain": g, "discount": "log2"} for g in ("linear", "exp2", "binary")]
        + [{"discount": d} for d in ("ln", "log10", "jarvelin", "reciprocal")],
        "ndcg": [
            {"gain": g, "ideal": i}
            for g in ("linear", "exp2", "binary")
            for i in ("truth", "uncut", "retrieved", "ones")
        ]
        + [{"discount": d} for d in ("ln", "log10", "jarvelin", "reciprocal")],
        "rbp": [{}, {"p": 0.5, "gain": "linear"}, {"p": 0.95, "max_gain": 3.0}],
        "rbp_residual": [{}, {"p": 0.5, "unjudged": "unknown"}],
        "err": [{"max_gain": 3.0}, {"max_gain": 4.0, "gain": "binary"}],
        "nerr": [{"max_gain": 3.0}, {"max_gain": 4.0, "gain": "binary"}],
    }.items()
    for options in variants
    for k in (None, 1, 3, 10, 40)
]
