"""Scores in: every form of a matrix gives the ranks of a slow definition."""

from __future__ import annotations

import gzip

import array_api_strict
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import cases
import rankmeter as rm
from rankmeter.errors import (
    DataError,
    DuplicateError,
    InvalidValueError,
    RankmeterWarning,
    UsageError,
)

try:
    import torch
except ImportError:  # only CI installs it
    torch = None

TENSOR = [] if torch is None else [torch.tensor]
LIBRARIES = [np.asarray, *TENSOR, array_api_strict.asarray]

SCORES = np.array(
    [
        [0.1, 0.9, 0.5, 0.5, 0.3, 0, 0.2, 0.4],
        [0.7, 0.7, 0.7, 0.1, 0.7, 0, 0.2, 0.3],
        [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2],
        [0] * 8,
        [0.3, 0.2, 0.1, 0.6, 0.6, 0.6, 0.9, 0.8],
        [0.5, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8],
    ]
)
TARGET = [2, 1, 3, 5, 4, 0]
KNOWN = [[1], [0], [0, 1], [], [3, 6], [7]]


@pytest.mark.parametrize(
    ("rule", "known", "mr", "mrr", "hits"),
    [
        ("optimistic", None, 2.5, 0.5555555556, 0.6666667),
        ("realistic", None, 3.5833333333, 0.2953703704, 0.3333333),
        ("pessimistic", None, 4.6666666667, 0.2347222222, 0.1666667),
        ("rounded", None, 3.8333333333, 0.2694444444, 0.3333333),
        ("expected", None, 3.5833333333, 0.3397238757, 0.4097222222),
        ("optimistic", KNOWN, 1.6666666667, 0.7222222222, 1),
        ("realistic", KNOWN, 2.5833333333, 0.4370370370, 0.8333333),
        ("pessimistic", KNOWN, 3.5, 0.3541666667, 0.8333333),
        ("rounded", KNOWN, 2.8333333333, 0.3944444444, 0.8333333),
        ("expected", KNOWN, 2.5833333333, 0.4918072090, 0.8958333333),
    ],
)
def test_the_worked_example_under_every_rule(rule, known, mr, mrr, hits):
    result = rm.evaluate_scores(SCORES, TARGET, ["mr", "mrr", "hits@3"], exclude=known, ties=rule)
    means = [estimate.mean for estimate in result.values()]
    assert means == pytest.approx([mr, mrr, hits], abs=1e-7)


def slow_rank(scores, target, candidates, rule):
    """Rank by the definition: one plus what is scored higher, and the rule for the ties."""
    above = sum(scores[c] > scores[target] for c in candidates)
    tied = [c for c in candidates if scores[c] == scores[target] and c != target]
    before = sum(c < target for c in tied)
    return (
        1
        + above
        + {
            "optimistic": 0,
            "pessimistic": len(tied),
            "realistic": len(tied) / 2,
            "item": before,
            "item-descending": len(tied) - before,
        }[rule]
    )


@st.composite
def problems(draw, most_targets=3):
    n_rows, n_columns = draw(st.integers(1, 6)), draw(st.integers(2, 9))
    levels = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scores = rng.integers(-levels, levels, (n_rows, n_columns)) / 4
    targets, known = [], []
    for _ in range(n_rows):
        items = rng.permutation(n_columns).tolist()
        size = int(rng.integers(0, min(most_targets, n_columns) + 1))
        targets.append(items[:size])
        known.append(items[size : size + int(rng.integers(0, 4))])
    return scores, targets, known


RULES = ["optimistic", "pessimistic", "realistic", "item", "item-descending"]


@given(problems(), st.sampled_from(RULES))
def test_each_true_item_is_ranked_without_the_other_true_items(problem, rule):
    scores, targets, known = problem
    wanted = [
        slow_rank(row, t, set(range(row.size)) - set(mine) - set(out) | {t}, rule)
        for row, mine, out in zip(scores, targets, known, strict=True)
        for t in sorted(mine)
    ]
    result = rm.evaluate_scores(
        scores, targets, "mr", exclude=known, ties=rule, each=True, target_ids=True
    )
    np.testing.assert_array_equal(result.scores.values["mr"], wanted)


