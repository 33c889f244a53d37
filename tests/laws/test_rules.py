"""Rules about candidates are signed counts: what they give is what rankings without them give."""

from __future__ import annotations

import dataclasses

import numpy as np
import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import cases
import rankmeter as rm
from rankmeter._choices import CHOICES
from rankmeter._rankings.counts import Candidates, count_at_marks
from rankmeter._rankings.pairs import Groups
from rankmeter._rankings.rank_counts import RankCounts
from rankmeter._reading.by_user import ByUser
from rankmeter.errors import RankmeterWarning

METRICS = ["rr", "ndcg@3", "ap", "n_ranked", "judged@2"]
ITEMS = [*"abcdefg"]
POSITION = ["item", "item-descending", *cases.BY_ROW]  # each item has a rank of its own
SHARED = ["optimistic", "pessimistic", *cases.SHARED]
rankings = st.dictionaries(
    st.sampled_from([*"abcd"]),
    st.lists(st.tuples(st.sampled_from(ITEMS), st.sampled_from([-1.0, 0.0, 0.5])), min_size=1),
    min_size=1,
)
truths = st.dictionaries(
    st.sampled_from([*"abcd"]),
    st.dictionaries(st.sampled_from(ITEMS), st.sampled_from([-1, 0, 1, 2]), min_size=1),
    min_size=1,
)
rules = st.fixed_dictionaries(
    {
        "exclude": st.sampled_from(["none", "self"]),
        "pool": st.sampled_from(["all", "judged"]),
        "duplicates": st.sampled_from(["best", "first", "each"]),
        "depth": st.sampled_from([None, 1, 2, 3, 5]),
        "scope": st.sampled_from(["all", "ranked", "appended"]),
    }
)


def ranks_by_hand(rows, judged, ties):
    """The rank of each row of (item, score), by the tie rule."""
    ranks = []
    for _, score in rows:
        above = sum(other > score for _, other in rows)
        tied = [i for i, row in enumerate(rows) if row[1] == score]
        keys = {
            "input": lambda i: i,
            "item": lambda i: (rows[i][0], i),
            "item-descending": lambda i: (-ord(rows[i][0]), i),
            "optimistic": lambda i: (-judged.get(rows[i][0], -9), i),
            "pessimistic": lambda i: (judged.get(rows[i][0], -9), i),
        }
        places = {
            "realistic": (1 + len(tied)) / 2,
            "rounded": 1 + len(tied) // 2,
            "together": len(tied),
        }
        if ties in keys:
            places[ties] = 1 + sorted(tied, key=keys[ties]).index(len(ranks))
        ranks.append(above + places[ties])
    return ranks


def values_by_hand(user, rows, judged, chosen, ties):
    """Recall, reciprocal rank, ideal DCG, NDCG, items ranked and relevant."""
    if chosen["pool"] == "judged":
        rows = [row for row in rows if judged.get(row[0], -1) >= 0]
    own = user if chosen["exclude"] == "self" else None
    rows = [row for row in rows if row[0] != own]
    best = {item: max(score for other, score in rows if other == item) for item, _ in rows}
    first = {item: rows.index((item, best[item])) for item in best}
    if chosen["duplicates"] == "best":
        rows = [rows[i] for i in sorted(first.values())]
        first = {item: i for i, (item, _) in enumerate(rows)}
    each = chosen["duplicates"] == "each"
    can_hit = [item in judged and (each or first[item] == i) for i, (item, _) in enumerate(rows)]
    ranks = ranks_by_hand(rows, judged, ties)
    depth = chosen["depth"] or 99
    found = [(rank, item) for rank, (item, _), hit in zip(ranks, rows, can_hit, strict=True) if hit]
    ideal = [item for _, item in found] if chosen["scope"] == "ranked" else [*judged]
    if chosen["scope"] == "appended":
        ideal += [item for item in judged for _ in range([i for _, i in found].count(item) - 1)]
    hits = [(rank, item) for rank, item in found if rank <= depth]
    n_ranked = min(len(rows), depth)
    if chosen["scope"] == "appended":
        kept = {item for _, item in hits}
        absent = [(item, 0.0) for item in judged if item not in kept and item != own]
        absent = [(i, s) for i, s in absent if chosen["pool"] == "all" or judged[i] >= 0]
        below = ranks_by_hand(absent, judged, ties)
        hits += [(n_ranked + rank, item) for rank, (item, _) in zip(below, absent, strict=True)]
        n_ranked += len(absent)
    hits = sorted((rank, judged[item]) for rank, item in hits if judged[item] > 0)
    gains = sorted((judged[item] for item in ideal if judged[item] > 0), reverse=True)
    if not gains:
        return [np.nan] * 4 + [n_ranked, 0]
    dcg = sum(gain / np.log2(rank + 1) for rank, gain in hits)
    best_dcg = sum(gain / np.log2(rank + 2) for rank, gain in enumerate(gains))
    reciprocal = 1 / hits[0][0] if hits else 0
    return [len(hits) / len(gains), reciprocal, best_dcg, dcg / best_dcg, n_ranked, len(gains)]


