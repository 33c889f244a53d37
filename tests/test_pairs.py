"""Pairs, users and counts on frames: the fast paths against a slow look at every row."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankmeter as rm
import reference
from rankmeter._align import Codes, packing
from rankmeter._align import codes as codes_module
from rankmeter._align import pairs as pairs_module
from rankmeter._align.counts import Candidates, count
from rankmeter._align.packing import order_of
from rankmeter._align.pairs import Pairs
from rankmeter._ingest import Table

pytestmark = pytest.mark.once

WIDE = [-(2**63), -(2**62), -1, 0, 1, 2**31, 2**62, 2**63 - 1]
IDS = {
    "dense": (pl.Int64, st.integers(0, 5)),
    "negative": (pl.Int64, st.integers(-3, 3)),
    "wide": (pl.Int64, st.sampled_from(WIDE)),
    "unsigned": (pl.UInt64, st.sampled_from([0, 1, 2**63, 2**63 + 1, 2**64 - 1])),
    "string": (pl.String, st.sampled_from(["", "a", "b", "é", "7", "07", "a long name", "b" * 40])),
}
HASHES = {"none": None, "real": 2**62, "two": 2, "one": 1}


@pytest.fixture(params=HASHES)
def few_hashes(request, monkeypatch):
    """A few ids as they are looked up, and by hashes, of which few may have different values."""
    n = HASHES[request.param]
    if n is None:
        return
    monkeypatch.setattr(codes_module, "FEW", 0)
    monkeypatch.setattr(pairs_module, "FEW", 0)
    slots, hashes = codes_module._slots, pairs_module._hashes
    monkeypatch.setattr(codes_module, "_slots", lambda ids, width: slots(ids, width) % n)
    monkeypatch.setattr(
        pairs_module, "_hashes", lambda ids, width: hashes(ids, width) % np.uint64(n)
    )


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
        assert sorted(found.grouped.tolist()) == list(range(len(rows)))
        assert np.all(np.diff(user[found.grouped]) >= 0)
        assert Pairs.of(user, item, 4).repeated == found.repeated

    check()


@pytest.mark.usefixtures("few_hashes")
@pytest.mark.parametrize("kind", IDS)
def test_users_are_those_that_a_slow_look_finds(kind):
    dtype, ids = IDS[kind]

    @given(st.lists(ids, max_size=14), st.lists(ids, max_size=5), st.lists(ids, max_size=5))
    def check(ranked, judged, empty):
        series = [pl.Series("user", part, dtype=dtype) for part in (ranked, judged, empty)]
        rankings = Table(series[0].to_frame(), empty_users=series[2])
        truth = Table(series[1].to_frame(), empty_users=series[2].clear())
        codes = Codes.of_tables(truth, rankings)
        users = codes.users
        assert users.to_list() == sorted({*ranked, *judged, *empty})
        for part in (*series, rankings.users, truth.users):  # the last two are known
            assert [users[at] for at in codes.of(part).tolist()] == part.to_list()
            assert codes.mark(part).tolist() == [user in part.to_list() for user in users]

    check()


@pytest.mark.parametrize("room", [64, 6, 1])
@given(user=st.lists(st.integers(0, 6), max_size=20))
def test_rows_are_grouped_with_and_without_room_for_their_numbers(room, user):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(packing, "BITS", room)
        order = order_of(np.array(user, dtype=np.int64), 7)
    wanted = sorted(range(len(user)), key=user.__getitem__)
    assert (wanted == [*range(len(user))]) == (order is None)
    assert order is None or order.tolist() == wanted


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
    candidates = Candidates.of(frame, user, 3, "score", score_type)
    found = count(candidates, candidates.targets(row, np.ones(row.size)), "item")
    kept = score.astype(score_type)
    for at, above, equal, before in zip(row, found.above, found.equal, found.before, strict=True):
        mine = user == user[at]
        tied = mine & (kept == kept[at])
        assert above == np.count_nonzero(mine & (kept > kept[at]))
        assert equal == np.count_nonzero(tied) - 1
        assert before == np.count_nonzero(tied[:at])


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
