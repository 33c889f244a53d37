"""Record ir_measures on judgments by subtopic, which pyndeval evaluates.

    PYTHON tests/conformance/record_subtopics.py

in an environment with ir_measures and pyndeval. Writes ``tests/data/ir_measures_subtopics.json``:
judgments and runs with tied scores, grades that differ between subtopics, queries without anything
relevant and without a run; the value of each measure for each query.
"""

import json
import random
from importlib.metadata import version
from pathlib import Path

import ir_measures
from ir_measures import AP_IA, ERR_IA, NRBP, P_IA, StRecall, alpha_DCG, alpha_nDCG, nERR_IA, nNRBP
from ir_measures.providers import registry

OUTPUT = Path(__file__).parents[1] / "data" / "ir_measures_subtopics.json"
CUT = [
    ERR_IA, nERR_IA, alpha_DCG, alpha_nDCG, alpha_DCG(alpha=0.2), alpha_nDCG(alpha=0.2), P_IA,
    StRecall, ERR_IA(rel=2), alpha_nDCG(rel=2), StRecall(rel=2),
]  # fmt: skip
MEASURES = [measure @ k for measure in CUT for k in (1, 2, 5, 20)]
MEASURES += [
    NRBP,
    nNRBP,
    AP_IA,
    NRBP(alpha=0.2, beta=0.8),
    nNRBP(alpha=0.2, beta=0.8),
    AP_IA(rel=2),
]


def case(seed):
    draw = random.Random(seed)
    qrels, run = [], []
    for query in range(6):
        docs = [f"d{draw.randrange(1000)}" for _ in range(draw.choice([3, 6, 12, 30]))]
        docs, subtopics = [*dict.fromkeys(docs)], draw.choice([1, 2, 4, 7])
        for doc in docs:
            for subtopic in range(1, subtopics + 1):
                if draw.random() < 0.4:
                    qrels.append([f"q{query}", str(subtopic), doc, draw.choice([0, 1, 1, 2])])
        pool = [*docs, *(f"x{i}" for i in range(10))]
        draw.shuffle(pool)
        listed = pool[: draw.choice([0, 2, 8, 25])]
        run += [[f"q{query}", doc, float(draw.randrange(30))] for doc in listed]
    return qrels, run


def main():
    provider, cases = registry["pyndeval"], []
    for seed in range(20):
        qrels, run = case(seed)
        judged = [
            ir_measures.GenericQrel(query, doc, grade, subtopic)
            for query, subtopic, doc, grade in qrels
        ]
        scored = [ir_measures.ScoredDoc(*row) for row in run]
        values = {}
        for measure in MEASURES:  # one by one: a run is read once only
            for value in provider.iter_calc([measure], judged, scored):
                values.setdefault(str(measure), {})[value.query_id] = value.value
        cases.append({"qrels": qrels, "run": run, "values": values})
    found = {
        "version": f"ir_measures {version('ir_measures')}, pyndeval {version('pyndeval')}",
        "command": "python tests/conformance/record_subtopics.py",
        "cases": cases,
    }
    OUTPUT.write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
