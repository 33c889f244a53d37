"""For which users a system got worse: as a frame, as a file, and with their lists in the report."""

from __future__ import annotations

import polars as pl
import pytest

import rankmeter as rm
from command_line import rankmeter
from pages import page_of
from rankmeter.errors import UnknownMetricError, UsageError

pytestmark = pytest.mark.once

TRUTH = {"ann": {"a": 2}, "bob": {"b": 1}, "cem": {"c": 1}, "dan": {"d": 1}}
OLD = {"ann": ["x", "a"], "bob": ["b"], "cem": ["c", "y"], "dan": ["d"]}
NEW = {"ann": ["a"], "bob": ["x", "b"], "cem": ["x", "y", "z"], "dan": ["d"]}
ITEMS = pl.DataFrame({"item": ["a", "c"], "title": ["Alien", "Casablanca <3"]})


@pytest.fixture(scope="module")
def found():
    systems = {"old": OLD, "new": NEW}
    return rm.compare(systems, TRUTH, ["rr", "mean_rank"], baseline="old", items=ITEMS)


def test_the_worst_and_the_best(found):
    worst = found.worst()
    assert worst.columns == ["user", "old rr", "new rr", "difference"]
    assert worst.rows() == [("cem", 1.0, 0.0, -1.0), ("bob", 1.0, 0.5, -0.5)]
    assert found.best().rows() == [("ann", 0.5, 1.0, 0.5)]
    assert found.worst(1)["user"].to_list() == ["cem"]
    assert found.worst(None)["user"].to_list() == ["cem", "bob", "dan", "ann"]
    assert found.best(None)["user"].to_list() == ["ann", "dan", "bob", "cem"]


def test_less_is_better_for_some_metrics(found):
    assert found.worst(metric="mr")["user"].to_list() == ["bob"]
    assert found.best(metric="mr")["user"].to_list() == ["ann"]


def test_any_two_systems_can_be_looked_at():
    some = rm.compare({"old": OLD, "new": NEW, "same": OLD}, TRUTH, "rr")
    assert (
        some.worst(system="new", against="same").rows()
        == some.worst(system="new", against="old").rows()
    )
    assert some.worst(system="old", against="new")["user"].to_list() == ["ann"]
    assert some.worst(system="same").columns[2] == "same rr"
    assert some.worst(against="new").columns[1] == "new rr"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"system": "neu"}, "neu"),
        ({"system": "new", "against": "new"}, "compared with itself"),
        ({"n": 0}, "must be an integer ≥ 1"),
    ],
)
def test_what_does_not_exist_is_refused(found, options, said):
    with pytest.raises(UsageError, match=said):
        found.worst(**options)


@pytest.mark.parametrize(
    "ask",
    [
        lambda some, name: some.worst(metric=name),
        lambda some, name: some.best(metric=name),
        lambda some, name: some.curve(name),
        lambda some, name: some.headline(name),
        lambda some, name: some.plot(metric=name),
        lambda some, name: some[name],
        lambda some, name: some.summaries["old"][name],
    ],
)
def test_a_metric_that_was_not_evaluated_gets_the_nearest_ones(ask):
    some = rm.compare({"old": OLD, "new": NEW}, TRUTH, ["ndcg@5", "ndcg@10", "rr"])
    said = "^'ndcg' was not evaluated; did you mean 'ndcg@5' or 'ndcg@10'\\?$"
    with pytest.raises(UnknownMetricError, match=said):
        ask(some, "ndcg")
    with pytest.raises(UnknownMetricError, match=r"evaluated: 'ndcg@5', 'ndcg@10', 'rr'$"):
        ask(some, "recall@10")
    assert "recall@10" not in some.summaries["old"]


def test_the_report_shows_their_lists_with_titles(found):
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    page = page_of(found)
    assert "The lists of cem" in page
    assert "c Casablanca &lt;3" in page
    assert "relevant, not ranked, gain 1" in page
    assert "a Alien" in page


def test_titles_are_shown_with_the_items(found):
    assert "a Alien" in repr(found.show("ann", "rr"))
    place = found.show("ann", "rr").to_dict()["systems"]["new"]["rr"]["ranking"][0]
    assert (place["item"], place["title"]) == ("a", "Alien")


