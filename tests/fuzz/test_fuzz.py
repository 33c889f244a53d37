"""The fuzzers for some seconds each; ``make fuzz`` runs them for as long as it is asked to."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from random import Random

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import rankmeter as rm
import reference
from fuzz import calls, doors, harness, invariance, judge, readers, writers

pytestmark = pytest.mark.once

INPUTS = {
    "readers.csv": 90,
    "readers.tsv": 72,
    "readers.jsonl": 90,
    "readers.json": 90,
    "readers.run": 90,
    "readers.qrels": 60,
    "readers.parquet": 80,
    "readers.csv.gz": 48,
    **{f"rows.{form}": 150 for form in readers.FORMS},
    "api": 120,
    "calls": 150,
    "invariance": 7,
    "doors": 150,
}
"""How many inputs of each fuzzer: some seconds each."""


@pytest.mark.parametrize("name", INPUTS)
def test_nothing_random_gives_a_wrong_value_or_a_foreign_error(name, tmp_path):
    report = harness.run(name, INPUTS[name], folder=tmp_path)
    assert not report.failures, str(report)
    assert sum(report.outcomes.values()) == INPUTS[name]
    judged = {"invariance": "the same from all forms: values", "calls": "accepted"}
    wanted = judged.get(name, "accepted, with the")
    assert any(outcome.startswith(wanted) for outcome in report.outcomes), str(report)


def test_a_new_function_is_called_or_its_parameters_are_named(monkeypatch):
    def fresh(unheard_of):
        raise KeyError(unheard_of)

    monkeypatch.setattr(rm.splits, "fresh", fresh, raising=False)
    monkeypatch.setattr(rm.splits, "__all__", [*rm.splits.__all__, "fresh"])
    found = calls.targets.__wrapped__
    with pytest.raises(LookupError, match="unheard_of"):
        found()
    monkeypatch.setitem(calls.STRATEGIES, "unheard_of", lambda _: 7)
    monkeypatch.setattr(calls, "targets", found)
    case = calls.Case(1, "splits.fresh", (), ())
    with pytest.raises(harness.Failure, match=r"foreign KeyError in splits\.fresh"):
        calls.fuzzer("").check(case, lambda _: None)


def test_an_argument_that_is_changed_is_a_failure(monkeypatch):
    assert "splits.k_fold" in calls.targets()
    monkeypatch.setattr(rm.splits, "k_fold", lambda data, **_: data.clear())
    monkeypatch.setitem(calls.STRATEGIES, "data", lambda _: {1: [2]})
    with pytest.raises(harness.Failure, match=r"splits\.k_fold changes data"):
        calls.fuzzer("").check(calls.Case(1, "splits.k_fold", (), ()), lambda _: None)


@pytest.mark.parametrize("change", [
    lambda one: one.append(3), lambda one: one[1].update(b=2), lambda one: one[2].fill(0),
    lambda one: one[3].__setitem__("a", 0), lambda one: one[4].data.fill(5),
])  # fmt: skip
def test_a_change_of_an_argument_is_seen(change):
    one = [[1], {"a": 1}, np.ones(2), pd.DataFrame({"a": [1]}), scipy.sparse.eye(2, format="csr")]
    before = calls.fingerprint(one)
    assert calls.fingerprint(one) == before
    change(one)
    assert calls.fingerprint(one) != before


def test_any_number_of_threads_gives_the_same_bits():
    found = invariance.digests(0, 5, (1, 3))
    assert len(set(found.values())) == 1, found


@pytest.mark.skipif(os.name != "posix", reason="signals and limits of Unix")
def test_writers_that_are_ended_or_cut_leave_the_old_or_the_new_file(tmp_path):
    jobs = writers.prepare(tmp_path, (0, 4, 5))
    assert sum(writers.kill(tmp_path, jobs, 6, seed=1).values()) == 6
    assert writers.cut(tmp_path, jobs, 4, seed=1) == {3: 4}


# -- the harness can fail ---------------------------------------------------------------------


class Faulty:
    """A fuzzer whose inputs are numbers, and what goes wrong at some of them."""

    def __init__(self, what):
        self.what = what

    def make(self, draw):
        return draw.randrange(4)

    def check(self, case, stage):
        if case == 3:
            FAULTS[self.what]()
        return "fine"

    def show(self, case):
        return str(case).encode()

    def suffix(self, case):
        return ".txt"

    def smaller(self, case):
        return iter(())


def fuzzer(what):
    return Faulty(what)


def _fail():
    raise harness.Failure("wrong")


def _grow():
    bytearray(harness.MEMORY + (64 << 20))


def _work_forever():
    while True:
        pass


FAULTS = {
    "wrong": _fail,
    "abort": os.abort,
    "memory": _grow,
    "hang": signal.pause,
    "endless": _work_forever,
}
KINDS = {"wrong": "wrong", "abort": "the process ended with -6", "memory": "memory"}


@pytest.mark.parametrize("what", KINDS)
def test_a_fault_is_found_with_its_number_and_the_others_are_checked(what, tmp_path):
    report = harness.run(f"test_fuzz.{what}", 6, folder=tmp_path)
    wrong = [n for n in range(6) if Random(f"0 {n}").randrange(4) == 3]
    assert [one["number"] for one in report.failures] == wrong != []
    assert set(report.kinds()) == {KINDS[what]}
    assert Path(report.failures[0]["file"]).read_bytes() == b"3"
    assert f"--first {wrong[0]} --n 1" in str(report)


@pytest.mark.parametrize(("what", "limit"), [("hang", "PAUSE"), ("endless", "HANG")])
def test_a_hang_is_ended(what, limit, tmp_path, monkeypatch):
    monkeypatch.setattr(harness, limit, 3.0)
    first = next(n for n in range(99) if Random(f"0 {n}").randrange(4) == 3)
    report = harness.run(f"test_fuzz.{what}", 2, first=first, folder=tmp_path)
    assert report.failures[0]["kind"] == "hang"


def test_a_failing_input_becomes_small():
    files = readers.fuzzer("csv")
    case = readers.Case("csv", "truth", b"a,b\nc,d\nx,y\n", {}, ("rr",), damaged=True)
    files.check = lambda case, stage: _fail() if b"x" in case.content else "fine"
    assert harness.smaller(files, case, "wrong").content == b"x"


@pytest.mark.parametrize("fault", ["value", "mean", "refusal"])
def test_a_door_that_gives_something_else_is_found(fault, monkeypatch):
    fuzzer = doors.fuzzer("")
    case = fuzzer.make(Random("0 1"))
    assert fuzzer.check(case, print).startswith("accepted")
    measured = doors.measured

    def faulty(case, door, home):
        if fault == "refusal":
            raise rm.errors.DataError("no")
        for label, mean, values in measured(case, door, home):
            wrong = values and dict.fromkeys(values, 7.0)
            yield label, mean + (fault == "mean"), wrong if fault == "value" else values

    monkeypatch.setattr(doors, "measured", faulty)
    kinds = {"refusal": "DataError where nothing is wrong"}
    with pytest.raises(harness.Failure, match=kinds.get(fault, f"another {fault}")):
        fuzzer.check(case, print)
    small = harness.smaller(fuzzer, case, kinds.get(fault, f"another {fault}"))
    assert len(small.doors) == len(small.metrics) == len(small.rankings) == 1
    assert b"evaluate" in fuzzer.show(small) or small.doors[0][2].encode() in fuzzer.show(small)


# -- the judge is right -----------------------------------------------------------------------


def test_the_judge_agrees_with_the_definitions():
    """Which share no code with it."""
    for number in range(200):
        data = readers.dataset(Random(number))
        found = judge.values(data["rankings"], data["truth"])
        for user, values in found.items():
            scores, gains = data["rankings"].get(user, {}), data["truth"][user]
            ranked = sorted(scores, key=lambda item: (-scores[item], judge.order(item)))
            expected = [
                reference.precision(ranked, gains, 3),
                reference.recall(ranked, gains, 3),
                reference.rr(ranked, gains, None),
                reference.ap(ranked, gains, None),
                reference.ndcg(ranked, gains, 3),
            ]
            assert [values[name] for name in judge.METRICS] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("form", readers.WRITERS)
def test_the_judge_reads_what_is_not_damaged(form):
    for number in range(50):
        draw = Random(number)
        data = readers.dataset(draw)
        side = {"run": "rankings", "qrels": "truth"}.get(form) or draw.choice([*data])
        content = readers.WRITERS[form](data[side], side, draw)
        found = judge.read(content, form, side)
        assert found == {user: items for user, items in data[side].items() if items}


def test_the_order_of_ids():
    ids = ["é", "a", "10", "9", "-2", "-10", "007", "+1"]
    assert sorted(ids, key=judge.order) == ["-10", "-2", "9", "10", "+1", "007", "a", "é"]