@pytest.mark.filterwarnings("ignore:the item .* is only at the ends of lists")
@pytest.mark.filterwarnings("ignore:the items of the ground truth")
@given(problems(), st.sampled_from(["item", "item-descending", "optimistic", "expected"]))
def test_rows_with_several_relevant_items_equal_rankings_of_these_scores(problem, rule):
    scores, targets, known = problem
    metrics = ["ndcg@3", "map", "recall@2", "mrr", "r_precision"]
    got = rm.evaluate_scores(
        scores, targets, metrics, exclude=known, each=False, ties=rule, target_ids=True
    )
    rankings = {
        user: {item: score for item, score in enumerate(row.tolist()) if item not in out}
        for user, (row, out) in enumerate(zip(scores, known, strict=True))
    }
    truth = dict(enumerate(targets))
    if not any(targets):
        return
    same = rm.evaluate(rankings, truth, metrics, ties=rule, relevant="any")
    for metric in metrics:
        np.testing.assert_array_equal(got.scores.values[metric], same.scores.values[metric])


def blocks_of(scores, cut):
    return [part for part in np.split(scores, [cut], axis=1) if part.shape[1]]


FORMS = {
    "float32": lambda scores, _: scores.astype(np.float32),
    "float16": lambda scores, _: scores.astype(np.float16),
    "integers": lambda scores, _: (4 * scores).astype(np.int16),
    "lists": lambda scores, _: scores.tolist(),
    "fortran": lambda scores, _: np.asfortranarray(scores),
    "array api": lambda scores, _: array_api_strict.asarray(scores),
    "blocks": blocks_of,
    "array api blocks": lambda scores, cut: [
        *map(array_api_strict.asarray, blocks_of(scores, cut))
    ],
    "blocks of two types": lambda scores, cut: [
        part.astype(kind) for part, kind in zip(blocks_of(scores, cut), ("f4", "f8"), strict=False)
    ],
    "function": lambda scores, cut: lambda: iter(blocks_of(scores, cut)),
    "factors": lambda scores, _: (scores, np.eye(scores.shape[1])),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.filterwarnings("ignore:.*of the targets are tied")
@given(problem=problems(), cut=st.integers(0, 9), rule=st.sampled_from(RULES))
def test_every_form_of_scores_counts_the_same(form, problem, cut, rule):
    scores, targets, known = problem
    for each in (True, False):
        options = {"exclude": known, "ties": rule, "each": each, "target_ids": True}
        metrics = ["mr", "map"] if each or rule not in cases.SHARED else ["mr", "auc"]
        whole = rm.evaluate_scores(scores, targets, metrics, **options)
        part = rm.evaluate_scores(FORMS[form](scores, cut), targets, metrics, **options)
        np.testing.assert_array_equal(part.scores.matrix, whole.scores.matrix)


@pytest.mark.parametrize("compiled", [True, False])
@given(problem=problems(most_targets=9), rule=st.sampled_from(RULES), each=st.booleans())
def test_rows_in_parts_and_without_a_compiler_count_the_same(compiled, problem, rule, each):
    scores, targets, known = problem
    options = {"exclude": known, "ties": rule, "each": each, "target_ids": True}
    whole = rm.evaluate_scores(scores, targets, "mr", **options)
    with pytest.MonkeyPatch.context() as patch:
        if not compiled:
            patch.setattr("rankmeter._native.native", None)
        for limit in ("score_counts.AT_ONCE", "score_counts.CONVERTED", "scores.AT_ONCE"):
            patch.setattr(f"rankmeter._scores.{limit}", 8)
        patch.setattr("rankmeter._rankings.pairs._MANY", 0)  # in threads
        for form in (scores, (scores, np.eye(scores.shape[1])), scores.astype(np.float32)):
            part = rm.evaluate_scores(form, targets, "mr", **options)
            np.testing.assert_array_equal(part.scores.matrix, whole.scores.matrix)


@given(problems(), st.randoms())
def test_the_order_of_columns_does_not_matter(problem, random):
    scores, targets, known = problem
    order = list(range(scores.shape[1]))
    random.shuffle(order)
    place = {column: new for new, column in enumerate(order)}
    moved = [[place[t] for t in mine] for mine in targets]
    out = [[place[t] for t in mine] for mine in known]
    for rule in ("realistic", "expected", "optimistic"):
        metrics = ["mr", "auc"] if rule in cases.SHARED else ["mr", "map", "ndcg@2"]
        options = {"each": False, "ties": rule, "target_ids": True}
        one = rm.evaluate_scores(scores, targets, metrics, exclude=known, **options)
        other = rm.evaluate_scores(scores[:, order], moved, metrics, exclude=out, **options)
        np.testing.assert_array_equal(one.scores.matrix, other.scores.matrix)


def mask_of(lists, shape):
    mask = np.zeros(shape, dtype=bool)
    for row, items in enumerate(lists):
        mask[row, items] = True
    return mask


def pairs_of(lists):
    rows = np.repeat(np.arange(len(lists)), [len(items) for items in lists])
    return rows, np.array([item for items in lists for item in items], dtype=int)


CELLS = {
    "mask": mask_of,
    "labels": lambda lists, shape: mask_of(lists, shape).astype(np.int8),
    "float labels": lambda lists, shape: mask_of(lists, shape).astype(float),
    "csr": lambda lists, shape: scipy.sparse.csr_matrix(mask_of(lists, shape)),
    "coo array": lambda lists, shape: scipy.sparse.coo_array(mask_of(lists, shape)),
    "pairs": lambda lists, _: pairs_of(lists),
    "sets": lambda lists, _: [set(items) for items in lists],
    "padded": lambda lists, _: np.array([items + [-1] * (4 - len(items)) for items in lists]),
    "array api mask": lambda lists, shape: array_api_strict.asarray(mask_of(lists, shape)),
}
if torch is not None:
    FORMS["torch"] = lambda scores, _: torch.tensor(scores, requires_grad=True)
    FORMS["bfloat16"] = lambda scores, _: torch.tensor(scores).bfloat16()
    CELLS["torch mask"] = lambda lists, shape: torch.tensor(mask_of(lists, shape))


@pytest.mark.parametrize("form", CELLS)
def test_every_form_of_targets_exclusions_and_candidates(form):
    targets = [[2], [1, 3], [3], [5, 0, 6], [4], [0]]
    ranked = [sorted({*one, *range(row % 3, 8, 2)}) for row, one in enumerate(targets)]
    make = CELLS[form]
    if form == "padded":
        ranked = [one[:4] if set(mine) <= set(one[:4]) else mine for one, mine in
                  zip(ranked, targets, strict=True)]  # fmt: skip
    for options in ({"exclude": KNOWN}, {"candidates": ranked}):
        for each in (True, False):
            plain = rm.evaluate_scores(SCORES, targets, ["mr", "map"], each=each, **options)
            formed = {name: make(value, SCORES.shape) for name, value in options.items()}
            got = rm.evaluate_scores(
                SCORES, make(targets, SCORES.shape), ["mr", "map"], each=each, **formed
            )
            np.testing.assert_array_equal(got.scores.matrix, plain.scores.matrix)


def test_candidates_that_all_rows_share_are_a_smaller_matrix():
    chosen = [0, 2, 3, 5, 7]
    targets, known = [2, 0, 3, 5, 7, 0], [[3], [2], [], [1], [0], [6, 7]]
    small = rm.evaluate_scores(
        SCORES[:, chosen], [1, 0, 2, 3, 4, 0], exclude=[[2], [1], [], [], [0], [4]]
    )
    for form in (
        chosen,
        np.array(chosen),
        np.isin(np.arange(8), chosen),
        *[make(chosen) for make in TENSOR],
    ):
        for scores in (SCORES, blocks_of(SCORES, 3), (SCORES, np.eye(8))):
            got = rm.evaluate_scores(
                scores, targets, exclude=known, candidates=form, target_ids=True
            )
            np.testing.assert_array_equal(got.scores.matrix, small.scores.matrix)


def test_graded_labels_are_gains():
    gains = np.array([[0, 3.0, 1], [2, 0, 0]])
    got = rm.evaluate_scores([[3, 1, 2], [1, 2, 3]], gains, "ndcg", each=False)
    same = rm.evaluate([[0, 2, 1], [2, 1, 0]], [{1: 3, 2: 1}, {0: 2}], "ndcg")
    assert got["ndcg"].mean == same["ndcg"].mean


def test_stored_entries_of_a_sparse_matrix_are_the_candidates():
    scores = scipy.sparse.csr_matrix(
        (np.array([0.5, 0.9, 0.0, 0.3]), np.array([1, 2, 0, 1]), np.array([0, 2, 4]))
    )
    result = rm.evaluate_scores(scores, [1, 2], ["rr", "n_ranked"])
    assert result.per_user["rr"].to_list() == [0.5, 0.0]  # the other target is not stored
    assert result.per_user["n_ranked"].to_list() == [2.0, 2.0]
    assert rm.evaluate_scores(scores, [1, 0], "mr", exclude=[[2], []])["mr"].mean == 1.5


@pytest.mark.parametrize("library", LIBRARIES)
def test_positives_with_their_negatives(library):
    positive, own = [0.5, 0.2, 0.9], [[0.6, 0.5], [0.1, 0.0], [0.9, 0.9]]
    result = rm.evaluate_scores(library(positive), negatives=library(own), metrics="mr")
    assert result.per_user["mr"].to_list() == [2.5, 1.0, 2.0]
    pool = rm.evaluate_scores(library(positive), negatives=library([0.5, 0.1, 0.9]), metrics="mr")
    assert pool.per_user["mr"].to_list() == [2.5, 3.0, 1.5]
    same = rm.evaluate_scores(positive, negatives=[[0.5, 0.1, 0.9]] * 3, metrics="mr")
    np.testing.assert_array_equal(pool.scores.matrix, same.scores.matrix)


def test_a_pool_with_the_hits_of_ogb():
    """A positive is a hit if it is above the k-th largest negative; with fewer than k, always."""
    rng = np.random.default_rng(0)
    positive, pool = rng.integers(0, 9, 50), rng.integers(0, 9, 20)
    for k in (1, 3, 10, 20, 21):
        wanted = 1.0 if pool.size < k else (positive > np.sort(pool)[-k]).mean()
        got = rm.evaluate_scores(positive, negatives=pool, metrics=f"hits@{k}", ties="pessimistic")
        assert got[f"hits@{k}"].mean == wanted


def test_users_groups_and_clusters_are_labels_of_rows():
    result = rm.evaluate_scores(
        SCORES,
        TARGET,
        "mr",
        users=list("abcdef"),
        groups={"side": ["head"] * 2 + ["tail"] * 4, "relation": list("xxyyzz")},
        clusters=[1, 1, 2, 2, 3, 3],
    )
    assert result.per_user["user"].to_list() == list("abcdef")
    sides = result.by_group("side")
    assert sides["segment"].to_list() == ["head", "tail", "macro"]
    means = sides["mean"].to_list()
    assert means[2] == (means[0] + means[1]) / 2
    assert result.counts["clusters"] == 3
    with pytest.raises(UsageError, match="choose one of side, relation"):
        result.by_group()
    each = rm.evaluate_scores(
        SCORES, [[2, 3], [], [], [], [], [0]], "mr", users=list("abcdef"), each=True
    )
    assert each.per_user["user"].to_list() == ["a/2", "a/3", "f/0"]
    assert each.counts["rows_without_target"] == 4
    hit = rm.evaluate_scores(SCORES, TARGET, "hits@1", users="hit")  # the option of this name
    assert hit["hits@1"].n == 0


@pytest.mark.parametrize("width", [255, 256, 1000, 5000])
def test_rows_of_every_width_are_counted_as_a_whole(width):
    scores = np.zeros((3, width))
    scores[1, 1:] = 1
    result = rm.evaluate_scores(scores, [0, 0, 1], "mr", ties="pessimistic")
    assert result.per_user["mr"].to_list() == [width] * 3


def test_notes_say_how_much_ties_matter():
    text = repr(rm.evaluate_scores(SCORES, TARGET, "mrr", exclude=KNOWN))
    assert "tied targets: 4 of 6 (66.7 %); ranked last or first: mrr 0.3542–0.7222" in text
    assert "tied" not in repr(rm.evaluate_scores([[1, 2]], [0], "mrr"))


def test_the_bounds_of_ties_leave_out_a_mean_that_one_of_them_lacks():
    metrics = ["fallout(n_items=5)@1", "rr"]
    for ties in ("realistic", "pessimistic"):
        result = rm.evaluate_scores(np.ones((1, 2)), [0], metrics, users="hit", ties=ties)
        assert "ranked last or first: rr 0.5000–1.0000" in "".join(result.notes)


@pytest.mark.parametrize("make", [np.asarray, *TENSOR])
def test_ties_of_half_precision_are_a_warning(make):
    scores = make(SCORES.astype(np.float16))
    with pytest.warns(RankmeterWarning, match="66.7 % of the targets are tied in float16"):
        rm.evaluate_scores(scores, TARGET, exclude=KNOWN)
    with pytest.warns(RankmeterWarning, match="tied in float16"):
        rm.evaluate_scores(lambda: [scores], TARGET, exclude=KNOWN)
    rm.evaluate_scores(scores[2:3], [3])
    acc = rm.accumulator("mrr", keep="moments", each=True)
    acc.update(scores=scores, target=TARGET, exclude=KNOWN)
    for one in (acc, rm.accumulator.from_state(acc.state()), acc + acc):
        with pytest.warns(RankmeterWarning, match="66.7 % of the targets are tied in float16"):
            one.compute()


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("library", LIBRARIES)
def test_a_score_that_is_not_finite_is_an_error_that_names_the_row(value, library):
    scores = SCORES.copy()
    scores[4, 2] = value
    for target in (TARGET, [2, 1, 3, 5, 2, 0]):
        with pytest.raises(InvalidValueError, match="score of row 4 and column 2 is"):
            rm.evaluate_scores(library(scores), target)
    out = [[], [], [], [], [2], []]
    got = rm.evaluate_scores(library(scores), TARGET, exclude=out)
    want = rm.evaluate_scores(SCORES, TARGET, exclude=out)
    np.testing.assert_array_equal(got.scores.matrix, want.scores.matrix)
    dropped = rm.evaluate_scores(library(scores), TARGET, bad_scores="drop")
    np.testing.assert_array_equal(dropped.scores.matrix, want.scores.matrix)
    assert dropped.counts["bad_scores_dropped"] == 1


def test_nan_is_ranked_last_or_not_at_all():
    scores = [[np.nan, 1.0, np.nan, -np.inf]]
    for rule, rank in {"realistic": 2.5, "item": 2.0, "item-descending": 3.0}.items():
        result = rm.evaluate_scores(scores, [0], "mr", bad_scores="worst", ties=rule)
        assert result["mr"].mean == rank
    result = rm.evaluate_scores(scores, [0], ["rr", "n_ranked"], bad_scores="drop")
    assert [e.mean for e in result.values()] == [0.0, 1.0]
    both = rm.evaluate_scores(scores, [[0, 3]], "rr", bad_scores="worst", each=True)
    assert both.per_user["rr"].to_list() == [1 / 2.5, 0.0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": [2, 1, 3, 8, 4, 0]}, "`target` 8 of row 3 is outside the 8 columns"),
        ({"target": [2, 1, 3]}, "`target` must have one row for each of the 6 rows"),
        ({"target": TARGET[:5] + [0.5]}, "`target` must have ids of columns .integers."),
        ({"target": np.zeros((6, 7), dtype=bool)}, "`target` must have ids of columns"),
        ({"exclude": [[1], [1], [], [], [], []]}, "target 1 of row 1 is excluded"),
        ({"exclude": [[1]]}, "`exclude` must have one list for each of the 6 rows"),
        ({"exclude": ([0, 9], [1, 2])}, "`exclude` has row 9, but the scores have 6 rows"),
        ({"exclude": scipy.sparse.eye(6, format="csr")}, "the shape of the scores"),
        ({"candidates": [0, 1, 2, 3, 4]}, "target 5 of row 3 is not among the candidates"),
        ({"scores": SCORES[0]}, "a row for each query and a column for each item"),
        ({"scores": [SCORES, SCORES[:3]]}, "or be a list of such blocks"),
        ({"scores": (SCORES, SCORES.T)}, "must be factors of shapes"),
        ({"groups": {}}, "`groups` has no labels"),
        ({"scores": SCORES.astype(complex)}, "must be numbers"),
        ({"scores": "scores.npy"}, "must be numbers|cannot be read as an array|a row for each"),
        ({"users": ["a"] * 6, "each": False}, "duplicate user 'a'"),
        ({"users": ["a"]}, "`users` must have one label for each of 6 rows, got 1"),
        (
            {"groups": ["a", None, "b", "c", "d", "e"]},
            "`groups` has no label for 1 row, the first is row 1",
        ),
    ],
)
def test_bad_input_is_an_error_that_names_the_row(options, message):
    given = {"scores": SCORES, "target": TARGET, **options}
    with pytest.raises(DataError, match=message):
        rm.evaluate_scores(given.pop("scores"), given.pop("target"), **given)


