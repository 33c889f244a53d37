"""Results are systems: comparing them is comparing their rankings, or an error says why not."""

from __future__ import annotations

import re

import numpy as np
import pytest

import rankmeter as rm
from rankmeter._annexes import is_missing
from rankmeter.errors import DataError, UsageError

pytestmark = pytest.mark.once

USERS = [f"u{n}" for n in range(40)]
ITEMS = [f"i{n}" for n in range(30)]
RNG = np.random.default_rng(3)
TRUTH = {
    user: dict(zip(RNG.choice(ITEMS, 4, replace=False).tolist(), range(4), strict=True))
    for user in USERS
}
SEGMENTS = {user: "xyz"[n % 3] for n, user in enumerate(USERS)}
CLUSTERS = {user: n // 3 for n, user in enumerate(USERS)}
METRICS = "ndcg@10 mrr mr"


def lists(skill, users):
    """Ranked items with scores; two of them, of users without truth, are in one system alone."""
    scored = {
        user: {item: RNG.random() + skill * TRUTH.get(user, {}).get(item, 0) for item in ITEMS}
        for user in users
    }
    return {
        user: {item: round(scores[item], 2) for item in sorted(scores, key=scores.get)[-12:]}
        for user, scores in scored.items()
    }


SYSTEMS = {
    "A": lists(0.1, USERS),
    "B": lists(0.3, [*USERS[3:], "a0", "zz"]),
    "C": lists(0.2, [*USERS, "b7"]),
}


def evaluated(metrics=METRICS, **options):
    return {name: rm.evaluate(own, TRUTH, metrics, **options) for name, own in SYSTEMS.items()}


@pytest.mark.parametrize(
    ("options", "choices"),
    [
        ({}, {}),
        ({"baseline": "A", "segments": SEGMENTS, "margin": {"NDCG@10": "1%"}}, {}),
        ({"test": "t", "correction": "holm"}, {"missing": "skip"}),
        ({}, {"metrics": "precision@5 recall@5", "aggregate": "micro"}),
        ({}, {"metrics": "ndcg@10 coverage@10", "catalogue": ITEMS, "n_items": 30}),
        ({"baseline": "B"}, {"like": "ranx", "metrics": "ndcg@10 mrr"}),
        ({"segments": SEGMENTS, "family": "all"}, {"interval": "bca", "resamples": 99}),
    ],
)
def test_results_are_compared_as_their_rankings(options, choices, tmp_path):
    metrics = choices.pop("metrics", METRICS)
    wanted = rm.compare(SYSTEMS, TRUTH, metrics, **options, **choices)
    compared = rm.compare(evaluated(metrics, **choices), **options)
    assert compared.to_dict() == wanted.to_dict()
    assert repr(compared) == repr(wanted)
    assert compared.per_user.equals(wanted.per_user)
    assert compared.worst(None).equals(wanted.worst(None))
    if "margin" in options:  # a page takes seconds
        for name, comparison in (("wanted", wanted), ("compared", compared)):
            comparison.report(tmp_path / f"{name}.html")
        pages = [(tmp_path / f"{name}.html").read_text("utf-8") for name in ("wanted", "compared")]
        assert pages[0] == pages[1]


def test_the_clusters_of_results_are_those_of_the_comparison():
    wanted = rm.compare(SYSTEMS, TRUTH, METRICS, clusters=CLUSTERS)
    compared = rm.compare(evaluated(clusters=CLUSTERS))
    assert compared.to_dict() == wanted.to_dict()
    assert rm.compare(evaluated(), clusters=CLUSTERS)["mrr"] == wanted["mrr"]


def test_runs_are_lists_of_results():
    runs = {"A": SYSTEMS["A"], "B": SYSTEMS["B"], "C": {u: SYSTEMS["C"][u] for u in USERS}}
    wanted = rm.compare({"A": [runs["A"], runs["C"]], "B": runs["B"]}, TRUTH, "mrr ndcg@5")
    results = {name: rm.evaluate(own, TRUTH, "mrr ndcg@5") for name, own in runs.items()}
    again = rm.compare({"A": [results["A"], results["C"]], "B": results["B"]})
    assert again.differences == wanted.differences
    assert again.settings["runs"] == {"A": 2, "B": 1}
    with pytest.raises(UsageError, match="this needs the ranks of A once more"):
        again.curve("ndcg@5", 3)
    more = rm.evaluate(SYSTEMS["C"], TRUTH, "mrr ndcg@5")
    with pytest.raises(UsageError, match="the runs of A rank different users"):
        rm.compare({"A": [results["A"], more], "B": results["B"]})


def test_scores_and_batches_give_results_to_compare(tmp_path):
    scores = dict(zip("AB", RNG.random((2, 30, 40)).round(2), strict=True))
    targets = RNG.integers(0, 40, 30)
    results = {name: rm.evaluate_scores(own, targets, "mrr hits@3") for name, own in scores.items()}
    compared = rm.compare(results)
    values = {name: result.per_user["mrr"].to_list() for name, result in results.items()}
    (wanted,) = rm.compare_values(values, scale=(0, 1)).differences
    (found,) = compared["mrr"]
    assert (found.difference, found.low, found.p) == (wanted.difference, wanted.low, wanted.p)
    assert compared.curve("hits@3", 5).frame.height == 10
    compared.report(tmp_path / "page.html")
    batches = {name: rm.accumulator("mrr hits@3") for name in scores}
    for name, own in scores.items():
        batches[name].update(scores=own, target=targets)
    again = rm.compare({name: batch.compute() for name, batch in batches.items()})
    assert again.differences == compared.differences


def test_metrics_select_among_those_of_the_results():
    results = evaluated()
    others = results | {"B": rm.evaluate(SYSTEMS["B"], TRUTH, "mrr hr@3 ndcg@10")}
    some = rm.compare(others, metrics="nDCG@10 MRR")
    assert some.means().columns == ["system", "ndcg@10", "mrr"]
    assert some["mrr"] == rm.compare(results, metrics=["mrr", "ndcg@10"])["mrr"]
    assert some.per_user.columns == ["system", "user", "ndcg@10", "mrr"]


def test_a_result_whose_rankings_have_changed_has_no_curve(tmp_path):
    ranked = {user: [*SYSTEMS["A"][user]] for user in USERS}
    systems = {"A": ranked, "B": SYSTEMS["B"]}
    results = {name: rm.evaluate(own, TRUTH, "ndcg@5") for name, own in systems.items()}
    for items in ranked.values():
        items.reverse()
    compared = rm.compare(results)
    with pytest.raises(UsageError, match="which its result does not have, or which have changed"):
        compared.curve("ndcg@5")
    compared.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "Against k" not in page
    assert (
        "i1" not in page.partition("Users with the largest differences")[2].partition("<script")[0]
    )


def test_stored_values_of_users_are_results(tmp_path):
    results = evaluated("mrr ndcg@5")
    for name, result in results.items():
        result.per_user.write_csv(tmp_path / f"{name}.csv")
    files = {name: tmp_path / f"{name}.csv" for name in results}
    wanted = rm.compare(results, baseline="A")
    for systems in (files, {**files, "A": results["A"]}, {**results, "C": results["C"].per_user}):
        stored = rm.compare(systems, baseline="A")
        assert isinstance(stored, rm.ValueComparison)
        for d, other in zip(stored.differences, wanted.differences, strict=True):
            assert (d.p_adjusted, d.better, d.n) == (other.p_adjusted, other.better, other.n)
            assert (d.low, d.high) == pytest.approx((other.low, other.high))


LISTS = {user: ["c", "a"] for user in "xyz"}
SMALL = {user: {"a", "b"} for user in LISTS}


def small(metrics="ndcg@10 mrr", truth=SMALL, **options):
    return rm.evaluate(LISTS, truth, metrics, **options)


def sums():
    batches = rm.accumulator("mrr", keep="moments")
    batches.update(ranks=[1, 2, 3])
    return batches.compute()


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (
            lambda: small(like="trec_eval"),
            "gains of ndcg@10 is relevant in A and positive in B",
        ),
        (lambda: small(relevant=">=4"), "relevant of ndcg@10 is >0 in A and >=4 in B"),
        (lambda: small("mrr"), "A has ndcg@10, and B has not; name the metrics"),
        (lambda: small("mrr ndcg@10 hr@1"), "B has hr@1, and A has not"),
        (
            lambda: small(truth={**SMALL, "w": {"a"}}),
            "user 'w' is in the ground truth of B",
        ),
        (
            lambda: small(truth={"x": {"a"}}),
            r"user 'y' is in .* truth of A.* \(2 such users",
        ),
        (lambda: small(truth={**SMALL, "y": {"a"}}), "user 'y' has 2 relevant items .* A and 1 in"),
        (lambda: small(confidence=0.9), "confidence is 0.95 in A and 0.9 in B"),
        (lambda: small(interval="bca"), "interval is wilson in A and bca in B"),
        (
            lambda: rm.evaluate_ranks([1, 2, 3], "ndcg@10 mrr"),
            "ties of ndcg@10 is item in A",
        ),
    ],
)
def test_results_of_different_questions_are_refused(other, words):
    with pytest.raises(
        UsageError, match=f"A and B do not answer the same question( \\(.*\\))?: {words}"
    ):
        rm.compare({"A": small(), "B": other()})


