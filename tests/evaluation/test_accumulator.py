"""Evaluation batch by batch equals the evaluation of all data."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import subprocess
import sys
from unittest import mock

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankmeter as rm
from rankmeter._engine.counted import score_queries
from rankmeter._rankings.queries import Queries
from rankmeter._training import kept
from rankmeter.errors import DataError, DuplicateError, IdTypeError, UsageError

METRICS = ["ndcg@3", "recall@2", "mrr", "hits@3"]


def data_of(seed, n=23):
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 5, (n, 8)) / 4
    targets = [rng.permutation(8)[: rng.integers(0, 4)].tolist() for _ in range(n)]
    seen = [[i for i in rng.permutation(8)[:2].tolist() if i not in t] for t in targets]
    return scores, targets, seen


def filled(data, batches, **options):
    scores, targets, seen = data
    acc = rm.accumulator(METRICS, **options)
    for rows in map(list, batches):
        acc.update(
            scores=scores[rows],
            target=[targets[i] for i in rows],
            exclude=[seen[i] for i in rows],
            users=rows,
        )
    return acc


@pytest.mark.once
@given(st.integers(0, 99), st.permutations(range(5)), st.booleans())
def test_batches_in_any_order_give_the_values_of_all(seed, order, each):
    data = data_of(seed)
    batches = np.array_split(np.arange(23), 5)
    whole = filled(data, [range(23)], each=each).compute()
    parts = filled(data, [batches[i] for i in order], each=each).compute()
    assert parts.per_user.equals(whole.per_user)
    assert {k: v.interval for k, v in parts.items()} == {k: v.interval for k, v in whole.items()}
    plain = rm.evaluate_scores(data[0], data[1], METRICS, exclude=data[2], each=each)
    assert [e.mean for e in plain.values()] == [e.mean for e in whole.values()]
    one, two = (filled(data, some, each=each) for some in (batches[:2], batches[2:]))
    for merged in (one + two, two + one, rm.accumulator.from_state((one + two).state())):
        assert merged.compute().per_user.equals(whole.per_user)
    again = rm.Accumulator.from_bytes(one.to_bytes()).merge(two)
    assert again.compute().counts == whole.counts


@pytest.mark.once
@given(st.integers(0, 99), st.permutations(range(5)), st.sampled_from([1, 9, 4096]))
def test_moments_are_those_of_the_values(seed, order, at_once):
    with mock.patch("rankmeter._training.kept.AT_ONCE", at_once):
        moments_are_those_of_the_values(data_of(seed), order)


def moments_are_those_of_the_values(data, order):
    batches = np.array_split(np.arange(23), 5)
    values = filled(data, [range(23)]).compute()
    found = filled(data, [batches[i] for i in order], keep="moments")
    same = filled(data, batches[:3], keep="moments") + filled(data, batches[3:], keep="moments")
    back = rm.accumulator.from_state(found.state())
    for acc in (same, back):
        assert dict(acc.compute()) == dict(found.compute())
    for label, estimate in found.compute().items():
        other = values[label]
        assert (estimate.n, estimate.undefined) == (other.n, other.undefined)
        assert estimate.mean == pytest.approx(other.mean, rel=1e-14)
        assert estimate.interval == pytest.approx(other.interval, rel=1e-12)
    assert found.compute().counts["tied_hits"] == values.counts["tied_hits"]
    assert "no" not in found.compute().per_user.columns


def test_the_state_of_moments_does_not_grow():
    acc = rm.accumulator(["ndcg@3", "mrr"], keep="moments")
    rng = np.random.default_rng(0)
    sizes = []
    for _ in range(200):
        acc.update(scores=rng.random((4, 6)), target=rng.integers(0, 6, 4))
        sizes.append(len(acc.to_bytes()))
    assert sizes[-1] <= sizes[5] + 100
    assert acc.compute()["mrr"].n == 800


def test_lists_of_items_equal_rankings():
    items = np.array([[3, 1, 7], [2, -1, 5], [-1, -1, -1]])
    targets = [[1, 7, 9], [5], [2]]
    acc = rm.accumulator(["ndcg@2", "map", "recall@3", "n_ranked"])
    acc.update(items=items, target=targets)
    lists = [[i for i in row if i >= 0] for row in items.tolist()]
    same = rm.evaluate(lists, targets, ["ndcg@2", "map", "recall@3", "n_ranked"], relevant="any")
    np.testing.assert_array_equal(acc.compute().scores.matrix, same.scores.matrix)
    each = rm.accumulator(["mrr", "n_ranked"], each=True)
    each.update(items=items, target=targets)
    assert each.compute().per_user["mrr"].to_list() == [1 / 2, 1 / 2, 0, 1 / 2, 0]
    assert each.compute().per_user["n_ranked"].to_list() == [2, 2, 1, 2, 0]


def test_samples_and_ranks_in_batches():
    acc = rm.accumulator("mrr")
    acc.update(positive=[0.5, 0.1], negatives=[[0.6, 0.1], [0.0, 0.0]])
    acc.update(positive=[0.5], negatives=[0.6, 0.7])
    acc.update(ranks=[4, 5], candidates=9)
    assert acc.compute().per_user["mrr"].to_list() == [1 / 2, 1, 1 / 3, 1 / 4, 1 / 5]
    acc.reset()
    with pytest.raises(DataError, match="nothing was counted"):
        acc.compute()


@pytest.mark.parametrize(
    ("metric", "keep"),
    [("auc", "moments"), ("n_ranked@10", "moments"), ("zmrr", "values"), ("pauc", "values"),
     ("adjusted_hits@3", "values"), ("amri", "values"), ("percentile_rank", "values")],
)  # fmt: skip
def test_the_number_of_candidates_is_never_invented(metric, keep):
    acc = rm.accumulator(["mrr", metric], keep=keep)
    acc.update(ranks=[1, 2, 5], candidates=9)
    before = acc.state()
    for ranks in ([1], [3, 20]):
        with pytest.raises(UsageError, match=f"{metric} depends on .*: pass candidates="):
            acc.update(ranks=ranks)
    assert acc.state().keys() == before.keys()
    assert all((array == before[name]).all() for name, array in acc.state().items())
    whole = rm.evaluate_ranks([1, 2, 5], metric, candidates=9)
    assert acc.compute()[metric].mean == pytest.approx(whole[metric].mean)


@pytest.mark.once
@pytest.mark.parametrize("metric", ["mrr", "hits@3", "map@10", "ndcg", "mr", "gmr", "precision@10"])
def test_metrics_without_the_number_of_candidates_do_not_depend_on_the_batches(metric):
    ranks = [1, 2, 5, 12]
    acc = rm.accumulator(metric)
    for rank in ranks:
        acc.update(ranks=[rank])
    result = rm.accumulator.from_state(acc.state()).compute()
    assert result[metric].mean == rm.evaluate_ranks(ranks, metric)[metric].mean
    assert "candidate" not in repr(result.show(0))


def test_moments_of_batches_in_different_forms():
    """Only lists and scores have an order of ties: the others are summed up apart from them."""
    acc = rm.accumulator("mrr", keep="moments", each=True, ties="item")
    scores = np.array([[0.2, 0.2, 0.1]])
    for _ in range(2):
        acc.update(scores=scores, target=[1])
        acc.update(items=[[1, 2]], target=[[2]])
        acc.update(ranks=[4], candidates=9)
    assert acc.compute()["mrr"].mean == pytest.approx((1 / 2 + 1 / 2 + 1 / 4) / 3)
    assert acc.compute()["mrr"].n == 6


def test_what_cannot_be_measured_is_not_half_counted():
    acc = rm.accumulator(["mrr", "bpref"], keep="moments", ties="expected")
    acc.update(scores=[[0.9, 0.1]], target=[1])
    acc.update(scores=[[0.1, 0.1]], target=[1])
    for _ in range(2):
        with pytest.raises(UsageError, match="bpref: has no closed form"):
            acc.compute()
        assert acc._counted.sums["mrr"].n == 1
    with pytest.raises(UsageError, match="pool"):  # at once, since it is so for any data
        rm.accumulator("mrr", keep="moments", pool="judged").update(scores=[[1, 2]], target=[1])


@pytest.mark.parametrize("ids", [[3, 1, 2], ["c", "a", "b"]])
def test_a_repeated_user_is_counted_once_and_reported(ids):
    acc = rm.accumulator("mrr")
    acc.update(ranks=[1, 2, 4], users=ids)
    acc.update(ranks=[1, 2], users=ids[:2])
    result = acc.compute()
    assert result["mrr"].mean == rm.evaluate_ranks([1, 2, 4], "mrr")["mrr"].mean
    assert result.counts["repeated_users_merged"] == 2
    assert "repeated queries merged: 2" in repr(result)
    assert result.per_user["user"].to_list() == sorted(ids)
    acc.update(ranks=[9], users=ids[:1])
    with pytest.raises(DuplicateError, match="came twice with different values"):
        acc.compute()


def test_ids_of_all_updates_are_integers_or_all_are_text():
    acc, other = rm.accumulator("mrr"), rm.accumulator("mrr")
    acc.update(ranks=[], users=[])
    acc.update(ranks=[1, 2], users=[1, 2**63])
    acc.update(ranks=[3], users=[-7])
    other.update(ranks=[1], users=["1"])
    message = "integers such as 1 in some updates and strings such as '1' in others"
    for call in (lambda: acc.update(ranks=[1], users=["1"]), lambda: acc.merge(other)):
        with pytest.raises(IdTypeError, match=message):
            call()
    with pytest.raises(IdTypeError, match="no 64-bit integer can hold"):
        acc.compute()
    acc.reset()
    acc.update(ranks=[2, 4], users=[3, 2**63])
    acc.update(ranks=[4], users=np.array([2**63], dtype=np.uint64))
    result = rm.accumulator.from_state(acc.state()).compute()
    assert result.per_user["user"].to_list() == [3, 2**63]
    acc.reset()
    acc.update(ranks=[], users=[])
    acc.update(ranks=[2], users=["a"])
    assert rm.accumulator.from_state(acc.state()).compute().per_user["user"].to_list() == ["a"]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "one of scores, items, positive, ranks; got none of them"),
        ({"ranks": [1], "scores": [[1]]}, "got scores and ranks"),
        ({"ranks": [1], "target": [1]}, "`target` does not belong to `ranks`"),
        ({"items": [[1]], "target": [1], "exclude": [[2]]}, "`exclude` does not belong to `items`"),
        ({"items": [[1]]}, "target is missing"),
        ({"scores": [[1]]}, "target is missing"),
        ({"positive": [1]}, "negatives is missing"),
    ],
)
def test_wrong_updates(given, message):
    with pytest.raises(UsageError, match=message):
        rm.accumulator("mrr").update(**given)


def test_items_that_come_twice_are_an_error():
    with pytest.raises(DuplicateError, match="item 3 is twice in row 1 of `items`"):
        rm.accumulator("mrr").update(items=[[1, 2], [3, 3]], target=[1, 3])
    with pytest.raises(DataError, match="`items` must be ids of shape"):
        rm.accumulator("mrr").update(items=[[0.5]], target=[1])


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_large_ids_of_items_are_an_error(dtype):
    acc = rm.accumulator("mrr")
    large = np.array([[1, 2], [3, 2**62]]).astype(dtype) * (1 if dtype is np.int64 else 2)
    with pytest.raises(DataError, match="of row 1 of `items` is not from 0 to 2,147,483,646"):
        acc.update(items=large, target=[[5], [5]])
    with pytest.raises(DataError, match=r"`target` .* is not (from 0 to|the number of an item)"):
        acc.update(items=[[1, 2], [3, 4]], target=large)
    acc.update(items=[[1, 2**31 - 2]], target=np.array([2**31 - 2]).astype(dtype))
    assert acc.compute()["mrr"].mean == 1 / 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": "amri"}, "amri is not a mean or sum of values"),
        ({"interval": "bca"}, "interval='bca' needs the values of all users"),
        ({"keep": "moment"}, "one of 'values', 'moments'"),
    ],
)
def test_what_moments_cannot_give(options, message):
    with pytest.raises(UsageError, match=message):
        rm.accumulator(**{"metrics": "mrr", "keep": "moments", **options})


def test_metrics_of_items_that_were_shown_are_refused_at_once():
    for keep in ("values", "moments"):
        with pytest.raises(UsageError, match="coverage@5 needs the items that were shown"):
            rm.accumulator("coverage@5", n_items=9, keep=keep)
    with pytest.raises(DataError, match="item -2 of row 0 of `items` is negative"):
        rm.accumulator("mrr").update(items=[[1, -2]], target=[1])


def test_batches_without_a_target_take_no_memory():
    acc = rm.accumulator("mrr", keep="moments", each=True)
    for _ in range(5000):
        acc.update(scores=[[0.1, 0.2]], target=[[]])
    assert len(acc._counted.waiting) < 4096


def test_what_cannot_be_merged():
    with pytest.raises(UsageError, match="same metrics and options"):
        rm.accumulator("mrr").merge(rm.accumulator("mrr", ties="optimistic"))
    acc = rm.accumulator("mrr")
    acc.update(ranks=[1])
    with pytest.raises(UsageError, match="users= in every update or in none"):
        acc.update(ranks=[1], users=["a"])
    with pytest.raises(UsageError, match="expected an accumulator to merge, got 3"):
        acc.merge(3)
    with pytest.raises(TypeError, match="unsupported operand"):
        acc + 3


@pytest.mark.parametrize("keep", ["values", "moments"])
def test_a_damaged_state_is_an_error(keep):
    for state in (None, {}, [1], b"PK"):
        with pytest.raises(UsageError, match="expected a state of an accumulator"):
            rm.accumulator.from_state(state)
    acc = filled(data_of(0), [range(23)], keep=keep)
    whole, data = acc.state(), acc.to_bytes()
    for name in whole.keys() - {"about"}:
        lacking = {key: array for key, array in whole.items() if key != name}
        for wrong in (lacking, {**whole, name: whole[name][:-1]}, {**whole, name: None}):
            with pytest.raises(DataError, match=f"state of the accumulator is damaged .*{name}"):
                rm.accumulator.from_state(wrong)
    about = json.loads(bytes(whole["about"]))
    texts = [{k: v for k, v in about.items() if k != name} for name in about]
    encoded = [np.frombuffer(json.dumps(text).encode(), np.uint8) for text in texts]
    for damaged in (None, "text", whole["about"][:-9], *encoded):
        with pytest.raises(DataError, match="state of the accumulator is damaged"):
            rm.accumulator.from_state({**whole, "about": damaged})
    for part in (b"", data[:-50], data[:100], data[9:], b"text"):
        with pytest.raises(DataError, match="state of the accumulator is damaged"):
            rm.Accumulator.from_bytes(part)
    assert dict(rm.Accumulator.from_bytes(data).compute()) == dict(acc.compute())


WORKER = """
import json
import sys