def test_a_target_given_twice_is_an_error():
    with pytest.raises(DuplicateError, match="duplicate target 2 in row 0"):
        rm.evaluate_scores(SCORES[:1], [[2, 3, 2]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target": None}, "target is missing"),
        ({"scores": (block for block in [SCORES])}, "are read twice"),
        ({"pool": "judged"}, "`pool` .which ranked items occupy ranks. cannot act on scores"),
        ({"ties": "text"}, "needs the ids of tied items"),
        ({"metrics": ["mrr(score_type=float32)", "mrr"]}, "float32 and float64"),
        ({"negatives": SCORES[:, :2]}, "`target` has no meaning with `negatives`"),
        ({"each": 1}, "`each` must be True or False"),
        ({"tolerance": 1e-5}, "`tolerance` must be two numbers, absolute and relative"),
        ({"tolerance": (1e-5, -1)}, "`tolerance` must be a number ≥ 0"),
        (
            {"tolerance": (1e-5, 0), "target": [[2, 3], [1], [3], [5], [4], [0]]},
            "one query with several true items, as 1 row here: pass each=True or tolerance=.0, 0.",
        ),
        ({"target": None, "negatives": SCORES[:, :2], "each": True}, "`each` .* on samples"),
        ({"like": "libkge", "bad_scores": "worst"}, "bad_scores='worst' cannot tie close scores"),
    ],
)
def test_choices_that_scores_do_not_allow(options, message):
    given = {"scores": SCORES, "target": TARGET, **options}
    with pytest.raises(UsageError, match=message):
        rm.evaluate_scores(given.pop("scores"), given.pop("target"), **given)


