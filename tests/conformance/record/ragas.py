"""ragas: the metrics that compare ids, ``single_turn_ascore`` of each query.

The others ask a language model. The mean is that of the values which are not NaN, as in the result
of ``evaluate``.
"""

import asyncio
import math
from importlib.metadata import version

import inputs
from ragas import SingleTurnSample
from ragas.metrics import IDBasedContextPrecision, IDBasedContextRecall

VERSION = version("ragas")
PACKAGES = {}
METRICS = [IDBasedContextPrecision, IDBasedContextRecall]


def record(golden):
    for case in inputs.CASES:
        for metric in METRICS:
            golden.attempt(case, metric.__name__, lambda m=metric: answer(case, m()))


def answer(case, metric):
    values = {}
    for user in sorted(case["truth"]):
        sample = SingleTurnSample(
            retrieved_context_ids=[str(item) for item in inputs.ranked_items(case, user)],
            reference_context_ids=[str(item) for item in inputs.relevant_items(case, user)],
        )
        values[user] = float(asyncio.run(metric.single_turn_ascore(sample)))
    defined = [value for value in values.values() if not math.isnan(value)]
    return sum(defined) / len(defined), values