def frame_of(run):
    triples = [(user, item, score) for user, some in run.items() for item, score in some]
    return pl.DataFrame(triples, {"user": str, "item": str, "score": float}, orient="row")


def rows(run):
    return frame_of({user: [*some.items()] for user, some in run.items()})


@given(rankings, truths, rules, st.sampled_from([*POSITION, *SHARED]))
def test_each_pair_of_rules_gives_what_a_person_counts(run, truth, chosen, ties):
    asked = ["recall", "rr", "ideal_dcg", "ndcg", "n_ranked", "n_relevant"]
    truth = {user: judged for user, judged in truth.items() if user in run}
    assume(truth)
    if ties in SHARED:  # ranks that several items can share
        assume(chosen["duplicates"] == "best")
        asked.remove("ndcg")
    choices = {"ties": ties, "no_overlap": "allow", **chosen}
    try:
        found = rm.evaluate(frame_of(run), truth, asked, **choices).per_user
    except rm.errors.UsageError:  # a cut through several relevant items of one rank
        assume(chosen["depth"] is None or ties not in cases.SHARED)
        raise
    for user, *values in found.sort("user").iter_rows():
        wanted = values_by_hand(user, run[user], truth[user], chosen, ties)
        if "ndcg" not in asked:
            del wanted[3]
        np.testing.assert_allclose(np.array(values, dtype=float), wanted, err_msg=user)


@given(rankings, truths, st.sampled_from(CHOICES["ties"].words))
def test_items_appended_to_lists_are_tied_as_those_appended_to_scores(run, truth, ties):
    lists = {user: [*dict(some)] for user, some in run.items()}
    scored = {user: {i: -float(n) for n, i in enumerate(some)} for user, some in lists.items()}
    choices = {"ties": ties, "no_overlap": "allow", "scope": "appended"}
    metrics = ["recall", "rr", "n_ranked"]
    wanted = rm.evaluate(scored, truth, metrics, **choices).per_user
    assert rm.evaluate(lists, truth, metrics, **choices).per_user.equals(wanted)


@given(rankings, truths, rules, st.sampled_from(CHOICES["ties"].words))
def test_rules_give_the_same_in_every_form(run, truth, chosen, ties):
    assume(chosen["depth"] is None or ties != "expected")
    distinct = {user: dict(some) for user, some in run.items()}
    asked = {"ties": ties, "no_overlap": "allow", **chosen}
    for metric in METRICS:
        try:
            wanted = rm.evaluate(rows(distinct), truth, metric, **asked).per_user
        except rm.errors.UsageError:
            with pytest.raises(rm.errors.UsageError):
                rm.evaluate(distinct, truth, metric, **asked)
        else:
            assert rm.evaluate(distinct, truth, metric, **asked).per_user.equals(wanted)


def test_a_cut_looks_at_given_ranks_and_lists_are_cut_before_items_are_appended():
    ranked = {"user": ["u"] * 4, "item": ["a", "u", "b", "c"], "rank": [1, 2, 5, 9]}
    truth = {"u": {"b", "c", "d"}}
    for depth, exclude, n in ((5, "none", 3), (4, "none", 2), (4, "self", 2), (3, "self", 1)):
        choices = {"depth": depth, "exclude": exclude}
        with pytest.warns(RankmeterWarning, match="have gaps"):
            found = rm.evaluate(pl.DataFrame(ranked), truth, "n_ranked", **choices)
        assert found["n_ranked"].mean == n, choices
    lists = {"u": ["a", "b", "c"]}
    choices = {"depth": 2, "scope": "appended"}  # a b, then c and d
    found = rm.evaluate(lists, truth, ["list_length@3,9", "recall@2,3,4"], **choices)
    assert [one.mean for one in found.values()] == pytest.approx([3, 4, 1 / 3, 2 / 3, 1])
    shown = rm.evaluate(lists, {"u": {"a", "c", "d"}}, "repetition@3", **choices).show("u")
    assert shown.to_polars()["item"].to_list() == ["a", "b", "c", "d"]


