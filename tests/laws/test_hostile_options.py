"""Every option of every public function takes hostile values: a result, or an error of our own."""

from __future__ import annotations

import datetime as dt
import enum
import fractions
import inspect
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

import rankmeter as rm
from fuzz.calls import Rude
from rankmeter.errors import DataError, RankmeterError, UsageError

pytestmark = pytest.mark.once


class Word(enum.StrEnum):
    A = "a"


HOSTILE = {
    "nan": float("nan"),
    "inf": float("inf"),
    "-inf": float("-inf"),
    "10**20": 10**20,
    "-10**20": -(10**20),
    "10**400": 10**400,
    "5000 digits": 10**5000,
    "2**63": 2**63,
    "-1": -1,
    "0": 0,
    "0.5": 0.5,
    "1e300": 1e300,
    "-0.0": -0.0,
    "empty text": "",
    "space": " ",
    "zero byte": "\0",
    "escape": "\x1b[2J",
    "surrogate": "\ud800",
    "long text": "x" * 10**5,
    "digits": "9" * 10**5,
    "full-width digit": "２",
    "text of inf": "inf",
    "text of 1e400": "1e400",
    "bytes": b"item",
    "bytearray": bytearray(b"x"),
    "list": [],
    "list of text": ["item"],
    "tuple": (),
    "pair": ("rankmeter", 3),
    "set": set(),
    "dict": {},
    "dict of None": {None: None},
    "dict of numbers": {"user": 1},
    "object": object(),
    "class": str,
    "builtin": len,
    "lambda": lambda: 1,
    "slice": slice(1),
    "generator": (x for x in ()),
    "complex": 1j,
    "empty array": np.array([]),
    "array": np.array([1, 2]),
    "array of no dimension": np.array(3),
    "numpy text": np.str_("item"),
    "numpy bool": np.bool_(True),  # noqa: FBT003
    "datetime": dt.datetime(2020, 1, 1, tzinfo=dt.UTC),
    "timedelta": np.timedelta64(1, "D"),
    "NA": pd.NA,
    "NaT": pd.NaT,
    "pandas frame": pd.DataFrame(),
    "polars frame": pl.DataFrame(),
    "polars series": pl.Series([1]),
    "Decimal": Decimal("0.5"),
    "signalling NaN": Decimal("sNaN"),
    "huge Decimal": Decimal("1e400"),
    "Fraction": fractions.Fraction(1, 3),
    "huge Fraction": fractions.Fraction(10**400),
    "True": True,
    "False": False,
    "Enum": Word.A,
    "metric": rm.NDCG,
    "Ellipsis": ...,
    "rude": Rude(),
}
RANKINGS = {"u": ["a", "b"], "v": ["b", "c"], "w": ["c", "a"]}
TRUTH = {"u": {"b"}, "v": {"b"}, "w": {"x"}}
LOG = pl.DataFrame(
    {
        "user": [1, 1, 1, 2, 2, 2, 3, 3, 3],
        "item": [1, 2, 3, 2, 3, 4, 1, 3, 5],
        "rating": [3.0, 4.0, 5.0, 1.0, 2.0, 5.0, 3.0, 3.0, 4.0],
        "time": [1, 2, 3, 4, 5, 6, 7, 8, 9],
    }
)
VALUES = {"x": [0.1, 0.2, 0.3], "y": [0.2, 0.2, 0.1]}
EYE = np.eye(3)


def update(*, scores, target, exclude=None, candidates=None, users=None):
    batches = rm.accumulator("mrr")
    batches.update(
        scores=scores, target=target, exclude=exclude, candidates=candidates, users=users
    )
    return batches.compute()


