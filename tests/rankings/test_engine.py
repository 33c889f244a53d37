"""Engines: a block decides nothing about the whole, counts add up, scores convert to Arrow."""

from __future__ import annotations

import dataclasses
import pickle
import threading
import warnings

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import cases
import rankmeter as rm
from rankmeter._choices import CHOICES, SETTINGS
from rankmeter._engine.block import Block
from rankmeter._engine.memory import Memory, _n_blocks
from rankmeter._engine.scores import UserValues
from rankmeter._evidence.hits import FloatArray, Hits
from rankmeter._rankings.align import align
from rankmeter._rankings.codes import Codes, is_grouped_by_user, partition_users
from rankmeter._rankings.counts import Candidates, count_at_marks
from rankmeter._rankings.pairs import Groups
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._rankings.ties import assign_ranks
from rankmeter._reading.by_user import IdSeries, InFrame
from rankmeter._reading.read import read_rankings, read_truth
from rankmeter._reading.table import Table, unify_all_id_types
from rankmeter.conventions._plan import resolve_plan
from rankmeter.errors import RankmeterError, UsageError
from rankmeter.metrics import METRICS, register, unregister

CUTS = [2, 7, 10_000]  # the last gives one block per user
METRICS_OF_ALL = [
    name if not spec.example else f"{name}({','.join(f'{k}={v}' for k, v in spec.example.items())})"
    for name, spec in METRICS.items()
    if spec.open_ties and not (spec.needs_hit_items or spec.of_lists)
]


@pytest.fixture
def engine(monkeypatch):
    """Make all functions use an engine with the given number of blocks."""

    def use(blocks):
        monkeypatch.setattr("rankmeter._engine.ENGINE", Memory(blocks))

    return use