@pytest.mark.parametrize("exclude", ["none", "self"])
@pytest.mark.parametrize("scope", ["all", "appended"])
def test_given_ranks_move_up_where_only_judged_items_hold_ranks(exclude, scope):
    lists = {"u": ["x", "a", "u", "y", "b", "c"], "v": ["v", "x", "c"], "w": ["x"]}
    triples = [(u, i, n) for u, some in lists.items() for n, i in enumerate(some, 1)]
    frame = pl.DataFrame(triples, ["user", "item", "rank"], orient="row")
    truth = {"u": {"a": 0, "b": 2, "c": 1, "u": 1}, "v": {"c": 1, "d": 1}, "w": {"a": 1}}
    choices = {"pool": "judged", "exclude": exclude, "scope": scope}
    for depth in (None, 1, 2, 3):
        asked = (truth, ["rr", "ndcg", "n_ranked", "list_length@9"])
        wanted = rm.evaluate(lists, *asked, depth=depth, **choices).per_user
        assert rm.evaluate(frame, *asked, depth=depth, **choices).per_user.equals(wanted), depth


@pytest.mark.parametrize("exclude", ["none", "self"])
@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_given_ranks_move_up_where_repeated_items_are_left_out(tmp_path, exclude, engine):
    lists = {"u": ["x", "a", "x", "u", "a", "b", "u", "c"], "v": ["v", "x", "x", "c"]}
    triples = [(u, i, n) for u, some in lists.items() for n, i in enumerate(some, 1)]
    frame = pl.DataFrame(triples, ["user", "item", "rank"], orient="row")
    frame.write_csv(tmp_path / "ranks.csv")
    frame.drop("rank").write_csv(tmp_path / "lists.csv")
    truth = {"u": {"a": 0, "b": 2, "c": 1, "u": 1}, "v": {"c": 1, "d": 1}}
    for rule in ("best", "first"):
        for depth in (None, 1, 2, 3, 5):
            choices = {"duplicates": rule, "exclude": exclude, "depth": depth}
            asked = (truth, ["rr", "ndcg", "n_ranked"])
            wanted = rm.evaluate(tmp_path / "lists.csv", *asked, **choices).per_user
            found = rm.evaluate(tmp_path / "ranks.csv", *asked, engine=engine, **choices).per_user
            assert found.equals(wanted), choices


@pytest.mark.parametrize("column", ["rank", "score"])
def test_lists_on_disk_leave_out_a_user_who_is_a_repeated_item(tmp_path, column):
    rows = {"user": ["b"] * 3, "item": ["b", "b", "a"], column: [1, 2, 3]}
    pl.DataFrame(rows).with_columns(pl.col(column) * (1 if column == "rank" else -1)).write_csv(
        tmp_path / "run.csv"
    )
    asked = (tmp_path / "run.csv", {"b": ["a"]}, "list_length@2")
    assert rm.evaluate(*asked, duplicates="best")["list_length@2"].mean == 2
    assert rm.evaluate(*asked, duplicates="best", engine="disk")["list_length@2"].mean == 2


@pytest.mark.parametrize("truth", [{"b": ["y"]}, {"a": [], "b": []}])
def test_a_cut_of_given_ranks_on_disk_needs_no_item_for_each_user(tmp_path, truth):
    rows = {"user": ["a", "a", "b", "c"], "item": ["x", "y", "x", "x"], "rank": [1, 2, 1, 1]}
    pl.DataFrame(rows).write_csv(tmp_path / "ranks.csv")
    choices = {"depth": 1, "no_overlap": "allow", "undefined": "zero"}
    asked = (tmp_path / "ranks.csv", truth, ["recall", "n_ranked"])
    wanted = rm.evaluate(*asked, engine="memory", **choices).per_user
    assert rm.evaluate(*asked, engine="disk", **choices).per_user.equals(wanted)


