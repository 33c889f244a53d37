"""Registering metrics: what is accepted, and what is refused before anything changes."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pkgutil import get_data
from typing import Annotated, Literal

import numpy as np
import pytest

import rankmeter as rm
from rankmeter import metrics
from rankmeter.errors import UnknownMetricError, UsageError
from rankmeter.metrics import (
    METRICS,
    SYNONYMS,
    Example,
    FloatArray,
    Hits,
    Ratio,
    ratio,
    register,
    unregister,
)
from rankmeter.metrics._registry import _names_in_source
from rankmeter.testing import check_metric, variants

pytestmark = pytest.mark.once


def some(hits, k=None):
    """Something."""
    return np.zeros(hits.n_users)


def undocumented(hits):
    return np.zeros(hits.n_users)


def unannotated(hits, *, option="a"):
    """Does not document its option."""


def depth_of_its_own(hits, *, depth: int = 3):
    """Has an option named like a choice of alignment."""


def of_texts(hits, *, names: list[str] = ()):
    """Has an option of a type that cannot be written."""


def asks_for_more(hits, prices, k=None):
    """Asks for evidence that does not exist."""


def asks_for_anything(*evidence):
    """Does not declare the evidence it needs."""


def recall(hits):
    """Has a name that is already used."""


def n_d_c_g(hits):
    """Is read as ndcg."""


@pytest.mark.parametrize(
    ("function", "facts", "message"),
    [
        (recall, {}, "'recall' is taken: it means 'recall'"),
        (n_d_c_g, {}, "'n_d_c_g' is taken: it means 'ndcg'"),
        (some, {"synonyms": ("quite_new", "hits")}, "'hits' is taken: it means 'hit_rate'"),
        (
            some,
            {"synonyms": ("quite_new", "MAP2")},
            "digits, _ and ., got 'MAP2'",
        ),
        (some, {"at": "level"}, "no option 'level'"),
        (undocumented, {}, "has no docstring"),
        (unannotated, {}, r'has no annotation.*`option: Literal\["a", "b"\] = "a"`'),
        (of_texts, {}, "option names of of_texts must be int, float, bool, Literal or None"),
        (depth_of_its_own, {}, "has the name of an option of the plan"),
        (asks_for_more, {}, r"parameter 'prices'.*\(hits, nonrelevant, lists, "),
        (asks_for_anything, {}, "must name the evidence that it needs: hits, nonrelevant"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_what_cannot_be_a_metric_is_refused_before_anything_changes(
    function, facts, message, monkeypatch
):
    monkeypatch.setattr("rankmeter.metrics._registry.RESERVED", {"depth"})
    before = dict(METRICS), dict(SYNONYMS)
    with pytest.raises(ValueError, match=message):
        register("Refused", **facts)(function)
    assert (dict(METRICS), dict(SYNONYMS)) == before


@pytest.fixture
def flagged():
    @register("Flagged", reached=False, synonyms=("flg",))
    def flagged(
        hits: Hits,
        k: int | None = None,
        *,
        twice: bool = False,
        p: Annotated[float, Example(0.5, 1.0)],
    ) -> Ratio:
        """Half of recall, or recall.

        Parameters
        ----------
        twice : bool
            Whether it is recall.
        p : float
            A factor.
        """
        return Ratio(hits.sum(hits.within(k)) * p * (1 + twice), hits.n_relevant)

    yield flagged
    unregister("flagged")


def test_flags_are_options(flagged):
    one = rm.metric("flg(twice=TRUE, p=0.5)@1")
    assert one == rm.metric("flagged")(twice=True, p=0.5) @ 1
    assert str(rm.metric(str(one))) == "flagged(p=0.5,twice=true)@1"
    found = rm.evaluate([["a"]], [{"a"}], ["flagged(twice=true,p=0.5)", "flagged(p=0.5)"])
    assert [estimate.mean for estimate in found.values()] == [1.0, 0.5]
    with pytest.raises(UsageError, match="`twice` of flagged must be true or false, got 1"):
        rm.metric("flagged")(twice=1)
    check_metric("flagged", k=2)
    assert {"p": 1.0, "twice": True} in variants(METRICS["flagged"])


def test_a_docstring_gets_what_all_metrics_have_in_common():
    doc = " ".join(metrics.iprec.__doc__.split())
    for said in (
        "hits : Hits Relevant items of n_users users",
        "Returns ------- float64 array of shape (n_users,) In [0, 1].",
        "Raises ------ UsageError If ties are unresolved or an option is out of its range.",
        "Notes ----- A user with nothing relevant is undefined (NaN). A point of",
    ):
        assert said in doc
    assert (
        "0 or more; −∞ to ∞ with ``gains=all``; the expectation if ties are unresolved."
        in metrics.dcg.__doc__
    )
    assert "k : int, optional\n    Cutoff;" in metrics.dcg.__doc__
    assert "Any number" in metrics.utility.__doc__
    assert "undefined" not in metrics.utility.__doc__


def test_a_metric_that_returns_a_share_can_be_pooled(flagged):
    assert METRICS["flagged"].pools
    assert not METRICS["ndcg"].pools
    pooled = rm.evaluate([["a"], ["x"]], [{"a"}, {"b", "c"}], "flagged(p=1)", aggregate="micro")
    assert pooled["flagged(p=1)"].mean == pytest.approx(1 / 3)


def test_the_function_gives_numbers_and_the_state_adds_up():
    offsets = np.array([0, 1, 1])
    hits = Hits(offsets, np.array([1.0]), np.array([1.0]), np.array([1, 3]), np.array([2, 2]))
    assert metrics.precision(hits, 2).tolist() == [0.5, 0.0]
    state = METRICS["precision"].state(hits, 2)
    assert (state + state).value() == state.value() == 1 / 4
    one = METRICS["precision"].state(hits.only(slice(1, 2)), 2)
    assert (state.part.tolist(), one.part.tolist()) == ([1.0, 0.0], [0.0])
    assert state.take(np.array([1])).per_user(nothing=np.nan).tolist() == [0.0]
    assert state.influence().mean() == pytest.approx(state.value())


def test_a_function_can_be_checked_without_being_registered():
    def share_found(hits: Hits, k: int | None = None) -> FloatArray:
        """Share of the relevant items in the top k."""
        return ratio(hits.sum(hits.within(k)), hits.n_relevant)

    check_metric(share_found, k=3)
    assert "share_found" not in METRICS


@pytest.mark.parametrize("hits", [67, 30, 7])
@pytest.mark.parametrize("level", [0.1, 0.15, 0.5])
def test_a_level_of_recall_is_rounded_up_where_it_says_so(hits, level):
    """Recall 0.15 of 67 items needs 11 of them; ⌊10.05 + 0.9⌋ is 10."""
    needed = {"up": -(-hits * round(level * 100) // 100), "trec9": int(hits * level + 0.9)}
    truth = [{f"i{i}" for i in range(hits)}]
    for rounding, least in needed.items():
        one = f"iprec(rounding={rounding})@{level}"
        for found, value in ((least, 1), (least - 1, 0)):
            ranked = [f"i{i}" for i in range(found)] + ["x", "y"]
            result = rm.evaluate([ranked], truth, one, no_overlap="allow")
            assert result[one].mean == value


@pytest.mark.parametrize(
    ("make", "complaint"),
    [
        (lambda: _with("k: int = 1"), "k of odd_one must be positional"),
        (lambda: _with('w: Literal["a", "b"] = "c"'), "a default that is not permitted: 'c'"),
        (lambda: _with("n: int = None"), "a default that is not permitted: None"),
        (lambda: _with("", synonyms=("odd-2",)), "lower-case letters, digits"),
    ],
)
def test_what_could_not_be_asked_for_is_refused(make, complaint):
    before = dict(METRICS)
    with pytest.raises(ValueError, match=complaint):
        make()
    assert before == METRICS


def _with(option, **facts):
    """Register a metric with one more option, written as in a file."""
    star = f", *, {option}" if option else ""
    code = f'def odd_one(hits, k=None{star}):\n    "Odd."\n    return hits.first\n'
    if option.startswith("k"):
        code = code.replace("k=None, ", "")
    space = {"Literal": Literal, "hits": None}
    exec(code, space)
    register("Odd", **facts)(space["odd_one"])


def test_a_metric_must_return_one_value_per_user():
    @register("Scalar")
    def scalar_metric(hits):
        """One number for all."""
        return np.float64(0.5)

    try:
        with pytest.raises(TypeError, match="one value per user"):
            rm.evaluate([["a"]], [{"a"}], "scalar_metric")
    finally:
        unregister("scalar_metric")


def test_a_metric_that_ignores_its_cutoff_is_found():
    def no_cutoff(hits: Hits, k: int | None = None) -> FloatArray:
        """Recall, whatever the cutoff."""
        return ratio(hits.sum(hits.within(None)), hits.n_relevant)

    with pytest.raises(AssertionError, match="cutoff of no_cutoff changes nothing"):
        check_metric(no_cutoff)


def test_a_name_means_the_metric_that_is_registered_under_it_now():
    def turned(hits: Hits, k: int | None = None, *, by: Literal["a"] = "a") -> FloatArray:
        """Recall."""
        return ratio(hits.count(k), hits.n_relevant)

    def other(hits: Hits, k: int | None = None, *, by: Literal["b"] = "b") -> FloatArray:
        """Recall."""
        return ratio(hits.count(k), hits.n_relevant)

    other.__name__ = "turned"
    for function, option in ((turned, "a"), (other, "b")):
        with pytest.raises(UnknownMetricError, match="turned"):
            rm.evaluate([["a"]], [{"a"}], f"turned(by={option})@1")
        register("Turned")(function)
        try:
            rm.evaluate([["a"]], [{"a"}], f"turned(by={option})@1")
            with pytest.raises(UsageError, match="by"):
                rm.evaluate([["a"]], [{"a"}], f"turned(by={'b' if option == 'a' else 'a'})@1")
        finally:
            unregister("turned")


def test_names_are_known_before_a_file_is_imported():
    """The text of the files says what they register; without the text they are imported."""
    read = {
        name: synonyms
        for file in metrics._FILES
        for name, synonyms in _names_in_source(get_data("rankmeter.metrics", f"{file}.py").decode())
    }
    built_in = {n: s for n, s in METRICS.items() if s.family.startswith("rankmeter.metrics.")}
    assert {n: {*synonyms} for n, synonyms in read.items()} == {
        name: {*spec.synonyms} for name, spec in built_in.items()
    }
    bundle = "import pkgutil; pkgutil.get_data = lambda *_: None; import rankmeter.metrics as m; "
    code = bundle + "print(sorted(m.METRICS), m.ndcg.__name__, m.metric('P@3'))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == f"{sorted(built_in)} ndcg precision@3\n"


def test_a_metric_hides_the_file_of_its_name():
    assert importlib.import_module("rankmeter.metrics.ndcg").LARGEST_GRADE
    assert metrics.ndcg is METRICS["ndcg"].function
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = metrics.nothing


def test_no_two_metrics_of_rankmeter_share_a_name():
    names = [*METRICS, *SYNONYMS]
    meant = {(name.replace("_", ""), SYNONYMS.get(name, name)) for name in names}
    assert len(meant) == len({key for key, _ in meant})
    assert [name for name in names if not re.fullmatch(r"[a-z0-9][a-z0-9_.]*", name)] == []
