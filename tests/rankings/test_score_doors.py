"""What a score matrix and its targets are: labels or ids, candidates or not, by form and door."""

from __future__ import annotations

import functools
import itertools

import array_api_strict
import numpy as np
import pytest
import scipy.sparse

import rankmeter as rm
from rankmeter.errors import DataError, InvalidValueError, UsageError

try:
    import torch
except ImportError:  # only CI installs it
    torch = None

TENSORS = {} if torch is None else {"torch": torch.tensor}
MAKERS = {"numpy": np.array, "array api": array_api_strict.asarray, **TENSORS}

# ---------------------------------------------------------------------------------------------
# Doors: each gives the reciprocal rank of every row


def by_evaluate(scores, target, make=np.asarray, **options):
    target = make(target) if isinstance(target, np.ndarray) else target
    result = rm.evaluate_scores(make(scores), target, "rr", ties="item", **options)
    return result.per_user["rr"].to_list()


def in_batches(cuts, scores, target, make=np.asarray, **options):
    acc = rm.accumulator("rr", ties="item")
    for start, stop in itertools.pairwise(cuts):
        part = target[start:stop]
        part = make(part) if isinstance(part, np.ndarray) else part
        acc.update(scores=make(scores[start:stop]), target=part, **options)
    return acc.compute().per_user["rr"].to_list()


DOORS = {
    "evaluate": by_evaluate,
    "rows": functools.partial(in_batches, range(4)),
    "two batches": functools.partial(in_batches, (0, 2, 3)),
}


def slow_values(scores, gains):
    """Reciprocal rank of the first item with a gain in each row, by sorting."""
    values = []
    for row, of_row in zip(scores, gains, strict=True):
        order = sorted(range(len(row)), key=[-value for value in row].__getitem__)
        ranks = [rank for rank, column in enumerate(order, 1) if of_row[column] > 0]
        values.append(1 / ranks[0] if ranks else 0.0)
    return values


# ---------------------------------------------------------------------------------------------
# Labels and ids

SCORES = np.array([[0.9, 0.5, 0.1], [0.9, 0.5, 0.1], [0.2, 0.3, 0.4]])
LABELS = {
    "distinct in every row, -1 at the end": [[0, 1, -1], [0, 1, -1], [1, 0, -1]],
    "zeros that repeat in one row": [[0, 1, -1], [1, 0, 0], [0, 1, -1]],
    "graded": [[0, 2, -1], [0, 2, -1], [2, 0, -1]],
    "-1 first": [[-1, 1, 0], [-1, 0, 1], [-1, 2, 0]],
    "only -1 and 1": [[-1, 1, -1], [-1, -1, 1], [1, -1, -1]],
    "a permutation": [[0, 1, 2], [2, 0, 1], [0, 2, 1]],
    "0 and 1": [[0, 1, 0], [0, 0, 1], [1, 0, 1]],
}
TYPES = ["int8", "int64", "float32", "float64"]


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("case", LABELS)
@pytest.mark.parametrize("library", MAKERS)
def test_an_array_of_the_shape_of_the_scores_holds_labels(library, case, kind, door):
    labels = np.array(LABELS[case], dtype=kind)
    found = DOORS[door](SCORES, labels, MAKERS[library])
    assert found == slow_values(SCORES, LABELS[case])


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("form", [scipy.sparse.csr_array, scipy.sparse.coo_matrix, np.matrix])
@pytest.mark.parametrize("case", LABELS)
def test_labels_in_other_forms_are_the_same(case, form):
    labels = form(np.array(LABELS[case]))
    found = rm.evaluate_scores(SCORES, labels, "rr", ties="item").per_user["rr"].to_list()
    assert found == slow_values(SCORES, LABELS[case])


def test_what_is_not_judged_is_counted_and_stays_a_candidate():
    labels = np.array(LABELS["distinct in every row, -1 at the end"])
    result = rm.evaluate_scores(SCORES, labels, ["rr", "n_ranked"])
    assert result.counts["labels_not_judged"] == 3
    assert result["n_ranked"].mean == 3
    assert "labels of -1, which are not judged: 3" in str(result)
    factors = rm.evaluate_scores((SCORES, np.eye(3)), labels, "rr")
    assert factors.counts["labels_not_judged"] == 3
    acc = rm.accumulator("rr")
    acc.update(scores=SCORES, target=labels)
    acc.update(scores=SCORES, target=labels.astype(float))
    assert acc.compute().counts["labels_not_judged"] == 6


def test_other_labels_below_0_are_gains():
    gains = np.array([[0.5, -2, 1.5]])
    got = rm.evaluate_scores([[3, 2, 1]], gains, "dcg", gains="all")["dcg"].mean
    same = rm.evaluate([{0: 3, 1: 2, 2: 1}], [{0: 0.5, 1: -2, 2: 1.5}], "dcg", gains="all")[
        "dcg"
    ].mean
    assert got == same