def outcome(call):
    """Everything that distinguishes two calls for a reader: result, warnings, error."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            result = call()
        except RankmeterError as error:
            return type(error).__name__, str(error)
    told = sorted(str(one.message) for one in said)
    return result.to_json(), result.per_user.rows(), repr(result), told


SYSTEMS = {
    "a": {"u1": {"x": 3.0, "y": 2.0, "z": 2.0}, "u2": {"y": 1.0}, "u4": {"z": 1.0}},
    "b": {"u1": {"z": 3.0, "x": 3.0}, "u3": {"y": 2.0, "x": 1.0}, "u5": {"x": 1.0}},
}
TRUTH = {"u1": {"x": 1, "z": 2}, "u2": {"z": 1}, "u3": {"x": 3, "y": 0}, "u6": {"y": 1}}
TWICE = pl.DataFrame(
    {"user": ["u3", "u3", "u1", "u1", "u2"], "item": list("xxyyz"), "score": [5.0, 4, 3, 2, 1]}
)
CLASH = pl.DataFrame(
    {"user": ["u3", "u3", "u1", "u1", "u2"], "item": list("xxyyz"), "gain": [1.0, 2, 1, 3, 1]}
)
STRANGERS = {"v1": {"q": 1.0}, "v2": {"r": 1.0}}
SAME_USERS = {"u1": {"q": 1.0}, "u2": {"r": 1.0}}
SITUATIONS = {
    "plain": (SYSTEMS["a"], TRUTH, {}),
    "tied": (SYSTEMS["b"], TRUTH, {"ties": "expected"}),
    "all counted": (SYSTEMS["a"], TRUTH, {"extra": "zero", "undefined": "zero"}),
    "geometric": (SYSTEMS["a"], TRUTH, {"aggregate": "geometric"}),
    "bootstrap": (SYSTEMS["a"], TRUTH, {"interval": "bca", "resamples": 60}),
    "no missing user": (SYSTEMS["a"], TRUTH, {"missing": "raise"}),
    "no extra user": (SYSTEMS["a"], TRUTH, {"extra": "raise"}),
    "no undefined user": (SYSTEMS["a"], TRUTH, {"undefined": "raise", "relevant": 3}),
    "repeated items": (TWICE, TRUTH, {}),
    "repeated items, merged": (TWICE, TRUTH, {"duplicates": "best"}),
    "contradictions": (SYSTEMS["a"], CLASH, {}),
    "contradictions, merged": (SYSTEMS["a"], CLASH, {"judgements": "max"}),
    "both wrong": (TWICE, CLASH, {}),
    "no common user": (STRANGERS, TRUTH, {}),
    "no common item": (SAME_USERS, TRUTH, {}),
    "no common item, allowed": (SAME_USERS, TRUTH, {"no_overlap": "allow"}),
    "appended": (SYSTEMS["a"], TRUTH, {"scope": "appended"}),
    "judged only": (SYSTEMS["b"], TRUTH, {"pool": "judged"}),
}


@pytest.mark.parametrize("blocks", CUTS)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_any_number_of_blocks_gives_the_same_result(situation, blocks, engine):
    rankings, truth, choices = SITUATIONS[situation]
    metrics = ["ndcg@2", "rr", "recall@2", "ndcg(relevant=2)@2"]

    def call():
        return rm.evaluate(rankings, truth, metrics, **choices)

    whole = outcome(call)
    engine(blocks)
    assert outcome(call) == whole


@pytest.mark.once
@pytest.mark.parametrize("blocks", CUTS)
@pytest.mark.parametrize("situation", SITUATIONS)
def test_any_number_of_blocks_gives_the_same_comparison(situation, blocks, engine):
    rankings, truth, choices = SITUATIONS[situation]
    systems = {"other": SYSTEMS["b"], "one": rankings}
    choices = {name: value for name, value in choices.items() if name != "aggregate"}

    def call():
        return rm.compare(systems, truth, ["ndcg@2", "rr"], segments={"u1": "s"}, **choices)

    whole = outcome(call)
    engine(blocks)
    assert outcome(call) == whole


@pytest.mark.once
@pytest.mark.parametrize("blocks", CUTS)
def test_any_number_of_blocks_gives_the_same_curve_and_explanation(blocks, engine):
    def calls():
        curve = rm.curve(SYSTEMS["a"], TRUTH, "ndcg", 3)
        walk = rm.explain(SYSTEMS["a"], TRUTH, "ndcg@2", between=("rectools", "sklearn"))
        search = rm.explain(SYSTEMS["a"], TRUTH, "ndcg@2", target="0.21")
        return curve.frame.rows(), repr(walk), repr(search), search.tried

    whole = calls()
    engine(blocks)
    assert calls() == whole


@pytest.mark.parametrize(
    ("metric", "data"),
    [("err(max_gain=2)", 9), ("nerr(max_gain=2)", 4), ("accuracy(n_items=2)", 3),
     ("rbp(max_gain=3, p=2)", 5), ("ndcg(gain=exp2)", 800)],
)  # fmt: skip
def test_what_a_metric_refuses_is_told_alike_for_every_cut(metric, data, engine):
    big = data > 100  # gains that overflow as powers of 2
    truth = {
        f"u{n}": {f"i{j}": (n + j + 1) * (400 if big else 1) for j in range(n + 1)}
        for n in range(4 if big else data)
    }
    rankings = {user: list(items) for user, items in truth.items()}

    def call():
        return rm.evaluate(rankings, truth, metric)

    whole = outcome(call)
    assert whole[0] in ("UsageError", "InvalidValueError")
    for blocks in CUTS:
        engine(blocks)
        assert outcome(call) == whole


@pytest.mark.once
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("ties", CHOICES["ties"].words)
def test_merged_blocks_have_the_same_bits_for_every_metric(seed, ties):
    rankings, truth = cases.batch(seed, n_users=60, ties=True)
    plan = resolve_plan([*METRICS_OF_ALL, "precision(aggregate=micro)@3"], choices={"ties": ties})
    judged, tables = unify_all_id_types(read_truth(truth), {"r": read_rankings(rankings)})
    whole = Memory().open(judged, tables).run(plan)["r"]
    for blocks in CUTS:
        merged = Memory(blocks).open(judged, tables).run(plan)["r"]
        assert merged.users.to_list() == whole.users.to_list()
        assert merged.counts == whole.counts
        assert merged.errors.keys() == whole.errors.keys()
        for entry in plan.metrics:
            if (label := entry.label) in whole.errors:
                continue
            values = whole.values[label]
            np.testing.assert_array_equal(merged.values[label], values, err_msg=label)
            a, b = whole.averaged(entry), merged.averaged(entry)
            np.testing.assert_array_equal(a.values, b.values)
            assert (a.undefined, a.missing) == (b.undefined, b.missing)


# -- counts ------------------------------------------------------------------------------------

rows = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from("abcdef"), st.integers(0, 2)),
    unique_by=lambda row: row[:2],
    min_size=1,
    max_size=14,
)


def counting(found, order):
    """All rows as candidates, and every other one as a target."""
    frame = pl.DataFrame(found, schema=["user", "item", "score"], orient="row")
    frame = frame.with_columns(pl.col("score").cast(pl.Float64))
    if order == "rank":
        frame = frame.with_columns(rank=pl.col("score").rank("min", descending=True).over("user"))
        frame = frame.with_columns(pl.col("rank").cast(pl.Float64))
    user = frame["user"].to_numpy()
    candidates = Candidates.of(frame, user, Groups.of(user, 3), order, "float64")
    row = np.arange(0, frame.height, 2)
    return candidates, candidates.marks_at(row)


@given(rows, st.sampled_from(["score", "rank", "list"]), st.sampled_from(CHOICES["ties"].words),
       st.randoms(use_true_random=False))  # fmt: skip
def test_counts_add_up_over_disjoint_candidates(found, order, ties, random):
    candidates, targets = counting(found, order)
    whole = count_at_marks(candidates, targets, ties)
    part_of = np.array([random.randrange(3) for _ in found])
    parts = [
        count_at_marks(candidates.only(np.flatnonzero(part_of == part)), targets, ties)
        for part in range(3)
    ]
    total = parts[0] + parts[1] + parts[2]
    for field in dataclasses.fields(RankCounts):
        a, b = getattr(whole, field.name), getattr(total, field.name)
        assert (a is None) == (b is None), field.name
        if a is not None:
            np.testing.assert_array_equal(a, b, err_msg=field.name)


@given(rows)
def test_counts_are_what_a_slow_count_says(found):
    candidates, targets = counting(found, "score")
    counts = count_at_marks(candidates, targets, "item")
    for i, at in enumerate(targets.row.tolist()):
        user, item, score = found[at]
        mine = [(i, s) for u, i, s in found if u == user]
        assert counts.above[i] == sum(s > score for _, s in mine)
        assert counts.equal[i] == sum(s == score for _, s in mine) - 1
        assert counts.before[i] == sum(s == score and i < item for i, s in mine)


def test_counts_of_other_items_do_not_add_up():
    a = RankCounts(*(np.zeros(1, int), np.ones(1)), *[np.zeros(1, int)] * 3, np.ones(1, int))
    b = dataclasses.replace(a, gain=np.array([2.0]))
    with pytest.raises(ValueError, match="same judged items"):
        a + b
    assert (a + dataclasses.replace(a, before=None)).before is None


def test_a_rule_that_needs_the_order_of_ties_says_so_where_none_is_known():
    counts = RankCounts(
        np.array([0]), np.array([1.0]), np.array([2]), np.array([3]), None, np.array([9])
    )
    with pytest.raises(UsageError, match="choose 'realistic' or 'expected'"):
        assign_ranks(counts, "item")
    assert assign_ranks(counts, "realistic").rank.tolist() == [4.5]
    assert assign_ranks(counts, "optimistic").rank.tolist() == [3.0]


# -- scores ------------------------------------------------------------------------------------


def scores_of(metrics=("ndcg@2", "precision(aggregate=micro)@2", "err(max_gain=1)"), ids=True):
    plan = resolve_plan(metrics)
    judged, tables = unify_all_id_types(read_truth(CLASH), {"r": read_rankings(TWICE)})
    found = Block(judged, tables).score(plan)["r"]
    return found if ids else dataclasses.replace(found, ids=None)


def test_rows_without_names_merge_in_their_order():
    a, b = scores_of(["rr"], ids=False), scores_of(["rr"], ids=False)
    merged = UserValues.merge([a, b])
    assert merged.ids is None
    assert merged.users.to_list() == list(range(2 * a.n_users))
    np.testing.assert_array_equal(merged.values["rr"], np.tile(a.values["rr"], 2))


def test_what_does_not_belong_together_is_not_merged():
    a, b = scores_of(["rr"]), scores_of(["ap"])
    for parts, complaint in (
        ([], "no scores to merge"),
        ([a, b], "one plan"),
        ([a, a], "in two blocks"),
        ([a, scores_of(["rr"], ids=False)], "without names"),
    ):
        with pytest.raises((UsageError, rm.errors.DataError), match=complaint):
            UserValues.merge(parts)


def test_a_block_and_its_scores_can_be_sent_to_another_process():
    judged, tables = unify_all_id_types(read_truth(TRUTH), {"r": read_rankings(SYSTEMS["a"])})
    plan = resolve_plan(["ndcg@2", "rr(relevant=2)"], like="trec_eval")
    block, plan = pickle.loads(pickle.dumps((Block(judged, tables), plan)))
    scores = pickle.loads(pickle.dumps(block.score(plan)["r"]))
    np.testing.assert_array_equal(scores.matrix, Block(judged, tables).score(plan)["r"].matrix)


def test_users_are_coded_in_the_order_of_their_ids():
    judged, tables = unify_all_id_types(read_truth(TRUTH), {"r": read_rankings(SYSTEMS["a"])})
    users = Codes.of_tables(judged, *tables.values()).users
    assert Codes(users).encode(users).tolist() == list(range(len(users)))


def test_every_choice_of_alignment_and_averaging_is_in_a_plan():
    entry = resolve_plan("ndcg@10").metrics[0]
    assert (CHOICES.keys() - SETTINGS.keys()) <= entry.choices_by_name().keys()


def test_appended_items_are_no_users_in_common():
    for rankings in ({"v": ["x"]}, {"v": {"x": 1.0}}, {"v": []}):
        with pytest.raises(rm.errors.NoOverlapError, match="no user in common"):
            rm.evaluate(rankings, {"u": {"y"}}, "rr", scope="appended")


IDS = {
    "integers": pl.Series([3, -5, 3, 900, 2**62, 0, 7]),
    "unsigned": pl.Series([3, 2**64 - 1, 3, 0], dtype=pl.UInt64),
    "text": pl.Series(["a", "b", "a", "", "é"]),
    "nobody": pl.Series([], dtype=pl.String),
}


def table(*users, empty=()):
    """A row of each user, with its number as the item."""
    named = pl.Series("user", users)
    rows = pl.DataFrame([named, pl.Series("item", range(len(users)))])
    return Table(InFrame(rows), empty_users=IdSeries(pl.Series(empty, dtype=named.dtype)))


@pytest.mark.parametrize("n", [1, 2, 3, 300])
@pytest.mark.parametrize("ids", IDS)
def test_each_user_is_in_one_of_the_parts(ids, n):
    users = IDS[ids].alias("user")
    seen = []
    for share in partition_users(n, [table(*users)]):
        codes, (part,) = share()
        assert codes.users.to_list() == sorted({*part.users})
        assert codes.users.take(codes.encode(part.users)).to_list() == part.users.to_list()
        seen += codes.users.to_list()
    assert sorted(seen) == sorted({*users})


def test_parts_of_integers_have_about_as_many_rows():
    users = np.random.default_rng(0).integers(0, 10**6, 20_000) ** 2
    parts = [share()[1][0].height for share in partition_users(4, [table(*users.tolist())])]
    assert len(parts) == 4
    assert min(parts) > 4_000


@pytest.mark.parametrize("n", [1, 2, 3, 300])
def test_parts_of_text_in_order_are_neighbours(n):
    """Views of the longest table; a user who comes again, and users of others, are kept whole."""
    ordered = [user for user in "gfedcba" for _ in range(30)]
    ranked = table(*ordered, *"gg", empty=["n"])
    judged = table(*"azgqbgcrnn", empty=["a", "m"])
    assert is_grouped_by_user(ranked)
    assert not is_grouped_by_user(judged)
    rows, everyone = {0: [], 1: []}, []
    made = [share() for share in partition_users(n, [judged, ranked])]
    for codes, parts in made:
        here = set()
        for side, part in enumerate(parts):
            rows[side] += part.frame.rows()
            for named in (part.users, part.empty_users):
                assert codes.users.take(codes.encode(named)).to_list() == named.to_list()
                here |= {*named}
        assert codes.users.to_list() == sorted(here)
        everyone += here
    assert sorted(everyone) == [*"abcdefgmnqrz"]
    assert sorted(rows[0]) == sorted(judged.frame.rows())
    assert sorted(rows[1]) == sorted(ranked.frame.rows())
    if n == 2:
        assert [{*parts[1].users} for _, parts in made] == [{*"gfed"}, {*"cba"}]


def test_blocks_of_text_in_order_give_the_same_result(engine):
    """Ties, users on one side only, and a user whose rows are in two places."""
    rng = np.random.default_rng(5)
    users = [f"u{n}" for n in rng.permutation(40)]
    rows = [(user, f"i{n}", float(rng.integers(5))) for user in users for n in range(12)]
    rows += [(users[0], f"i{n}", 2.0) for n in range(12, 20)]
    ranked = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    assert is_grouped_by_user(read_rankings(ranked))
    judged = [(f"u{rng.integers(50)}", f"i{n % 20}", float(n % 3)) for n in range(300)]
    truth = pl.DataFrame(judged, schema=["user", "item", "gain"], orient="row")
    truth = truth.unique(["user", "item"], maintain_order=True)

    def call():
        chosen = ["ndcg@10", "rr", "precision(relevant=2)@5", "coverage@3"]
        return rm.evaluate(ranked, truth, chosen, ties="expected", undefined="zero")

    engine(1)
    whole = outcome(call)
    for blocks in CUTS:
        engine(blocks)
        assert outcome(call) == whole


def test_metrics_run_in_the_thread_that_asks(monkeypatch, engine):
    """Functions from elsewhere need not be safe in threads; hits may be found in others."""
    engine(3)
    threads: dict[str, set[int]] = {"hits": set(), "metric": set()}

    def where(hits: Hits) -> FloatArray:
        """The thread is noted."""
        threads["metric"].add(threading.get_ident())
        return np.zeros(hits.n_users)

    def aligned(*words, **more):
        threads["hits"].add(threading.get_ident())
        return align(*words, **more)

    monkeypatch.setattr("rankmeter._engine.block.align", aligned)
    register("Where")(where)
    try:
        rm.evaluate(SYSTEMS["a"], TRUTH, "where")
    finally:
        unregister("where")
    assert threads["metric"] == {threading.get_ident()}
    assert threading.get_ident() not in threads["hits"]


def test_many_judgments_are_measured_in_blocks():
    """Rows of rankings and truth, judgments, whether rows are only viewed → blocks."""
    n = 2**20
    cases = {
        (0, 0, False): 1,
        (4 * n - 1, n, False): 1,
        (4 * n, n // 2, False): 4,
        (4 * n, n // 2 - 1, False): 1,
        (n - 1, n, True): 1,
        (3 * n, n // 8, True): 6,
        (4 * n, n // 8 - 1, True): 1,
        (2**30, 2**28, True): 12,
        (2**30, 2**27, False): 12,
    }
    for (rows, judged, viewed), blocks in cases.items():
        assert _n_blocks(rows, judged, viewed=viewed) == blocks


def test_containers_are_one_block(monkeypatch):
    monkeypatch.setattr("rankmeter._engine.memory._n_blocks", lambda *_, **__: 3)
    listed = {user: {"a": 1.0, "b": 0.5} for user in range(40)}
    truth, rankings = read_truth({user: ["a"] for user in listed}), read_rankings(listed)
    for table, n in ((rankings, 1), (rankings.with_rows(rankings.frame), 3)):
        judged, tables = unify_all_id_types(truth, {"a": table})
        assert len(Memory().open(judged, tables).blocks) == n
