"""A number of items that is too small for the data is an error, for every metric and door."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from rankmeter._engine.memory import Memory
from rankmeter._reading.read import read_rankings, read_truth
from rankmeter.conventions._plan import resolve_plan
from rankmeter.errors import DataError, RankmeterError, UsageError
from rankmeter.metrics import METRICS, Metric

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore::rankmeter.errors.RankmeterWarning"),
]

N_USERS, LENGTH, N_ITEMS = 60, 5, 300
RANKINGS = {
    user: {(user * LENGTH + i) % (N_ITEMS - 10): -float(i) for i in range(LENGTH)}
    for user in range(N_USERS)
}
TRUTH = {
    user: {(user * LENGTH) % (N_ITEMS - 10): 1.0, N_ITEMS - 10 + user % 10: float(user % 2)}
    for user in range(N_USERS)
}
"""290 items are ranked, and 10 others are judged, some of them as not relevant."""
SIDE = {
    "train": {user: [user, user + 1] for user in range(N_USERS)},
    "items": {item: [f"c{item % 7}"] for item in range(N_ITEMS)},
}
SENTENCE = rf"^{N_ITEMS} different items are ranked or judged, but n_items is 20: pass the number"
SIZED = [name for name, spec in METRICS.items() if "n_items" in spec.options]
OF_CATALOGUE = [name for name, spec in METRICS.items() if "catalogue" in spec.needs]


def metric(name, size=None):
    spec = METRICS[name]
    options = {**spec.example, **({} if size is None else {"n_items": size})}
    options = {key: value for key, value in options.items() if size is not None or key != "n_items"}
    one = Metric(name)(**options)
    return one @ 2 if spec.cutoff else one


def test_there_are_such_metrics():
    assert {"accuracy", "fallout", "mcc", "auc", "lauc", "percentile_rank"} <= {*SIZED}
    assert {"coverage", "gini", "exposure_gini"} <= {*OF_CATALOGUE}


@pytest.mark.parametrize("name", SIZED)
def test_a_size_of_a_metric_is_compared_with_all_items(name):
    with pytest.raises(DataError, match=SENTENCE):
        rm.evaluate(RANKINGS, TRUTH, metric(name, 20))
    with pytest.raises(DataError, match=rf"^{N_ITEMS} different items .* n_items is 299: "):
        rm.evaluate(RANKINGS, TRUTH, metric(name), n_items=N_ITEMS - 1)
    assert rm.evaluate(RANKINGS, TRUTH, metric(name, N_ITEMS)).scores.n_users


@pytest.mark.parametrize("name", OF_CATALOGUE)
def test_the_size_of_a_catalogue_is_compared_with_all_items(name):
    with pytest.raises(DataError, match=rf"^{N_ITEMS} different items .* catalogue has 20: pass"):
        rm.evaluate(RANKINGS, TRUTH, metric(name), catalogue=20, **SIDE)
    assert rm.evaluate(RANKINGS, TRUTH, metric(name), catalogue=N_ITEMS, **SIDE).scores.n_users


def test_items_outside_the_items_of_a_catalogue_are_counted():
    result = rm.evaluate(RANKINGS, TRUTH, "coverage@2", catalogue=[*range(290)])
    assert result.scores.counts["items_judged_outside_the_catalogue"] == N_USERS
    assert "items judged outside the catalogue: 60" in str(result)


@pytest.mark.parametrize("name", ["ndcg(adjusted)@2", "rr"])
def test_the_number_of_candidates_by_chance_is_compared_with_all_items(name):
    with pytest.raises(DataError, match=SENTENCE):
        rm.evaluate(RANKINGS, TRUTH, name, n_items=20)
    assert rm.evaluate(RANKINGS, TRUTH, name, n_items=N_ITEMS).scores.n_users


def frame(rows, column):
    triples = [(user, item, value) for user, own in rows.items() for item, value in own.items()]
    return pl.DataFrame(triples, schema=["user", "item", column], orient="row")


def doors(folder):
    """Calls by name, each with the rankings in another form or under another function."""
    rankings, truth = frame(RANKINGS, "score"), frame(TRUTH, "gain")
    path = folder / "rankings.parquet"
    rankings.write_parquet(path, row_group_size=50)
    matrix = np.full((N_USERS, N_ITEMS), -9.0)
    for user, own in RANKINGS.items():
        matrix[user, [*own]] = [*own.values()]
    named = rm.Scores(matrix, users=[*RANKINGS], items=[*range(N_ITEMS)])
    lists = {user: [*own] for user, own in RANKINGS.items()}
    options = {"metrics": "accuracy@2 fallout@2", "n_items": 20}
    return {
        "dictionaries": lambda: rm.evaluate(RANKINGS, TRUTH, **options),
        "lists": lambda: rm.evaluate(lists, TRUTH, **options),
        "text": lambda: rm.evaluate(
            {user: {f"i{item}": s for item, s in own.items()} for user, own in RANKINGS.items()},
            {user: {f"i{item}": g for item, g in own.items()} for user, own in TRUTH.items()},
            **options,
        ),
        "frames": lambda: rm.evaluate(rankings, truth, **options),
        "shuffled": lambda: rm.evaluate(
            rankings.sample(fraction=1, shuffle=True, seed=1), truth.reverse(), **options
        ),
        "memory": lambda: rm.evaluate(path, truth, engine="memory", **options),
        "disk": lambda: rm.evaluate(path, truth, engine="disk", **options),
        "Scores": lambda: rm.evaluate(named, TRUTH, **options),
        "compare": lambda: rm.compare({"a": RANKINGS, "b": lists}, TRUTH, **options),
        "curve": lambda: rm.curve(RANKINGS, TRUTH, "accuracy", max_k=2, n_items=20),
        "Evaluator": lambda: rm.Evaluator(TRUTH, **options).evaluate(RANKINGS),
    }


@pytest.mark.parametrize(
    "door",
    ["dictionaries", "lists", "text", "frames", "shuffled", "memory", "disk", "Scores", "compare",
     "curve", "Evaluator"],
)  # fmt: skip
def test_the_sentence_is_the_same_in_every_door(door, tmp_path):
    with pytest.raises(DataError, match=SENTENCE) as caught:
        doors(tmp_path)[door]()
    assert str(caught.value).count("n_items is") == 1


@pytest.mark.parametrize("blocks", [1, 2, 7])
def test_the_number_does_not_depend_on_blocks(blocks):
    plan = resolve_plan("accuracy@2 mcc", choices={"n_items": N_ITEMS - 1})
    data = Memory(blocks).open(
        read_truth(frame(TRUTH, "gain")), {"": read_rankings(frame(RANKINGS, "score"))}
    )
    (scores,) = data.run(plan).values()
    assert {str(error).partition(":")[0] for error in scores.errors.values()} == {
        f"{N_ITEMS} different items are ranked or judged, but n_items is {N_ITEMS - 1}"
    }
    assert len(scores.errors) == 2


def test_the_items_are_counted_only_if_a_size_is_given(monkeypatch):
    def refuse(*_):
        raise AssertionError("the items were counted")

    monkeypatch.setattr("rankmeter._engine.scores._count_different_items", refuse)
    assert rm.evaluate(RANKINGS, TRUTH, "ndcg@2 auc coverage@2", catalogue=[*range(N_ITEMS)])
    with pytest.raises(AssertionError):
        rm.evaluate(RANKINGS, TRUTH, "accuracy@2", n_items=N_ITEMS)


# -- queries without items: each has its own candidates -----------------------------------------

QUERY = "has 50 items, ranked or relevant, but n_items is 20: pass the number"


@pytest.mark.parametrize("name", [*SIZED, "rr", "ndcg(adjusted)"])
def test_a_matrix_has_as_many_candidates_as_columns(name):
    scores, target = np.random.default_rng(0).random((4, 50)), [1, 2, 3, 4]
    one = metric(name) if name in METRICS else name
    with pytest.raises(RankmeterError, match=QUERY):
        rm.evaluate_scores(scores, target, one, n_items=20)
    assert rm.evaluate_scores(scores, target, one, n_items=50)
    padded = scores.copy()
    padded[:, 20:] = 0.0
    is_candidate = np.zeros_like(scores, dtype=bool)
    is_candidate[:, :20] = True
    assert rm.evaluate_scores(padded, target, one, candidates=is_candidate, n_items=20)


@pytest.mark.parametrize("keep", ["values", "moments"])
def test_batches_are_compared_with_the_size(keep):
    scores, target = np.random.default_rng(0).random((4, 50)), np.array([1, 2, 3, 4])
    batches = rm.accumulator("accuracy@2", keep=keep, n_items=20)

    def add_all():
        for rows in (slice(0, 2), slice(2, 4)):
            batches.update(scores=scores[rows], target=target[rows])
        return batches.compute()

    with pytest.raises(RankmeterError, match=QUERY):
        add_all()


def lists_and_targets():
    users = np.arange(N_USERS)
    lists = (users[:, None] * LENGTH + np.arange(LENGTH)) % (N_ITEMS - 10)
    return lists, N_ITEMS - 10 + users % 10


OF_HITS = [name for name in SIZED if not METRICS[name].of_lists]
NO_MEANS = ("gauc", "percentile_rank")


@pytest.mark.parametrize(
    ("name", "keep"),
    [
        *((name, "values") for name in OF_HITS),
        *((name, "moments") for name in OF_HITS if name not in NO_MEANS),
    ],
)
def test_lists_in_batches_are_compared_with_the_size_after_the_merge(name, keep):
    lists, target = lists_and_targets()

    def count(size, rows, **options):
        batches = rm.accumulator(metric(name, size), keep=keep, **options)
        for row in rows:
            batches.update(items=lists[row : row + 1], target=target[row : row + 1])
        return batches

    def all_parts(size, **options):
        parts = [count(size, range(first, N_USERS, 3), **options) for first in range(3)]
        restored = rm.accumulator.from_state(parts[2].state())
        return parts[0] + type(parts[1]).from_bytes(parts[1].to_bytes()).merge(restored)

    for whole in (count(20, range(N_USERS)), all_parts(20)):
        with pytest.raises(DataError, match=SENTENCE):
            whole.compute()
    with pytest.raises(DataError, match=rf"^{N_ITEMS} different items .* n_items is 299: "):
        all_parts(None, n_items=N_ITEMS - 1).compute()
    wanted = count(N_ITEMS, range(N_USERS)).compute()
    assert all_parts(N_ITEMS).compute().counts["rows"] == wanted.counts["rows"] == N_USERS
    few = count(20, [0, 1])
    assert few.compute().counts["rows"] == 2
    whole = count(20, range(N_USERS))
    whole.reset()
    whole.update(items=lists[:2], target=target[:2])
    assert whole.compute().counts["rows"] == 2


def test_a_rank_beyond_the_candidates_of_its_query_is_an_error():
    for call in (
        lambda: rm.evaluate_ranks([5, 1], "amr", candidates=[3, 9]),
        lambda: rm.evaluate(rm.Ranks([5, 1], candidates=[3, 9]), None, "amr"),
    ):
        with pytest.raises(DataError, match="rank 5 of row 0 is beyond its 3 candidates"):
            call()


def test_a_size_below_the_items_of_one_user_is_an_error_of_the_metric():
    hits = METRICS["fallout"].function
    from rankmeter._evidence.hits import Hits

    ranked = Hits.perfect(np.array([0, 3]), np.ones(3))
    with pytest.raises(
        UsageError, match="a user has 3 items, ranked or relevant, but n_items is 2"
    ):
        hits(ranked, 2, n_items=2)


def test_a_rank_below_all_items_is_refused():
    with pytest.raises(rm.errors.UsageError, match="50 items, ranked or relevant, but n_items is"):
        rm.evaluate_ranks([1, 50, 3], "accuracy@5", n_items=10)
    assert rm.evaluate_ranks([1, 50, 3], "accuracy@5", n_items=60)["accuracy@5"].mean < 1
