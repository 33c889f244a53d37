"""Bounds of means over all labels that unjudged items can get, against every labelling."""

import itertools
import json
import math
import re

import numpy as np
import pytest

import rankmeter as rm
from rankmeter._judge.bounds import EXACT
from rankmeter.errors import RankmeterWarning, UsageError
from rankmeter.metrics import METRICS

HOLE = "unjudged(denominator=ranked)@3"
ITEMS = [f"i{n}" for n in range(8)]
REQUIRED = {"max_gain": 3, "n_items": 30, "recall": 0.5, "multiple": 1.3}
SAFE = {"ap": {"denominator": ("min", "relevant")}, "ndcg": {"ideal": ("truth",)}}


def make_up(seed, tied):
    """Three users with up to four unjudged items; one of them may have nothing relevant."""
    rng = np.random.default_rng(seed)
    rankings, truth = {}, {}
    for user in ("ann", "bob", "cat"):
        items = rng.permutation(ITEMS)[: rng.integers(2, 6)].tolist()
        unjudged = set(items[:: rng.integers(1, 4)][:4])
        judged = [item for item in ITEMS if item not in unjudged]
        truth[user] = {item: int(rng.choice([0, 0, 1, 2, 2])) for item in judged}
        scores = rng.integers(0, 3, len(items)) if tied else np.arange(len(items), 0, -1)
        rankings[user] = dict(zip(items, map(float, scores), strict=True))
    return rankings, truth


def usual_gain(truth):
    gains = [gain for judged in truth.values() for gain in judged.values() if gain > 0]
    return max(gains, key=lambda gain: (gains.count(gain), gain)) if gains else 1


def means_of_all_labellings(rankings, truth, metric, **options):
    """The mean of every labelling of all users, from the values of each user in each."""
    gain, lists, judged = usual_gain(truth), {}, {}
    for user, ranked in rankings.items():
        holes = [item for item in ranked if item not in truth[user]]
        subsets = itertools.product((False, True), repeat=len(holes))
        for number, chosen in enumerate(subsets):
            labels = dict.fromkeys(itertools.compress(holes, chosen), gain)
            lists[f"{user} {number}"] = ranked
            judged[f"{user} {number}"] = {**truth[user], **labels}
    result = rm.evaluate(lists, judged, metric, no_overlap="allow", **options)
    (label,) = result
    known = dict(result.per_user.select("user", label).iter_rows())
    by_user = [
        {known.get(name) for name in lists if name.startswith(user)} for user in rankings
    ]  # a user without a value is None
    for values in itertools.product(*by_user):
        counted = [value for value in values if value is not None]
        if counted:
            yield math.fsum(counted) / len(counted)


def metric_strings():
    for name in sorted(EXACT):
        spec = METRICS[name]
        required = [f"{o}={REQUIRED[o]}" for o in spec.options if spec.options[o].required]
        variants = [required]
        for option, declared in spec.options.items():
            words = SAFE.get(name, {}).get(option, declared.choices)
            variants += [[*required, f"{option}={word}"] for word in words]
        for options in variants:
            for k in ("", "@1", "@3") if spec.cutoff else ("",):
                yield f"{name}({','.join(options)}){k}" if options else f"{name}{k}"


@pytest.mark.parametrize("metric", [*metric_strings()])
def test_bounds_are_the_ends_over_every_labelling(metric):
    for seed, ties in itertools.product(range(2), ("item", "item-descending", "expected")):
        name = metric.partition("(")[0].partition("@")[0]
        if ties == "expected" and not METRICS[name].open_ties:
            continue
        rankings, truth = make_up(seed, tied=True)
        options = {"ties": ties, "undefined": ("skip", "zero")[seed % 2]}
        result = rm.evaluate(rankings, truth, metric, unjudged="bounds", **options)
        (e,) = result.values()
        (plain,) = rm.evaluate(rankings, truth, metric, **options).values()
        assert (e.mean, e.interval, e.n) == (plain.mean, plain.interval, plain.n)
        means = [*means_of_all_labellings(rankings, truth, metric, **options)]
        assert e.lowest == pytest.approx(min(means), abs=1e-12)
        assert e.highest == pytest.approx(max(means), abs=1e-12)


@pytest.mark.parametrize("options", [{}, {"relevant": 2}, {"depth": 3}, {"users": "relevant"}])
@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_under_choices(options, seed):
    rankings, truth = make_up(seed, tied=False)
    e = rm.evaluate(rankings, truth, "ndcg@4", unjudged="bounds", **options)["ndcg@4"]
    if options == {"relevant": 2}:  # so that the usual gain is that of all relevant items
        truth = {user: {i: g for i, g in of.items() if g != 1} for user, of in truth.items()}
    means = [*means_of_all_labellings(rankings, truth, "ndcg@4", **options)]
    if options != {"relevant": 2}:
        assert (e.lowest, e.highest) == pytest.approx((min(means), max(means)), abs=1e-12)
    assert e.lowest <= e.mean <= e.highest


