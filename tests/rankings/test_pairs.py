"""Pairs, users and counts on frames: the fast paths against a slow look at every row."""

import time

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankmeter as rm
import reference
from rankmeter import _native
from rankmeter._rankings import codes as codes_module
from rankmeter._rankings import pairs as pairs_module
from rankmeter._rankings.codes import Codes
from rankmeter._rankings.counts import Candidates, count_at_marks
from rankmeter._rankings.pairs import Groups, Pairs, best_ranked_rows
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._rankings.ties import assign_ranks
from rankmeter._reading.by_user import IdSeries, InFrame
from rankmeter._reading.table import Table

pytestmark = pytest.mark.once

WIDE = [-(2**63), -(2**62), -1, 0, 1, 2**31, 2**62, 2**63 - 1]
IDS = {
    "dense": (pl.Int64, st.integers(0, 5)),
    "negative": (pl.Int64, st.integers(-3, 3)),
    "wide": (pl.Int64, st.sampled_from(WIDE)),
    "unsigned": (pl.UInt64, st.sampled_from([0, 1, 2**63, 2**63 + 1, 2**64 - 1])),
    "string": (pl.String, st.sampled_from(["", "a", "b", "é", "7", "07", "a long name", "b" * 40])),
}
COMPILED = _native.native


@pytest.fixture(params=["compiled", "in threads", "sorted"], autouse=True)
def way(request, monkeypatch):
    """The compiled code, that of ranges of users in threads, and what is used without it."""
    if request.param == "sorted":
        monkeypatch.setattr(_native, "native", None)
    if request.param == "in threads":
        monkeypatch.setattr(pairs_module, "_MANY", 0)
        monkeypatch.setattr(pairs_module, "THREADS", 3)


HASHES = {"none": None, "real": 2**62, "two": 2, "one": 1}


@pytest.fixture(params=HASHES)
def few_hashes(request, monkeypatch):
    """A few ids as they are looked up, and by hashes, of which few may have different values."""
    n = HASHES[request.param]
    if n is None:
        return
    monkeypatch.setattr(codes_module, "FEW", 0)
    hashes = pairs_module._hash_items
    monkeypatch.setattr(pairs_module, "_hash_items", lambda ids: hashes(ids) % np.uint64(n))


def sides(items):
    row = st.tuples(st.integers(0, 3), items)
    return st.tuples(st.lists(row, max_size=14), st.lists(row, unique=True, max_size=8))


@pytest.mark.usefixtures("few_hashes")
@pytest.mark.parametrize("kind", IDS)
def test_pairs_are_those_that_a_slow_look_finds(kind):
    dtype, items = IDS[kind]

    @given(sides(items))
    def check(both):
        rows, judged = both
        user = np.array([user for user, _ in rows], dtype=np.int64)
        known = pl.DataFrame(
            {
                "code": pl.Series([user for user, _ in judged], dtype=pl.Int64),
                "item": pl.Series([item for _, item in judged], dtype=dtype),
            }
        )
        item = pl.Series("item", [item for _, item in rows], dtype=dtype)
        found = Pairs.of(user, item, 4, known)
        met = {(at, judged.index(pair)) for at, pair in enumerate(rows) if pair in judged}
        assert set(zip(found.row.tolist(), found.judgment.tolist(), strict=True)) == met
        assert found.row.size == len(met)
        assert found.repeated == (len(set(rows)) < len(rows))
        order, offsets = found.groups.order, found.groups.offsets
        order = np.arange(user.size) if order is None else order
        assert sorted(order.tolist()) == list(range(len(rows)))
        assert user[order].tolist() == np.repeat(np.arange(4), np.diff(offsets)).tolist()
        assert all(np.all(np.diff(part) > 0) for part in np.split(order, offsets[1:-1]))
        assert Pairs.of(user, item, 4).repeated == found.repeated

    check()


@pytest.mark.usefixtures("few_hashes")
@pytest.mark.parametrize("kind", IDS)
def test_users_are_those_that_a_slow_look_finds(kind):
    dtype, ids = IDS[kind]

    @given(st.lists(ids, max_size=14), st.lists(ids, max_size=5), st.lists(ids, max_size=5))
    def check(ranked, judged, empty):
        series = [pl.Series("user", part, dtype=dtype) for part in (ranked, judged, empty)]
        rankings = Table(InFrame(series[0].to_frame()), empty_users=IdSeries(series[2]))
        truth = Table(InFrame(series[1].to_frame()), empty_users=IdSeries(series[2].clear()))
        codes = Codes.of_tables(truth, rankings)
        users = codes.users.to_list()
        assert users == sorted({*ranked, *judged, *empty})
        for part in (*series, rankings.users, truth.users):  # the last two are known
            assert [users[at] for at in codes.encode(part).tolist()] == part.to_list()
            assert codes.mask_users_in(part).tolist() == [user in part.to_list() for user in users]

    check()


