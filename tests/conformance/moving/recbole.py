import torch
from recbole.evaluator import Collector, Evaluator

config = {
    "topk": [2],
    "metrics": ["NDCG", "Recall", "MRR"],
    "metric_decimal_place": 4,
    "eval_args": {"mode": "full"},
    "device": "cpu",
}
scores = torch.tensor([[-torch.inf, 0.9, 0.8, 0.7, 0.1], [-torch.inf, 0.2, 0.6, 0.1, 0.5]])
users, items = torch.tensor([0, 0, 1]), torch.tensor([2, 4, 4])
collector = Collector(config)
collector.eval_batch_collect(scores, None, users, items)
found = Evaluator(config).evaluate(collector.get_data_struct())
