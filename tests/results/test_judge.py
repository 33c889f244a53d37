"""Evaluations with labels of people for a sample, and of a judge for all queries."""

import json
import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankmeter as rm
from rankmeter.errors import DataError, UsageError

ITEMS = [f"d{n}" for n in range(12)]
N_ALL, N = 200, 50
RNG = np.random.default_rng(8)
TRUTH = {
    f"q{q}": {item: int(RNG.random() < 0.25) for item in ITEMS} | {"always": 1}
    for q in range(N_ALL)
}
JUDGE = {
    query: {item: gain if RNG.random() < 0.9 else 1 - gain for item, gain in labels.items()}
    for query, labels in TRUTH.items()
}
SAMPLE = [f"q{q}" for q in sorted(RNG.choice(N_ALL, N, replace=False).tolist())]
PEOPLE = {query: TRUTH[query] for query in SAMPLE}
METRICS = ["ndcg@10", "rr", "hr@1"]


def rank(skill):
    return {
        query: sorted(ITEMS, key=lambda item, labels=labels: -skill * labels[item] - RNG.random())
        for query, labels in TRUTH.items()
    }


SYSTEMS = {"old": rank(0.1), "new": rank(0.5), "best": rank(0.8)}


def evaluate(truth=PEOPLE, metrics=METRICS, judge=JUDGE, judged="random", **options):
    return rm.evaluate(SYSTEMS["new"], truth, metrics, judge=judge, judged=judged, **options)


def compare(truth=PEOPLE, metrics=METRICS, judge=JUDGE, judged="random", **options):
    return rm.compare(SYSTEMS, truth, metrics, judge=judge, judged=judged, **options)


def values(truth, metric, queries, system="new"):
    frame = rm.evaluate(SYSTEMS[system], truth, metric, undefined="zero").per_user
    by_query = dict(frame.iter_rows())
    return np.array([by_query[query] for query in queries])


def test_the_estimate_is_the_formula():
    result = evaluate()
    found = result.judgments["ndcg@10", ""]
    chosen = sorted(SAMPLE)
    y, f = values(TRUTH, "ndcg@10", chosen), values(JUDGE, "ndcg@10", chosen)
    others = values(JUDGE, "ndcg@10", sorted({*TRUTH} - {*SAMPLE}))
    every, half = np.concatenate([f, others]), np.arange(N) % 2 == 0
    own = [np.cov(y[~side], f[~side])[0, 1] / every.var(ddof=1) for side in (half, ~half)]
    weights = np.where(half, *np.clip(own, 0.0, N_ALL / (N_ALL - N)))
    expected = (y - weights * (f - every.mean())).mean()
    assert result["ndcg@10"].mean == pytest.approx(expected, abs=1e-12)
    assert found.weight == pytest.approx(weights.mean() * (N_ALL - N) / N_ALL, abs=1e-12)
    assert found.bias == pytest.approx((f - y).mean(), abs=1e-12)
    assert found.judge == pytest.approx(every.mean(), abs=1e-12)
    assert (found.n, found.n_all) == (N, N_ALL)


def test_a_judge_that_agrees_narrows_the_interval_and_the_title_says_by_how_much():
    result, people = evaluate(), rm.evaluate(SYSTEMS["new"], PEOPLE, METRICS)
    e, alone = result["ndcg@10"], people["ndcg@10"]
    assert e.high - e.low < alone.high - alone.low
    assert e.n == N
    found = result.judgments["ndcg@10", ""]
    assert found.people.interval == alone.interval
    assert found.worth > N
    first = result.notes[0]
    assert first.startswith(f"worth {found.worth:,.0f} human-judged users on ndcg@10")
    assert f"people judged {N} of {N_ALL}" in first
    assert "no ground truth" not in str(result)  # most queries have no label of people by design


def test_a_good_judge_narrows_intervals_of_differences():
    found = compare(judge=TRUTH, baseline="old")
    alone = rm.compare(SYSTEMS, PEOPLE, METRICS, baseline="old")
    on_ndcg = zip(found["ndcg@10"], alone["ndcg@10"], strict=True)
    assert all(d.high - d.low < 0.8 * (own.high - own.low) for d, own in on_ndcg)
    assert found.worth["ndcg@10"] > 1.5 * N