def test_precision_is_a_choice():
    scores = np.array([[1.0, 1.0 + 1e-12]])
    assert rm.evaluate_scores(scores, [0], "mr")["mr"].mean == 2.0
    for form in [make(scores) for make in LIBRARIES]:
        result = rm.evaluate_scores(form, [0], "mr", score_type="float32")
        assert result["mr"].mean == 1.5


@given(problems(), st.booleans())
def test_close_scores_are_tied_within_a_tolerance(problem, negatives):
    scores, targets, known = problem
    rows = [row for row, mine in enumerate(targets) if len(mine) == 1]
    kept, wanted = scores[rows], []
    own = [targets[row][0] for row in rows]
    out = [] if negatives else [known[row] for row in rows]
    for place, target in enumerate(own):
        row, width = kept[place], 0.1 + 0.5 * abs(kept[place][target])
        rest = [
            row[i] for i in range(row.size) if i != target and (negatives or i not in out[place])
        ]
        high = sum(score > row[target] + width for score in rest)
        wanted.append(1 + high + sum(abs(score - row[target]) <= width for score in rest))
    options = {"tolerance": (0.1, 0.5), "ties": "pessimistic"}
    if negatives and rows:
        rest = np.array([np.delete(row, target) for row, target in zip(kept, own, strict=True)])
        positive = kept[np.arange(len(rows)), own]
        found = rm.evaluate_scores(positive, negatives=rest, metrics="mr", **options)
    else:
        found = rm.evaluate_scores(kept, own, "mr", exclude=out or None, **options)
    np.testing.assert_array_equal(found.scores.values["mr"], wanted)