@pytest.mark.parametrize("name", ["title", "movie_title", "Name"])
def test_a_title_is_no_category(name, tmp_path):
    path = tmp_path / "films.csv"
    path.write_text(f"item,{name},genres\na,Alien,horror|space\nb,Big,comedy\n", "utf-8")
    result = rm.evaluate({"u": ["a", "b"]}, {"u": {"a"}}, "categorical_diversity@2", items=path)
    assert result["categorical_diversity@2"].mean == 1.5
    assert "b Big" in repr(result.show("u"))


def test_the_command_writes_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, lists in (("old", OLD), ("new", NEW)):
        rows = [f"{u},{i},{-n}" for u, own in lists.items() for n, i in enumerate(own)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["user,item,score", *rows]), "utf-8")
    judged = [f"{user},{item}" for user, own in TRUTH.items() for item in own]
    (tmp_path / "truth.csv").write_text("\n".join(["user,item", *judged]), "utf-8")
    systems = ("old=old.csv", "new=new.csv", "--baseline", "old")
    done = rankmeter("compare", "truth.csv", *systems, "-m", "rr", "--worst", "worst.csv")
    assert done.code == 0, done.err
    assert pl.read_csv("worst.csv")["user"].to_list() == ["cem", "bob", "dan", "ann"]


VALUES = {"old": {"ann": 0.5, "bob": 1.0, "cem": 1.0}, "new": {"ann": 1.0, "bob": 0.5, "dan": 1.0}}


def test_values_from_elsewhere_have_the_worst_and_the_best():
    found = rm.compare_values(VALUES, baseline="old")
    assert found.worst().columns == ["user", "old value", "new value", "difference"]
    assert found.worst().rows() == [("bob", 1.0, 0.5, -0.5)]
    assert found.best().rows() == [("ann", 0.5, 1.0, 0.5)]
    assert found.worst(None)["user"].to_list() == ["bob", "ann"]
    less = rm.compare_values(VALUES, baseline="old", lower_is_better=True)
    assert less.worst()["user"].to_list() == ["ann"]
    with pytest.raises(UsageError, match="unknown metric 'rr'; known: 'value'"):
        found.worst(metric="rr")


def test_values_of_several_runs_are_compared_by_their_means():
    runs = {"old": [{"ann": 0.0, "bob": 1.0}, {"ann": 0.5, "bob": 1.0}],
            "new": [{"ann": 1.0, "bob": 0.5}, {"ann": 1.0, "bob": 0.0}]}  # fmt: skip
    found = rm.compare_values(runs, baseline="old")
    assert found.worst(None).rows() == [("bob", 1.0, 0.25, -0.75), ("ann", 0.25, 1.0, 0.75)]


def test_values_from_elsewhere_come_back_in_pandas():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"model": ["old", "old", "new", "new"], "user": [1, 2, 1, 2],
                          "value": [0.1, 0.2, 0.4, 0.1]})  # fmt: skip
    assert isinstance(rm.compare_values(frame, baseline="old").worst(), pd.DataFrame)


def test_values_from_elsewhere_have_charts_of_their_differences():
    pytest.importorskip("altair")
    found = rm.compare_values(VALUES, baseline="old")
    assert found.plot().to_dict()
    assert found.plot("differences", metric="value").to_dict()
    with pytest.raises(UsageError, match="needs the rankings: rm"):
        found.plot("curve")
    with pytest.raises(UsageError, match="'forest', 'curve'"):
        found.plot("pie")
    with pytest.raises(UsageError, match="there are no segments: pass segments="):
        found.plot("segments")
    halves = {user: user < "c" for user in VALUES["old"]}
    by_half = rm.compare_values(VALUES, segments=halves)
    assert by_half.plot("segments").to_dict()
    assert [*by_half.to_dict()["segments"]] == ["false", "true"]


@pytest.mark.parametrize("name", ["report", "show", "curve"])
def test_values_from_elsewhere_say_what_needs_rankings(name):
    found = rm.compare_values(VALUES, baseline="old")
    with pytest.raises(AttributeError, match=rf"has no {name}: it needs the rankings: pass"):
        getattr(found, name)
    assert not hasattr(found, name)
    with pytest.raises(AttributeError, match="no attribute 'color'"):
        _ = found.color
