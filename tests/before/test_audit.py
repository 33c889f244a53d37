"""Audits: every planted fault is found, alone, and a clean split has none."""

import json

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter._audit.checks import full_cutoff
from rankmeter._audit.findings import CHECKS
from rankmeter.errors import DataError, IdTypeError, InvalidValueError, UsageError

NAMES = ["user", "item", "time"]
USERS, ITEMS = range(20), range(1000, 1400)


def frame(rows):
    width = len(rows[0])
    made = pl.DataFrame([[*map(float, row)] for row in rows], schema=NAMES[:width], orient="row")
    return made.with_columns(pl.col("user", "item").cast(pl.Int64))


def clean():
    """Train, test and the lists of two systems, of which nothing is to be said."""
    first = [(0, item, 10) for item in ITEMS]  # everybody knows all items from the first user
    train = [*first, *((user, 1000 + user, 20 + user) for user in USERS)]
    test = [(user, 1100 + user, 1000 + user) for user in range(1, 20)]
    one, two = (
        [(user, 1100 + user + n + shift) for user in range(1, 20) for shift in range(9)]
        for n in (0, 1)
    )
    return train, test, {"one": [*one[1:], (1, 1350)], "two": two}


def audited(train, test, systems):
    return rm.audit(frame(train), frame(test), {n: frame(rows) for n, rows in systems.items()})


def untimed(train, test, systems):
    pair = (1, 1101)
    return [row[:2] for row in train] + [pair], [row[:2] for row in test], systems


def later_pair(train, test, systems):
    return [*train, (1, 1101, 1001)], test, systems


def repeat(train, test, systems):
    return [*train, (1, 1101, 500)], test, systems


def own_future(train, test, systems):
    return [*train, (1, 1300, 1001.5)], test, systems


def future_of_others(train, test, systems):
    return [*train, (0, 1300, 1001.5)], test, systems


def unborn(train, test, systems):
    return [*train, (0, 2000, 1001.5)], [*test, (2, 2000, 1001)], systems


def unborn_in_a_list(train, test, systems):
    return [*train, (0, 2000, 1001.5)], test, {**systems, "two": [*systems["two"], (1, 2000)]}


def tie(train, test, systems):
    return [*train, (1, 1300, 1001)], [(1, 1101, 1001), *test[1:]], systems


def cold_item(train, test, systems):
    return train, [*test, (2, 2000, 1002)], systems


def cold_user(train, test, systems):
    lists = {name: [*rows, *((99, 1200 + n) for n in range(9))] for name, rows in systems.items()}
    return train, [*test, (99, 1300, 1002)], lists


def no_list(train, test, systems):
    return train, test, {**systems, "two": [row for row in systems["two"] if row[0] != 1]}


def shorter_list(train, test, systems):
    return train, test, {**systems, "two": systems["two"][:-1]}


def seen_item(train, test, systems):
    return train, test, {**systems, "two": [*systems["two"][:-1], (19, 1019)]}


def unknown_item(train, test, systems):
    return train, test, {**systems, "two": [*systems["two"][:-1], (19, 7)]}


def candidates(train, test, systems):
    lists = [(1, 1101), *systems["one"][:-1]]
    return train, test, {"one": lists, "two": lists[::-1]}


def other_candidates(train, test, systems):
    train, test, systems = candidates(train, test, systems)
    return train, test, {"one": systems["one"], "two": [(19, 1399), *systems["two"][1:]]}


FAULTS = {
    untimed: ({"shared-pairs"}, "two"),
    later_pair: ({"shared-pairs"}, ""),
    repeat: ({"repeats"}, ""),
    own_future: ({"later-own", "later-train"}, ""),
    future_of_others: ({"later-train"}, ""),
    unborn: ({"later-train", "unborn-items"}, ""),
    unborn_in_a_list: ({"later-train", "unborn-recommended", "unequal-lengths"}, "two"),
    tie: ({"ties-at-cut"}, ""),
    cold_item: ({"cold-items"}, ""),
    cold_user: ({"cold-users"}, ""),
    no_list: ({"missing-lists"}, "two"),
    shorter_list: ({"unequal-lengths"}, ""),
    seen_item: ({"seen-recommended"}, "two"),
    unknown_item: ({"unknown-recommended"}, "two"),
    candidates: ({"sampled-candidates"}, "one"),
    other_candidates: ({"sampled-candidates", "unequal-candidates"}, "one"),
}
"""Each planted fault, what is found, which implies each other, and nothing else."""


def test_a_clean_split_has_no_findings():
    found = audited(*clean())
    assert found.findings == ()
    assert found.worst == "none"
    assert "Nothing was found." in repr(found)
    assert "19 test users: 4 of 5 comparisons of two systems" in repr(found)


@pytest.mark.parametrize("plant", FAULTS)
def test_a_planted_fault_is_found_alone(plant):
    expected, _ = FAULTS[plant]
    found = audited(*plant(*clean()))
    assert {finding.check for finding in found.findings} == expected
    for finding in found.findings:
        assert 1 <= finding.count <= finding.of
        assert len(finding.examples) <= 3
        assert finding.severity == CHECKS[finding.check].severity


def test_every_finding_is_planted():
    assert set().union(*(checks for checks, _ in FAULTS.values())) == CHECKS.keys()


