"""Scores, samples, ranks and grades are rankings: every function measures them as it does lists."""

from __future__ import annotations

import functools

import numpy as np
import polars as pl
import pytest
import scipy.sparse
from hypothesis import assume, given
from hypothesis import strategies as st

import cases
import rankmeter as rm
from rankmeter.errors import (
    DataError,
    DuplicateError,
    IdTypeError,
    InvalidValueError,
    RankmeterWarning,
    UsageError,
)

pytestmark = pytest.mark.once

N_USERS, N_ITEMS = 12, 9
USERS = [f"u{row}" for row in range(N_USERS)]
ITEMS = [f"i{column}" for column in range(N_ITEMS)]
METRICS = ["rr", "ndcg@3", "recall@2", "auc"]
TARGET = np.random.default_rng(2).integers(0, N_ITEMS, N_USERS)
TRUTH = {user: {ITEMS[column]} for user, column in zip(USERS, TARGET, strict=True)}
SEGMENTS = {user: "ab"[row % 2] for row, user in enumerate(USERS)}


def matrix(seed):
    """Scores without ties."""
    rng = np.random.default_rng(seed)
    return np.array([rng.permutation(N_ITEMS) for _ in USERS]) / N_ITEMS


def as_dict(scores):
    return {
        user: dict(zip(ITEMS, row, strict=True))
        for user, row in zip(USERS, scores.tolist(), strict=True)
    }


def as_frame(scores):
    rows = [(u, i, s) for u, items in as_dict(scores).items() for i, s in items.items()]
    return pl.DataFrame(rows, ["user", "item", "score"], orient="row")


def as_samples(scores):
    own = scores[np.arange(N_USERS), TARGET]
    others = [np.delete(row, column) for row, column in zip(scores, TARGET, strict=True)]
    return rm.Sampled(own, others, users=USERS)


def as_ranks(scores):
    own = scores[np.arange(N_USERS), TARGET]
    return rm.Ranks(1 + (scores > own[:, None]).sum(1), candidates=N_ITEMS, users=USERS)


def as_grades(scores):
    order = np.argsort(-scores, axis=1)
    return rm.Grades(1 * (order == TARGET[:, None]), n_relevant=1, users=USERS)


KINDS = {
    "dict": (as_dict, TRUTH),
    "frame": (as_frame, TRUTH),
    "Scores": (lambda scores: rm.Scores(scores, users=USERS, items=ITEMS), TRUTH),
    "Sampled": (as_samples, None),
    "Ranks": (as_ranks, None),
    "Grades": (as_grades, None),
}
"""The same rankings in each kind, and their ground truth."""


def values(result):
    return {metric: result[metric].mean for metric in METRICS}


def evaluated(make, truth):
    result = rm.evaluate(make(matrix(0)), truth, METRICS)
    return values(result), result["rr"].interval, result.per_user.to_dicts()


def compared(make, truth):
    systems = {"A": make(matrix(0)), "B": make(matrix(1))}
    result = rm.compare(systems, truth, METRICS, baseline="A", segments=SEGMENTS)
    return [(one.difference, one.p, one.low, one.segment) for one in result["ndcg@3"]]


def with_runs(make, truth):
    systems = {"A": [make(matrix(0)), make(matrix(1))], "B": [make(matrix(2)), make(matrix(3))]}
    return rm.compare(systems, truth, METRICS)["rr"][0].difference


def curve(make, truth):
    return rm.curve(make(matrix(0)), truth, "recall", 5).frame.to_dicts()


def explained(make, truth):
    found = rm.explain(make(matrix(0)), truth, "ndcg@3", between=("recbole", "ranx"))
    return found.start.mean, found.end.mean


def searched(make, truth):
    mean = evaluated(make, truth)[0]["ndcg@3"]
    found = rm.explain(make(matrix(0)), truth, "ndcg@3", target=f"{mean:.6f}")
    return found.matches[0].value