@pytest.mark.parametrize("ties", ["item", *cases.BY_ROW, "text-descending"])
def test_dictionaries_and_trec_files_with_rules_do_not_become_rows(tmp_path, monkeypatch, ties):
    run = {"a": {"b": 2.0, "a": 2.0, "c": 2.0}, "b": {"a": 1.0, "c": 1.0}}
    qrels = {"a": {"c": 1, "a": 1, "x": 1}, "b": {"c": 1}}
    file, judged = tmp_path / "run.txt", tmp_path / "qrels.txt"
    lines = [(u, i, s) for u, some in run.items() for i, s in some.items()]
    file.write_text("".join(f"{u} Q0 {i} 1 {s} tag\n" for u, i, s in lines))
    lines = [(u, i, g) for u, some in qrels.items() for i, g in some.items()]
    judged.write_text("".join(f"{u} 0 {i} {g}\n" for u, i, g in lines))
    lists = {user: [*some] for user, some in run.items()}
    for chosen in ({"exclude": "self"}, {"pool": "judged"}, {"scope": "appended"}):
        wanted = rm.evaluate(rows(run), qrels, METRICS, ties=ties, **chosen).per_user
        with monkeypatch.context() as patch:
            patch.setattr(ByUser, "frame", lambda made: pytest.fail(f"{type(made)} became rows"))
            for system, truth in ((run, qrels), (file, judged)):
                found = rm.evaluate(system, truth, METRICS, ties=ties, **chosen).per_user
                assert found.equals(wanted)
            rm.evaluate(lists, qrels, METRICS, ties=ties, **chosen)


@given(
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from(ITEMS), st.integers(-1, 1))),
    st.sampled_from(CHOICES["ties"].words),
)
def test_counts_can_be_subtracted(found, ties):
    frame = pl.DataFrame(found, {"user": int, "item": str, "score": float}, orient="row")
    user = frame["user"].to_numpy()
    candidates = Candidates.of(frame, user, Groups.of(user, 3), "score", "float64")
    every = np.arange(frame.height)
    marks = candidates.marks_at(every[::2])
    whole, odd = (
        count_at_marks(c, marks, ties) for c in (candidates, candidates.only(every[1::2]))
    )
    even = count_at_marks(candidates.only(every[::2]), marks, ties)
    for field in dataclasses.fields(RankCounts):
        left, right = getattr(whole - odd, field.name), getattr(even, field.name)
        assert (left is None) == (right is None)
        assert left is None or np.array_equal(left, right), field.name


RANKS_BY_HAND = {
    "optimistic": lambda ranks: ranks[0],
    "pessimistic": lambda ranks: ranks[-1],
    "realistic": lambda ranks: sum(ranks) / len(ranks),
    "rounded": lambda ranks: (ranks[0] + ranks[-1] + 1) // 2,
    "together": lambda ranks: ranks[-1],
}


@pytest.mark.parametrize("first", range(1, 4))
@pytest.mark.parametrize("tied", range(1, 6))
@pytest.mark.parametrize("ties", RANKS_BY_HAND)
def test_the_rank_of_a_tie_of_any_size(ties, tied, first):
    items = {f"x{i}": 2.0 for i in range(first - 1)} | {f"t{i}": 1.0 for i in range(tied)}
    found = rm.evaluate({"u": items}, {"u": {f"t{tied - 1}"}}, "mr", ties=ties)
    assert found["mr"].mean == RANKS_BY_HAND[ties](range(first, first + tied))


@pytest.mark.parametrize("ties", ["optimistic", "pessimistic"])
@pytest.mark.parametrize("above", range(3))
def test_a_tie_ends_where_the_ranking_is_cut(ties, above):
    """Of two tied hits of which one place is left, one has this place, whatever the rule."""
    items = {**{f"x{i}": 2.0 for i in range(above)}, "a": 1.0, "b": 1.0}
    found = rm.evaluate({"u": items}, {"u": {"a", "b"}}, "rr", ties=ties, depth=above + 1)
    assert found["rr"].mean == 1 / (above + 1)


@pytest.mark.parametrize(("judgements", "gain"), [("last", 2.0), ("max", 3.0), ("sum", 6.0)])
def test_which_of_several_judgments_counts(judgements, gain):
    truth = pl.DataFrame({"user": ["u"] * 3, "item": ["a"] * 3, "gain": [1.0, 3.0, 2.0]})
    found = rm.evaluate({"u": ["a"]}, truth, "cg", gains="all", judgements=judgements)
    assert found["cg"].mean == gain