def test_a_tool_decides_about_ties():
    assert rm.evaluate_scores(SCORES, TARGET, "mrr").plan.metrics[0].alignment.ties == "realistic"
    for like, rule in {"libkge": "rounded", "trec_eval": "text-descending"}.items():
        plan = rm.evaluate_scores(SCORES[2:3], [3], "mrr", like=like).plan
        assert plan.metrics[0].alignment.ties == rule
    own = rm.evaluate_scores(SCORES, TARGET, "mrr(ties=optimistic)")
    assert own.plan.metrics[0].alignment.ties == "optimistic"


def test_input_is_not_changed():
    known = [list(one) for one in KNOWN]
    for make in [np.array, *TENSOR]:
        scores = make(SCORES)
        rm.evaluate_scores(scores, TARGET, exclude=known, bad_scores="worst")
        np.testing.assert_array_equal(np.asarray(scores), SCORES)
    assert known == KNOWN


# -- ranks -----------------------------------------------------------------------------------


def test_ranks_with_the_last_rank_of_each_tie():
    low, high = np.array([2, 1, 4]), np.array([3, 4, 4])
    result = rm.evaluate_ranks(low, ["mr", "mrr"], upper=high, candidates=8)
    assert result.per_user["mr"].to_list() == [2.5, 2.5, 4.0]
    assert rm.evaluate_ranks(low, "mr", upper=high, ties="pessimistic")["mr"].mean == 11 / 3
    assert "tied targets: 2 of 3" in repr(result)
    assert rm.evaluate_ranks([2.5, 2.5, 4], "mr")["mr"].mean == 3.0


