"""Two rankings next to each other: published values, all orders of ties, and by hand."""

from __future__ import annotations

import itertools
import random

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter._diff.diff import tau_ap
from rankmeter.errors import DataError, UnknownMetricError, UsageError

OLD = {"u1": [*"abcd"], "u2": [*"abcd"], "u3": [*"abcd"], "gone": ["a"]}
NEW = {"u1": [*"abcd"], "u2": [*"badc"], "u3": [*"axyz"], "more": ["a"]}


def test_counts_by_hand():
    found = rm.diff(OLD, NEW)
    assert (found.users, found.equal, found.only_old, found.only_new) == (3, 1, 1, 1)
    assert (found.entered, found.left) == (3, 3)
    rows = {row["user"]: row for row in found.per_user.to_dicts()}
    assert [rows[u]["equal"] for u in ("u1", "u2", "u3")] == [True, False, False]
    assert [rows[u]["moved"] for u in ("u1", "u2", "u3")] == [0.0, 1.0, 0.0]
    assert [rows[u]["overlap"] for u in ("u1", "u2", "u3")] == [1.0, 1.0, 0.25]
    assert rows["u3"]["tau_ap"] is None
    assert found.most_changed()["user"].to_list() == ["u3", "u2"]
    assert found.entered_items.rows() == [("x", 1), ("y", 1), ("z", 1)]
    assert found.left_items.rows() == [("b", 1), ("c", 1), ("d", 1)]
    assert found.estimates["tau_ap"].undefined == 1


def test_a_cutoff_compares_the_first_ranks():
    found = rm.diff(OLD, NEW, k=1)
    assert found.equal == 2
    assert found["overlap"].label == "overlap@1"
    assert found["overlap"].mean == pytest.approx(2 / 3)
    assert "ranks 1 to 1; 1 item entered and 1 left" in repr(found)


def test_the_answer_says_what_is_left_out():
    text = repr(rm.diff(OLD, NEW))
    assert text.startswith("1 of 3 lists are equal; rbo is ")
    assert "1 user in the old rankings alone: left out" in text
    assert "1 user in the new rankings alone: left out" in text
    same = rm.diff(OLD, OLD)
    assert repr(same).startswith("4 of 4 lists are equal; rbo is 1.0000")
    assert same.most_changed().height == 0


@pytest.mark.parametrize("kind", ["frame", "scores"])
def test_the_form_of_the_rankings_does_not_matter(kind):
    rows = [(u, i, -float(n)) for u, items in NEW.items() for n, i in enumerate(items)]
    frame = pl.DataFrame(rows, ["user", "item", "score"], orient="row").sample(
        fraction=1, shuffle=True, seed=1
    )
    scores = {u: {i: -float(n) for n, i in enumerate(items)} for u, items in NEW.items()}
    other = frame if kind == "frame" else scores
    assert rm.diff(OLD, other).to_dict() == rm.diff(OLD, NEW).to_dict()


def test_the_ten_that_changed_most():
    draw = random.Random(2)
    old = {n: draw.sample(range(40), 12) for n in range(30)}
    new = {n: draw.sample(items, 12) if n % 2 else items for n, items in old.items()}
    found = rm.diff(old, new)
    most = found.most_changed()
    assert most.height == 10
    assert most["rbo"].max() <= found.per_user.filter(~pl.col("equal"))["rbo"].sort()[9]


# ---------------------------------------------------------------------------------------------
# Published values and definitions

X = [0.06, 0.2, 0.27, 0.37, 0.57, 0.63, 0.66, 0.9, 0.91, 0.94]
Y = [0.37, 0.06, 0.2, 0.27, 0.57, 0.66, 0.63, 0.91, 0.9, 0.94]


def as_lists(scores):
    return {"q": dict(zip("abcdefghij", scores, strict=True))}


def test_the_published_ap_correlation():
    """Urbano and Marrero, ICTIR 2017: the examples of ircor."""
    assert rm.diff(as_lists(X), as_lists(Y))["tau_ap"].mean == pytest.approx(0.7491182, abs=5e-8)
    tied = np.round(np.array(Y) * 5) / 5
    found = rm.diff(as_lists(X), as_lists(tied))
    assert found["tau_ap"].mean == pytest.approx(0.6074515, abs=5e-8)
    assert "1 list with equal scores" in repr(found)