IDS = np.array([[1, -1, -1], [0, 1, -1], [2, -1, -1]])


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("library", MAKERS)
def test_ids_of_the_shape_of_the_scores_are_asked_for(library, door):
    run, gains = functools.partial(DOORS[door], make=MAKERS[library]), np.eye(3)[[1, 0, 2]]
    gains[1, 1] = 1
    found = run(SCORES, IDS, target_ids=True)
    assert found == slow_values(SCORES, gains)
    assert run(SCORES, list(IDS)) == found
    for same in (list(IDS), IDS.tolist()):
        assert run(SCORES, same, target_ids=True) == found
    with pytest.raises(DataError, match=r"pass np\.array\(target\) if these are labels, or ta"):
        run(SCORES, IDS.tolist())
    of_one = slow_values(SCORES, np.eye(3)[[1, 0, 2]])
    assert run(SCORES, IDS[:, 0], target_ids=True) == of_one


@pytest.mark.parametrize(
    "given",
    [
        {"target": LABELS["0 and 1"] == np.ones((3, 3)), "target_ids": True},
        {"target": IDS.astype(float), "target_ids": True},
        {"target": scipy.sparse.csr_array(IDS), "target_ids": True},
        {"target": None, "negatives": SCORES, "target_ids": True},
    ],
)
def test_what_holds_no_ids_is_refused_where_ids_are_asked_for(given):
    with pytest.raises((DataError, UsageError), match=r"target_ids|must have ids of columns"):
        rm.evaluate_scores(SCORES if given["target"] is not None else SCORES[:, 0], **given)


SEEN = [[0, 1, 0], [1, 0, 0], [0, 0, 0]]


@pytest.mark.parametrize("kind", ["bool", *TYPES, "uint8"])
@pytest.mark.parametrize("library", MAKERS)
def test_an_exclusion_of_the_shape_of_the_scores_is_a_mask(library, kind):
    mask = MAKERS[library](np.array(SEEN, dtype=kind))
    found = by_evaluate(SCORES, [2, 1, 2], MAKERS[library], exclude=mask)
    assert found == by_evaluate(SCORES, [2, 1, 2], exclude=[[1], [0], []])
    ranking = rm.Scores(SCORES, exclude=mask)
    assert rm.evaluate(ranking, [[2], [1], [2]], "rr").per_user["rr"].to_list() == found


@pytest.mark.parametrize(("option", "rr"), [("exclude", [1, 1, 1]), ("candidates", [1, 1, 0.5])])
def test_ids_of_that_shape_that_exclude_are_a_list_as_the_error_says(option, rr):
    ids = np.array([[0, 2, -1], [2, 0, -1], [2, -1, -1]])
    ids = ids if option == "exclude" else np.array([[1, 2, -1], [2, 1, -1], [1, 2, -1]])
    for run in (
        lambda cells: rm.evaluate_scores(SCORES, [1, 1, 1], "rr", **{option: cells}),
        lambda cells: rm.evaluate(rm.Scores(SCORES, **{option: cells}), [[1]] * 3, "rr"),
    ):
        with pytest.raises(DataError, match=rf"or `list\({option}\)` if these are ids"):
            run(ids)
        assert run(list(ids)).per_user["rr"].to_list() == rr


# ---------------------------------------------------------------------------------------------
# np.matrix


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("names", list(itertools.product([np.array, np.matrix], repeat=3)))
def test_a_matrix_of_numpy_is_an_array(names):
    of_scores, of_target, of_exclude = names
    scores, labels = of_scores(SCORES), of_target(LABELS["0 and 1"])
    exclude = of_exclude([[1, 0, 0], [1, 0, 0], [0, 1, 0]])
    wanted = by_evaluate(SCORES, np.array(LABELS["0 and 1"]), exclude=np.asarray(exclude))
    assert by_evaluate(scores, labels, lambda data: data, exclude=exclude) == wanted
    acc = rm.accumulator("rr", ties="item")
    acc.update(scores=scores, target=labels, exclude=exclude)
    assert acc.compute().per_user["rr"].to_list() == wanted
    truth = [{1: 1}, {2: 1}, {0: 1, 2: 1}]
    ranked = rm.evaluate(rm.Scores(scores, exclude=exclude), truth, "rr", ties="item")
    assert ranked.per_user["rr"].to_list() == wanted
    for same in ((scores, of_scores(np.eye(3))), [scores[:, :1], scores[:, 1:]]):
        assert by_evaluate(same, labels, lambda data: data, exclude=exclude) == wanted


# ---------------------------------------------------------------------------------------------
# -inf is not a candidate