def test_a_useless_judge_leaves_the_numbers_of_people_to_the_bit():
    opposite = {q: {i: 1 - g for i, g in labels.items()} for q, labels in TRUTH.items()}
    result, people = evaluate(judge=opposite), rm.evaluate(SYSTEMS["new"], PEOPLE, METRICS)
    assert {one.weight for one in result.judgments.values()} == {0.0}
    assert [*result.values()] == [*people.values()]
    assert any(
        note.startswith(f"the judge is not used on {', '.join(METRICS)}") for note in result.notes
    )
    found, alone = compare(judge=opposite), rm.compare(SYSTEMS, PEOPLE, METRICS)
    assert found.differences == alone.differences
    assert found.estimates == alone.estimates
    assert found.leads == alone.leads


def test_differences_are_those_of_the_corrected_means():
    found, alone = compare(baseline="old"), rm.compare(SYSTEMS, PEOPLE, METRICS, baseline="old")
    for d, own in zip(found.differences, alone.differences, strict=True):
        means = [found.estimates[d.metric, name].mean for name in (d.a, d.b)]
        assert d.difference == pytest.approx(means[0] - means[1], abs=1e-12)
        assert (d.wins, d.ties, d.losses, d.n) == (own.wins, own.ties, own.losses, N)
        assert d.low <= d.difference <= d.high
    widths = [
        (d.high - d.low, own.high - own.low)
        for d, own in zip(found["ndcg@10"], alone["ndcg@10"], strict=True)
    ]
    fewest = N * min((own / width) ** 2 for width, own in widths)
    assert found.worth["ndcg@10"] == pytest.approx(fewest, rel=0.05)  # but for the family
    assert found.notes[0].startswith("differences worth ")
    assert len({found.judgments["ndcg@10", name].weight for name in SYSTEMS}) == 1


def test_two_systems_have_the_weight_of_their_difference():
    pair = {name: SYSTEMS[name] for name in ("old", "new")}
    found = rm.compare(pair, PEOPLE, "ndcg@10", judge=JUDGE, judged="random")
    chosen, everyone = sorted(SAMPLE), sorted(TRUTH)
    y, f, every = (
        values(labels, "ndcg@10", queries, "old") - values(labels, "ndcg@10", queries)
        for labels, queries in ((TRUTH, chosen), (JUDGE, chosen), (JUDGE, everyone))
    )
    half = np.arange(y.size) % 2 == 0
    own = [np.cov(y[~side], f[~side])[0, 1] / every.var(ddof=1) for side in (half, ~half)]
    weights = np.where(half, *np.clip(own, 0.0, N_ALL / (N_ALL - N)))
    (difference,) = found["ndcg@10"]
    expected = (y - weights * (f - every.mean())).mean()
    assert difference.difference == pytest.approx(expected, abs=1e-12)


def test_margins_are_tested_on_corrected_differences():
    found = compare(baseline="old", margin={"ndcg@10": 0.01, "rr": "5%", "hr@1": 0.1})
    assert all(d.p_not_worse < 0.5 for d in found.differences if d.metric == "ndcg@10")
    alone = rm.compare(SYSTEMS, PEOPLE, METRICS, baseline="old", margin=0.01)
    assert found["ndcg@10"][0].p_not_worse != alone["ndcg@10"][0].p_not_worse


def test_where_the_judge_alone_would_order_otherwise_it_is_said():
    favours = {
        query: {item: int(item in SYSTEMS["old"][query][:3]) for item in labels}
        for query, labels in TRUTH.items()
    }
    found = compare(judge=favours)
    assert ("old", "best") in found.misordered("ndcg@10")
    note = next(note for note in found.notes if "judge alone" in note)
    assert note.startswith("the judge alone would order otherwise on ndcg@10: old before new")
    assert not compare().misordered("ndcg@10")
    assert found.judgments["ndcg@10", "old"].bias_low > 0


