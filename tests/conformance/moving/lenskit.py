from lenskit.data import ItemList, ItemListCollection
from lenskit.metrics import NDCG, Recall, RecipRank, RunAnalysis

recs, liked = ItemListCollection(["user_id"]), ItemListCollection(["user_id"])
recs.add(ItemList(item_ids=[11, 12, 13], scores=[0.9, 0.8, 0.7], ordered=True), user_id=1)
recs.add(ItemList(item_ids=[12, 14], scores=[0.6, 0.5], ordered=True), user_id=2)
liked.add(ItemList(item_ids=[12, 14]), user_id=1)
liked.add(ItemList(item_ids=[14]), user_id=2)
analysis = RunAnalysis()
for metric in (NDCG(10), Recall(10), RecipRank()):
    analysis.add_metric(metric)
summary = analysis.measure(recs, liked).list_summary()
found = {name: row["mean"] for name, row in summary.iterrows()}
