"""A forked child answers, or says at once what to do; it never waits for threads that are gone."""

import inspect
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import rankmeter as rm
from rankmeter.errors import _forked

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc"),
]
PROGRAM = Path(__file__).with_name("forked.py")


def run(code):
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False,
        cwd=PROGRAM.parent, timeout=590,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return json.loads(ran.stdout)


def test_every_public_call_on_every_kind_of_input_answers_or_raises_the_one_error():
    found = run("import forked; forked.main()")
    said = found["said"]
    assert not {door: what for door, what in said.items() if what not in ("answers", "refuses")}
    assert not found["wrong"]  # the parent was never refused
    assert not [door for door in found["must"] if said[door] != "answers"]
    number = Counter(said.values())
    assert number["answers"] > 500 < number["refuses"]


def test_every_public_function_is_a_door():
    import forked

    called = {*forked.VERBS, *forked.OF_DATA, *forked.OF_MODULES}
    names = {name for name in rm.__all__ if inspect.isfunction(getattr(rm, name))}
    assert names <= called


SAFE = """
import forked, json, sys, numpy as np, polars as pl
from rankmeter.errors import _forked
N = 400_000
number = np.arange(N) % 99_991
part = pl.DataFrame({"n": number, "t": [f"t{i}" for i in number], "x": np.linspace(0, 1, N)})
frame = pl.concat([part, part], rechunk=False)
frame.sort("n")
gather = np.arange(0, N, 2)
arguments = {
    "alias": ("a",), "rename": ("a",), "gather": (gather,), "get_column": ("n",),
    "cast": (pl.String,), "slice": (5, N), "item": (5,), "row": (5,),
    "to_series": (1,), "__deepcopy__": ({},),
}
APART = {"any", "all", "filter", "equals", "__setstate__", "__bool__"}
doors = {}
def door(owner, name, target, *given):
    member = getattr(type(target), name)
    doors[owner + "." + name + str(target.dtype if owner == "Series" else "")] = (
        (lambda: member(target, *given)) if callable(member) else lambda: getattr(target, name)
    )
for series in frame:
    for name in _forked._SAFE["Series"] - APART:
        if name in ("mean", "sum") and series.dtype == pl.String:
            continue
        given = arguments.get(name, ())
        if name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
            given = (series,)
        if name in ("__contains__", "__getitem__"):
            given = (5,) if name == "__getitem__" else (series[5],)
        door("Series", name, series, *given)
    for name in ("any", "all"):
        door("Series", name, series == series)
    door("Series", "filter", series, frame["x"] > 0.5)
    door("Series", "equals", series, series.clone())
    doors[f"Series {series.dtype}"] = lambda s=series: pl.Series("a", s.to_list(), s.dtype)
    doors[f"Enum {series.dtype}"] = lambda s=series: s.cast(pl.String).cast(
        pl.Enum(pl.Series(["t1", "t2"])), strict=False).to_physical().cast(pl.Int64)
    doors[f"concat {series.dtype}"] = lambda s=series: pl.concat([s, s])
given = {
    "rename": ({"n": "m"},), "equals": (frame.clone(),), "item": (5, "n"), "__contains__": ("n",),
}
for name in _forked._SAFE["DataFrame"] - {"__setstate__"}:
    door("DataFrame", name, frame, *(given.get(name) or arguments.get(name, ())))
for key in ("n", ["n", "t"], slice(3, N), 5):
    doors[f"frame {key}"] = lambda key=key: frame[key]
doors["frame of series"] = lambda: pl.DataFrame(frame.get_columns())
doors["frame of arrays"] = lambda: pl.DataFrame(
    {"a": np.linspace(0, 1, N), "b": frame["t"][:N]}, nan_to_null=True)
doors["frame of lists"] = lambda: pl.DataFrame(part.to_dict(as_series=False))
doors["frame of rows"] = lambda: pl.DataFrame(part.rows(), schema=["a", "b", "c"], orient="row")
said = forked.run([(name, lambda c=call: c() and None, "None") for name, call in doors.items()])
json.dump({n: s for n, s in said.items() if "for ever" in s}, sys.stdout)
"""


def test_what_is_not_wrapped_needs_no_threads():
    assert run(SAFE) == {}


USERS = """
import forked, json, os, sys, polars as pl, rankmeter as rm
from rankmeter.errors import _forked
{parent}
def answered():
    originals = len(_forked._unwrapped)
    own = pl.DataFrame({{"a": [2, 1]}})["a"].to_list(), pl.Series([1, 2]).sum()
    try:
        frame = pl.DataFrame({{"user": [1], "item": [1], "score": [1.0]}})
        mean = rm.evaluate(frame, {{1: [1]}}, "mrr")["mrr"].mean
    except rm.errors.UsageError as error:
        mean = "forked" in str(error)
    return [own, originals > 0, mean, len(_forked._unwrapped) > 0]
print(json.dumps(forked.run([("a", answered, forked.text_of({expected}))])))
"""


@pytest.mark.parametrize(
    ("parent", "expected"),
    [
        ("", [([2, 1], 3), True, 1.0, False]),  # imported, never used: nothing stays wrapped
        (
            "pl.DataFrame({'a': [2, 1], 'b': [1, 2]}).group_by('a').sum()",
            [([2, 1], 3), True, True, True],
        ),
    ],
)
def test_a_child_wraps_polars_only_where_its_threads_are_gone(parent, expected):
    assert run(USERS.format(parent=parent, expected=expected)) == {"a": "answers"}


def test_a_process_that_was_not_forked_wraps_nothing():
    assert not _forked._unwrapped
    assert _forked.can_compute()