@given(user=st.lists(st.integers(0, 6), max_size=20))
def test_rows_are_grouped_in_their_order(user):
    groups = Groups.of(np.array(user, dtype=np.int64), 7)
    order = groups.order
    wanted = sorted(range(len(user)), key=user.__getitem__)
    assert (wanted == [*range(len(user))]) == (order is None)
    assert order is None or order.tolist() == wanted
    assert np.diff(groups.offsets).tolist() == [user.count(one) for one in range(7)]


scores = st.sampled_from([0.0, -0.0, 1.0, 1.0 + 2**-40, -5e-324, np.inf, -np.inf, 3.5])


@given(
    st.lists(st.tuples(st.integers(0, 2), scores), min_size=1, max_size=70),
    st.sampled_from(["float64", "float32"]),
    st.randoms(use_true_random=False),
)
def test_counts_are_comparisons_with_every_row(rows, score_type, random):
    user = np.array([user for user, _ in rows])
    score = np.array([score for _, score in rows])
    frame = pl.DataFrame({"item": np.arange(user.size), "score": score})
    row = np.array(random.sample(range(user.size), random.randint(0, user.size)), dtype=np.int64)
    candidates = Candidates.of(frame, user, Groups.of(user, 3), "score", score_type)
    found = count_at_marks(candidates, candidates.marks_at(row), "item")
    kept = score.astype(score_type)
    for at, above, equal, before in zip(row, found.above, found.equal, found.before, strict=True):
        mine = user == user[at]
        tied = mine & (kept == kept[at])
        assert above == np.count_nonzero(mine & (kept > kept[at]))
        assert equal == np.count_nonzero(tied) - 1
        assert before == np.count_nonzero(tied[:at])


@pytest.mark.parametrize("asked", [1, 20, 300, 2000])  # few and many targets of a user
@pytest.mark.parametrize("different", [3, 50, 10**9])  # long ties, short ones, and hardly any
@pytest.mark.parametrize("ascending", [True, False])
def test_counts_of_long_lists_are_comparisons_with_every_row(asked, different, ascending):
    rng = np.random.default_rng(asked)
    user, score = rng.integers(0, 3, 2000), rng.integers(0, different, 2000) - 1.5
    if ascending:
        order = np.lexsort((-score, user))
        user, score = user[order], score[order]
    candidates = Candidates.of(
        pl.DataFrame({"item": np.arange(2000), "score": score}),
        user,
        Groups.of(user, 3),
        "score",
        "float64",
    )
    row = rng.permutation(2000)[:asked]
    row = row[np.argsort(user[row], kind="stable")]
    found = count_at_marks(candidates, candidates.marks_at(row), "expected")
    mine = user == user[row][:, None]
    assert found.above.tolist() == (mine & (score > score[row][:, None])).sum(axis=1).tolist()
    assert (
        found.equal.tolist() == ((mine & (score == score[row][:, None])).sum(axis=1) - 1).tolist()
    )


