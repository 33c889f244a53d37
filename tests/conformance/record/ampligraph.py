"""AmpliGraph: ``AbstractScoringLayer.get_ranks`` and its means, with the strategy ``worst``.

Each true item of each user is one triple, the whole catalogue its candidates: so only the cases
whose lists hold every item. The filter has the user's true items, the one of the triple among them,
as `evaluate` passes it. ``per_user`` holds the rank of each triple under "user/item", one more than
`get_ranks` gives, as in `evaluate`. Both sides have the same scores; the mean is that of one.
"""

import os

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"

from importlib.metadata import version

import inputs
import numpy as np
import tensorflow as tf
from ampligraph.evaluation.metrics import hits_at_n_score, mr_score, mrr_score
from ampligraph.latent_features.layers.scoring.AbstractScoringLayer import AbstractScoringLayer

VERSION = version("ampligraph")
PACKAGES = {"tensorflow": version("tensorflow"), "numpy": version("numpy")}


class Given(AbstractScoringLayer):
    """Scores that are given: those of all items, and the place of the true one."""

    def _compute_scores(self, triples):
        return tf.gather(triples[0], triples[1])[None]

    def _get_object_corruption_scores(self, triples, entities):
        return triples[0][None]


def record(golden):
    for case in inputs.CASES:
        if not case["name"].startswith("full_catalogue"):
            golden.refuse(case, "needs the score of every candidate: full catalogues only")
            continue
        keep(golden, case)


def keep(golden, case):
    items = {item: at for at, item in enumerate(inputs.item_numbers(case))}
    layer = Given(k=1)
    nothing = tf.lookup.experimental.DenseHashTable(
        tf.int32, tf.int32, default_value=-1, empty_key=-2, deleted_key=-3
    )
    ranks = {}
    for user in sorted(case["truth"]):
        scores = np.zeros(len(items), dtype=np.float32)
        for item, score in case["rankings"][user]:
            scores[items[item]] = score
        relevant = inputs.relevant_items(case, user)
        known = tf.ragged.constant([[sorted(items[item] for item in relevant)]], dtype=tf.int32)
        for item in relevant:
            triple = (tf.constant(scores), tf.constant(items[item]))
            found = layer.get_ranks(triple, None, 0, len(items) - 1, known, nothing, "o", "worst")
            ranks[f"{user}/{item}"] = int(found.numpy().ravel()[0]) + 1
    every = np.array(list(ranks.values()))
    golden.metric(case, "rank[filtered, worst]", per_user=ranks)
    golden.metric(case, "mr_score[filtered, worst]", mr_score(every))
    golden.metric(case, "mrr_score[filtered, worst]", mrr_score(every))
    for n in (1, 3, 10):
        golden.metric(case, f"hits_at_n_score[filtered, worst]@{n}", hits_at_n_score(every, n))