import torch.distributed as dist

import rankmeter as rm

rank, store = int(sys.argv[1]), sys.argv[2]
dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
said = {}
for name, keep, batches in (
    ("values", "values", [([1, 2, 4], "abc"), ([5, 1], "da")]),
    ("moments", "moments", [([1, 2, 4], "abc"), ([5, 1], "da")]),
    ("nothing", "values", [([1, 2], "ab"), None]),
):
    acc = rm.accumulator(["mrr", "hits@3"], keep=keep)
    if batches[rank]:
        acc.update(ranks=batches[rank][0], users=list(batches[rank][1]))
    result = acc.all_reduce().compute()
    mrr = result["mrr"]
    said[name] = [mrr.mean, mrr.n, result.counts.get("repeated_users_merged", 0)]
print(json.dumps(said))
dist.barrier()  # whoever leaves first closes the connection of the others
dist.destroy_process_group()
"""


@pytest.mark.once
def test_two_processes_count_what_one_counts(tmp_path):
    pytest.importorskip("torch")
    running = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(rank), str(tmp_path / "store")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for rank in range(2)
    ]
    said = [one.communicate(timeout=300) for one in running]
    assert not [one.returncode for one in running if one.returncode], said
    one, other = (json.loads(out.splitlines()[-1]) for out, _ in said)
    assert one == other
    assert one["values"] == [pytest.approx((1 + 1 / 2 + 1 / 4 + 1 / 5) / 4), 4, 1]
    assert one["moments"] == [pytest.approx((2 + 1 / 2 + 1 / 4 + 1 / 5) / 5), 5, 0]
    assert one["nothing"] == [0.75, 2, 0]


@pytest.mark.once
def test_all_reduce_without_processes_changes_nothing():
    pytest.importorskip("torch")
    acc = rm.accumulator("mrr")
    acc.update(ranks=[1, 2])
    assert acc.all_reduce().compute()["mrr"].mean == 0.75


ONES = np.ones((3, 5))
SEVERAL = [
    np.ones((3, 5), int),
    np.ones((3, 5), bool),
    [{0, 1, 2, 3, 4}] * 3,
    [[0, 1, 2, 3]] * 3,
    np.array([[0, 1, 2, 3]] * 3),
]


@pytest.mark.parametrize("target", SEVERAL)
@pytest.mark.parametrize("keep", ["values", "moments"])
def test_constant_scores_of_rows_with_several_true_items_are_a_random_order(target, keep):
    metrics = ["ndcg@3", "precision@3", "map@3"]
    batches = rm.accumulator(metrics, keep=keep)
    batches.update(scores=ONES, target=target)
    for result in (
        rm.evaluate_scores(ONES, target, metrics),
        batches.compute(),
        (rm.accumulator(metrics, keep=keep) + batches).compute(),
        rm.accumulator.from_state(batches.state()).compute(),
    ):
        assert all(one.mean <= 1 for one in result.values())
        assert {entry.alignment.ties for entry in result.plan.metrics} == {"expected"}


@pytest.mark.parametrize("target", [[1, 2, 3], np.array([[1], [2], [3]])])
def test_one_true_item_of_each_row_has_the_mean_of_its_ranks(target):
    batches = rm.accumulator("rr")
    batches.update(scores=ONES, target=target)
    for result in (rm.evaluate_scores(ONES, target, "rr"), batches.compute()):
        assert result["rr"].mean == pytest.approx(1 / 3)
        assert result.plan["rr"].alignment.ties == "realistic"
    each = rm.evaluate_scores(ONES, SEVERAL[0], "rr", each=True)
    assert each.plan["rr"].alignment.ties == "realistic"


def test_batches_of_one_and_of_several_true_items_are_not_mixed():
    one, several = rm.accumulator("rr"), rm.accumulator("rr")
    one.update(scores=ONES, target=[1, 2, 3])
    several.update(scores=ONES, target=SEVERAL[0])
    for mix in (
        lambda: one.update(scores=ONES, target=SEVERAL[0]),
        lambda: several.update(ranks=[1]),
        lambda: one + several,
    ):
        with pytest.raises(UsageError, match="pass the same form in every update, or ties="):
            mix()
    chosen = rm.accumulator("rr", ties="expected")
    chosen.update(scores=ONES, target=[1, 2, 3])
    chosen.update(scores=ONES, target=SEVERAL[0])
    one.update(items=[[1, 2]], target=[[2]])  # a list has no ties
    one.reset()
    one.update(scores=ONES, target=SEVERAL[0])
    assert (one + several).compute()["rr"].mean == 1.0


def test_a_metric_that_has_a_mean_only_if_ties_are_ranked_last_has_no_bounds():
    for keep in ("values", "moments"):
        batches = rm.accumulator("fallout(n_items=5)@1", users="hit", keep=keep)
        batches.update(scores=[[1.0, 1.0]], target=[0])
        batches.compute()
    rm.evaluate_scores(np.ones((1, 2)), [0], "fallout(n_items=5)@1", users="hit")


def test_sums_of_values_adjusted_for_chance_have_the_interval_of_the_values():
    intervals = []
    for keep in ("values", "moments"):
        batches = [rm.accumulator("rr(adjusted)", keep=keep, n_items=10) for _ in range(2)]
        for batch, ranks in zip(batches, ([1, 1], [2, 3]), strict=True):
            batch.update(ranks=ranks, candidates=10)
        whole = rm.accumulator.from_state((batches[0] + batches[1]).state()).compute()
        intervals.append(whole["rr(adjusted)"].interval)
    assert intervals[0] == pytest.approx(intervals[1], rel=1e-12)


@pytest.mark.parametrize("users", ["none", "in order", "in any order", "repeated"])
@pytest.mark.parametrize("each", [False, True])
def test_a_result_after_every_update_scores_a_query_once(users, each, monkeypatch):
    rng, scored = np.random.default_rng(6), []
    names = {
        "none": [None] * 12,
        "in order": np.arange(36).reshape(12, 3),
        "in any order": rng.permutation(36).reshape(12, 3),
        "repeated": np.arange(36).reshape(12, 3) % 33,
    }[users]
    batches = [
        {
            "scores": rng.integers(0, 4, (3, 7)) + np.zeros(7),
            "target": rng.integers(0, 2, (3, 7)),
            "users": names[number],
        }
        for number in range(12)
    ]
    if users == "repeated":
        batches[-1] = {**batches[0], "users": names[0]}

    def watched(plan, queries):
        scored.append(queries.n)
        return score_queries(plan, queries)

    metrics = ["mrr", "ndcg@3", "map", "precision(aggregate=micro)@2", "rr(adjusted)"]
    acc = rm.accumulator(metrics, each=each)
    with monkeypatch.context() as patch:
        patch.setattr(kept, "score_queries", watched)
        for number, batch in enumerate(batches, 1):
            acc.update(**batch)
            found = acc.compute()
            once = rm.accumulator(metrics, each=each)
            for earlier in batches[:number]:
                once.update(**earlier)
            scored_before = scored.copy()
            whole = once.compute()
            scored[:] = scored_before
            assert found.estimates == whole.estimates
            assert found.counts == whole.counts
            assert found.per_user.equals(whole.per_user)
    assert sum(scored) == sum(np.count_nonzero(batch["target"]) if each else 3 for batch in batches)


@pytest.mark.parametrize("keep", ["values", "moments"])
@pytest.mark.parametrize("users", [False, True])
def test_a_result_after_every_update_changes_nothing_and_reads_a_batch_once(
    keep, users, monkeypatch
):
    rng = np.random.default_rng(5)
    batches = [
        {"scores": rng.integers(0, 5, (4, 9)), "target": rng.integers(0, 9, 4)} for _ in range(40)
    ]
    if users:
        for number, batch in enumerate(batches):
            batch["users"] = [f"u{number}-{row}" for row in range(4)]
    concat, joined = Queries.concat.__func__, []

    def watched(cls, blocks, *join):
        joined.append(len(blocks))
        return concat(cls, blocks, *join)

    stepwise, other = (rm.accumulator("mrr ndcg@3 hits@2", keep=keep) for _ in range(2))
    at_once = rm.accumulator("mrr ndcg@3 hits@2", keep=keep)
    with monkeypatch.context() as patch:
        patch.setattr(Queries, "concat", classmethod(watched))
        for batch in batches[:30]:
            stepwise.update(**batch)
            assert stepwise.compute()["mrr"] == stepwise.compute()["mrr"]
        assert sum(joined) <= 4 * 30  # of each step: all earlier queries, and those of its batch
    for batch in batches[30:]:
        other.update(**batch)
        other.compute()
    for batch in batches:
        at_once.update(**batch)
    assert stepwise.merge(other).compute().to_dict() == at_once.compute().to_dict()
    assert stepwise.compute().per_user.equals(at_once.compute().per_user)


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("kind", ["integers", "text", "large"])
@pytest.mark.parametrize("repeated", [False, True])
def test_a_few_new_users_are_put_among_those_known(kind, repeated, each):
    rng = np.random.default_rng(8)
    number = rng.permutation(np.arange(140) - 70 * (kind == "integers"))
    if repeated:
        number[[90, 130]] = number[[3, 100]]
    scores = rng.integers(0, 4, (141, 6)) + np.zeros(6)
    make = {"integers": int, "text": lambda n: f"é{n}", "large": lambda n: 2**63 + int(n)}[kind]
    stepwise, batches = rm.accumulator("mrr ndcg@3", each=each), []
    cuts = [0, 100, *range(103, 139, 7), 140]
    for begin, end in itertools.pairwise(cuts):
        rows = number[begin:end]
        batch = {
            "scores": scores[rows],
            "target": scores[rows][:, ::-1] > 1.0,
            "users": [make(n) for n in rows],
        }
        batches.append(batch)
        stepwise.update(**batch)
        found = stepwise.compute()
        copied = copy.deepcopy(stepwise)
        at_once = rm.accumulator("mrr ndcg@3", each=each)
        for earlier in batches:
            at_once.update(**earlier)
        whole = at_once.compute()
        assert found.estimates == copied.compute().estimates == whole.estimates
        assert found.counts == whole.counts
        assert found.per_user.equals(whole.per_user)
        user = found.per_user["user"][-1 - len(batches)]
        assert str(found.show(user)) == str(whole.show(user))
    assert ("repeated_users_merged" in found.counts) == repeated


def test_a_result_stays_as_it_is_where_more_is_counted():
    scores = np.random.default_rng(9).random((60, 5))
    acc, found = rm.accumulator("mrr"), []
    for row in range(60):
        acc.update(scores=scores[[row]], target=[1])
        found.append((acc.compute(), acc.compute().per_user["mrr"].to_list()))
    fork = copy.copy(acc) + acc
    acc.update(scores=scores, target=[2] * 60)
    fork.update(scores=scores, target=[3] * 60)
    acc.compute()
    assert fork.compute()["mrr"].n == 180
    for summary, values in found:
        assert summary.per_user["mrr"].to_list() == values
    assert acc.compute()["mrr"] == pickle.loads(pickle.dumps(acc)).compute()["mrr"]


def test_what_follows_an_array_overwrites_no_other_that_follows_it():
    join = kept.Growing()
    first = join("rows", [np.arange(3)])
    one, other = (join("rows", [first, np.array([last])]) for last in (8, 9))
    assert [*first, 8] == one.tolist()
    assert [*first, 9] == other.tolist()
    assert join("rows", [other, one]).tolist() == [*other, *one]


def test_scores_and_target_need_no_names():
    scores, target = np.random.default_rng(2).random((4, 5)), [1, 0, 4, 2]
    named, plain = rm.accumulator("mrr"), rm.accumulator("mrr")
    named.update(scores=scores, target=target, users=[4, 5, 6, 7])
    plain.update(scores, target, users=[4, 5, 6, 7])
    assert plain.compute()["mrr"] == named.compute()["mrr"]
    for wrong in ((scores,), (scores, target, target)):
        with pytest.raises(UsageError, match=r"update\(scores, target\); got"):
            plain.update(*wrong)
    with pytest.raises(UsageError, match=r"update\(scores, target\); got 2 such arguments"):
        plain.update(scores, target, target=target)


@pytest.mark.parametrize("make", [np.array, list, pd.DataFrame, pl.DataFrame])
def test_integers_without_a_name_are_scores_or_items_and_both_remedies_work(make):
    data, target = make(np.array([[2, 1], [0, 1]])), [1, 0]
    with pytest.raises(UsageError, match=r"update\(scores=..., target=...\) or update\(items=..."):
        rm.accumulator("mrr").update(data, target)
    for name, mrr in (("scores", 0.5), ("items", 0.75)):
        acc = rm.accumulator("mrr")
        acc.update(**{name: data, "target": target})
        assert acc.compute()["mrr"].mean == mrr


FLAT, GRADES, SIZES = [0.3, 0.2, 0.1, 0.5, 0.4], [0, 1, 0, 0, 1], [3, 2]


@pytest.mark.parametrize(
    "call",
    [
        lambda: rm.evaluate_scores(np.array(FLAT), np.array(GRADES), "mrr", groups=SIZES),
        lambda: rm.evaluate_scores(FLAT, GRADES, "mrr", groups=SIZES),
        lambda: rm.evaluate_scores(np.array(FLAT), np.array(GRADES), "mrr"),
        lambda: rm.evaluate(rm.Scores(np.array(FLAT)), {0: {1}}, "mrr"),
        lambda: rm.accumulator("mrr").update(np.array(FLAT), np.array(GRADES)),
    ],
)
def test_flat_scores_are_grouped_as_the_error_says(call):
    with pytest.raises(DataError) as error:
        call()
    remedy = "rm.evaluate(*rm.grouped(scores, labels, group=sizes), metrics)"
    assert remedy in str(error.value)
    names = {"rm": rm, "scores": FLAT, "labels": GRADES, "sizes": SIZES, "metrics": "mrr"}
    assert eval(remedy, names)["mrr"].mean == 0.5


@pytest.mark.parametrize("door", ["evaluate_scores", "Scores", "accumulator"])
def test_scores_of_each_position_are_selected_as_the_error_says(door):
    logits = np.random.default_rng(4).random((2, 3, 5))
    ids, mask = np.array([[1, 2, 0], [4, 0, 0]]), np.array([[1, 1, 1], [1, 0, 0]]) == 1
    acc = rm.accumulator("mrr")
    calls = {
        "evaluate_scores": lambda: rm.evaluate_scores(logits, ids, "mrr"),
        "Scores": lambda: rm.evaluate(rm.Scores(logits), {0: {1}}, "mrr"),
        "accumulator": lambda: acc.update(logits, ids),
    }
    with pytest.raises(DataError, match=r"logits\[mask\] and ids\[mask\]"):
        calls[door]()
    acc.update(logits[mask], ids[mask])
    flat = [(row, position) for row, position in np.argwhere(mask)]
    ranks = [1 + (logits[at] > logits[(*at, ids[at])]).sum() for at in flat]
    assert acc.compute()["mrr"].mean == pytest.approx(np.mean(1 / np.array(ranks)))