def segmented(make, truth):
    found = rm.evaluate(make(matrix(0)), truth, METRICS).by_segment(SEGMENTS)
    return found.to_dicts()


def clustered(make, truth):
    found = rm.evaluate(make(matrix(0)), truth, METRICS, clusters=SEGMENTS)
    return found["rr"].interval


def values_shown(result):
    return [(walk.label, walk.value, walk.counted) for _, walk in result.show("u3").walks]


def shown(make, truth):
    return values_shown(rm.evaluate(make(matrix(0)), truth, METRICS))


def shown_of_one(make, truth):
    systems = {"A": make(matrix(0)), "B": make(matrix(1))}
    return values_shown(rm.compare(systems, truth, METRICS).summaries["B"])


def reported(make, truth, folder):
    rm.evaluate(make(matrix(0)), truth, METRICS).report(folder / "one.html")
    systems = {"A": make(matrix(0)), "B": make(matrix(1))}
    rm.compare(systems, truth, METRICS).report(folder / "two.html")
    texts = [(folder / name).read_text("utf-8") for name in ("one.html", "two.html")]
    return [text.startswith("<!doctype html>") and "ndcg@3" in text for text in texts]


def lists(make, truth):
    found = rm.evaluate(make(matrix(0)), truth, ["coverage@2", "rr"], catalogue=ITEMS)
    return found["coverage@2"].mean


def by_convention(make, truth):
    return values(rm.evaluate(make(matrix(0)), truth, METRICS, like="ranx"))


FUNCTIONS = [
    evaluated, compared, with_runs, curve, explained, searched, segmented, clustered, shown,
    shown_of_one, reported, lists, by_convention,
]  # fmt: skip
FUNCTIONS = {function.__name__: function for function in FUNCTIONS}
GAPS = {
    ("lists", "Sampled"): "needs the items|has no items",
    ("lists", "Ranks"): "needs the items|has no items",
    ("lists", "Grades"): "needs the items|has no items",
}
"""What a function refuses, and what it says. This table may only shrink."""


@functools.cache
def of_dictionaries(function):
    return function(*KINDS["dict"])


