import ir_measures
from ir_measures import AP, RR, nDCG

qrels = {"q1": {"d2": 2, "d4": 1}, "q2": {"d4": 1}}
run = {"q1": {"d1": 0.9, "d2": 0.8, "d3": 0.7}, "q2": {"d2": 0.6, "d4": 0.5}}
found = ir_measures.calc_aggregate([nDCG @ 10, AP(rel=2), RR], qrels, run)