def rows(truth, **columns):
    return pl.DataFrame(
        [
            {"query_id": query, "doc_id": item, "relevance": gain}
            | {name: by_query[query] for name, by_query in columns.items()}
            for query, labels in truth.items()
            for item, gain in labels.items()
        ]
    )


@pytest.mark.parametrize(
    "convert", [lambda frame: frame, pl.DataFrame.to_pandas], ids=["polars", "pandas"]
)
def test_a_column_of_probabilities_declares_the_sample(convert):
    equal = convert(rows(PEOPLE, probability=dict.fromkeys(PEOPLE, 0.25)))
    random = evaluate()
    assert [e.mean for e in evaluate(equal, judged=None).values()] == [
        e.mean for e in random.values()
    ]
    hard = {query: 0.1 if n % 2 else 0.4 for n, query in enumerate(PEOPLE)}
    found = evaluate(convert(rows(PEOPLE, probability=hard)), judged="probability")
    people = found.judgments["rr", ""].people.mean
    weights = np.array([1 / hard[query] for query in sorted(SAMPLE)])
    y = values(TRUTH, "rr", sorted(SAMPLE))
    assert people == pytest.approx((weights * y).sum() / weights.sum(), abs=1e-12)
    assert found["ndcg@10"].mean != random["ndcg@10"].mean
    assert "known probabilities" in str(found.details())


