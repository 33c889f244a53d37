"""scikit-learn: ``dcg_score``, ``roc_auc_score`` and others of one row, one call for each user.

scikit-learn scores the candidates it is given. ``[list]`` gives it the ranked items with their
gains and nothing else; ``[list+truth]`` adds the judged items that were not ranked, all with one
score below every other. One call takes rows of equal length only, so the mean over users is not the
tool's own and is left out; ``all users`` is one call over a case whose lists are equally long.
"""

from importlib.metadata import version

import inputs
import numpy
from sklearn.metrics import (
    average_precision_score,
    coverage_error,
    dcg_score,
    label_ranking_average_precision_score,
    label_ranking_loss,
    ndcg_score,
    roc_auc_score,
)

VERSION = version("scikit-learn")
PACKAGES = {name: version(name) for name in ("numpy", "scipy")}

GRADED = {
    "dcg_score": dcg_score,
    "dcg_score[ignore_ties]": lambda t, s, k: dcg_score(t, s, k=k, ignore_ties=True),
    "ndcg_score": ndcg_score,
    "ndcg_score[ignore_ties]": lambda t, s, k: ndcg_score(t, s, k=k, ignore_ties=True),
}
BINARY = {
    "average_precision_score": lambda t, s: average_precision_score(t[0], s[0]),
    "label_ranking_average_precision_score": label_ranking_average_precision_score,
    "coverage_error": coverage_error,
    "label_ranking_loss": label_ranking_loss,
    "roc_auc_score": lambda t, s: roc_auc_score(t[0], s[0]),
}


def record(golden):
    for case in inputs.CASES:
        for scope in ("list", "list+truth"):
            for name, score in GRADED.items():
                for k in case["ks"]:
                    keep(golden, case, f"{name}[{scope}]@{k}", scope, score, k=k)
                keep(golden, case, f"{name}[{scope}]", scope, score, k=None)
            for name, score in BINARY.items():
                keep(golden, case, f"{name}[{scope}]", scope, score)
        together(golden, case)


def keep(golden, case, name, scope, score, **options):
    binary = not options

    def compute():
        per_user = {}
        refused = {}
        for user in sorted(set(case["rankings"]) & set(case["truth"])):
            try:
                per_user[user] = score(*candidates(case, user, scope, binary), **options)
            except ValueError as error:
                refused[user] = error
        for error in refused.values():
            if not per_user:
                raise error
            golden.note(case, f"users missing in a metric were refused: {error}")
        return None, per_user

    golden.attempt(case, name, compute)


def candidates(case, user, scope, binary):
    """One row of gains and one of scores, in list order."""
    judged = case["truth"][user]
    items = inputs.ranked_items(case, user)
    scores = [score for _, score in case["rankings"][user]]
    if scope == "list+truth":
        left = [item for item in judged if item not in items]
        items = items + left
        scores = scores + [min(scores, default=0.0) - 1.0] * len(left)
    gains = [judged.get(item, 0) for item in items]
    if binary:
        gains = [int(inputs.is_relevant(case, gain)) for gain in gains]
    return numpy.array([gains]), numpy.array([scores])


def together(golden, case):
    """One call for all users, where their lists are equally long: the tool's own mean."""
    users = sorted(set(case["rankings"]) & set(case["truth"]))
    if len({len(case["rankings"][user]) for user in users}) != 1 or len(users) == 1:
        return
    rows = [candidates(case, user, "list", binary=False) for user in users]
    gains = numpy.vstack([row[0] for row in rows])
    scores = numpy.vstack([row[1] for row in rows])
    for k in case["ks"]:
        name = f"ndcg_score[list, all users]@{k}"
        golden.attempt(case, name, lambda k=k: ndcg_score(gains, scores, k=k))