@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "jsonl", "npy", "txt"])
def test_files_of_ranks(tmp_path, suffix):
    import polars as pl

    frame = pl.DataFrame({"query": ["a", "b", "c"], "side": ["h", "t", "t"], "rank": [1, 2, 4]})
    path = tmp_path / f"ranks.{suffix}"
    if suffix == "npy":
        np.save(path, frame["rank"].to_numpy())
    elif suffix == "txt":
        path.write_text("1\n2\n4\n", "utf-8")
    else:
        write = {"csv": "write_csv", "parquet": "write_parquet", "jsonl": "write_ndjson"}
        more = {"separator": "\t"} if suffix == "tsv" else {}
        getattr(frame, write.get(suffix, "write_csv"))(path, **more)
    result = rm.evaluate_ranks(path, "mrr")
    assert result["mrr"].mean == pytest.approx(1.75 / 3)
    if suffix not in ("npy", "txt"):
        assert result.per_user["user"].to_list() == ["a", "b", "c"]
        assert result.by_group("side")["mean"].to_list() == [1.0, 0.375, 0.6875]


def test_late_halves_in_json_lines_are_kept(tmp_path):
    path = tmp_path / "ranks.jsonl"
    rows = [1] * 120 + [2.5] * 30
    path.write_text("".join(f'{{"rank": {rank}}}\n' for rank in rows), "utf-8")
    assert rm.evaluate_ranks(path, "mrr")["mrr"].mean == pytest.approx(0.88)
    path.with_suffix(".json").write_text(f'[{{"rank": 2.5}}, {{"rank": {1}}}]', "utf-8")
    assert rm.evaluate_ranks(path.with_suffix(".json"), "mrr")["mrr"].mean == pytest.approx(0.7)