@pytest.mark.parametrize("longest", [5, 40, 500])
@pytest.mark.parametrize("tied", [True, False])
def test_hits_are_placed_by_user_and_rank(longest, tied):
    rng = np.random.default_rng(longest)
    user = np.repeat(np.arange(4), [longest, 0, 1, longest // 2])
    above = rng.permutation(10 * longest)[: user.size] // (2 if tied else 1)
    zeros, gain = np.zeros(user.size, dtype=np.int64), rng.random(user.size)
    placed = assign_ranks(
        RankCounts(user, gain, above, zeros, zeros, np.full(4, 10 * longest)), "expected"
    )
    order = np.lexsort((-gain, above, user))
    assert placed.rank.tolist() == (above[order] + 1).tolist()
    assert placed.gain.tolist() == gain[order].tolist()
    assert placed.user.tolist() == user.tolist()


def test_hits_that_are_not_side_by_side_in_memory_are_placed():
    both = np.array([[0, 2], [0, 1], [1, 5], [1, 0]])
    user, above = both.T
    zeros, gain = np.zeros(4, dtype=np.int64), np.arange(4.0)
    placed = assign_ranks(RankCounts(user, gain, above, zeros, zeros, np.array([9, 9])), "expected")
    assert placed.gain.tolist() == [1, 0, 3, 2]


@pytest.mark.skipif(COMPILED is None, reason="no compiler with the headers of Python")
def test_compiled_code_refuses_arrays_that_do_not_fit():
    whole, real = (
        (lambda *of: np.array(of, dtype=np.int64)),
        (lambda *of: np.array(of, dtype=float)),
    )
    bits, out, wide = whole(4, 5).view(np.uint64), np.empty(2, dtype=np.int64), whole(0, 1, 2)
    rows, order = (bits, None, wide), np.empty(2, dtype=np.int32)
    calls = {
        "group": [
            (whole(0, 2), order, np.empty(3, dtype=np.int64)),
            (whole(-1, 0), order, np.empty(3, dtype=np.int64)),
            (whole(0, 0, 0), order, np.empty(3, dtype=np.int64)),
            (whole(0, 0), order, whole()),
            (whole(0, 0), out, np.empty(3, dtype=np.int64)),  # of 64 bits
        ],
        "match": [
            (*rows, *rows, out, out, 4, 1),  # an item beyond the width
            (*rows, *rows, out, out, 5, 2),
            (*rows, *rows, out[:1], out, 4, 2),
            (bits, np.int32([0, 2]), wide, *rows, out, out, 4, 2),
            (bits, whole(0, 1), wide, *rows, out, out, 4, 2),
            (*rows, bits, np.int32([-1, 0]), wide, out, out, 4, 2),
            (bits, None, whole(0, 2, 1), *rows, out, out, 4, 2),
            (bits, None, whole(0, 1, 3), *rows, out, out, 4, 2),
            (bits, None, whole(-1, 1, 2), *rows, out, out, 4, 2),
            (bits, None, whole(0, 2), *rows, out, out, 4, 2),
            (*rows, *rows, out, out, 4, 2**40),
        ],
        "count": [
            (real(1, 2), None, wide, whole(0, 2), real(1, 1), out, out),
            (real(1, 2), None, wide, whole(1, 0), real(1, 1), out, out),
            (real(1, 2), np.int32([0, 9]), wide, whole(0, 1), real(1, 1), out, out),
            (real(1, 2), None, wide, whole(0, 1), real(1), out, out),
            (np.float32([1]), None, wide, whole(0, 1), real(1, 1), out, out),
            (np.float32([1, 2]), np.int32([1, 0]), wide, whole(0, 1), real(1, 1), out, out),
        ],
        "sort": [(whole(1, 0), real(1, 1), out), (whole(0, 1), real(1), out)],
    }
    for name, every in calls.items():
        for arguments in every:
            with pytest.raises(ValueError, match="do not fit"):
                getattr(COMPILED, name)(*arguments)
    assert COMPILED.match(*rows, *rows, out, out, 4, 2) == 2
    some = bits, None, whole(1, 2)  # of the rows
    assert COMPILED.match(*some, *some, out[:1], out[1:], 4, 2) == 1
    with pytest.raises((TypeError, ValueError, BufferError)):
        COMPILED.count(real(1, 2)[::-1], None, wide, whole(0, 1), real(1, 1), out, out)


@pytest.mark.skipif(COMPILED is None, reason="no compiler with the headers of Python")
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@given(
    st.lists(st.sampled_from([-1, 0, 1, 2, np.inf, -np.inf]), min_size=1, max_size=20),
    st.integers(0, 300),
    st.booleans(),
)
def test_compiled_counts_say_whether_the_values_are_finite(kind, values, n, ascending):
    value = np.array(sorted(values) if ascending else values, dtype=kind)
    wanted = np.linspace(-1, 2, n + 1)
    above, upto = np.empty((2, wanted.size), dtype=np.int64)
    rows = value, None, np.array([0, value.size]), np.zeros(wanted.size, dtype=np.int64)
    assert COMPILED.count(*rows, wanted, above, upto) == np.isfinite(value).all()
    assert above.tolist() == [np.count_nonzero(value < one) for one in wanted]
    assert upto.tolist() == [np.count_nonzero(value <= one) for one in wanted]
    value[-1] = np.nan
    assert not COMPILED.count(*rows, wanted, above, upto)


@pytest.mark.parametrize("form", ["frame", "lists"])
def test_ids_that_collide_by_a_fixed_hash_cost_what_others_do(form):
    """Multiples of the inverse of a multiplier, and packed ids; time grew with the square."""
    n = 80_000
    inverse = np.arange(n, dtype=np.uint64) * np.uint64(pow(0x9E3779B97F4A7C15, -1, 2**64))
    ids = {
        "plain": np.random.default_rng(0).permutation(np.arange(n) * 10**9),
        "crafted": (inverse ^ inverse >> np.uint64(32)).view(np.int64),
        "packed": np.arange(n) << 46,
    }

    def seconds(item):
        if form == "lists":
            data = {0: item.tolist()}, {0: item[:2].tolist()}
        else:
            rows = pl.DataFrame({"item": item}).with_columns(user=pl.lit(0), score=1.0)
            data = rows, rows.select("user", "item").head(2)
        start = time.process_time()
        rm.evaluate(*data, "recall@1")
        return time.process_time() - start

    took = {name: seconds(item) for name, item in ids.items()}
    assert max(took.values()) < 1 + 10 * took["plain"], took


@st.composite
def evaluations(draw):
    """A ranking for each user, with scores, and a truth with few or many hits."""
    kind = draw(st.sampled_from([int, str]))
    n = draw(st.integers(1, 12))
    rankings, truth = {}, {}
    for user in range(draw(st.integers(1, 5))):
        items = draw(st.permutations(range(n)))[: draw(st.integers(1, n))]
        rankings[kind(user)] = {kind(item): draw(scores) for item in items}
        judged = draw(st.lists(st.integers(0, n + 2), unique=True, min_size=1, max_size=n))
        truth[kind(user)] = {kind(item): draw(st.integers(1, 3)) for item in judged}
    return rankings, truth


@given(evaluations(), st.randoms(use_true_random=False))
def test_frames_in_any_order_have_the_values_of_the_slow_reference(data, random):
    rankings, truth = data
    rows = [(user, *row) for user, scored in rankings.items() for row in scored.items()]
    judged = [(user, *row) for user, gains in truth.items() for row in gains.items()]
    if random.random() < 0.5:
        random.shuffle(rows)
        random.shuffle(judged)
    metrics = {"precision@3": reference.precision, "recall@3": reference.recall}
    result = rm.evaluate(
        pl.DataFrame(rows, schema=["user", "item", "score"], orient="row"),
        pl.DataFrame(judged, schema=["user", "item", "gain"], orient="row"),
        list(metrics),
        no_overlap="allow",
    )
    for user, *values in result.per_user.select("user", *metrics).iter_rows():
        scored = rankings[user]
        ranking = sorted(scored, key=lambda item: (-scored[item], int(item)))
        slow = [metric(ranking, truth[user], 3) for metric in metrics.values()]
        assert values == pytest.approx(slow, rel=1e-12)


@pytest.mark.usefixtures("few_hashes")
@pytest.mark.parametrize("rule", ["best", "first", "each"])
def test_repeated_items_count_alike_whatever_the_ids(rule):
    rng = np.random.default_rng(7)
    dense = pl.DataFrame({"user": rng.integers(0, 20, 400), "item": rng.integers(0, 60, 400)})
    truth = dense.unique(maintain_order=True)[::3]
    extra = 400 - dense.n_unique()
    values = []
    for factor, dtype in ((1, pl.Int64), (2**55 + 1, pl.Int64), (1, pl.String)):
        ids = (pl.col("user", "item") * factor).cast(dtype)
        rankings = dense.with_columns(ids, score=pl.Series(np.arange(400.0)))
        with pytest.raises(rm.errors.DuplicateError, match=f"{extra} repeated items"):
            rm.evaluate(rankings, truth.with_columns(ids), "recall@5")
        found = rm.evaluate(rankings, truth.with_columns(ids), "recall@9", duplicates=rule)
        values.append(dict(zip(found.per_user["user"].cast(pl.Float64) / factor,
                               found.per_user["recall@9"], strict=True)))  # fmt: skip
    assert values[0] == values[1] == values[2]


@pytest.mark.parametrize(
    ("order", "numbers", "kept"),
    [
        ("list", None, [0, 1, 3]),
        ("score", [1.0, 5.0, 2.0, 0.0, 2.0], [1, 2, 3]),
        ("score", [2.0, 5.0, 2.0, 0.0, 2.0], [0, 1, 3]),  # of equal ones the first row
        ("rank", [4.0, 1.0, 2.0, 9.0, 3.0], [1, 2, 3]),
        ("rank", [2.0, 1.0, 2.0, 9.0, 2.0], [0, 1, 3]),
    ],
)
def test_of_repeated_items_the_best_row_is_kept(order, numbers, kept):
    rows = {"row": [0, 1, 2, 3, 4], "user": [1, 1, 1, 2, 1], "item": ["a", "b", "a", "a", "a"]}
    rows |= {} if numbers is None else {order: numbers}
    assert best_ranked_rows(pl.DataFrame(rows), order)["row"].to_list() == kept


@pytest.mark.parametrize("most", [0, 2**31])
def test_more_rows_than_compiled_code_orders_have_the_same_values(most, monkeypatch):
    monkeypatch.setattr("rankmeter._rankings.pairs._MOST", most)
    rankings = pl.DataFrame({"user": [2, 1, 2, 1], "item": [3, 3, 4, 5], "score": [1, 2, 2, 1]})
    result = rm.evaluate(rankings, {1: [5], 2: [4, 3]}, ["mrr", "ap"])
    assert result.per_user["mrr"].to_list() == [0.5, 1.0]
    assert result.per_user["ap"].to_list() == [0.5, 1.0]
