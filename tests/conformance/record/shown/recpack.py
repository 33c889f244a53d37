"""RecPack: list metrics; matrices as in ``record/recpack.py``.

Rows are the users of the ground truth; ``IntraListDiversityK`` is fitted on the categories, as a
matrix of 0 and 1, where an item without any has zeros.
"""

from importlib.metadata import version

import shown as inputs
from recpack.metrics import CoverageK, IntraListDiversityK
from scipy.sparse import csr_matrix, lil_matrix

VERSION = version("recpack")
PACKAGES = {name: version(name) for name in ("numpy", "scipy")}


def record(golden):
    for case in inputs.CASES:
        if case["name"] == "shown_repeated":
            continue
        users, items = sorted(case["truth"]), {i: n for n, i in enumerate(case["catalogue"])}
        true, scores = (lil_matrix((len(users), len(items))) for _ in range(2))
        for row, user in enumerate(users):
            for item in inputs.relevant_items(case, user):
                true[row, items[item]] = 1
            for item, score in case["rankings"].get(user, []):
                scores[row, items[item]] = score
        genres = sorted({genre for own in case["categories"].values() for genre in own})
        features = lil_matrix((len(items), len(genres)))
        for item, own in case["categories"].items():
            for genre in own:
                features[items[item], genres.index(genre)] = 1
        fed = users, csr_matrix(true), csr_matrix(scores)
        for k in case["ks"]:
            golden.attempt(case, f"CoverageK@{k}", lambda k=k: coverage(k, *fed))
            golden.attempt(
                case, f"IntraListDiversityK@{k}", lambda k=k: diversity(k, features, *fed)
            )


def coverage(k, _, true, scores):
    metric = CoverageK(k)
    metric.calculate(true, scores)
    return metric.value


def diversity(k, features, users, true, scores):
    metric = IntraListDiversityK(k)
    metric.fit(csr_matrix(features))
    metric.calculate(true, scores)
    summed = metric.results.groupby("user_id")["score"].sum()
    return metric.value, {users[row]: value for row, value in summed.items()}