def test_a_file_has_the_column_of_probabilities(tmp_path):
    path = tmp_path / "people.csv"
    hard = {query: 0.1 if n % 2 else 0.4 for n, query in enumerate(PEOPLE)}
    frame = rows(PEOPLE, probability=hard)
    frame.write_csv(path)
    assert evaluate(path, judged=None)["rr"].mean == evaluate(frame, judged=None)["rr"].mean
    with pytest.raises(UsageError, match="as likely to be chosen"):
        evaluate(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"judged": None}, "needs to know how the queries were chosen"),
        ({"judged": "yes"}, "judged must be 'random' or 'probability', got 'yes'"),
        ({"judged": "probability"}, "the truth has no column probability"),
        ({"judge": None}, "pass these as judge="),
        ({"clusters": dict.fromkeys(TRUTH, 1)}, "judge= and clusters= cannot be combined"),
        ({"interval": "bca"}, "judge= and interval='bca' cannot be combined"),
        ({"unjudged": "bounds"}, "a mean that a judge corrects has no bounds"),
        ({"metrics": "ndcg@10", "aggregate": "median"}, "is not a mean over users"),
        ({"metrics": "coverage@10", "catalogue": ITEMS}, "is not a mean over users"),
        ({"users": "relevant"}, "leaves out some by their labels"),
        ({"truth": None}, "pass these as truth"),
    ],
)
def test_what_contradicts_a_judge_is_refused(options, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        evaluate(**options)


def test_what_a_comparison_refuses():
    with pytest.raises(UsageError, match="judge= and segments= cannot be combined"):
        compare(segments=dict.fromkeys(TRUTH, "a"))
    with pytest.raises(UsageError, match="judge= and test='wilcoxon' cannot be combined"):
        compare(test="wilcoxon")
    runs = {"old": [SYSTEMS["old"], SYSTEMS["new"]], "new": SYSTEMS["new"]}
    with pytest.raises(UsageError, match=re.escape("judge= and several runs (old)")):
        rm.compare(runs, PEOPLE, "rr", judge=JUDGE, judged="random")
    results = {name: rm.evaluate(lists, PEOPLE, "rr") for name, lists in SYSTEMS.items()}
    with pytest.raises(UsageError, match="is a result, not rankings"):
        rm.compare(results, PEOPLE, "rr", judge=JUDGE, judged="random")


def test_rows_in_a_list_are_rankings_and_not_runs():
    systems = {
        name: [
            {"user": query, "item": item, "score": -place}
            for query, ranked in run.items()
            for place, item in enumerate(ranked)
        ]
        for name, run in SYSTEMS.items()
    }
    found = rm.compare(systems, PEOPLE, "rr", judge=JUDGE, judged="random")
    assert found.differences == compare(metrics="rr").differences
    with pytest.raises(UsageError, match="judge= and Grades cannot be combined"):
        rm.evaluate(rm.Grades([[1, 0]]), PEOPLE, "rr", judge=JUDGE, judged="random")


def test_labels_that_do_not_fit_are_refused():
    with pytest.raises(DataError, match="of the 50 users that people judged have no label"):
        evaluate(judge={query: JUDGE[query] for query in SAMPLE[5:] + ["q199", "q198"]})
    with pytest.raises(DataError, match="others that only the judge judged, got 50 and 0"):
        evaluate(judge={query: JUDGE[query] for query in SAMPLE})
    nothing = PEOPLE | {SAMPLE[0]: dict.fromkeys(ITEMS, 0)}
    with pytest.raises(DataError, match="ndcg@10 has no value for 1 of the 50 users"):
        evaluate(nothing)
    assert evaluate(nothing, undefined="zero")["rr"].n == N


def test_bad_probabilities_are_refused():
    above = rows(PEOPLE, probability=dict.fromkeys(PEOPLE, 1.5))
    with pytest.raises(DataError, match=r"must be above 0 and at most 1, got 1\.5"):
        evaluate(above, judged=None)
    several = rows(PEOPLE, probability=dict.fromkeys(PEOPLE, 0.5)).with_columns(
        probability=pl.Series(np.linspace(0.1, 0.9, rows(PEOPLE).height))
    )
    with pytest.raises(DataError, match="several probabilities of one query"):
        evaluate(several, judged=None)


def test_what_people_alone_know_is_not_shown_as_corrected():
    result, found = evaluate(), compare()
    for call in (
        lambda: result.by_segment(dict.fromkeys(TRUTH, "a")),
        lambda: result.gap(dict.fromkeys(TRUTH, "a")),
        lambda: result.adjusted("rr"),
        lambda: result.save("x.result"),
        lambda: found.by_segment(dict.fromkeys(TRUTH, "a")),
        lambda: rm.compare({"a": result, "b": evaluate()}),
        lambda: rm.across({"one": found, "two": compare()}),
        lambda: found.curve("rr"),
        lambda: result.show("q1"),
    ):
        with pytest.raises(UsageError):
            call()


def test_every_look_shows_the_judge(tmp_path):
    result, found = evaluate(), compare()
    for shown in (result, found):
        assert "judge − people" in str(shown)
        assert "judge − people" in shown._repr_html_()
        assert "judge − people" in shown.to_markdown()
        page = shown.report(tmp_path / "page.html").read_text("utf-8")
        assert "Labels of people, and of the judge" in page
        assert "worth" in page
        content = json.loads(shown.to_json())["judge"]
        assert (content["people"], content["all"]) == (N, N_ALL)
        assert set(content["metrics"]) == {*METRICS}
        said = (
            "labels of people for 50 of 200 users (a random sample), corrected by those of a judge"
        )
        assert "labels of people for 50 of 200 users" in shown.to_latex()
        assert said in shown.cite()
    row = json.loads(result.to_json())["judge"]["metrics"]["rr"]
    assert row["worth"] == result.judgments["rr", ""].worth
    assert {"worth", "weight", "bias"} <= {*result.to_polars().columns}
    assert pd.DataFrame(result.to_pandas()).shape[0] == len(METRICS)


def test_ids_may_be_integers():
    number = {query: n for n, query in enumerate(TRUTH)}

    def renamed(data):
        return {number[query]: value for query, value in data.items()}

    found = rm.evaluate(
        renamed(SYSTEMS["new"]), renamed(PEOPLE), "rr", judge=renamed(JUDGE), judged="random"
    )
    assert found["rr"].n == N


def test_the_engine_does_not_matter(tmp_path):
    path = tmp_path / "run.parquet"
    lists = SYSTEMS["new"].items()
    pl.DataFrame(
        [
            {"query_id": query, "doc_id": item, "score": -float(place)}
            for query, ranked in lists
            for place, item in enumerate(ranked)
        ]
    ).write_parquet(path)
    found = rm.evaluate(path, PEOPLE, METRICS, judge=JUDGE, judged="random", engine="disk")
    assert [*found.values()] == [*evaluate().values()]