@pytest.mark.parametrize("function", FUNCTIONS.values(), ids=FUNCTIONS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_function_measures_every_kind_alike(function, kind, tmp_path):
    if function is reported:
        assert function(*KINDS[kind], tmp_path) == [True, True]
        return
    if said := GAPS.get((function.__name__, kind)):
        with pytest.raises(UsageError, match=said):
            function(*KINDS[kind])
        return
    assert function(*KINDS[kind]) == of_dictionaries(function)


def test_the_table_of_gaps_does_not_grow():
    assert len(GAPS) <= 3


# ---------------------------------------------------------------------------------------------
# Scores


@st.composite
def problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n_rows, n_columns = draw(st.integers(1, 6)), draw(st.integers(2, 9))
    scores = rng.integers(-2, 3, (n_rows, n_columns)) / 4
    out = [rng.permutation(n_columns)[: rng.integers(0, n_columns - 1)] for _ in range(n_rows)]
    inside = [np.setdiff1d(np.arange(n_columns), one) for one in out]
    judged = [one[: rng.integers(1, 4)] for one in map(rng.permutation, inside)]
    return scores, out, inside, judged


RULES = ["item", "item-descending", "text", *cases.BY_ROW]
RULES += ["expected", "realistic", "optimistic"]


@pytest.mark.filterwarnings("ignore:.*look swapped")
@given(problems(), st.sampled_from(RULES), st.sampled_from(["ndcg@2", "map", "mr", "rr"]))
def test_scores_are_measured_as_the_same_dictionary(problem, ties, metric):
    scores, out, inside, judged = problem
    assume(ties not in cases.SHARED or metric in ("mr", "rr"))
    truth = {row: {int(i): 1 + n for n, i in enumerate(one)} for row, one in enumerate(judged)}
    known = {row: {int(i): scores[row, i] for i in sorted(one)} for row, one in enumerate(inside)}
    want = rm.evaluate(known, truth, metric, ties=ties, no_overlap="allow")
    sparse = scipy.sparse.csr_matrix(
        (
            np.concatenate([scores[row, one] for row, one in enumerate(inside)]),
            (np.repeat(np.arange(len(out)), [len(one) for one in inside]), np.concatenate(inside)),
        ),
        shape=scores.shape,
    )
    mask = np.zeros(scores.shape, dtype=bool)
    for row, one in enumerate(out):
        mask[row, one] = True
    forms = [
        rm.Scores(scores, exclude=mask),
        rm.Scores(scores.astype(np.float32), exclude=[one.tolist() for one in out]),
        rm.Scores(scores, candidates=~mask),
        rm.Scores([scores[:, :2], scores[:, 2:]], exclude=scipy.sparse.csr_matrix(mask)),
        rm.Scores((scores, np.eye(scores.shape[1])), exclude=mask),
        rm.Scores(lambda: iter([scores]), exclude=mask),
        rm.Scores(sparse),
    ]
    for form in forms:
        got = rm.evaluate(form, truth, metric, ties=ties, no_overlap="allow")
        np.testing.assert_array_equal(got.scores.matrix, want.scores.matrix)
        assert got.scores.counts == want.scores.counts


@pytest.mark.filterwarnings("ignore:.*are small integers")
@given(problems(), st.sampled_from(["realistic", "expected", "optimistic", "item"]))
def test_scores_are_measured_as_by_evaluate_scores(problem, ties):
    scores, out, _, judged = problem
    metrics = ["mr", "auc"] if ties in cases.SHARED else ["ndcg@2", "map", "mr", "auc"]
    want = rm.evaluate_scores(
        scores,
        [*map(list, judged)],
        metrics,
        exclude=[*map(list, out)],
        ties=ties,
        target_ids=True,  # a row may have as many ids as there are columns
    )
    truth = {row: set(map(int, one)) for row, one in enumerate(judged)}
    rankings = rm.Scores(scores, exclude=[*map(list, out)])
    got = rm.evaluate(rankings, truth, metrics, ties=ties, no_overlap="allow")
    np.testing.assert_array_equal(got.scores.matrix, want.scores.matrix)


def test_columns_that_all_users_share_are_the_candidates():
    scores = np.array([[0.9, 0.5, 0.1], [0.7, 0.2, 0.8]])
    for columns in ([1, 2], np.array([False, True, True])):
        result = rm.evaluate(
            rm.Scores(scores, candidates=columns), {0: {1}, 1: {1}}, ["rr", "n_ranked"]
        )
        assert result.per_user["rr"].to_list() == [1.0, 0.5]
        assert result.per_user["n_ranked"].to_list() == [2, 2]


def test_lists_of_scores_are_their_best_items():
    scores = rm.Scores([[0.9, 0.5, 0.1], [0.7, 0.2, 0.8]], items=["a", "b", "c"])
    result = rm.evaluate(scores, None, ["coverage@1", "gini@1"], catalogue=["a", "b", "c"])
    assert result["coverage@1"].mean == pytest.approx(2 / 3)
    unseen = rm.Scores(
        [[0.9, 0.5, 0.1], [0.7, 0.2, 0.8]], items=["a", "b", "c"], exclude=[[0], [2]]
    )
    result = rm.evaluate(unseen, None, "coverage@1", catalogue=["a", "b", "c"])
    assert result["coverage@1"].mean == pytest.approx(2 / 3)


def test_systems_whose_columns_have_other_orders_are_compared():
    scores = matrix(0)
    turned = rm.Scores(scores[:, ::-1], users=USERS, items=ITEMS[::-1])
    systems = {"A": rm.Scores(scores, users=USERS, items=ITEMS), "B": turned, "C": as_dict(scores)}
    result = rm.compare(systems, TRUTH, METRICS)
    assert {one.difference for one in result["ndcg@3"]} == {0.0}


@pytest.mark.parametrize(("rule", "rr"), [("drop", 1.0), ("worst", 0.5)])
def test_nan_is_decided_by_the_choice(rule, rr):
    scores = rm.Scores([[np.nan, 0.3, 0.5], [0.1, 0.3, np.nan]])
    truth = {0: {2}, 1: {1}}
    assert rm.evaluate(scores, truth, "rr", bad_scores=rule)["rr"].mean == 1.0
    with pytest.raises(InvalidValueError, match="row 0 and column 0 is NaN; 2 scores in all"):
        rm.evaluate(scores, truth, "rr")
    last = rm.evaluate(rm.Scores([[np.nan, 0.3]]), {0: {0, 1}}, "n_ranked", bad_scores=rule)
    assert last["n_ranked"].mean == 1 / rr


def test_a_user_without_candidates_has_an_empty_ranking():
    scores = rm.Scores([[0.9, 0.5], [0.7, 0.2]], exclude=[[0, 1], []])
    result = rm.evaluate(scores, {0: {0}, 1: {0}}, "rr")
    assert result.per_user["rr"].to_list() == [0.0, 1.0]


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (lambda: rm.Scores([1.0, 2.0]), DataError, "a row for each user"),
        (lambda: rm.Scores([["a", "b"]]), DataError, "must be numbers"),
        (lambda: rm.Scores(()), DataError, "must be factors of shapes .* got no factor"),
        (lambda: rm.Scores([[1.0, 2.0]], items=["a", "a"]), DuplicateError, "duplicate item 'a'"),
        (lambda: rm.Scores([[1.0], [2.0]], users=[3, 3]), DuplicateError, "duplicate user 3"),
        (lambda: rm.Scores([[1.0], [2.0]], users=[3]), DataError, "one label for each of 2 rows"),
        (lambda: rm.Scores([[1.0, 2.0]], exclude=[[5]]), DataError, "outside the 2 columns"),
        (lambda: rm.Scores(iter([[1.0]])), UsageError, "a generator cannot"),
    ],
)
def test_scores_that_cannot_be_read_are_refused(make, error, said):
    with pytest.raises(error, match=said):
        rm.evaluate(make(), {0: {0}}, "rr")


