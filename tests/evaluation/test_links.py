"""Link prediction: queries, metrics adjusted for chance, published numbers."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import rankmeter as rm
from rankmeter.errors import DataError, FileFormatError, UsageError

RANKS = [1, 2, 3, 5, 50]
NAMES = ["amr", "amri", "amrr", "adjusted_hits@3", "zmr", "zmrr", "zhits@3"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("median_rank", 3),
        ("gmr", 4.317359883766553),
        ("hmr", 2.4350649350649354),
        ("amr", 0.24158415841584158),
        ("amri", 0.7737373737373737),
        ("zmr", 2.9668535895831125),
        ("amrr", 0.378423127740215),
        ("zmrr", 6.864677948988942),
        ("adjusted_hits@3", 0.5876288659793814),
        ("zhits@3", 7.471595697576337),
    ],
)
def test_values_of_the_literature(name, value):
    result = rm.evaluate_ranks(RANKS, name, candidates=100)
    assert result[name].mean == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize(
    ("c", "rank", "reciprocal"),
    [
        (2, (1.5, 0.25), (0.75, 0.0625)),
        (10, (5.5, 8.25), (0.2928968253968254, 0.06918822278911567)),
        (100, (50.5, 833.25), (0.05187377517639621, 0.013658950450797633)),
        (14541, (7271, 17620056.6667), (0.000698849981057112, 0.00011263074068607982)),
    ],
)
def test_mean_and_variance_of_a_random_order(c, rank, reciprocal):
    """A mean rank that is a half above that of a random order shows mean and variance."""
    found = rm.adjust({"mr": rank[0] + 0.5}, candidates=c, n=1)
    assert found["amr"] == pytest.approx(1 + 0.5 / rank[0], rel=1e-9)
    assert found["zmr"] == pytest.approx(-0.5 * rank[1] ** -0.5, rel=1e-9)
    found = rm.adjust({"mrr": 0.5}, candidates=c, n=4)
    mean, variance = reciprocal
    assert found["amrr"] == pytest.approx((0.5 - mean) / (1 - mean), rel=1e-9)
    assert found["zmrr"] == pytest.approx((0.5 - mean) / (variance / 4) ** 0.5, rel=1e-9)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=4), st.floats(0, 1))
def test_geometric_means_are_adjusted_for_all_orders_of_all_queries(sizes, share):
    """All combinations of ranks have the same chance."""
    mean = math.prod(sizes) ** (share / len(sizes))
    ranks = itertools.product(*(range(1, size + 1) for size in sizes))
    means = [math.prod(one) ** (1 / len(sizes)) for one in ranks]
    expected, spread = np.mean(means), np.std(means)
    found = rm.adjust({"gmr": mean}, candidates=sizes, n=len(sizes))
    assert found == rm.adjust({"gmr": mean}, candidates=sizes) | {"zgmr": found["zgmr"]}
    if spread > 0:
        assert found["agmri"] == pytest.approx((expected - mean) / (expected - 1), rel=1e-9)
        assert found["zgmr"] == pytest.approx((expected - mean) / spread, rel=1e-6, abs=1e-12)
    else:
        assert all(map(math.isnan, found.values()))


def test_a_geometric_mean_of_very_many_candidates_is_adjusted():
    near = rm.adjust({"gmr": 5}, candidates=1 << 20, n=50)
    far = rm.adjust({"gmr": 5}, candidates=(1 << 20) + 1, n=50)
    assert near["zgmr"] == pytest.approx(far["zgmr"], rel=1e-5)
    huge = rm.adjust({"gmr": 10**9}, candidates=10**12, n=50)["agmri"]
    assert huge == pytest.approx(1 - 1e-3 * (51 / 50) ** 50, rel=1e-6)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=20))
def test_means_can_be_adjusted_without_the_ranks(ranks):
    given = ["mr", "mrr", "hits@3"]
    result = rm.evaluate_ranks(ranks, [*given, *NAMES], candidates=30)
    found = rm.adjust({name: result[name].mean for name in given}, candidates=30, n=len(ranks))
    for name, other in zip(NAMES, [*NAMES[:4], "zmr", "zmrr", "zhits@3"], strict=True):
        assert found[other] == pytest.approx(result[name].mean, rel=1e-9, abs=1e-12)


def test_a_constant_scorer_is_as_good_as_chance():
    result = rm.evaluate_scores(np.zeros((7, 9)), np.arange(7), ["amri", "amr", "zmr"])
    assert [e.mean for e in result.values()] == [0.0, 1.0, 0.0]
    pool = rm.evaluate_scores(np.zeros(5), negatives=np.zeros(50), metrics="hits@50", like="ogb")
    assert pool["hits@50"].mean == 0.0


def test_many_candidates_cost_nothing():
    result = rm.evaluate_ranks([10**9, 1], ["amrr", "amri", "adjusted_hits@10"], candidates=10**12)
    assert result["amrr"].mean == pytest.approx(0.5)
    assert result["amri"].mean == pytest.approx(0.999, abs=1e-6)


def test_the_interval_of_a_median_has_order_statistics():
    result = rm.evaluate_ranks(np.arange(1, 101), "median_rank")
    assert (result["median_rank"].mean, result["median_rank"].interval) == (50.5, (40, 61))
    few = rm.evaluate_ranks(RANKS, "median_rank")["median_rank"]
    assert np.isnan(few.low)
    even = rm.evaluate_ranks(np.arange(1, 8), "median_rank")["median_rank"]
    assert even.interval == (1, 7)  # 2 · 2^-7 = 0.0156 is outside


@pytest.mark.parametrize(
    ("results", "options", "message"),
    [
        ({"ndcg@10": 0.5}, {}, "means of mr, gmr, mrr and hits@k"),
        ({"hits@10": 53.6}, {}, "must be a number ≥ 0 and ≤ 1|between 0 and 1"),
        ({"mr": 0.5}, {}, "must be a number ≥ 1"),
        ({"gmr": 5}, {}, "gmr needs the number of queries"),
        ({"mr": 5}, {"candidates": 0}, "`candidates` must be an integer ≥ 1"),
        ({"mr": 50}, {}, "`mr` must be ≤ 10, the most for .*, got 50.0; check `candidates`"),
        ({"gmr": 6.01}, {"candidates": [4, 9]}, "`gmr` must be ≤ 6, the most"),
        ({"mrr": 0.0}, {}, r"`mrr` must be ≥ 0\.1, the least"),
        ({"mrr": 0.33}, {"candidates": [2, 3]}, r"`mrr` must be ≥ 0\.416667, the least"),
        ({"hits@10": 0.3}, {"candidates": 5}, "`hits@10` must be ≥ 1, the least"),
        ({"hits@10": 0.4}, {"candidates": [5, 10, 20]}, r"`hits@10` must be ≥ 0\.666667"),
        ({"mrr": 0.3, "rr": 0.4}, {}, "mrr and rr are the same metric"),
        ({"mrr": 0.3}, {"candidates": []}, "`candidates` must be an integer, or one for each"),
        (["mrr"], {}, "`results` must be a mapping from metric to mean"),
    ],
)
def test_what_cannot_be_adjusted(results, options, message):
    with pytest.raises(UsageError, match=message):
        rm.adjust(results, **{"candidates": 10, **options})


@pytest.mark.parametrize(
    ("results", "candidates"),
    [
        ({"mr": 3, "gmr": 2.45}, [2, 3]),
        ({"mr": np.float32(7) / 3}, [2, 2, 3]),
        ({"mrr": 0.33}, 3),
        ({"mrr": np.float32(1) / 7}, 7),
        ({"mrr": 0.0}, 14541),
        ({"hits@10": 0.667}, [5, 10, 20]),
    ],
)
def test_a_rounded_mean_may_be_just_out_of_its_range(results, candidates):
    assert all(map(math.isfinite, rm.adjust(results, candidates=candidates).values()))


def test_what_every_order_has_is_undefined():
    """As in `evaluate_ranks`, not as good as chance."""
    found = rm.adjust(dict.fromkeys(["mr", "gmr", "mrr", "hits@10"], 1), candidates=1, n=3)
    assert found.pop("amr") == 1.0
    assert len(found) == 8
    assert all(map(math.isnan, found.values()))
    exact = rm.evaluate_ranks([1, 2], "adjusted_hits@10", candidates=5)["adjusted_hits@10"].mean
    assert [exact, rm.adjust({"hits@10": 1}, candidates=5)["adjusted_hits@10"]] == [
        pytest.approx(math.nan, nan_ok=True)
    ] * 2


# -- queries ---------------------------------------------------------------------------------


def slow_known(triples, true, side):
    found = []
    for h, r, t in triples:
        if side == "head":
            found.append({a for a, b, c in true if (b, c) == (r, t) and a != h})
        else:
            found.append({c for a, b, c in true if (a, b) == (h, r) and c != t})
    return found


TRIPLES = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 1), st.integers(0, 3)), max_size=12)


@given(TRIPLES, TRIPLES, st.integers(0, 12), st.integers(0, 12))
def test_known_answers_of_every_query(triples, other, start, stop):
    queries = rm.link_queries(triples, filters=[other])
    assert queries.frame["side"].to_list() == ["head"] * len(triples) + ["tail"] * len(triples)
    true = set(triples) | set(other)
    wanted = slow_known(triples, true, "head") + slow_known(triples, true, "tail")
    for part, begin in ((queries, 0), (queries[start:stop], start)):
        got = [set() for _ in range(len(part))]
        for row, entity in zip(*part.exclude, strict=True):
            got[row].add(entity)
        assert got == wanted[begin : begin + len(part)]
    degree = queries.frame["degree"].to_list()
    targets = [h for h, _, _ in triples] + [t for _, _, t in triples]
    assert degree == [sum(one in (h, t) for h, _, t in true) for one in targets]


def test_other_forms_of_queries():
    queries = rm.link_queries([(0, 0, 1)], filters=None, sides=["head", "head"])
    assert queries.frame["side"].to_list() == ["head"]
    with pytest.raises(UsageError, match=r"pass a slice of rows, such as queries\[0:100\], got 0"):
        queries[0]
    with pytest.raises(DataError, match="`filters` must be integers of shape"):
        rm.link_queries([(0, 0, 1)], filters=np.array([0, 0, 1]))


def test_intervals_of_groups_stay_on_the_scale():
    found = rm.evaluate_ranks([1, 2, 3, 40], "mrr, mr", groups={"side": list("hhtt")})
    macro = found.by_group("side").filter(segment="macro")
    assert macro["low"][0] > 0
    assert macro["low"][1] == 1.0
    assert macro["high"][0] < 1
    assert found["mr"].low == 1.0


def test_the_mean_of_group_means_varies_with_users_alone():
    rng = np.random.default_rng(3)
    ranks = rng.integers(1, 9, 300)
    side = np.where(rng.random(300) < 0.2, "head", "tail")
    found = rm.evaluate_ranks(ranks, "mr", groups={"side": side}).by_group("side")
    head, tail, macro = found.rows(named=True)
    variances = [one["std"] ** 2 / one["n_users"] for one in (head, tail)]
    free = sum(variances) ** 2 / sum(
        v**2 / (one["n_users"] - 1) for v, one in zip(variances, (head, tail), strict=True)
    )
    half = scipy.stats.t.ppf(0.975, free) * np.sqrt(sum(variances)) / 2
    assert macro["mean"] == pytest.approx((head["mean"] + tail["mean"]) / 2)
    assert macro["high"] - macro["mean"] == pytest.approx(half)
    assert macro["n_users"] == 2


def test_a_few_users_of_a_group_that_are_alike_do_not_make_its_mean_certain():
    ranks = [1, 9] * 200 + [9] * 8
    sides = {"side": ["head"] * 400 + ["tail"] * 8}
    macro = rm.evaluate_ranks(ranks, "hr@1", groups=sides).by_group("side").row(-1, named=True)
    assert (macro["mean"], macro["low"] < 0.2, macro["high"] > 0.3) == (0.25, True, True)


def test_clusters_in_several_groups_do_not_count_as_independent():
    rng = np.random.default_rng(4)
    ranks = np.tile(rng.integers(1, 9, 100), 2)
    sides = {"side": ["head"] * 100 + ["tail"] * 100}
    alone = rm.evaluate_ranks(ranks, "mr", groups=sides).by_group("side").row(-1, named=True)
    both = rm.evaluate_ranks(ranks, "mr", groups=sides, clusters=np.tile(np.arange(100), 2))
    found = both.by_group("side").row(-1, named=True)
    ratio = (found["high"] - found["mean"]) / (alone["high"] - alone["mean"])
    assert ratio == pytest.approx(np.sqrt(2), rel=0.03)


def test_groups_of_one_user_each_have_no_interval():
    found = rm.evaluate_ranks([1, 2, 4], "mrr", groups={"side": ["a", "b", "c"]}).by_group()
    assert found["mean"][-1] == pytest.approx(1.75 / 3)
    assert np.isnan(found["low"][-1])


def test_the_mean_of_group_medians_has_the_intervals_of_the_groups():
    ranks = np.arange(1, 41)
    sides = {"side": ["head"] * 20 + ["tail"] * 20}
    found = rm.evaluate_ranks(ranks, "mr", groups=sides, aggregate="median").by_group("side")
    head, tail, macro = found.rows(named=True)
    reach = np.hypot(head["high"] - head["mean"], tail["high"] - tail["mean"]) / 2
    assert macro["high"] == pytest.approx(macro["mean"] + reach)


def test_batches_of_queries_give_the_same_ranks():
    rng = np.random.default_rng(1)
    triples = rng.integers(0, 5, (20, 3))
    queries = rm.link_queries(triples, filters=[rng.integers(0, 5, (30, 3))])
    scores = rng.integers(0, 4, (40, 5)).astype(float)
    whole = rm.evaluate_scores(
        scores, queries.target, "mrr", exclude=queries.exclude, groups=queries.groups,
        clusters=queries.clusters,
    )  # fmt: skip
    parts = [queries[start : start + 7] for start in range(0, 40, 7)]
    values = np.concatenate(
        [
            rm.evaluate_scores(
                scores[7 * i : 7 * i + 7], part.target, "mrr", exclude=part.exclude
            ).scores.values["mrr"]
            for i, part in enumerate(parts)
        ]
    )
    np.testing.assert_array_equal(values, whole.scores.values["mrr"])
    assert whole.counts["clusters"] == queries.frame["key"].n_unique()
    for group in ("side", "relation", "degree"):
        frame = whole.by_group(group)
        assert frame.filter(pl.col("segment") != "macro")["n_users"].sum() == 40


def test_large_numbers_of_entities_need_no_memory():
    queries = rm.link_queries([(2**62, 0, 1), (2**62, 0, 2**40)], sides="tail")
    assert queries.frame.select("target", "degree").rows() == [(1, 1), (2**40, 1)]


def test_frames_of_triples():
    frame = pl.DataFrame({"tail": [2, 3], "head": [0, 1], "relation": [5, 6]})
    for data in (frame, frame.to_pandas()):
        assert rm.link_queries(data, sides=["tail"]).frame["key"].to_list() == [
            "tail:0/5",
            "tail:1/6",
        ]


@pytest.mark.parametrize("form", [list, set, np.array, pl.DataFrame, pd.DataFrame])
def test_several_sets_of_three_triples(form):
    known = [(0, 0, 2), (0, 0, 3), (1, 1, 1)]
    if form in (pl.DataFrame, pd.DataFrame):
        sets = form({"head": [0, 0, 1], "relation": [0, 0, 1], "tail": [2, 3, 1]})
    else:
        sets = form(known)
    queries = rm.link_queries([(0, 0, 1)], filters=[sets, known[:1]], sides="tail")
    assert queries.exclude[1].tolist() == [2, 3]


@pytest.mark.parametrize(
    ("triples", "options", "error", "message"),
    [
        ([(0, 1)], {}, DataError, r"integers of shape \(n, 3\)"),
        ([(0, 1, 2.5)], {}, DataError, r"integers of shape \(n, 3\)"),
        ([(0, 1, -2)], {}, DataError, "a negative number in row 0"),
        (
            np.array([[0, 0, 1], [2**63, 0, 1]], dtype=np.uint64),
            {},
            DataError,
            "a number of 2.63 or more in row 1: .9223372036854775808, 0, 1",
        ),
        (pl.DataFrame({"head": [1]}), {}, DataError, "no column relation"),
        ([(0, 1, 2)], {"filters": [1, 2]}, DataError, "`filters` must be integers of shape"),
        ([(0, 1, 2)], {"sides": ["left"]}, UsageError, "one of 'head', 'tail'"),
        ([(0, 1, 2)], {"sides": []}, UsageError, "sides must name head, tail or both"),
    ],
)
def test_what_is_not_a_triple(triples, options, error, message):
    with pytest.raises(error, match=message):
        rm.link_queries(triples, **options)


ENTITIES = ["france", "italy", "paris", "rome"]
CAPITALS = [("paris", "capital_of", "france"), ("rome", "capital_of", "italy")]
IN = [("paris", "in", "france"), ("paris", "in", "italy"), ("rome", "in", "italy")]
NUMBER = {name: place for place, name in enumerate(ENTITIES)}
RELATION = {"capital_of": 0, "in": 1}


def in_numbers(triples):
    return [(NUMBER[head], RELATION[relation], NUMBER[tail]) for head, relation, tail in triples]


def as_file(triples, path, header=""):
    path.write_text(header + "".join("\t".join(triple) + "\n" for triple in triples))
    return path


NAMED = {
    "tuples": lambda triples, _: triples,
    "lists": lambda triples, _: [[*triple] for triple in triples],
    "set": lambda triples, _: {*triples},
    "array of text": lambda triples, _: np.array(triples),
    "array of objects": lambda triples, _: np.array(triples, dtype=object),
    "Polars": lambda triples, _: pl.DataFrame(triples, ["head", "relation", "tail"], orient="row")[
        "tail", "head", "relation"
    ],
    "pandas": lambda triples, _: pd.DataFrame(triples, columns=["head", "relation", "tail"]),
    "file": as_file,
    "text of a path": lambda triples, path: str(as_file(triples, path)),
    "file with a header": lambda triples, path: as_file(triples, path, "Head\tRelation\tTail\n"),
}


@pytest.mark.parametrize(
    "entities",
    [ENTITIES, np.array(ENTITIES), pd.Series(ENTITIES), NUMBER],
    ids=["list", "array", "s", "map"],
)
@pytest.mark.parametrize("form", NAMED)
def test_triples_with_names(form, entities, tmp_path):
    test = NAMED[form](CAPITALS, tmp_path / "test.tsv")
    filters = [NAMED[form](IN, tmp_path / "train.tsv"), NAMED[form](CAPITALS, tmp_path / "v.tsv")]
    named = rm.link_queries(test, filters=filters, entities=entities)
    numbered = rm.link_queries(in_numbers(CAPITALS), filters=[in_numbers(IN)])
    columns = ["side", "target", "key", "degree"]
    found, want = (
        sorted(
            (row, *(int(answer) for answer in queries.known[1][queries.known[0] == number]))
            for number, row in enumerate(queries.frame.select(columns).rows())
        )
        for queries in (named, numbered)
    )
    assert found == want
    assert {*named.frame["relation"]} == {"capital_of"}
    assert {*named.frame["head"]} == {"paris", "rome"}
    assert {*named.groups["relation"]} == {"capital_of"}


def test_names_give_the_numbers_of_numbers():
    scores = np.random.default_rng(0).random((6, 4))
    named = rm.link_queries(IN, filters=CAPITALS, entities=ENTITIES)
    numbered = rm.link_queries(in_numbers(IN), filters=in_numbers(CAPITALS))
    results = [
        rm.evaluate_scores(
            scores, queries.target, ["mrr", "hits@1"], exclude=queries.exclude,
            groups=queries.groups, clusters=queries.clusters,
        )
        for queries in (named, numbered)
    ]  # fmt: skip
    np.testing.assert_array_equal(results[0].scores.matrix, results[1].scores.matrix)
    assert results[0]["mrr"].interval == results[1]["mrr"].interval
    assert {*results[0].by_group("relation")["segment"]} == {"in", "macro"}


def test_entities_that_are_numbers_and_relations_with_names(tmp_path):
    triples = [(2, "capital_of", 0), (3, "capital_of", 1)]
    file = tmp_path / "test.tsv"
    file.write_text("2\tcapital_of\t0\n3\tcapital_of\t1\n")
    frame = pl.DataFrame(triples, ["head", "relation", "tail"], orient="row")
    for data in (triples, file, frame, frame.to_pandas()):
        assert rm.link_queries(data).target.tolist() == [2, 3, 0, 1]
    renumbered = rm.link_queries([(20, 0, 10)], entities=[10, 20])
    assert renumbered.target.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: rm.link_queries(CAPITALS), r"pass entities=, their names in the order of"),
        (lambda: rm.link_queries(CAPITALS, entities=ENTITIES[:3]), "1 entity of `triples` not in"),
        (lambda: rm.link_queries(CAPITALS, entities=["x", "x"]), "`entities` must be the distinct"),
        (lambda: rm.link_queries(CAPITALS, entities=3), "`entities` must be the distinct"),
        (lambda: rm.link_queries([("a", "r")], entities=["a"]), "row 0 is"),
        (lambda: rm.link_queries([("a", "r", None)], entities=["a"]), "names as tail"),
        (lambda: rm.link_queries([("a", "r", 1)], entities=["a", 1]), "write all alike"),
        (lambda: rm.link_queries([("a", "r", "a"), (1, "r", "a")], entities=["a"]), "row 1 is"),
        (
            lambda: rm.link_queries(CAPITALS, filters=[(0, 0, 1)], entities=ENTITIES),
            "`filters` has 0 as head, and other triples have names",
        ),
        (lambda: rm.link_queries([(0, "r", -1)]), "negative number in row 0"),
        (lambda: rm.link_queries([(0, "r", 2**64)]), r"2\^63 or more in row 0"),
        (lambda: rm.link_queries("absent.tsv"), "absent.tsv cannot be read"),
    ],
)
def test_names_that_are_not_certain_are_refused(call, said):
    with pytest.raises(ValueError, match=said):
        call()


def test_a_file_that_is_no_text_or_has_no_name_is_refused(tmp_path):
    (tmp_path / "test.tsv").write_bytes(b"\xffa\tr\tb\n")
    for path in (tmp_path / "test.tsv", "a\0b.tsv", "\ud800.tsv"):
        for call in (rm.link_queries, lambda path: rm.link_queries([(0, 0, 1)], path)):
            with pytest.raises(FileFormatError, match="cannot be read") as caught:
                call(path)
            assert str(caught.value).isprintable()


def test_a_file_of_two_columns_is_refused(tmp_path):
    (tmp_path / "test.tsv").write_text("a\tr\tb\na\tr\n")
    with pytest.raises(DataError, match="line 2 has 2"):
        rm.link_queries(tmp_path / "test.tsv")
