"""A message shows both ends of a long name, and whole paths of ordinary length."""

from __future__ import annotations

import pickle

import pytest

import rankmeter as rm
from rankmeter import errors
from rankmeter.errors import RankmeterError, UsageError

pytestmark = pytest.mark.once

LONG = "begin" + "x" * 10**5 + "end"


@pytest.mark.parametrize(
    "call",
    [
        lambda: rm.evaluate([["a"]], [{"a"}], LONG),
        lambda: rm.evaluate([["a"]], [{"a"}], "rr", like=LONG),
        lambda: rm.evaluate([["a"]], [{"a"}], "rr", ties=LONG),
        lambda: rm.evaluate([["a"]], [{"a"}], f"rr(ties={LONG})"),
        lambda: rm.evaluate([["a"]], [{"a"}], "rr", columns={"user": LONG, LONG: "x"}),
        lambda: rm.evaluate({LONG: ["a"]}, {LONG + "2": ["a"]}, "rr"),
        lambda: rm.evaluate({"u": [LONG]}, {"u": ["a"]}, "rr"),
        lambda: rm.evaluate({"u": {LONG: None}}, {"u": ["a"]}, "rr"),
        lambda: rm.evaluate({"u": [" ".join(LONG)]}, {"u": ["a"]}, "rr"),
        lambda: rm.compare({LONG: [["a"]], "b": [["a"]]}, [{"a"}], "rr", baseline="c"),
        lambda: rm.evaluate(LONG, [{"a"}], "rr"),
    ],
)
def test_long_names_are_shortened(call):
    with pytest.raises(RankmeterError) as caught:
        call()
    assert len(str(caught.value)) < 5_000


def test_both_ends_are_shown():
    text = str(UsageError(f"no column {LONG!r} here"))
    assert text.startswith("no column 'begin")
    assert text.endswith("end' here")
    assert max(map(len, text.split())) == errors.LONGEST_NAME


@pytest.mark.parametrize("message", ["", "a b", "x" * 80, "/tmp/" + "folder/" * 40 + "file.csv"])
def test_what_is_short_stays(message):
    assert str(UsageError(message)) == message


@pytest.mark.parametrize("name", sorted(set(errors.__all__) - {"RankmeterWarning"}))
def test_errors_travel_between_processes(name):
    error = getattr(errors, name)(f"{LONG} went wrong")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
