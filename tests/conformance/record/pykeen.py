"""pykeen: ``RankBasedEvaluator.process_scores_`` and ``finalize``.

Each true item of each user is one evaluation triple, the whole catalogue its candidates: so only
the cases whose lists hold every item. ``filtered`` takes the user's other true items out of the
candidates (pykeen marks them with NaN), ``raw`` leaves them in. ``per_user`` holds the rank of each
triple under "user/item".
"""

from importlib.metadata import version

import inputs
import torch
from pykeen.evaluation import MacroRankBasedEvaluator, RankBasedEvaluator
from pykeen.evaluation.ranks import Ranks

VERSION = version("pykeen")
PACKAGES = {"numpy": version("numpy"), "torch": version("torch").partition("+")[0]}

KINDS = ["optimistic", "realistic", "pessimistic"]


def record(golden):
    for case in inputs.CASES:
        if not case["name"].startswith("full_catalogue"):
            golden.refuse(case, "needs the score of every candidate: full catalogues only")
            continue
        for setting in ("filtered", "raw"):
            keep(golden, case, setting)


def keep(golden, case, setting):
    items = {item: at for at, item in enumerate(inputs.item_numbers(case))}
    evaluator = RankBasedEvaluator(filtered=setting == "filtered")
    macro = MacroRankBasedEvaluator(filtered=setting == "filtered")
    ranks = {kind: {} for kind in KINDS}
    for number, user in enumerate(sorted(case["truth"])):
        scores = torch.zeros(len(items))
        for item, score in case["rankings"][user]:
            scores[items[item]] = score
        relevant = inputs.relevant_items(case, user)
        for item in relevant:
            row = scores.clone()
            if setting == "filtered":
                others = [items[other] for other in relevant if other != item]
                row[others] = torch.nan
            triple = torch.tensor([[number, 0, items[item]]])
            fed = {"scores": row[None], "true_scores": scores[items[item]].reshape(1, 1)}
            evaluator.process_scores_(triple, "tail", **fed)
            macro.process_scores_(triple, "tail", **fed)
            answered = Ranks.from_scores(fed["true_scores"], fed["scores"])
            for kind in KINDS:
                ranks[kind][f"{user}/{item}"] = getattr(answered, kind).item()
    for prefix, result in (("", evaluator.finalize()), ("macro ", macro.finalize())):
        for (side, kind, name), value in result.data.items():
            # The sides are one and the same here: only tails were asked for.
            if side == "tail":
                head, _, k = name.rpartition("_at_")
                full = "{}{}[{}, {}]{}".format(
                    prefix, head or name, setting, kind, "@" + k if head else ""
                )
                golden.metric(case, full, value)
    for kind in KINDS:
        golden.metric(case, f"rank[{setting}, {kind}]", per_user=ranks[kind])