def test_one_name_with_two_conventions_is_refused_by_compare_values_too():
    with pytest.raises(UsageError, match="gains of ndcg@10 is relevant in A and positive in B"):
        rm.compare_values({"A": small("ndcg@10 hr@1"), "B": small("ndcg@10", like="trec_eval")})


@pytest.mark.parametrize(
    ("systems", "options", "words"),
    [
        ({"A": small(), "B": LISTS}, {}, "B is rankings, and A is a result: evaluate B, too"),
        ({"A": small(), "B": small()}, {"truth": SMALL}, "`truth` acts on rankings, and results"),
        ({"A": small(), "B": small()}, {"like": "ranx"}, "`like` acts on rankings"),
        ({"A": small(), "B": small()}, {"relevant": ">1"}, "`relevant` acts on rankings"),
        ({"A": small(), "B": small()}, {"metrics": "hr@1"}, "was not evaluated"),
        ({"A": small()}, {}, "2 to 100 systems"),
        *(
            ({"A": sums(), "B": sums()}, {}, "A has no values of users: accumulate with keep=")
            for _ in range(not is_missing("_training"))
        ),
        ({"A": small().per_user, "B": small()}, {"metrics": "mrr"}, "stored values are read whole"),
        ({"A": small("mrr").per_user, "B": small()}, {}, "B has ndcg@10, and A has not"),
        ({"A": [small(), LISTS], "B": small()}, {}, "A, run 2 are a dict"),
        (small(), {}, "must be a mapping from name to rankings.* got Summary"),
        ({"A": LISTS, "B": LISTS}, {}, "truth is missing"),
        (
            {"A": small(), "B": small("ndcg@10 mrr", aggregate="median")},
            {},
            "aggregate of ndcg@10 is mean in A and median in B",
        ),
        (dict.fromkeys("AB", small(aggregate="median")), {}, "is not averaged over users"),
    ],
)
def test_what_is_refused_with_results(systems, options, words):
    with pytest.raises((UsageError, KeyError), match=words):
        rm.compare(systems, **options)


