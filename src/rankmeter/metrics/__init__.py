"""The metrics: pure functions from hits to one number per user, and what is known about them."""

from __future__ import annotations

from rankmeter.metrics import countwise, curvewise, gainwise, judgedwise, rankwise, setwise
from rankmeter.metrics._registry import METRICS, SYNONYMS, Option, Spec, register
from rankmeter.metrics._spelling import (
    Metric,
    metric,
    parse_metrics,
    read_metric,
    take_cutoffs,
)
from rankmeter.metrics.countwise import n_hits, n_ranked, n_relevant, set_ap, utility
from rankmeter.metrics.curvewise import (
    eleven_point,
    g,
    ideal_dcg,
    iprec,
    ndcg_rel,
    rndcg,
    rprec_mult,
    yaap,
)
from rankmeter.metrics.gainwise import dcg, err, ndcg, nerr, rbp, rbp_residual
from rankmeter.metrics.judgedwise import bpref, infap, judged, n_nonrelevant, unjudged
from rankmeter.metrics.rankwise import ap, mean_rank, rr
from rankmeter.metrics.setwise import (
    accuracy,
    cg,
    f_beta,
    hit_rate,
    precision,
    r_precision,
    recall,
)

__all__ = [
    "METRICS",
    "SYNONYMS",
    "Metric",
    "Option",
    "Spec",
    "accuracy",
    "ap",
    "bpref",
    "cg",
    "countwise",
    "curvewise",
    "dcg",
    "eleven_point",
    "err",
    "f_beta",
    "g",
    "gainwise",
    "hit_rate",
    "ideal_dcg",
    "infap",
    "iprec",
    "judged",
    "judgedwise",
    "mean_rank",
    "metric",
    "n_hits",
    "n_nonrelevant",
    "n_ranked",
    "n_relevant",
    "ndcg",
    "ndcg_rel",
    "nerr",
    "parse_metrics",
    "precision",
    "r_precision",
    "rankwise",
    "rbp",
    "rbp_residual",
    "read_metric",
    "recall",
    "register",
    "rndcg",
    "rprec_mult",
    "rr",
    "set_ap",
    "setwise",
    "take_cutoffs",
    "unjudged",
    "utility",
    "yaap",
]

# As a reader looks for them: what everybody uses first, counts last.
for _family in (setwise, rankwise, gainwise, judgedwise, curvewise, countwise):
    for _name in _family.__all__:
        if _name in METRICS:
            METRICS[_name] = METRICS.pop(_name)