CALLS = {
    "evaluate": (rm.evaluate, (RANKINGS, TRUTH, "ndcg@2"), {}),
    "accuracy": (rm.evaluate, (RANKINGS, TRUTH, "accuracy@2"), {"n_items": 9}),
    "bootstrap": (rm.evaluate, (RANKINGS, TRUTH, "rr"), {"interval": "bca", "resamples": 20}),
    "compare": (rm.compare, ({"x": RANKINGS, "y": RANKINGS}, TRUTH, "ndcg@2"), {}),
    "curve": (rm.curve, (RANKINGS, TRUTH, "ndcg", 2), {}),
    "explain": (rm.explain, (RANKINGS, TRUTH, "rr"), {"between": ("rankmeter", "trec_eval")}),
    "explain a number": (rm.explain, (RANKINGS, TRUTH, "rr"), {"target": 0.5}),
    "describe": (rm.describe, (LOG,), {}),
    "by_activity": (rm.by_activity, (LOG,), {}),
    "by_popularity": (rm.by_popularity, (LOG, LOG), {}),
    "evaluate_scores": (rm.evaluate_scores, (EYE, [0, 1, 2], "mrr"), {}),
    "samples": (rm.evaluate_scores, ([0.5, 0.1], None, "mrr"), {"negatives": [[0.1], [0.2]]}),
    "evaluate_ranks": (rm.evaluate_ranks, ([1, 2, 3], "mrr"), {}),
    "Scores": (rm.Scores, (EYE,), {}),
    "Sampled": (rm.Sampled, ([0.5, 0.1], [[0.1], [0.2]]), {}),
    "Ranks": (rm.Ranks, ([1, 2],), {}),
    "Grades": (rm.Grades, ([[0, 1], [1, 0]],), {}),
    "Positions": (rm.Positions, ([[2, 5], [1]],), {}),
    "compare_values": (rm.compare_values, (VALUES,), {}),
    "across": (rm.across, ({"x": {"A": 1.0, "B": 2.0}, "y": {"A": 2.0, "B": 2.5}},), {}),
    "audit": (rm.audit, (LOG, LOG), {}),
    "diff": (rm.diff, (RANKINGS, RANKINGS), {}),
    "neighbours": (rm.neighbours, ([[1, 2], [4, 5]], [[2, 3], [5, 4]]), {"k": 2}),
    "check_mean": (rm.check_mean, (0.35,), {"n": 300, "against": 0.34}),
    "sample_size": (rm.sample_size, (), {"difference": 0.1, "sd": 0.2}),
    "link_queries": (rm.link_queries, ([(0, 0, 1), (1, 0, 2)], [(2, 0, 1)]), {}),
    "adjust": (rm.adjust, ({"mrr": 0.5},), {"candidates": 10}),
    "grouped": (rm.grouped, ([0.5, 0.1, 0.2], [1, 0, 1], [2, 1]), {}),
    "update": (update, (), {"scores": EYE, "target": [0, 1, 2]}),
    **{f"splits.{n}": (getattr(rm.splits, n), (LOG,), {}) for n in rm.splits.__all__},
    **{f"baselines.{n}": (getattr(rm.baselines, n), (LOG,), {}) for n in rm.baselines.__all__},
}
CALLS = {
    name: call
    for name, call in CALLS.items()
    if callable(call[0]) and call[0].__module__ != "rankmeter.splits._split"
}
CALLED = {("evaluate_scores", 0), ("update", "scores")}  # functions, whose errors are their own
LONG = {"n_permutations", "resamples"}  # up to 10^8 samples are legal, and take their time


def options(name):
    parameters = inspect.signature(CALLS[name][0]).parameters.values()
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]


def legal_but_long(option, value):
    return option in LONG and isinstance(value, int) and 10**6 < value <= 10**8


def hostile(name, parameter):
    values = HOSTILE.items()
    if (name, parameter) in CALLED:
        return [(what, value) for what, value in values if what != "builtin"]
    return [(what, value) for what, value in values if not legal_but_long(parameter, value)]