@pytest.mark.parametrize("name", ["ranks.csv", "ranks.csv.gz", "ranks.txt", "ranks"])
@pytest.mark.parametrize("title", ["", "rank\n"])
def test_one_rank_per_line(tmp_path, name, title):
    written = (title + "1.5\n2\n4\n").encode()
    (tmp_path / name).write_bytes(gzip.compress(written) if name.endswith("gz") else written)
    assert rm.evaluate_ranks(tmp_path / name, "mr")["mr"].mean == 2.5


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("ranks.csv", "rank,rank\n1,2\n", "has 2 columns for the ranks: 'rank', 'rank'"),
        ("ranks.csv", "rank;user\n1;a\n", "separated by ';'"),
        ("ranks.csv", "1,5\n2,6\n", "no column rank, only 1, 5. The first line"),
        ("ranks.json", "[]", "has no rows"),
        ("ranks.json", '{"q1": 3}', "no column rank, only q1"),
        ("ranks.jsonl", '{"rank": 1}\n7\n', "7"),
    ],
)
def test_tables_without_ranks_say_why(tmp_path, name, text, message):
    (tmp_path / name).write_text(text, "utf-8")
    with pytest.raises(DataError, match=message):
        rm.evaluate_ranks(tmp_path / name, "mrr")


def test_frames_of_ranks():
    import polars as pl

    frame = pl.DataFrame({"query": ["a", "b"], "side": ["h", "t"], "rank": [1.0, 2.5]})
    for data in (frame, frame.lazy(), frame.to_arrow(), frame.to_pandas()):
        result = rm.evaluate_ranks(data, "mrr")
        assert result["mrr"].mean == pytest.approx(0.7)
        assert list(result.by_group("side")["segment"]) == ["h", "t", "macro"]
    assert list(result.per_user.columns) == ["query", "mrr"]


