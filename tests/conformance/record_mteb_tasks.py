"""Record the metrics of single tasks of MTEB, and nAUC, for ``rankmeter.mteb``.

    PYTHON tests/conformance/record_mteb_tasks.py

PYTHON is that of the environment of ``record.py mteb``. Writes ``tests/data/mteb_tasks.json``:
runs of instructions, of pairs and of parts of queries, and what MTEB answers for them.
"""

import json
from importlib.metadata import version
from pathlib import Path
from random import Random

from mteb._evaluators.retrieval_metrics import (
    calculate_pmrr,
    calculate_retrieval_scores,
    max_over_subqueries,
    paired_accuracy,
    recall_cap,
    robustness_at_10,
    top_k_accuracy,
)

OUTPUT = Path(__file__).parents[1] / "data" / "mteb_tasks.json"
KS = [1, 3, 10]
DOCUMENTS = [f"d{n}" for n in range(15)]


def main():
    random = Random(7)
    run, qrels = {}, {}
    for query in range(30):
        for part in ("q1", "q2"):
            listed = random.sample(DOCUMENTS, 12)
            # Sixteenths are exact in single precision, and some are equal.
            run[f"{query}_{part}"] = {one: random.randrange(-16, 64) / 16 for one in listed}
        judged = {one: random.choice([0, 1, 1, 2]) for one in random.sample(DOCUMENTS, 5)}
        judged[random.choice(listed)] = 1
        qrels |= {f"{query}_{part}": judged for part in ("q1", "q2")}
    before = {f"{q}-og": own for q, own in run.items()}
    after = {f"{q}-changed": {i: s * random.choice([-1, 1]) for i, s in own.items()}
             for q, own in run.items()}  # fmt: skip
    changed = {q: random.sample(DOCUMENTS, 2) for q in run} | {"absent": ["d1"]}
    scores = calculate_retrieval_scores(run, qrels, KS)
    skipped = calculate_retrieval_scores(run, qrels, KS, skip_first_result=True)
    fields = ("all_scores", "ndcg", "map", "recall", "precision", "naucs", "mrr", "naucs_mrr")
    content = {
        "version": version("mteb"),
        "ks": KS,
        "run": run,
        "qrels": qrels,
        "after": after,
        "changed": changed,
        "scores": {name: getattr(scores, name) for name in (*fields, "hit_rate")},
        "skipped": {name: getattr(skipped, name) for name in ("ndcg", "naucs")},
        "recall_cap": recall_cap(qrels, run, KS),
        "top_k_accuracy": top_k_accuracy(qrels, run, KS),
        "p_mrr": calculate_pmrr(before, after, changed),
        "robustness_at_10": robustness_at_10(qrels, run, scores.all_scores),
        "paired_accuracy": paired_accuracy(qrels, run, scores.all_scores),
        "max_over_subqueries": max_over_subqueries(qrels, run, KS),
    }
    lines = [
        f"{json.dumps(key)}: {json.dumps(one, separators=(',', ':'))}"
        for key, one in content.items()
    ]
    OUTPUT.write_text("{\n" + ",\n".join(lines) + "\n}\n", "utf-8")


if __name__ == "__main__":
    main()
