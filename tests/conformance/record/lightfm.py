"""LightFM (lightfm-next): ``precision_at_k`` and the others of ``lightfm.evaluation``.

LightFM ranks the whole catalogue: so only the cases whose lists hold every item. A model whose user
vectors are unit vectors and whose item vectors are the scores predicts the scores of the case, in
single precision. Interactions are the relevant items of each user.
"""

from importlib.metadata import version

import inputs
import numpy
from lightfm import LightFM
from lightfm.evaluation import auc_score, precision_at_k, recall_at_k, reciprocal_rank
from scipy.sparse import csr_matrix

VERSION = version("lightfm-next")
PACKAGES = {name: version(name) for name in ("numpy", "scipy")}
WHOLE = {"auc_score": auc_score, "reciprocal_rank": reciprocal_rank}


def record(golden):
    for case in inputs.CASES:
        numbers = inputs.item_numbers(case)
        if any({i for i, _ in listed} != set(numbers) for listed in case["rankings"].values()):
            golden.refuse(case, "it ranks the whole catalogue")
            continue
        users = sorted(case["rankings"])
        model = predicting(case, users, numbers)
        truth = numpy.zeros((len(users), len(numbers)), dtype=numpy.float32)
        for row, user in enumerate(users):
            for item in inputs.relevant_items(case, user):
                truth[row, numbers[item] - 1] = 1
        for name, metric in WHOLE.items():
            golden.attempt(case, name, lambda m=metric: of(m(model, csr_matrix(truth)), users))
        for k in case["ks"]:
            for metric in (precision_at_k, recall_at_k):
                name = f"{metric.__name__}@{k}"
                golden.attempt(
                    case,
                    name,
                    lambda m=metric, k=k: of(m(model, csr_matrix(truth), k=k), users),
                )


def predicting(case, users, numbers):
    model = LightFM(no_components=len(users))
    model._initialize(len(users), len(numbers), len(users))
    model.user_embeddings = numpy.eye(len(users), dtype=numpy.float32)
    model.item_embeddings = numpy.zeros((len(numbers), len(users)), dtype=numpy.float32)
    for column, user in enumerate(users):
        for item, score in case["rankings"][user]:
            model.item_embeddings[numbers[item] - 1, column] = score
    model.item_biases[:] = 0
    model.user_biases[:] = 0
    return model


def of(values, users):
    return float(values.mean()), dict(zip(users, values.tolist()))
