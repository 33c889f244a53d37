"""CatBoost: ``eval_metric(label, approx, metric, group_id=)``, the metrics of groups.

CatBoost scores the rows that it is given: ``[list]`` gives it the ranked items with their gains as
labels, ``[list+truth]`` adds the judged items that were not ranked, with a score below every other.
A call with one group gives the value of the user. ``NDCG(type=Exp)@10`` is
``NDCG:type=Exp;top=10``. PFound and ERR take labels as probabilities: they get those up to 1, and
under ``(max_gain=8)`` the gains divided by 8, which is exact.
"""

from importlib.metadata import version

import inputs
from catboost.utils import eval_metric

VERSION = version("catboost")
PACKAGES = {name: version(name) for name in ("numpy", "scipy")}

METRICS = ["PrecisionAt", "RecallAt", "MAP", "MRR", "PFound", "PFound;decay=0.5", "ERR"]
METRICS += [f"{dcg}{kind}{at}" for dcg in ("NDCG", "DCG") for kind in ("", ";type=Exp")
            for at in ("", ";denominator=Position")]  # fmt: skip
WHOLE = ["QueryAUC", "QueryAUC;type=Ranking"]


def record(golden):
    for case in inputs.CASES:
        for scope in ("list", "list+truth"):
            rows = inputs.candidates(case, scope)
            eighths = {u: ([label / 8 for label in r[0]], r[1]) for u, r in rows.items()}
            unit = all(0 <= label <= 1 for labels, _ in rows.values() for label in labels)
            negative = any(label < 0 for labels, _ in rows.values() for label in labels)
            for metric in METRICS if scope == "list" else [m for m in METRICS if ";" not in m]:
                for k in [None, *case["ks"]]:
                    if not metric.startswith(("PFound", "ERR")) or unit:
                        keep(golden, case, metric, scope, rows, k)
                    if metric.startswith(("PFound", "ERR")) and not unit and not negative:
                        keep(golden, case, metric, scope, eighths, k, "(max_gain=8)")
            for metric in WHOLE:
                keep(golden, case, metric, scope, rows, None)


def keep(golden, case, metric, scope, rows, k, fed=""):
    name, *own = metric.split(";")
    settings = own if k is None else [*own, f"top={k}"]
    asked = name + ":" + ";".join(settings) if settings else name
    cut = "" if k is None else f"@{k}"

    def compute():
        mean = evaluated(rows.values(), asked)
        return mean, {user: evaluated([row], asked) for user, row in rows.items()}

    options = f"({','.join(own)})" if own else ""
    golden.attempt(case, f"{name}{options}{fed}[{scope}]{cut}", compute)


def evaluated(rows, metric):
    rows = list(rows)
    labels = [label for labels, _ in rows for label in labels]
    scores = [score for _, scores in rows for score in scores]
    groups = [at for at, (labels, _) in enumerate(rows) for _ in labels]
    (value,) = eval_metric(labels, scores, metric, group_id=groups, thread_count=1)
    return value
