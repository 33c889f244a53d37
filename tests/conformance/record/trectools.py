"""trectools: ``TrecEval(TrecRun(file), TrecQrel(file)).get_...(depth=, per_query=)``.

The run and the judgments are read from TREC files, as trectools reads them by default: that read
sorts every list by score, equal scores by item ascending. A user with an empty list or an empty
truth has no lines.
"""

import tempfile
import warnings
from importlib.metadata import version
from pathlib import Path

import inputs
from trectools import TrecEval, TrecQrel, TrecRun

VERSION = version("trectools")
PACKAGES = {name: version(name) for name in ("numpy", "pandas")}

METRICS = {
    "get_map": "get_map",
    "get_precision": "get_precision",
    "get_recall": "get_recall",
    "get_ndcg": "get_ndcg",
    "get_reciprocal_rank": "get_reciprocal_rank",
    "get_rprec": "get_rprec",
    "get_bpref": "get_bpref",
}
# trec_eval=True is the default; False turns NDCG's gain into 2**gain - 1 and the order into that
# of the file.
OTHERWISE = ["get_ndcg", "get_map", "get_precision", "get_reciprocal_rank", "get_bpref"]
RBP = {
    "get_rbp": {},
    "get_rbp[p=0.5]": {"p": 0.5},
    "get_rbp[average_ties=False]": {"average_ties": False},
    "get_rbp[binary_topical_relevance=False]": {"binary_topical_relevance": False},
}


def record(golden):
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as folder:
        for case in inputs.CASES:
            evaluation = evaluator(golden, case, Path(folder))
            if evaluation is None:
                continue
            for depth in [*case["ks"], 1000]:
                for name in METRICS:
                    keep(golden, case, name, depth, getattr(evaluation, name), {})
                for name in OTHERWISE:
                    options = {"trec_eval": False}
                    full = name + "[trec_eval=False]"
                    keep(golden, case, full, depth, getattr(evaluation, name), options)
                for name, options in RBP.items():
                    keep(golden, case, name, depth, evaluation.get_rbp, options)
            golden.attempt(
                case, "get_geometric_map@1000", lambda e=evaluation: e.get_geometric_map()
            )


def evaluator(golden, case, folder):
    run = [
        f"{user} Q0 {item} {rank} {score!r} system"
        for user, listed in case["rankings"].items()
        for rank, (item, score) in enumerate(listed, start=1)
    ]
    qrels = [
        f"{user} 0 {item} {gain if inputs.is_relevant(case, gain) or gain <= 0 else 0!r}"
        for user, judged in case["truth"].items()
        for item, gain in judged.items()
    ]
    (folder / "run").write_text("\n".join(run) + "\n")
    (folder / "qrels").write_text("\n".join(qrels) + "\n")
    try:
        return TrecEval(TrecRun(str(folder / "run")), TrecQrel(str(folder / "qrels")))
    except ValueError as error:
        golden.refuse(case, error)
        return None


def keep(golden, case, name, depth, metric, options):
    def compute():
        mean = metric(depth=depth, **options)
        per_user = metric(depth=depth, per_query=True, **options)
        if name.startswith("get_rbp"):
            mean, per_user = mean[0], per_user[0]
        return mean, per_user.iloc[:, 0].to_dict()

    golden.attempt(case, f"{name}@{depth}", compute)
