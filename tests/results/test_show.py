"""How the number of one user is computed: what is shown leads to the value, for every metric."""

from __future__ import annotations

import json
import math
import time

import numpy as np
import polars as pl
import pytest

import cases
import rankmeter as rm
from command_line import rankmeter
from pages import page_of
from rankmeter.errors import DataError, UsageError
from rankmeter.metrics import METRICS, register, unregister

pytestmark = pytest.mark.once

FUNCTIONS = {"sqrt": math.sqrt, "log": math.log, "exp": math.exp, "min": min, "max": max}
FUNCTIONS |= {"infinity": math.inf, "__builtins__": {}}


def leads(walk):
    """Assert that the last line has the value, and that it follows from what is shown."""
    last = walk.lines[-1]
    assert last.name == walk.label
    assert math.isclose(last.value, walk.value, rel_tol=1e-12), walk.label
    if not last.text:
        grids = (walk.ranking, walk.ideal, walk.categories)
        sums = [sum(p.numbers.get(c, 0.0) for p in g.places) for g in grids for c in g.columns]
        assert any(math.isclose(s, walk.value, rel_tol=1e-9, abs_tol=1e-12) for s in sums), last
        return
    try:
        found = eval(last.text, FUNCTIONS, dict(last.parts))
    except ZeroDivisionError:
        found = walk.value
        assert found in (0.0, 1.0), last
    assert math.isclose(found, walk.value, rel_tol=1e-9, abs_tol=1e-12), last