def test_users_of_two_types_are_refused():
    other = rm.evaluate({1: ["a"]}, {1: {"a"}}, "ndcg@10 mrr")
    with pytest.raises(DataError, match="integers as users and others have text"):
        rm.compare({"A": small(), "B": other})


def test_queries_are_called_queries(tmp_path):
    run, qrels = tmp_path / "x.run", tmp_path / "x.qrels"
    run.write_text("q1 Q0 d1 1 2 t\nq1 Q0 d2 2 1 t\nq2 Q0 d1 1 2 t\n", "utf-8")
    qrels.write_text("q1 0 d2 1\nq2 0 d1 1\n", "utf-8")
    result = rm.evaluate(run, qrels, "mrr")
    text = repr(rm.compare({"A": result, "B": result}))
    assert "only 2 queries" in text
    assert not re.search("user", text)


def test_results_that_were_asked_for_under_other_names_are_compared():
    wanted = rm.compare(evaluated("ndcg@10 mrr"), baseline="A")
    names = {"A": "ndcg@10 mrr", "B": "nDCG@10 MRR", "C": "NDCG_10 rr"}
    results = {name: rm.evaluate(SYSTEMS[name], TRUTH, asked) for name, asked in names.items()}
    compared = rm.compare(results, baseline="A")
    assert compared.to_dict() == wanted.to_dict()
    assert compared.summaries["C"]["mrr"] == wanted.summaries["C"]["mrr"]
    again = rm.evaluate(SYSTEMS["B"], TRUTH, "ndcg@10 mrr")
    runs = {"A": [results["A"], results["A"]], "B": [results["B"], again]}
    assert [d.metric for d in rm.compare(runs).differences] == ["ndcg@10", "mrr"]
    values = {name: results[name] for name in ("A", "B")}
    assert [d.metric for d in rm.compare_values(values).differences] == ["ndcg@10", "mrr"]
    other = rm.evaluate(SYSTEMS["B"], TRUTH, "MRR", like="ranx")
    with pytest.raises(UsageError, match="do not answer the same question"):
        rm.compare({"A": results["A"], "B": other}, metrics=["mrr"])
