from ranx import Qrels, Run, evaluate

qrels = Qrels({"q1": {"d2": 2, "d4": 1}, "q2": {"d4": 1}})
run = Run({"q1": {"d1": 0.9, "d2": 0.8, "d3": 0.7}, "q2": {"d2": 0.6, "d4": 0.5}})
found = evaluate(qrels, run, ["ndcg@10", "map@10", "mrr"])