@pytest.mark.parametrize(
    ("ranks", "options", "message"),
    [
        ([1, 0], {}, "rank 0.0 of row 1 is not a rank"),
        ([1, np.nan], {}, "rank nan of row 1 is not a rank"),
        ([1.25], {}, "neither an integer nor the mean of two ranks"),
        ([[1, 2], [3, 4]], {}, "must be one rank for each query"),
        ([[2, 5, 8]], {}, r"got 3 ranks in one row: .*rm.Positions\(\[\[2, 5, 8\]\]\)"),
        (np.array([[2, 5, 8]]), {}, r"rm.evaluate\(rm.Positions\(\[\[2, 5, 8\]\]\)"),
        ([[2, 3], [5]], {}, "got 2 ranks in one row"),
        (["a"], {}, "'a' of row 0 of `ranks` is not a number"),
        (["1", "2 "], {}, "'2 ' of row 1 of `ranks` is not a number"),
        ([1, np.inf], {}, "rank inf of row 1 is not a rank"),
        ([1, 2**53 + 1], {}, "1 rank is above 2.53 in `ranks`, .* 9007199254740993 of row 1"),
        ([1e17, 1, 1e16], {}, "2 ranks are above 2.53 .* drop these rows"),
        ([1, 2], {"upper": [1, 2**53 + 1]}, "above 2.53 in `upper`"),
        ([3, 9], {"candidates": 8}, "rank 9 of row 1 is beyond its 8 candidates"),
        ([3, 9], {"candidates": [8]}, "or one for each of 2 ranks"),
        (
            [3, 9],
            {"candidates": np.array([9, 2**63], np.uint64)},
            "`candidates` of row 1 is 9223372036854775808: pass",
        ),
        ([3, 9], {"upper": [3, 8]}, "`upper` must give the last rank of each tie"),
    ],
)
def test_what_is_not_a_rank_is_an_error(ranks, options, message):
    with pytest.raises(DataError, match=message):
        rm.evaluate_ranks(ranks, "mrr", **options)
    if "upper" not in options:
        with pytest.raises(DataError, match=message):
            rm.accumulator("mrr").update(ranks=ranks, **options)


def test_a_metric_that_needs_the_number_of_candidates_asks_for_it():
    with pytest.raises(UsageError, match="n_ranked depends on the number of candidates"):
        rm.evaluate_ranks([1, 2], "n_ranked")
    assert rm.evaluate_ranks([1, 2], "n_ranked", candidates=7)["n_ranked"].mean == 7


def test_metrics_adjusted_for_chance_take_the_counted_candidates():
    metrics = ["mrr(adjusted)", "mrr(adjusted,aggregate=micro)", "amrr"]
    found = rm.evaluate_ranks([1, 3, 7], metrics, candidates=20)
    assert found["mrr(adjusted)"].mean == pytest.approx(0.38065, abs=5e-6)
    assert found["mrr(adjusted)"].mean == pytest.approx(found["amrr"].mean, rel=1e-12)
    named = rm.evaluate_ranks([1, 3, 7], metrics, n_items=20, candidates=20)
    assert found["mrr(adjusted)"].interval == named["mrr(adjusted)"].interval
    several = rm.evaluate_ranks([1, 3, 7], metrics, candidates=[20, 30, 40])
    assert several[metrics[1]].mean == pytest.approx(several["amrr"].mean, rel=1e-12)
    scores = np.random.default_rng(0).random((3, 20))
    scored = rm.evaluate_scores(scores, [1, 3, 7], metrics)
    assert scored["mrr(adjusted)"].mean == pytest.approx(scored["amrr"].mean, rel=1e-12)
    with pytest.raises(UsageError, match=r"mrr\(adjusted\) .* candidates: pass candidates="):
        rm.evaluate_ranks([1, 3, 7], metrics[0])
    lists = rm.accumulator(metrics[0])
    with pytest.raises(UsageError, match="pass n_items= to accumulator"):
        lists.update(items=[[1, 3, 7]], target=[3])
