"""No metric has a value outside the range that it declares, whatever the side data say."""

import math

import numpy as np
import pytest
import scipy.sparse

import rankmeter as rm
from rankmeter.metrics import METRICS

pytestmark = pytest.mark.once

ITEMS = 12


def data(seed):
    """Rankings, ground truth, and side data that fit them more or less well."""
    rng = np.random.default_rng(seed)

    def items(most, high=ITEMS):
        return rng.permutation(high)[: rng.integers(1, most + 1)].tolist()

    def some(high=ITEMS):
        return rng.permutation(high)[: rng.integers(1, high + 1)].tolist()

    users = range(rng.integers(1, 6))
    rankings = {user: items(8) for user in users}
    truth = {user: {item: float(rng.integers(0, 4)) for item in items(5)} for user in users}
    far = int(rng.choice([0, 0, 5, 100]))  # items from here on have side data
    side = {
        "catalogue": rng.choice([1, 3, ITEMS, 1000]).item()
        if seed % 2
        else [far + i for i in some()],
        "train": {user: [far + item for item in some()] for user in range(rng.integers(1, 9))},
        "items": {far + item: rng.normal(size=3).tolist() for item in some()},
        "propensity": {far + item: rng.uniform(0.01, 1.0) for item in some()},
        "baseline_lists": {user: items(4) for user in users},
    }
    if rng.random() < 0.5:
        side["items"] = {item: ["ab"[item % 2], "c"] for item in side["items"]}
    return rankings, truth, side


def values_of(name, seed):
    rankings, truth, side = data(seed)
    k = int(np.random.default_rng(seed).choice([1, 3, 20]))
    spec = METRICS[name]
    given = ",".join(f"{option}={value}" for option, value in spec.example.items())
    metric = f"{name}({given})" if given else name
    options = {"n_items": 60} if seed % 3 else {}
    for asked in (metric, f"{metric}@{k}") if spec.cutoff or spec.at else (metric,):
        try:
            result = rm.evaluate(rankings, truth, asked, **side, **options)
        except rm.errors.RankmeterError:
            continue
        ((_, estimate),) = result.items()
        yield estimate.mean
        if spec.aggregate == "mean":
            yield from result.values_by_user.to_series(1).drop_nulls().to_list()


@pytest.mark.filterwarnings("ignore::rankmeter.errors.RankmeterWarning")
@pytest.mark.parametrize("name", METRICS)
def test_values_are_in_the_declared_range(name):
    metric = METRICS[name]
    seen = 0
    for seed in range(24):
        for value in values_of(name, seed):
            seen += not math.isnan(value)
            slack = 1e-9 * max(1.0, abs(value))
            inside = math.isnan(value) or metric.low - slack <= value <= metric.high + slack
            assert inside, (seed, value, metric.low, metric.high)
    assert seen > 5


@pytest.mark.parametrize("metric", ["coverage@2", "gini@2", "exposure_gini@2"])
@pytest.mark.parametrize("size", [1, 2])
def test_a_catalogue_that_is_smaller_than_what_is_shown_is_an_error(metric, size):
    rankings, truth = {1: [1, 2, 3], 2: [2, 3, 1]}, {1: [2], 2: [3]}
    with pytest.raises(rm.errors.InvalidValueError, match=rf"3 different .* catalogue has {size}:"):
        rm.evaluate(rankings, truth, metric, catalogue=size)
    with pytest.raises(rm.errors.InvalidValueError):
        rm.compare({"a": rankings, "b": rankings}, truth, metric, catalogue=size)
    assert rm.evaluate(rankings, truth, metric, catalogue=3)[metric].mean <= 1


LISTS, TRUTH = {u: [u, u + 1] for u in range(1, 50)}, {u: [u] for u in range(1, 50)}


@pytest.mark.parametrize(
    ("metric", "side", "message"),
    [
        ("unseen@2", {"train": {u + 1000: [u] for u in range(1, 50)}}, "train= has no user in"),
        ("novelty@2", {"train": {u: [u + 1000] for u in range(1, 50)}}, "train= has no item in"),
        ("coverage@2", {"catalogue": [1001, 1002]}, "catalogue= has no item in common"),
        ("ild@2", {"items": {1001: [1.0, 2.0]}}, "items= has no item in common"),
        ("categorical_diversity@2", {"items": {1001: ["a"]}}, "items= has no item in common"),
        ("ips@2", {"propensity": {1001: 0.5}}, "propensity= has no item in common"),
        (
            "unexpectedness@2",
            {"baseline_lists": {u + 1000: [u] for u in range(1, 50)}},
            "baseline_lists= has no user in",
        ),
    ],
)
def test_side_data_of_other_users_or_items_are_an_error(metric, side, message):
    with pytest.raises(rm.errors.NoOverlapError, match=message):
        rm.evaluate(LISTS, TRUTH, metric, **side)


@pytest.mark.parametrize("metric", ["unseen@2", "novelty@2", "popularity@2"])
def test_empty_side_data_are_an_error(metric):
    with pytest.raises(rm.errors.DataError, match="train= has no interactions"):
        rm.evaluate(LISTS, TRUTH, metric, train={1: [], 2: []})
    empty = ([], scipy.sparse.csr_matrix((0, 0)))
    with pytest.raises(rm.errors.RankmeterError, match=r"^items= "):
        rm.evaluate(LISTS, TRUTH, metric, train=LISTS, items=empty)
