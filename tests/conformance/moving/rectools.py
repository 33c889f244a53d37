import pandas as pd
from rectools.metrics import MAP, MRR, NDCG, calc_metrics

liked = pd.DataFrame({"user_id": [1, 1, 2], "item_id": [12, 14, 14]})
recs = pd.DataFrame(
    {"user_id": [1, 1, 1, 2, 2], "item_id": [11, 12, 13, 12, 14], "rank": [1, 2, 3, 1, 2]}
)
metrics = {"MAP@10": MAP(10), "MRR@10": MRR(10), "NDCG@10": NDCG(10)}
found = calc_metrics(metrics, recs, interactions=liked)
