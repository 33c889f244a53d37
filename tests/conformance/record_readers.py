"""Record what cwl_eval says of readers: utility, depth and residuals.

    PYTHON tests/conformance/record_readers.py

in an environment with cwl-eval. Writes ``tests/data/cwl_eval_readers.json``: judgments that leave
documents unjudged, runs, and the values of each query and model.
"""

import json
import math
import random
from importlib.metadata import version
from pathlib import Path

from cwl.ruler.measures.cwl_bpm import BPMCWLMetric
from cwl.ruler.measures.cwl_insq import INSQCWLMetric
from cwl.ruler.measures.cwl_inst import INSTCWLMetric
from cwl.ruler.measures.cwl_nerr import (
    NERReq8CWLMetric,
    NERReq9CWLMetric,
    NERReq10CWLMetric,
    NERReq11CWLMetric,
)
from cwl.ruler.measures.cwl_rbp import RBPCWLMetric
from cwl.ruler.ranking import Ranking

OUTPUT = Path(__file__).parents[1] / "data" / "cwl_eval_readers.json"
LARGEST = 4
MODELS = {
    "model=inst": INSTCWLMetric(1.0),
    "model=inst,target=3": INSTCWLMetric(3.0),
    "model=insq,target=2": INSQCWLMetric(2.0),
    "model=bpm": BPMCWLMetric(1.0, 1000),
    "model=bpm,target=2.5": BPMCWLMetric(2.5, 1000),
    "model=rbp,p=0.8": RBPCWLMetric(0.8),
    "model=nerr8": NERReq8CWLMetric(1000),
    "model=nerr9": NERReq9CWLMetric(1000),
    "model=nerr10,p=0.7": NERReq10CWLMetric(0.7),
    "model=nerr11,target=2": NERReq11CWLMetric(2.0),
}


def main():
    draw = random.Random(5)
    judged, ranked, values = {}, {}, {}
    for number in range(40):
        query = f"q{number}"
        listed = [f"d{i}" for i in range(draw.choice([1, 3, 10, 30]))]
        judged[query] = {
            doc: draw.choice([0, 0, 1, 2, LARGEST])
            for doc in [*listed, "d100", "d101"]
            if draw.random() < 0.6
        } | {"d102": 1}
        ranked[query] = listed
        gains = [judged[query].get(doc, math.nan) / LARGEST for doc in listed]
        values[query] = {}
        for name, metric in MODELS.items():
            metric.residuals = True
            metric.measure(Ranking(query, gains, [math.nan] * len(gains), max_n=1000))
            values[query][name] = {
                "utility_rate": float(metric.expected_utility),
                "total_utility": float(metric.expected_total_utility),
                "expected_depth": float(metric.expected_items),
                "utility_residual": float(metric.residual_expected_utility),
            }
    found = {
        "version": f"cwl-eval {version('cwl-eval')}",
        "command": "python tests/conformance/record_readers.py",
        "largest": LARGEST,
        "judged": judged,
        "ranked": ranked,
        "values": values,
    }
    OUTPUT.write_text(json.dumps(found, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main()
