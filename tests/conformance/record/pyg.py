"""PyTorch Geometric: ``KGEModel.test`` of a model whose scores are given.

Each true item of each user is one triple, the whole catalogue its candidates: so only the cases
whose lists hold every item. It has no filter, and only tails are ranked.
"""

from importlib.metadata import version

import inputs
import torch
from torch_geometric.nn.kge import KGEModel

VERSION = version("torch_geometric")
PACKAGES = {"torch": version("torch").partition("+")[0]}


class Given(KGEModel):
    """A model that looks up its scores."""

    def __init__(self, scores):
        super().__init__(num_nodes=scores.shape[1], num_relations=1, hidden_channels=1)
        self.scores = scores

    def forward(self, head_index, rel_type, tail_index):
        return self.scores[head_index, tail_index]


def record(golden):
    for case in inputs.CASES:
        if not case["name"].startswith("full_catalogue"):
            golden.refuse(case, "needs the score of every candidate: full catalogues only")
            continue
        items = {item: at for at, item in enumerate(inputs.item_numbers(case))}
        users = sorted(case["truth"])
        scores = torch.zeros(len(users), len(items))
        heads, tails = [], []
        for row, user in enumerate(users):
            for item, score in case["rankings"][user]:
                scores[row, items[item]] = score
            for item in inputs.relevant_items(case, user):
                heads.append(row)
                tails.append(items[item])
        model = Given(scores)
        triples = (
            torch.tensor(heads),
            torch.zeros(len(heads), dtype=torch.long),
            torch.tensor(tails),
        )
        for k in (1, 3, 10):
            mean_rank, mrr, hits = model.test(*triples, batch_size=7, k=k, log=False)
            golden.metric(case, f"hits_at_k[raw]@{k}", hits)
        golden.metric(case, "mean_rank[raw]", mean_rank)
        golden.metric(case, "mrr[raw]", mrr)