def attempt(call, *args, **options):
    """None if it went well or with an error of our own, else what is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            repr(call(*args, **options))
        except RankmeterError as error:
            text = str(error)
            return f"message of {len(text)} characters" if len(text) > 5000 else None
        except Exception as error:  # noqa: BLE001 - this is what is looked for
            return f"{type(error).__name__}: {str(error)[:200]}"
    return None


@pytest.mark.parametrize(("name", "option"), [(n, o) for n in CALLS for o in options(n)])
def test_options(name, option):
    call, args, usual = CALLS[name]
    found = {
        what: wrong
        for what, value in hostile(name, option)
        if (wrong := attempt(call, *args, **{**usual, option: value}))
    }
    assert not found


@pytest.mark.parametrize(
    ("name", "place"), [(n, p) for n, call in CALLS.items() for p in range(len(call[1]))]
)
def test_data(name, place):
    call, args, usual = CALLS[name]
    found = {
        what: wrong
        for what, value in hostile(name, place)
        if (wrong := attempt(call, *args[:place], value, *args[place + 1 :], **usual))
    }
    assert not found


@pytest.mark.parametrize("place", range(1, 4))
def test_metrics_and_cutoffs(place):
    """The positional parameters other than data."""
    calls = {
        1: lambda value: rm.evaluate(RANKINGS, TRUTH, value),
        2: lambda value: rm.curve(RANKINGS, TRUTH, value, 2),
        3: lambda value: rm.NDCG @ value,
    }
    found = {what: attempt(calls[place], value) for what, value in HOSTILE.items()}
    assert not {what: wrong for what, wrong in found.items() if wrong}


@pytest.mark.parametrize(
    "text",
    ["ndcg@1e400", "ndcg@" + "9" * 400, "ndcg@" + "9" * 10**5, "ndcg@-1", "ndcg@nan", "ndcg@0",
     "ndcg@1e30", "ndcg@9999999999999999999", "ndcg@", "@", "(", "ndcg(", "ndcg()" + ")" * 10**4,
     "ndcg(ties=" + "x" * 10**5 + ")", "rbp(p=1e400)", "rbp(p=nan)", "rbp(p=" + "9" * 10**4 + ")",
     "accuracy(n_items=" + "9" * 5000 + ")@5", "iprec@1e400", "mean_rank(absent=inf)"],
)  # fmt: skip
def test_metric_strings(text):
    with pytest.raises(RankmeterError) as caught:
        rm.evaluate(RANKINGS, TRUTH, text)
    assert len(str(caught.value)) < 5000


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("ndcg(ties=expected,ties=input)@10", "ties"),
        ("ndcg(gain=exp2, gain=exp2)", "gain"),
        ("iprec(recall=0.5)@0.3", "recall"),
    ],
)
def test_an_option_given_twice_is_refused(text, named):
    with pytest.raises(UsageError, match=f"has the option '{named}' twice"):
        rm.metric(text)


RESULT = rm.evaluate(RANKINGS, TRUTH, "rr", missing="skip")
COMPARED = rm.compare({"x": RANKINGS, "y": RANKINGS}, TRUTH, "rr")
REPRODUCTIONS = {
    "rows without users": lambda: rm.evaluate([{"item": 0}, {"item": 3}], {0: [1], 1: [3]}, "rr"),
    "truth without users": lambda: rm.evaluate({0: [1], 1: [3]}, [{"item": 0}, {"item": 3}], "rr"),
    "integers, then text": lambda: rm.by_popularity({1: [1, 2], 2: [3]}, {1: ["a"]}),
    "text, then integers": lambda: rm.by_popularity({1: ["a"]}, {1: [1]}),
    "no training data": lambda: rm.evaluate(RANKINGS, TRUTH, "unseen@2", train={"u": [], "v": []}),
    "an empty matrix": lambda: rm.evaluate(
        RANKINGS, TRUTH, "ild@2", items=scipy.sparse.csr_matrix((0, 0))
    ),
    "half a pair": lambda: RESULT.show("\ud800"),
    "rude user": lambda: RESULT.show(Rude()),
    "no path": lambda: RESULT.report(None),
    "a path of half a pair": lambda: RESULT.report("\ud800.html"),
    "a path with a zero byte": lambda: RESULT.report("a\0.html"),
    "filters": lambda: rm.link_queries([(0, 0, 1)], filters=1.5),
    "no sides": lambda: rm.link_queries([(0, 0, 1)], sides=None),
    "one side": lambda: rm.link_queries([(0, 0, 1)], sides=1),
    "sides of a series": lambda: rm.link_queries([(0, 0, 1)], sides=pd.Series([1])),
    "ragged triples": lambda: rm.link_queries([[], [1]]),
    "scale": lambda: rm.compare_values(VALUES, scale=1.5),
    "scale of one number": lambda: rm.compare_values(VALUES, scale=(0,)),
    "lower is better": lambda: rm.compare_values(VALUES, lower_is_better=1),
    "tuples of values": lambda: rm.compare_values([("a", 1, 2, 3)]),
    "like of an array": lambda: rm.evaluate_scores(EYE, [[0], [1], [2]], "rr", like=np.ones(2)),
    "like of a series": lambda: rm.evaluate_ranks([1, 2], "rr", like=pd.Series([1, 2])),
    "sparse confidence": lambda: rm.evaluate_ranks(
        [1], "rr", confidence=scipy.sparse.csr_matrix([[1]])
    ),
    "ragged candidates": lambda: rm.adjust({"mrr": 0.5}, candidates=[[1], [1, 2]]),
    "worst of an array": lambda: COMPARED.worst(np.ones(2)),
    "best of a metric": lambda: COMPARED.best(2, np.ones(2)),
    "interval of an array": lambda: COMPARED.to_latex(intervals=np.ones(2)),
    "caption": lambda: COMPARED.to_latex(caption=pl.lit(1)),
    "digits": lambda: RESULT.to_markdown(digits=np.ones(2)),
    "indent": lambda: RESULT.to_json(indent=1e300),
    "large indent": lambda: RESULT.to_json(indent=10**18),
    "prefix": lambda: RESULT.log(print, prefix=slice(1)),
    "metric": lambda: RESULT[[]],
    "metric of a comparison": lambda: COMPARED[{}],
    "metric of a plan": lambda: RESULT.plan[Rude()],
    "metric of a headline": lambda: COMPARED.headline(pl.Series([1, 2])),
    "metric of a plot": lambda: COMPARED.plot(metric=pl.DataFrame()),
    "systems to show": lambda: COMPARED.show("u", systems=3),
    "users of a baseline": lambda: rm.baselines.random({1: [1, 2]}, users={"users": [1]}),
    "systems": lambda: rm.Evaluator(TRUTH, "rr").compare(3),
    "not UTF-8": lambda: rm.compare({"A\udcff": RANKINGS, "B": RANKINGS}, TRUTH, "rr"),
    "a result that is not": lambda: rm.compare({"A\udcff": RESULT, "B": RESULT}),
    "values that are not": lambda: rm.compare_values({"A\udcff": VALUES["x"], "B": VALUES["y"]}),
    "columns": lambda: rm.describe(LOG, columns=scipy.sparse.dok_array((2, 2))),
    "columns of systems": lambda: rm.compare(
        {"x": [{"item": 1}], "y": [{"item": 1}]}, TRUTH, "rr", columns=1
    ),
    "users without fields with lists in text": lambda: rm.evaluate(
        pl.DataFrame({"user": pl.Series([{}, {}], dtype=pl.Struct([])), "item": ["1 2 3", "4 5"]}),
        TRUTH,
        "rr",
    ),
    "a long path": lambda: rm.evaluate_ranks("é" * 500),
    "a long path of users": lambda: rm.by_activity(LOG, users="é" * 500),
    "names of bins": lambda: rm.by_activity(LOG, bins={"\ud800": 1}),
    "ragged numbers of candidates": lambda: rm.evaluate_ranks([1, 2], candidates=[[1], [1, 2]]),
    "group sizes": lambda: rm.group_metric("ndcg", groups=1.5),
    "metrics to show": lambda: RESULT.show("u", 3),
    "half a character": lambda: RESULT.log(print, prefix="\ud800"),
    "no resamples": lambda: rm.evaluate(RANKINGS, TRUTH, "rr", resamples="none"),
    "no seed": lambda: rm.compare_values(VALUES, seed=None),
    "more ratings than memory": lambda: rm.datasets.synthetic(n_users=2**53),
    "more users than there are": lambda: rm.sample_size(difference=1e-9, differing=1e-9),
    "pieces": lambda: [*RESULT._pieces_by_user(0.5)],
    "tolerance": lambda: rm.accumulator("rr", tolerance=True),
    "metrics of a trainer": lambda: rm.compute_metrics(3),
    "prediction": lambda: rm.compute_metrics()(1),
    "estimator": lambda: rm.scorer("rr")("x", EYE, [0, 1, 2]),
    "grades": lambda: rm.Grades(3),
    "positions of items": lambda: rm.Positions(3),
    "grades of a frame": lambda: rm.Grades(pl.DataFrame({"a": ["x"]})),
    "positives": lambda: rm.Sampled(b"a", [[0.1]]),
    "ids of a type": lambda: rm.describe(
        pl.DataFrame(schema={"user": pl.List(pl.Null), "item": pl.Int64})
    ),
    "large features": lambda: rm.evaluate(
        {1: [1, 2]}, {1: [1]}, "ild(distance=cosine)@2", items={1: [1e200, 0], 2: [1e200, 1e199]}
    ),
    "small features": lambda: rm.evaluate(
        {1: [1, 2]}, {1: [1]}, "ild@2", items={1: [1e-200, 0], 2: [1e-200, 1e-201]}
    ),
    "underscores in a number": lambda: rm.metric("f_beta(beta=1_0)@3"),
    "other digits of a cutoff": lambda: rm.metric("ndcg@٣"),
    "other digits of an option": lambda: rm.metric("accuracy(n_items=٣)@2"),
    "a segment without a name": lambda: RESULT.by_segment({"u": "", "v": "new"}),
}
"""Calls that ended in an error of another package, or in a wrong number without a word."""


@pytest.mark.parametrize("name", REPRODUCTIONS)
def test_each_of_these_is_refused(name):
    with pytest.raises(RankmeterError) as caught:
        REPRODUCTIONS[name]()
    assert len(str(caught.value)) > 20


def test_labels_of_text_and_of_other_integers_are_popular_alike(tmp_path):
    """Ids that a file has as text are compared with integers as they are written."""
    path = tmp_path / "train.csv"
    path.write_text("user,item\n1,7\n2,7\n2,x\n")
    bins = {"rare": 0, "usual": 2}
    segments = rm.by_popularity(path, {1: [7], 2: [8]}, bins=bins)["segment"]
    assert [*segments] == ["popularity 2 (usual)", "popularity 0 (rare)"]
    unsigned = {1: [2**63], 2: [8]}
    segments = rm.by_popularity({1: [7, 8], 2: [8]}, unsigned, bins=bins)["segment"]
    assert [*segments] == ["popularity 0 (rare)", "popularity 2 (usual)"]


def test_a_large_multiple_is_shown_and_read_in_few_digits():
    result = rm.evaluate(RANKINGS, TRUTH, rm.metric("rprec_mult(multiple=1e300)")(multiple=1e300))
    ((label, estimate),) = result.items()
    assert label == "rprec_mult@1e+300"
    assert result[label].mean == estimate.mean == pytest.approx(0)


def test_lists_that_somebody_changes_are_refused():
    """As another thread does between the reading of lists and the search in them."""
    lists, truth = {"u": ["a", "b"], "v": ["b", "c"]}, {"u": ["a"], "v": ["c"]}
    evaluator = rm.Evaluator(truth, "rr")
    assert evaluator.evaluate(lists)["rr"].mean == 0.75
    truth["v"].append("x")
    with pytest.raises(DataError, match="has changed since it was read"):
        evaluator.evaluate(lists)


def test_narrow_integers_do_not_overflow():
    ratings = rm.datasets.synthetic(
        n_users=np.int8(3),
        n_items=np.int8(100),
        n_per_user=np.int8(50),
        n_tastes=np.int8(2),
        uneven=0,
    )
    assert ratings.height == 150
    assert [piece.height for piece in RESULT._pieces_by_user(np.int8(2))] == [2, 1]