@pytest.mark.parametrize("engine", ["disk", "spark"])
def test_engines_for_files_refuse_scores(engine):
    with pytest.raises(UsageError, match="cannot read Scores, which is in memory"):
        rm.evaluate(rm.Scores([[1.0]]), {0: {0}}, "rr", engine=engine)


# ---------------------------------------------------------------------------------------------
# Rankings with their ground truth


POSITIVE, NEGATIVES = np.array([0.5, 0.2, 1.0]), np.array([[0.5, 0.7], [0.1, 0.2], [1.0, 1.0]])


@pytest.mark.parametrize("like", [None, "pykeen", "libkge", "sklearn"])
@pytest.mark.parametrize("ties", [None, "expected", "pessimistic"])
def test_samples_and_ranks_have_the_values_of_their_one_liners(like, ties):
    metrics = ["rr", "hits@2", "mr", "auc"] if like in (None, "pykeen") else ["rr"]
    options = {"like": like, "ties": ties}
    want = rm.evaluate_scores(POSITIVE, None, metrics, negatives=NEGATIVES, **options)
    got = rm.evaluate(rm.Sampled(POSITIVE, NEGATIVES), None, metrics, **options)
    np.testing.assert_array_equal(got.scores.matrix, want.scores.matrix)
    ranks, sizes = [1, 2.5, 4], [9, 8, 7]
    want = rm.evaluate_ranks(ranks, metrics, candidates=sizes, **options)
    got = rm.evaluate(rm.Ranks(ranks, candidates=sizes), None, metrics, **options)
    np.testing.assert_array_equal(got.scores.matrix, want.scores.matrix)
    assert got.plan.describe() == want.plan.describe()