def test_without_unjudged_items_the_bounds_are_the_mean_to_the_bit():
    rng = np.random.default_rng(5)
    truth = {n: {f"i{j}": int(rng.integers(0, 3)) for j in range(7)} for n in range(50)}
    rankings = {n: rng.permutation([*truth[n]])[:5].tolist() for n in truth}
    for e in rm.evaluate(rankings, truth, "ndcg@3 map rr f1@4", unjudged="bounds").values():
        assert e.lowest == e.mean == e.highest
        assert e.unjudged == 0


def test_a_user_whom_a_label_gives_something_relevant_may_count():
    """Without labels only ann counts, with 1; bob has 0.5 if his second item is relevant."""
    rankings, truth = {"ann": ["a"], "bob": ["x", "b"]}, {"ann": {"a": 1}, "bob": {"x": 0}}
    e = rm.evaluate(rankings, truth, "rr", unjudged="bounds")["rr"]
    assert (e.mean, e.n) == (1, 1)
    assert (e.lowest, e.highest) == (0.75, 1)


def test_share_of_unjudged_items_is_that_in_the_top_k():
    rankings, truth = {"ann": ["a", "x", "y"], "bob": ["b"]}, {"ann": {"a": 1}, "bob": {"b": 1}}
    result = rm.evaluate(rankings, truth, "hr@1 hr@2 rr", unjudged="bounds")
    assert [e.unjudged for e in result.values()] == [0, 1 / 3, 1 / 2]


def test_a_pooled_document_without_a_judgment_is_unjudged():
    e = rm.evaluate({"q": ["x", "a"]}, {"q": {"a": 1, "x": -1}}, "rr@1", unjudged="bounds")["rr@1"]
    assert (e.lowest, e.mean, e.highest, e.unjudged) == (0, 0, 1, 1)


def test_the_share_is_that_of_the_metric_hole():
    rankings, truth = make_up(1, tied=True)
    for user, ranked in rankings.items():
        one = {user: ranked}, {user: truth[user]}
        allow = {"no_overlap": "allow"}
        share = rm.evaluate(*one, "ndcg@3", unjudged="bounds", **allow)["ndcg@3"].unjudged
        assert share == rm.evaluate(*one, HOLE, **allow)[HOLE].mean


def test_bounds_are_shown_only_if_asked_for():
    rankings, truth = {"ann": ["x", "a"]}, {"ann": {"a": 1}}
    plain = rm.evaluate(rankings, truth, "rr")
    asked = rm.evaluate(rankings, truth, "rr", unjudged="bounds")
    for text in (str(plain), plain.to_markdown(), plain._repr_html_(), json.dumps(plain.to_dict())):
        assert "lowest" not in text
    for text in (str(asked), asked.to_markdown(), asked._repr_html_(), json.dumps(asked.to_dict())):
        assert "lowest" in text
    assert asked.to_polars()["lowest", "mean", "highest"].rows() == [(0.5, 0.5, 1.0)]
    assert "lowest" not in plain.to_polars().columns
    assert "usual gain, 1" in str(asked)
    assert "unjudged" not in str(plain.plan)
    assert "bounds" in str(asked.plan)


@pytest.mark.parametrize(
    ("metric", "options", "reason"),
    [
        ("auc", {}, "more than the ranks of relevant items"),
        ("judged@3", {}, "more than the ranks of relevant items"),
        ("ndcg(ideal=ranked)@3", {}, "ideal=ranked"),
        ("ndcg(adjusted)@3", {"n_items": 9}, "more than the ranks"),
        ("rr", {"ties": "optimistic"}, "by its label"),
        ("rr", {"relevant": "any"}, "every judged item is relevant"),
        ("rr", {"aggregate": "median"}, "not a mean over users"),
        ("rr", {"users": "hit"}, "a label can give them one"),
        ("rr", {"pool": "judged"}, "pool='judged'"),
        ("rr", {"scope": "ranked"}, "scope='ranked'"),
        ("rr", {"retrieved": "positive"}, "retrieved='positive'"),
        ("recall", {"duplicates": "each"}, "several ranks"),
    ],
)
def test_where_no_exact_bounds_are_known_they_are_refused(metric, options, reason):
    with pytest.raises(UsageError, match=reason) as caught:
        rm.evaluate([["x", "a"]], [{"a": 1}], metric, unjudged="bounds", **options)
    assert "unjudged='bounds'" in str(caught.value)


def test_curves_and_explanations_have_no_bounds():
    with pytest.raises(UsageError, match="a curve has no bounds"):
        rm.curve([["x", "a"]], [{"a": 1}], "rr", 2, unjudged="bounds")
    with pytest.raises(UsageError, match="an explanation has no bounds"):
        rm.explain([["x", "a"]], [{"a": 1}], "rr", between=("ranx", "trec_eval"), unjudged="bounds")