def some_metrics(ties, n=4):
    """A few combinations of the options of each metric, without a cutoff and with one."""
    for name, spec in METRICS.items():
        every = [case for case in cases.accepted(spec) if case[0] in (None, 3)]
        if ties == "item" or spec.open_ties:
            yield from (cases.metric(name, *case) for case in every[:: max(1, len(every) // n)])


@pytest.mark.parametrize("ties", ["item", "expected"])
def test_what_is_shown_leads_to_the_value_of_every_metric(ties):
    rankings, truth, side = cases.with_side(7, ties=ties != "item")
    given = {"items": {item: sorted(names) for item, names in side.categories.items()}}
    given |= {"train": side.train, "catalogue": side.catalogue, "baseline_lists": side.baseline}
    given |= {"propensity": side.propensity}
    result = rm.evaluate(rankings, truth, some_metrics(ties), ties=ties, **given)
    for row in (0, 1, 5):
        for _, walk in result.show(result.scores.users[row]).walks:
            if not walk.whole:
                wanted = result.scores.values[walk.label][row]
                assert walk.value == wanted or math.isnan(walk.value + wanted)
            if not math.isnan(walk.value):
                leads(walk)


@pytest.mark.parametrize(
    "ties", ["item-descending", *cases.BY_ROW, "optimistic", "pessimistic", "realistic", "together"]
)
def test_hits_are_where_the_rule_for_ties_puts_them(ties):
    rankings, truth, _ = cases.with_side(3, ties=True)
    truth = cases.one_relevant(truth) if ties in cases.SHARED else truth
    result = rm.evaluate(rankings, truth, "cg dcg@3 ap", ties=ties)
    for user in result.scores.users.head(12):
        for _, walk in result.show(user).walks:
            if not math.isnan(walk.value):
                leads(walk)
            found = {p.item: p.gain for p in walk.ranking.places if p.relevant}
            assert found == {i: gain for i, gain in truth[user].items() if gain > 0}
            assert all(p.relevant for p in walk.ranking.places if p.numbers.get("term"))


def test_a_number_for_the_lists_of_all_is_shown_with_and_without_the_user():
    lists = {"ann": ["a", "b"], "bob": ["a"]}
    result = rm.evaluate(lists, {"ann": {"a"}, "bob": {"a"}}, "coverage@2", catalogue=4)
    ((_, walk),) = result.show("ann").walks
    assert (walk.value, walk.whole) == (0.5, True)
    assert [place.numbers["lists with it"] for place in walk.ranking.places] == [2.0, 1.0]
    assert "without this user = 0.2500" in repr(result.show("ann"))


def test_an_adjusted_metric_shows_what_chance_gives():
    result = rm.evaluate({"u": ["x", "a"]}, {"u": {"a"}}, "rr(adjusted)", n_items=4)
    said = repr(result.show("u"))
    assert "by chance = 0.5208" in said
    assert said.count("better than chance / perfect than chance") == 1


RANKINGS = {"ann": {"x": 3.0, "b": 2.0, "a": 1.0}, "bob": {"q": 1.0}, "eve": {}}
TRUTH = {"ann": {"a": 3, "b": 1, "x": 0}, "bob": {"b": 1}, "cat": {"q": 1}, "eve": {"b": 0}}


@pytest.fixture
def result():
    return rm.evaluate(RANKINGS, TRUTH, "ndcg@2 hr@1")


def test_all_forms_show_the_same(result):
    shown = result.show("ann", "ndcg@2")
    line = "ndcg@2 = dcg / ideal = 0.6309 / 3.6309 = 0.1738"
    assert line in repr(shown)
    assert line in shown.to_markdown()
    assert f"<p>{line}</p>" in shown._repr_html_()
    found = json.loads(shown.to_json())["metrics"]["ndcg@2"]
    assert found["value"] == result.per_user["ndcg@2"][0]
    assert [one["item"] for one in found["ranking"]] == ["x", "b", "a"]
    assert "in parentheses: judged, not relevant" in repr(shown)
    assert "ndcg@2 of user ann" in repr(result.show("ann", ["ndcg@2"]))
    assert type(shown.table()) is type(result.table())


@pytest.mark.parametrize(
    ("user", "said"),
    [
        ("cat", "no ranking"),
        ("eve", "left out of the mean (undefined=skip)"),
        ("bob", "ndcg@2 = dcg / ideal = 0 / 1 = 0"),
    ],
)
def test_users_without_a_value_are_explained(result, user, said):
    assert said in repr(result.show(user))


def test_the_perfect_ranking_ends_where_nothing_is_added():
    shown = rm.evaluate([["i0"]], [{f"i{n}": 1 for n in range(30)}], "ndcg@3").show(0)
    perfect = shown.parts()[3]
    assert [row[0] for row in perfect.rows] == ["1", "2", "3", "…"]
    assert perfect.rows[-1][1] == "27 more"


def test_long_lists_are_folded():
    items = [f"i{n}" for n in range(100)]
    shown = rm.evaluate([items], [{"i60", "gone"}], "rr").show(0)
    folded = [" ".join(row[:2]) for row in shown.table().rows[9:]]
    assert folded == ["10 i9", "… 50 more", "61 i60", "… 39 more", "– gone"]
    assert "parentheses" not in repr(shown)


def test_relevant_items_that_add_nothing_are_folded():
    items, metrics = [f"i{n}" for n in range(100)], "ndcg@10 map@10 mrr@10 recall@10 precision@10"
    truth = {f"i{n}": 1 for n in range(5, 200)}
    shown = rm.evaluate([items], [truth], metrics).show(0)
    assert [" ".join(row[:2]) for row in shown.table().rows[9:]] == [
        "10 i9", "11 i10", "12 i11", "13 i12", "… 187 more, 187 relevant",
    ]  # fmt: skip
    assert len(repr(shown)) < 5_000
    assert len(shown._repr_html_()) < 30_000


def test_ids_can_be_given_as_text():
    frame = pl.DataFrame({"user": [7, 8], "item": [1, 2], "score": [0.5, 0.4]})
    result = rm.evaluate(frame, frame.select("user", "item"), "rr")
    assert result.show("7").walks[0][1].value == result.show(7).walks[0][1].value == 1.0


def test_unknown_users_and_metrics_are_refused(result):
    with pytest.raises(UsageError, match="no user 'anna'; did you mean 'ann'"):
        result.show("anna")
    with pytest.raises(KeyError, match="was not evaluated"):
        result.show("ann", "ap@3")


def test_data_that_have_changed_are_noticed():
    rankings = {"ann": ["a", "b"]}
    result = rm.evaluate(rankings, {"ann": {"a"}}, "rr")
    rankings["ann"].reverse()
    with pytest.raises(DataError, match=r"rr of user 'ann' was 1 and is now 0\.5"):
        result.show("ann")


def test_users_of_rankings_on_disk_are_read_again(tmp_path):
    path = tmp_path / "run.csv"
    path.write_text("user,item,score\nann,a,2\nann,b,1\n", "utf-8")
    result = rm.evaluate(path, {"ann": {"b"}}, "rr", engine="disk")
    assert "rr of user ann = 0.5000" in str(result.show("ann"))


def test_a_comparison_shows_each_system():
    other = {user: dict(reversed(one.items())) for user, one in RANKINGS.items()}
    other["ann"] = {"a": 2.0, "x": 1.0}
    compared = rm.compare({"old": RANKINGS, "new": other}, TRUTH, "ndcg@2")
    said = repr(compared.show("ann"))
    assert "ndcg@2 of old, user ann = 0.1738" in said
    assert "ndcg@2 of new, user ann = 0.8262" in said
    assert [system for system, _ in compared.show("ann", systems="new").walks] == ["new"]
    assert compared.show("ann").to_dict()["systems"].keys() == {"old", "new"}


def test_a_metric_of_your_own_is_shown():
    def found_share(hits, k=None):
        """Share of the top k that is relevant, as a difference."""
        return hits.count(k) / 10.0

    register("Found share")(found_share)
    try:
        result = rm.evaluate([["a", "b"]], [{"b"}], "found_share")
        assert "found_share = 0.1000" in repr(result.show(0))
    finally:
        unregister("found_share")


def test_the_command_shows_users(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.csv").write_text("user,item,score\n7,1,2\n7,2,1\n", "utf-8")
    (tmp_path / "truth.csv").write_text("user,item\n7,2\n", "utf-8")
    done = rankmeter("evaluate", "run.csv", "truth.csv", "-m", "rr", "--show", "7")
    assert "rr = 1 / first hit = 1 / 2 = 0.5000" in done.out
    done = rankmeter(
        "evaluate", "-", "truth.csv", "-m", "rr", "--show", "7", stdin="user,item\n7,2\n"
    )
    assert "rr of user 7 = 1\n" in done.out
    refused = rankmeter("evaluate", "run.csv", "truth.csv", "--json", "--show", "7")
    assert (refused.code, "--show writes a table" in refused.err) == (2, True)
    unknown = rankmeter("evaluate", "run.csv", "truth.csv", "--show", "8")
    assert (unknown.code, "no user '8'" in unknown.err) == (2, True)


def test_the_command_shows_users_in_each_system(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.csv").write_text("user,item,score\n7,1,2\n7,2,1\n", "utf-8")
    (tmp_path / "new.csv").write_text("user,item,score\n7,1,1\n7,2,2\n", "utf-8")
    (tmp_path / "truth.csv").write_text("user,item\n7,2\n", "utf-8")
    words = ("compare", "truth.csv", "old=old.csv", "new=new.csv", "-m", "rr", "--show", "7")
    done = rankmeter(*words)
    assert "rr of old, user 7 = 0.5000" in done.out
    assert "rr of new, user 7 = 1\n" in done.out
    refused = rankmeter(*words, "--json")
    assert (refused.code, "--show writes a table" in refused.err) == (2, True)
    unknown = rankmeter(*words, "--show", "8")
    assert (unknown.code, "no user '8'" in unknown.err) == (2, True)


# -- scores, ranks and batches: what is known of a query are the ranks of its judged items ---------


@pytest.mark.filterwarnings("ignore:hit_rate has no cutoff")
@pytest.mark.parametrize(
    ("ties", "each"),
    [("realistic", True), ("item", True), ("item", False), ("expected", True), ("expected", False)],
)
def test_what_is_shown_of_scores_leads_to_the_value_of_every_metric(ties, each):
    draw = np.random.default_rng(4)
    scores = draw.integers(0, 6, (5, 12)) / 4
    labels = draw.integers(0, 4, (5, 12)) * (draw.random((5, 12)) < 0.4)
    labels[4] = 0  # nothing is relevant
    labels[:4, 0] = 2
    known = [
        one
        for one in some_metrics("expected", n=2)
        if not one.spec.of_lists and set(one.spec.needs) <= {"hits", "nonrelevant"}
    ]
    result = rm.evaluate_scores(scores, labels, known, each=each, ties=ties)
    for user in result.scores.users:
        row = result.scores.users.index_of(user)
        for _, walk in result.show(user).walks:
            wanted = result.scores.values[walk.label][row]
            assert walk.value == wanted or math.isnan(walk.value + wanted)
            if not math.isnan(walk.value):
                leads(walk)


def test_a_query_of_scores_shows_its_rank_and_the_number_of_candidates():
    result = rm.evaluate_scores([[0.9, 0.5, 0.1], [0.7, 0.2, 0.7]], [1, 0], "mrr", users=["a", "b"])
    said = repr(result.show("a")).splitlines()
    assert said[:2] == ["mrr of query a = 0.5000", "3 candidates"]
    assert said[4].split() == ["2", "1", "1"]  # rank, item, gain
    assert "mrr = 1 / first hit = 1 / 2 = 0.5000" in said
    assert "1 / 1.5000" in repr(result.show("b"))


def test_ranks_show_what_chance_gives_if_the_number_of_candidates_is_known():
    one = rm.evaluate_ranks([1, 4], "mrr").show(1)
    assert "candidates" not in repr(one)
    assert one.table().columns == ["rank", "gain"]
    assert "by chance" in repr(rm.evaluate_ranks([1, 4], "amri", candidates=9).show(1))


def test_many_relevant_items_that_are_not_ranked_are_no_work():
    """Work that grows with the square of the items takes many times as long."""
    n = 20_000
    result = rm.evaluate({1: range(n)}, {1: range(0, 2 * n, 2)}, "ndcg@10", scope="ranked")
    start = time.process_time()
    assert "ndcg@10 = dcg / ideal" in repr(result.show(1))
    assert time.process_time() - start < 2


def test_batches_show_a_query_unless_only_moments_are_kept():
    shown = {}
    for keep in ("values", "moments"):
        batches = rm.accumulator("ndcg@2", keep=keep)
        batches.update(items=[[3, 1, 2]], target=[[1, 2]])
        shown[keep] = batches.compute().show
    assert "ndcg@2 = dcg / ideal = 0.6309 / 1.6309 = 0.3869" in repr(shown["values"](0))
    with pytest.raises(UsageError, match="accumulate with keep='values'"):
        shown["moments"](0)


def test_the_report_of_ranks_has_curves_and_first_hits():
    pytest.importorskip("altair")
    page = page_of(rm.evaluate_ranks([1, 2, 4.5, 30] * 9, "mrr hits@10"))
    assert '<h2 id="hits-heading">' in page
    assert '<h2 id="curve-heading">' in page


@pytest.mark.parametrize("scope", ["all", "appended"])
@pytest.mark.parametrize("ties", ["optimistic", "pessimistic"])
@pytest.mark.parametrize("seed", range(6))
def test_a_list_that_is_cut_within_a_tie_is_the_one_that_was_counted(seed, ties, scope):
    rng = np.random.default_rng(seed)
    names, user = [*"AbBcé"], "u"
    listed = rng.permutation(names)[:4].tolist()
    rankings = {user: {item: float(rng.integers(0, 2)) for item in listed}}
    truth = {user: dict(zip(rng.permutation(names)[:2].tolist(), [2.0, 0.0], strict=True))}
    for depth in (1, 2, 3):
        result = rm.evaluate(
            rankings, truth, "precision(denominator=ranked)@2", ties=ties, depth=depth, scope=scope,
            no_overlap="allow",
        )  # fmt: skip
        (walk,) = result.show(user).to_dict()["metrics"].values()
        ranked = [row for row in walk["ranking"] if row["rank"]]
        assert len({row["item"] for row in walk["ranking"]}) == len(walk["ranking"])
        assert scope == "all" or {*truth[user]} <= {row["item"] for row in ranked}
        hits = sum(row.get("hit") or 0.0 for row in ranked)
        assert result["precision(denominator=ranked)@2"].mean == hits / len(ranked[:2])