def test_the_published_rbo_of_lists_with_ties():
    """Corsi and Urbano, SIGIR 2024: RBO^a, extrapolated, p = 0.95."""
    x = {"red": 4, "blue": 3, "green": 3, "yellow": 2, "pink": 1}
    y = {"blue": 4, "red": 4, "white": 3, "yellow": 2, "black": 2, "purple": 2, "green": 1}
    found = rm.diff({"q": y}, {"q": x}, p=0.95)
    assert found["rbo"].mean == pytest.approx(0.6922853319692461, abs=1e-12)


def slow_tau_ap(new, old):
    """The definition of Yilmaz et al. for lists without ties."""
    place = {item: n for n, item in enumerate(old)}
    total = sum(
        sum(place[other] < place[item] for other in new[:n]) / n
        for n, item in enumerate(new) if n
    )  # fmt: skip
    return 2 * total / (len(new) - 1) - 1


def orders(ranks):
    groups = [[i for i, r in enumerate(ranks) if r == level] for level in sorted({*ranks})]
    every = itertools.product(*map(itertools.permutations, groups))
    return [[item for group in order for item in group] for order in every]


@pytest.mark.parametrize("seed", range(20))
def test_ties_are_the_mean_over_all_orders(seed):
    draw = random.Random(seed)
    n = draw.randint(2, 6)
    new, old = ([draw.randint(0, 3) for _ in range(n)] for _ in range(2))
    pairs = [slow_tau_ap(a, b) for a in orders(new) for b in orders(old)]
    assert tau_ap(np.array([new]), np.array([old]))[0] == pytest.approx(np.mean(pairs), abs=1e-12)


# ---------------------------------------------------------------------------------------------
# What is refused


@pytest.mark.parametrize(
    ("old", "new", "error", "message"),
    [
        ({"u": ["a"]}, {"v": ["a"]}, DataError, "no user in common"),
        ({"u": ["a", "a"]}, {"u": ["a"]}, DataError, "an item twice in one list"),
        (rm.Ranks([1, 2]), {"u": ["a"]}, UsageError, "no lists of items"),
        (rm.evaluate({"u": ["a"]}, {"u": ["a"]}, "rr"), OLD, UsageError, "no lists of items"),
    ],
)
def test_what_has_no_lists_in_common_is_refused(old, new, error, message):
    with pytest.raises(error, match=message):
        rm.diff(old, new)


@pytest.mark.parametrize("option", [{"k": 0}, {"p": 2}, {"confidence": 1}, {"columns": 3}])
def test_options_are_checked(option):
    with pytest.raises(UsageError):
        rm.diff(OLD, NEW, **option)


@pytest.mark.parametrize("metric", ["ndcg@10", (), None])
def test_another_metric_is_refused_with_those_there_are(metric):
    with pytest.raises(UnknownMetricError, match="two lists have overlap, rbo, tau_ap, moved"):
        rm.diff(OLD, NEW)[metric]


def test_a_list_that_became_empty_is_undefined_and_first():
    found = rm.diff({"u": ["a"], "v": [*"ab"]}, {"u": [], "v": [*"ba"]})
    assert found["rbo"].undefined == 1
    assert found.most_changed()["user"].to_list() == ["u", "v"]


# ---------------------------------------------------------------------------------------------
# The command


@pytest.fixture
def files(tmp_path):
    for name, lists in (("old", OLD), ("new", NEW)):
        rows = [f"{user},{item}\n" for user, items in lists.items() for item in items]
        (tmp_path / f"{name}.csv").write_text("user,item\n" + "".join(rows))
    return [str(tmp_path / "old.csv"), str(tmp_path / "new.csv")]


def test_the_command_prints_the_answer(files):
    ran = rankmeter("diff", *files)
    assert ran.code == 0
    assert ran.out.startswith("1 of 3 lists are equal")
    assert rankmeter("diff", *files, "--json").json == rm.diff(OLD, NEW).to_dict()
    markdown = rankmeter("diff", *files, "--k", "2", "--format", "md").out
    assert markdown == rm.diff(OLD, NEW, k=2).to_markdown() + "\n"