HOLES = np.array([[0.9, -np.inf, 0.1, 0.3], [-np.inf, 0.5, -np.inf, 0.7], [-np.inf] * 4])
JUDGED = [[1, 2], [1], [0]]
FORMS = {
    "array": lambda scores: scores,
    "float32": lambda scores: scores.astype(np.float32),
    "float16": lambda scores: scores.astype(np.float16),
    "fortran": np.asfortranarray,
    "blocks": lambda scores: [scores[:, :1], scores[:, 1:]],
    "function": lambda scores: lambda: [scores[:, :3], scores[:, 3:]],
    "stored": scipy.sparse.csr_array,
    "array api": array_api_strict.asarray,
}
if torch is not None:
    FORMS["torch"] = torch.tensor
    FORMS["bfloat16"] = lambda scores: torch.tensor(scores).bfloat16()
METRICS = ["rr", "recall@2", "n_ranked", "ndcg", "map"]


def values_of(result):
    return {name: result.per_user[name].to_list() for name in result.estimates}


def slow_holes(ties):
    """The same scores as dictionaries without the cells of -inf."""
    rankings = {
        user: {item: score for item, score in enumerate(row.tolist()) if score > -np.inf}
        for user, row in enumerate(HOLES)
    }
    result = rm.evaluate(rankings, dict(enumerate(JUDGED)), METRICS, ties=ties)
    return values_of(result)


@pytest.mark.parametrize("bad_scores", ["error", "drop", "worst"])
@pytest.mark.parametrize("ties", ["item", "expected"])
@pytest.mark.parametrize("form", FORMS)
def test_minus_infinity_is_not_a_candidate_in_every_form(form, ties, bad_scores):
    options = {"ties": ties, "bad_scores": bad_scores}
    scores, wanted = FORMS[form](HOLES), slow_holes(ties)
    result = rm.evaluate_scores(scores, JUDGED, METRICS, **options)
    acc = rm.accumulator(METRICS, **options)
    acc.update(scores=scores, target=JUDGED)
    ranked = rm.evaluate(rm.Scores(scores), JUDGED, METRICS, **options)
    for found in (result, acc.compute(), ranked):
        assert values_of(found) == wanted
        assert found.counts["scores_of_minus_infinity"] == 7
        assert "scores of -inf, which are not candidates: 7" in str(found)


@pytest.mark.parametrize("form", FORMS)
def test_a_true_item_that_is_not_a_candidate_is_a_query_without_a_rank(form):
    result = rm.evaluate_scores(FORMS[form](HOLES), JUDGED, ["rr", "n_ranked"], each=True)
    assert values_of(result) == {"rr": [0, 1 / 3, 0.5, 0], "n_ranked": [3 - 1, 3, 2, 0]}


@pytest.mark.parametrize("form", FORMS)
def test_minus_infinity_that_is_excluded_or_no_candidate_is_counted_once(form):
    known = [[3], [0], [1, 2, 3]]
    listed = [[0, 1, 2], [0, 1, 2], [0, 1]]
    for options, n in (({"exclude": known}, 3), ({"candidates": listed}, 5)):
        result = rm.evaluate_scores(FORMS[form](HOLES), JUDGED, METRICS, ties="item", **options)
        ranked = rm.evaluate(rm.Scores(FORMS[form](HOLES), **options), JUDGED, METRICS, ties="item")
        assert values_of(result) == values_of(ranked)
        assert result.counts["scores_of_minus_infinity"] == n
        assert ranked.counts["scores_of_minus_infinity"] == n


def test_the_worst_finite_score_and_nan_are_still_what_they_were():
    low = np.array([[-1e300, 0.5, 0.7]])
    for options in ({}, {"score_type": "float64"}):
        assert rm.evaluate_scores(low, [0], "mr", **options)["mr"].mean == 3
    with pytest.raises(InvalidValueError, match="score of row 0 and column 0 is -inf"):
        rm.evaluate_scores(low, [0], "mr", score_type="float32")  # too low for the type
    nan = np.array([[np.nan, -np.inf, 0.7]])
    for run in (
        lambda **options: rm.evaluate_scores(nan, [0], "rr", **options),
        lambda **options: rm.evaluate(rm.Scores(nan), [[0]], "rr", no_overlap="allow", **options),
    ):
        with pytest.raises(InvalidValueError, match=r"score of row 0 and column 0 is (nan|NaN)"):
            run()
        assert run(bad_scores="worst")["rr"].mean == 0.5
        assert run(bad_scores="drop")["rr"].mean == 0
    with pytest.raises(InvalidValueError, match="score of row 0 and column 1 is inf"):
        rm.evaluate_scores([[0.5, np.inf]], [0], "rr")


def test_close_scores_beside_minus_infinity():
    result = rm.evaluate_scores(HOLES, [0, 1, 0], "rr", tolerance=(0.5, 0.5), ties="pessimistic")
    assert result.per_user["rr"].to_list() == [1 / 3, 1 / 2, 0]
