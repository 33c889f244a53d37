import pytrec_eval

qrels = {"q1": {"d2": 2, "d4": 1}, "q2": {"d4": 1}}
run = {"q1": {"d1": 0.9, "d2": 0.8, "d3": 0.7}, "q2": {"d2": 0.6, "d4": 0.5}}
evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10", "map", "recip_rank"})
values = evaluator.evaluate(run)
found = {name: sum(one[name] for one in values.values()) / len(values) for name in values["q1"]}
