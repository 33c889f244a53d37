"""TorchKGE: ``get_rank``, and the means of ``LinkPredictionEvaluator``, given these ranks.

Each true item of each user is one fact, the whole catalogue its candidates: so only the cases whose
lists hold every item. ``filtered`` gives the user's other true items the score -inf, as
``filter_scores`` does. The evaluator averages heads and tails, which are the same here.
``per_user`` holds the rank of each fact under "user/item".
"""

from importlib.metadata import version
from types import SimpleNamespace

import inputs
import torch
from torchkge.evaluation import LinkPredictionEvaluator
from torchkge.utils import get_rank

VERSION = version("torchkge")
PACKAGES = {"torch": version("torch").partition("+")[0]}


def record(golden):
    for case in inputs.CASES:
        if not case["name"].startswith("full_catalogue"):
            golden.refuse(case, "needs the score of every candidate: full catalogues only")
            continue
        for setting in ("filtered", "raw"):
            keep(golden, case, setting)


def keep(golden, case, setting):
    items = {item: at for at, item in enumerate(inputs.item_numbers(case))}
    ranks = {}
    for user in sorted(case["truth"]):
        scores = torch.zeros(len(items))
        for item, score in case["rankings"][user]:
            scores[items[item]] = score
        relevant = inputs.relevant_items(case, user)
        for item in relevant:
            row = scores.clone()
            if setting == "filtered":
                row[[items[other] for other in relevant if other != item]] = -torch.inf
            ranks[f"{user}/{item}"] = get_rank(row[None], torch.tensor([items[item]])).item()
    every = torch.tensor(list(ranks.values()))
    evaluator = LinkPredictionEvaluator(None, SimpleNamespace(n_facts=len(every)))
    for which in ("rank_true_heads", "rank_true_tails"):
        setattr(evaluator, which, every)
        setattr(evaluator, "filt_" + which, every)
    evaluator.evaluated = True
    golden.metric(case, f"rank[{setting}]", per_user=ranks)
    golden.metric(case, f"mean_rank[{setting}]", evaluator.mean_rank()[0])
    golden.metric(case, f"mrr[{setting}]", evaluator.mrr()[0])
    for k in (1, 3, 10):
        golden.metric(case, f"hit_at_k[{setting}]@{k}", evaluator.hit_at_k(k)[0])