def test_rankings_in_parts_are_refused(tmp_path):
    path = tmp_path / "rankings.csv"
    path.write_text("user,item,score\n" + "".join(f"{u},x{u},1\n{u},a,2\n" for u in range(9)))
    with pytest.raises(UsageError, match="needs all rankings in memory"):
        rm.evaluate(path, {u: {"a"} for u in range(9)}, "rr", engine="disk", unjudged="bounds")


USERS = [f"u{n}" for n in range(30)]


def systems(first, second):
    return {name: {u: [*of] for u in USERS} for name, of in (("old", first), ("new", second))}


def test_a_caution_names_labels_by_which_the_winner_would_lose():
    truth = {user: {"a": 1, "x": 0} for user in USERS}
    with pytest.warns(RankmeterWarning, match="unjudged items could decide rr") as caught:
        found = rm.compare(
            systems(["x", "a"], ["n", "x"]), truth, "rr", unjudged="bounds", no_overlap="allow"
        )
    assert len(caught) == 1
    assert "if 30 unjudged items in the lists of new were relevant" in str(caught[0].message)
    assert "new would have 1.0000 and old 0.5000" in found.cautions[-1]
    assert found.estimates["rr", "new"].highest == 1
    # It is true: these labels give these means.
    labelled = {user: {"a": 1, "x": 0, "n": 1} for user in USERS}
    again = rm.compare(systems(["x", "a"], ["n", "x"]), labelled, "rr")
    assert [again.estimates["rr", name].mean for name in ("new", "old")] == [1, 0.5]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (["a", "n"], ["x", "n"]),  # the hole cannot give the loser more than the winner has
        (["x", "a", "n"], ["x", "y", "n"]),  # both have it, at one rank
        (["a", "x"], ["n", "a"]),  # the loser can reach the winner, not pass it
    ],
)
def test_no_caution_where_no_labels_turn_the_order(first, second):
    truth = {user: {"a": 1, "x": 0, "y": 0} for user in USERS}
    found = rm.compare(systems(first, second), truth, "rr", unjudged="bounds")
    assert not found.cautions


@pytest.mark.filterwarnings("error")
def test_no_caution_without_a_winner_or_without_bounds():
    truth = {user: {"a": 1, "x": 0} for user in USERS}
    both = systems(["x", "a"], ["n", "x"])
    assert not rm.compare(both, truth, "rr", no_overlap="allow").cautions
    few = {name: {"u0": lists["u0"]} | {"u1": ["a"]} for name, lists in both.items()}
    rm.compare(few, {"u0": {"a": 1, "x": 0}, "u1": {"a": 1}}, "rr", unjudged="bounds")


def test_results_with_bounds_are_compared_with_them():
    truth = {user: {"a": 1, "x": 0} for user in USERS}
    both = systems(["x", "a"], ["a", "n"])
    results = {n: rm.evaluate(lists, truth, "rr", unjudged="bounds") for n, lists in both.items()}
    found = rm.compare(results)
    assert found.bounds_table().rows == [
        ("old", "rr", "0.5000", "0.5000", "0.5000", "0 %"),
        ("new", "rr", "1.0000", "1.0000", "1.0000", "50 %"),
    ]
    assert "lowest" in str(found)
    assert found.to_dict()["metrics"]["rr"]["new"]["lowest"] == 1
    results["new"] = rm.evaluate(both["new"], truth, "rr")
    with pytest.raises(UsageError, match="the result of new has no bounds"):
        rm.compare(results)
    with pytest.raises(UsageError, match="there are no bounds"):
        rm.compare(both, truth, "rr").bounds_table()


def test_several_runs_have_no_bounds():
    truth = {user: {"a": 1, "x": 0} for user in USERS}
    old, new = systems(["x", "a"], ["a", "n"]).values()
    with pytest.raises(UsageError, match="several runs"):
        rm.compare({"old": [old, old], "new": [new, new]}, truth, "rr", unjudged="bounds")


@pytest.mark.parametrize("unjudged", ["bounds", "nonrelevant"])
@pytest.mark.parametrize("interactive", [True, False])
def test_a_page_shows_bounds_only_if_asked_for(tmp_path, unjudged, interactive):
    truth, run = {"u": {"a": 1, "x": 0}}, {"u": ["n", "a"]}
    one = rm.evaluate(run, truth, "rr", unjudged=unjudged)
    several = rm.compare({"A": run, "B": {"u": ["a", "x"]}}, truth, "rr", unjudged=unjudged)
    for result in (one, several):
        page = result.report(tmp_path / "page.html", interactive=interactive).read_text("utf-8")
        table = page.partition("Bounds of the means")[2].partition("</table>")[0]
        assert bool(table) == (unjudged == "bounds")
        if table:
            assert re.search(r"0\.5000\W.*0\.5000\W.*1\.0000\W.*50 %", table, re.DOTALL)