def test_ties_of_ranks_have_their_ends():
    ranks = rm.Ranks([1, 2], upper=[3, 2])
    means = {ties: rm.evaluate(ranks, None, "mr", ties=ties)["mr"].mean
             for ties in ("optimistic", "pessimistic", "realistic")}  # fmt: skip
    assert means == {"optimistic": 1.5, "pessimistic": 2.5, "realistic": 2.0}
    with pytest.raises(UsageError, match="ids of tied items"):
        rm.evaluate(ranks, None, "mr", ties="item")


def test_a_metric_of_the_number_of_candidates_asks_for_it():
    with pytest.raises(UsageError, match="pass candidates="):
        rm.evaluate(rm.Ranks([1, 2]), None, "auc")
    with pytest.raises(UsageError, match="pass candidates="):
        rm.compare({"A": rm.Ranks([1, 2]), "B": rm.Ranks([2, 2])}, None, ["rr", "auc"])


def test_what_is_not_in_the_lists_is_said():
    with pytest.warns(RankmeterWarning, match="pass n_relevant="):
        result = rm.evaluate(rm.Grades([[0, 1, 0]]), None, "recall@3")
    assert result["recall@3"].mean == 1.0
    assert (
        rm.evaluate(rm.Grades([[0, 1, 0]], n_relevant=4), None, "recall@3")["recall@3"].mean == 0.25
    )


def test_grades_are_gains():
    graded = rm.evaluate(rm.Grades([[2, 0, 3], []], n_relevant=[3, 1]), None, ["dcg", "ndcg", "rr"])
    want = rm.evaluate(
        {0: ["a", "x", "b"], 1: []},
        {0: {"a": 2, "b": 3, "c": 1, "x": 0}, 1: {"d": 1}},
        ["dcg", "ndcg", "rr"],
    )
    np.testing.assert_array_equal(graded.scores.matrix, want.scores.matrix)
    strict = rm.evaluate(rm.Grades([[2, 0, 3]], n_relevant=2), None, "rr", relevant=">=3")
    assert strict["rr"].mean == pytest.approx(1 / 3)


@pytest.mark.parametrize(
    ("call", "error", "said"),
    [
        (lambda: rm.evaluate(rm.Ranks([1]), {0: {0}}, "rr"), UsageError, "pass None as truth"),
        (lambda: rm.evaluate(rm.Scores([[1.0]]), None, "rr"), UsageError, "truth is missing"),
        (
            lambda: rm.compare({"A": rm.Ranks([1]), "B": {0: [0]}}, None, "rr"),
            UsageError,
            r"A \(Ranks\) has its own ground truth and B has none",
        ),
        (
            lambda: rm.compare({"A": rm.Ranks([1]), "B": rm.Ranks([1, 2])}, None, "rr"),
            DataError,
            "different relevant items",
        ),
        (
            lambda: rm.compare({"A": rm.Ranks([1]), "B": rm.Ranks([1], users=["a"])}, None, "rr"),
            IdTypeError,
            "of one type",
        ),
        (
            lambda: rm.compare(
                {"A": rm.Grades([[1]], n_relevant=1), "B": rm.Grades([[2]], n_relevant=1)},
                None,
                "rr",
            ),
            DataError,
            "different relevant items",
        ),
        (lambda: rm.Grades([[1, -1]]), InvalidValueError, "list 0 of Grades must be the gains"),
        (lambda: rm.Grades([["a"]]), InvalidValueError, "list 0 of Grades must be the gains"),
        (lambda: rm.Grades([[1, 1]], n_relevant=1), DataError, "but the list has 2 relevant items"),
        (lambda: rm.Grades([[1]], n_relevant=[1, 2]), DataError, "one for each of 1 list"),
        (lambda: rm.Ranks([0]), InvalidValueError, "is not a rank"),
        (lambda: rm.Ranks([1, 2], users=[1, 1]), DuplicateError, "duplicate user 1"),
        (lambda: rm.Sampled([1.0], [[np.nan]]), InvalidValueError, "NaN or infinite"),
        (
            lambda: rm.evaluate(rm.Ranks([1]), None, "rr", exclude="self"),
            UsageError,
            "cannot act on ranks",
        ),
        (
            lambda: rm.evaluate(rm.Grades([[1]]), None, "rr", ties="item"),
            UsageError,
            "cannot act on grades",
        ),
    ],
)  # fmt: skip
def test_what_is_missing_or_too_much_is_said(call, error, said):
    with pytest.raises(error, match=said):
        call()