def test_numbers_of_the_films():
    """Shares that were computed by hand for the two usual splits and a cut in time."""
    ratings = rm.datasets.movielens()
    shares = {
        split: {f.check: round(f.share, 4) for f in rm.audit(parts.train, parts.test).findings}
        for split, parts in {
            "last": rm.splits.leave_one_out(ratings),
            "random": rm.splits.holdout(ratings),
            "cut": rm.splits.temporal(ratings),
        }.items()
    }
    assert shares == {
        "last": {
            "later-train": 0.9984, "unborn-items": 0.1016, "ties-at-cut": 0.1541,
            "cold-items": 0.0377,
        },
        "random": {
            "later-own": 0.9894, "later-train": 1.0, "unborn-items": 0.0686,
            "ties-at-cut": 0.0043, "cold-items": 0.0396,
        },
        "cut": {"cold-items": 0.1509, "cold-users": 0.7586},
    }  # fmt: skip
    parts = rm.splits.leave_one_out(ratings)
    (finding,) = (f for f in rm.audit(parts.train, parts.test).findings if f.check == "later-train")
    assert "53.6 % of train" in finding.effect


def test_a_sample_says_what_was_measured():
    assert full_cutoff(10, 100, 10_000) == 965
    above = np.random.default_rng(0).binomial(100, 964 / 9999, 100_000)
    assert np.mean(above < 10) == pytest.approx(0.5, abs=0.01)
    train, test, _ = clean()
    sampled = rm.Sampled(np.arange(19.0), np.zeros((19, 100)))
    (finding,) = rm.audit(frame(train), frame(test), sampled).findings
    assert finding.check == "sampled-candidates"
    assert "hr@10 among 100 of 400 is about the full hr@" in finding.effect
    with pytest.raises(UsageError, match="has no items: an audit needs lists of items"):
        rm.audit(frame(train), frame(test), {"a": rm.Ranks([1, 2])})


def test_parts_are_read_with_certainty_or_refused():
    train, test, _ = clean()
    text = frame(test).with_columns(pl.col("user").cast(pl.String))
    with pytest.raises(IdTypeError):
        rm.audit(frame(train), text)
    dates = frame(test).with_columns(pl.col("time").cast(pl.Datetime("ms")))
    with pytest.raises(InvalidValueError, match="the times of train are Float64 and those of test"):
        rm.audit(frame(train), dates)
    missing = frame(test).with_columns(time=pl.lit(None, pl.Float64))
    with pytest.raises(InvalidValueError, match="audit needs a time for each interaction"):
        rm.audit(frame(train), missing)
    with pytest.raises(DataError, match="has no rows"):
        rm.audit(frame(train), frame(test).clear())
    with pytest.raises(DataError, match="test has no rows"):
        rm.audit(frame(train), {1: []})


def test_without_times_the_future_is_not_called_clean():
    train, test, _ = clean()
    found = rm.audit(frame(train).drop("time"), frame(test))
    assert not found.timed
    assert found.findings == ()
    assert found.headline() == (
        "Train and test have no times, so a look into the future would not be seen."
    )


def test_names_of_columns_and_kinds_of_rankings():
    train, test, systems = clean()
    renamed = [part.rename({"user": "who", "time": "ts"}) for part in (frame(train), frame(test))]
    rows = rm.audit(*renamed, columns={"user": "who", "time": "ts"})
    assert rows.timed
    lists = frame(systems["two"]).group_by("user").agg("item").rows()
    assert rm.audit(frame(train), frame(test), dict(lists)).findings == ()
    assert rm.audit(frame(train), frame(test), {"a": dict(lists)}).systems == ("a",)


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    train, test, systems = unborn(*clean())
    for name, rows in {"train": train, "test": test, **systems}.items():
        frame(rows).write_csv(f"{name}.csv")


def test_the_command_says_the_same_and_fails_on_a_leak(files):
    done = rankmeter("audit", "train.csv", "test.csv", "one=one.csv", "two=two.csv")
    systems = {"one": "one.csv", "two": "two.csv"}
    shown = repr(rm.audit("train.csv", "test.csv", systems))
    assert done.out.split() == shown.split()
    assert max(map(len, shown.splitlines())) <= 80
    leak = rankmeter("audit", "train.csv", "test.csv", "--fail-if", "leak")
    assert leak.code == 1
    assert "gate 'leak' tripped: 2 of 20 test rows older than some training row" in leak.err
    assert rankmeter("audit", "train.csv", "test.csv", "--fail-if", "cold-users").code == 0
    assert rankmeter("audit", "train.csv", "test.csv", "--fail-if", "leaks").code == 2
    found = rankmeter("audit", "train.csv", "test.csv", "--json").json
    assert found == json.loads(rm.audit("train.csv", "test.csv").to_json())
    assert found["worst"] == "high"
    several = rankmeter("audit", "train.csv", "test.csv", "a=one.csv,two.csv")
    assert several.code == 2


def test_every_format_of_findings(files):
    for form, start in {"csv": "check,", "md": "| finding", "latex": r"\begin{tabular}"}.items():
        done = rankmeter("audit", "train.csv", "test.csv", "--format", form)
        assert done.out.startswith(start)
    found = rm.audit("train.csv", "test.csv")
    assert found.to_polars()["check"].to_list() == ["later-train", "unborn-items"]
    assert [*map(str, found.leaks)] == [*map(str, found.findings)]
    assert found.sentences()[0].startswith("high: 2 of 20 test rows older than some training row.")
    assert "<table" in found._repr_html_()


def test_an_evaluation_says_how_many_relevant_items_are_in_train():
    train = pl.DataFrame({"user": [1, 1, 2], "item": ["a", "b", "a"]})
    lists, truth = {1: ["a", "c"], 2: ["c"]}, {1: {"a": 1, "c": 1, "b": 0}, 2: {"c": 1}}
    said = "relevant items that train has for the user: 1 (see rankmeter.audit)"
    assert said in repr(rm.evaluate(lists, truth, "rr novelty", train=train))
    clean = {1: {"c": 1}, 2: {"c": 1}}
    assert "train has" not in repr(rm.evaluate(lists, clean, "rr novelty", train=train))
    assert "train has" not in repr(rm.evaluate(lists, None, "novelty", train=train))
