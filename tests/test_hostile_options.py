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

import rankmeter as rm
from rankmeter.errors import RankmeterError, UsageError

pytestmark = pytest.mark.once


class Word(enum.StrEnum):
    A = "a"


class Rude:
    """No comparison, no text, no truth."""

    def __eq__(self, other):
        raise RuntimeError("compared")

    __hash__ = None

    def __repr__(self):
        raise RuntimeError("shown")

    __str__ = __repr__

    def __bool__(self):
        raise RuntimeError("asked")


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
    **{f"splits.{n}": (getattr(rm.splits, n), (LOG,), {}) for n in rm.splits.__all__},
    **{f"baselines.{n}": (getattr(rm.baselines, n), (LOG,), {}) for n in rm.baselines.__all__},
}
CALLS = {
    name: call for name, call in CALLS.items() if callable(call[0]) and not inspect.isclass(call[0])
}
LONG = {"n_resamples", "resamples"}  # up to 10^8 samples are legal, and take their time


def options(name):
    parameters = inspect.signature(CALLS[name][0]).parameters.values()
    return [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]


def legal_but_long(option, value):
    return option in LONG and isinstance(value, int) and 10**6 < value <= 10**8


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
    found = {}
    for what, value in HOSTILE.items():
        if not legal_but_long(option, value):
            wrong = attempt(call, *args, **{**usual, option: value})
            if wrong:
                found[what] = wrong
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