@pytest.mark.parametrize(
    "rankings",
    [rm.Ranks([1, 4]), rm.Sampled([0.9], [[0.1, 0.95]]), rm.Grades([[0, 1]], n_relevant=1)],
    ids=repr,
)
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("collapse", {0: 1}),
        ("columns", {"user": "query"}),
        ("train", {0: [0]}),
        ("items", {0: ["x"]}),
        ("catalogue", 5),
        ("baseline_lists", {0: [0]}),
        ("propensity", {0: 0.5}),
    ],
)
def test_data_about_items_cannot_act_on_rankings_without_items(rankings, name, value):
    with pytest.raises(rm.errors.UsageError, match=f"`{name}` cannot act on .* no items"):
        rm.evaluate(rankings, None, "mrr", **{name: value})


def test_a_result_is_not_a_ranking():
    truth = {"ann": {"b"}}
    result = rm.evaluate({"ann": ["a", "b"]}, truth, "mrr")
    for ask in (
        lambda: rm.evaluate(result, truth),
        lambda: rm.curve(result, truth, "recall", 2),
        lambda: rm.Evaluator(truth).compare({"a": result, "b": result}),
    ):
        with pytest.raises(rm.errors.UsageError, match="Summary is a result, not rankings"):
            ask()


SMALL = rm.Sampled([0.5, 0.9, 0.3], [[0.7, 0.1], [0.3, 0.8], [0.1, 0.2]])
OTHERS_THAN_SAMPLED = {
    "more negatives": rm.Sampled([0.5, 0.9, 0.3], [[0.7, 0.1, 0.2]] * 3),
    "ranks among more": rm.Ranks([1, 2, 1], candidates=9),
    "ranks among how many": rm.Ranks([1, 2, 1]),
    "grades": rm.Grades([[1], [0, 1], [1]], n_relevant=1),
}


@pytest.mark.parametrize("other", OTHERS_THAN_SAMPLED)
def test_a_sample_is_compared_with_samples_of_the_same_size_alone(other):
    ranked = OTHERS_THAN_SAMPLED[other]
    with pytest.raises(UsageError, match="among sampled candidates cannot be compared"):
        rm.compare({"small": SMALL, "other": ranked}, None, "rr")
    results = {name: rm.evaluate(r, None, "rr") for name, r in {"a": SMALL, "b": ranked}.items()}
    with pytest.raises(UsageError, match="do not answer the same question"):
        rm.compare(results)


def test_a_sample_says_how_many_candidates_there_were():
    rm.compare({"a": SMALL, "b": rm.Ranks([1, 2, 1], candidates=3)}, None, "rr")
    scored = rm.evaluate_scores([0.5], None, "rr", negatives=[[0.7, 0.1]])
    for result in (rm.evaluate(SMALL, None, "rr"), scored):
        assert "sampled candidates: 2" in repr(result)
    rm.compare({"a": rm.evaluate(SMALL, None, "rr"), "b": rm.evaluate(SMALL, None, "rr")})
    lists = rm.evaluate(
        {0: [0], 1: [0], 2: [0]}, {n: {0} for n in range(3)}, "rr", ties="realistic"
    )
    with pytest.raises(UsageError, match="a was ranked among 3 candidates and b among 1"):
        rm.compare({"a": rm.evaluate(SMALL, None, "rr"), "b": lists})
