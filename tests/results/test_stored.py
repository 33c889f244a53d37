"""Results in files: what was written is read back, and nothing of a file is executed."""

# ruff: noqa: ARG005 - changes in a table share their arguments
from __future__ import annotations

import json
import pickle
import random
import zipfile
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankmeter as rm
from rankmeter.errors import DataError, FileFormatError, UnknownMetricError, UsageError
from rankmeter.metrics import METRICS, register, unregister

USERS = [f"u{n}" for n in range(12)]
TRUTH = {user: {"a": 2, "b": 1, "d": 0} for user in USERS}
LISTS = {user: ["c", "a", "b"] if n % 3 else ["a", "x"] for n, user in enumerate(USERS)}
OTHERS = {user: ["x", "b"] for user in USERS[1:]}
GROUPS = {user: "xy"[n % 2] for n, user in enumerate(USERS)}
SIDE = {
    "train": OTHERS,
    "items": {item: ["x"] if item in "ab" else ["y"] for item in "abcdx"},
    "catalogue": [*"abcdx"],
    "baseline_lists": OTHERS,
    "propensity": dict.fromkeys("abcdx", 0.5),
}
SCORES = np.random.default_rng(3).random((8, 6))
MADE = {
    "plain": lambda: rm.evaluate(LISTS, TRUTH, "ndcg@2 MRR map(ties=expected)"),
    "missing and extra users": lambda: rm.evaluate(
        {**OTHERS, "new": ["a"]}, TRUTH, "recall@2 hr@1", missing="skip", confidence=0.9
    ),
    "convention": lambda: rm.evaluate(LISTS, TRUTH, "P_5 recip_rank bpref", like="trec_eval"),
    "integers": lambda: rm.evaluate({1: [5, 6], 2: [7]}, {1: [5], 2: [6, 7]}, "ap rr"),
    "large integers": lambda: rm.evaluate({2**63 + 1: ["a"], 4: ["b"]}, {4: ["b"]}, "rr"),
    "by position": lambda: rm.evaluate([["a", "b"], ["b", "a"]], [["a"], ["a"]], "rr"),
    "clusters": lambda: rm.evaluate(LISTS, TRUTH, "rr", clusters=GROUPS),
    "bootstrap": lambda: rm.evaluate(LISTS, TRUTH, "rr", interval="bca", resamples=50),
    "pooled": lambda: rm.evaluate(LISTS, TRUTH, "precision@2 recall@2", aggregate="micro"),
    "adjusted": lambda: rm.evaluate(LISTS, TRUTH, "ndcg(adjusted)@2 rr", n_items=9),
    "lists": lambda: rm.evaluate(LISTS, TRUTH, "coverage@2 gini@2 ild@2 entropy novelty@2", **SIDE),
    "groups of gains": lambda: rm.evaluate(LISTS, TRUTH, "ndcg@2", gains={1: 0.5, 2: 3}),
    "pandas": lambda: rm.evaluate(
        pl.DataFrame({"user": [*"aabb"], "item": [*"cdcd"]}).to_pandas(), {"a": ["c"]}, "rr"
    ),
    "subtopics": lambda: rm.evaluate(
        {"q": ["d", "e"]},
        pl.DataFrame({"user": ["q"] * 2, "subtopic": ["1", "2"], "item": [*"de"], "gain": [1, 1]}),
        "alpha_ndcg@2",
    ),
    "scores": lambda: rm.evaluate_scores(SCORES, SCORES > 0.7, "mrr hits@2", groups=[*"xyxyxyxy"]),
    "ranks": lambda: rm.evaluate_ranks([1, 2, 9], "mr amri", candidates=[9, 9, 12]),
    "Sampled": lambda: rm.evaluate(rm.Sampled([0.5, 0.1], [[0.1, 0.7], [0.2, 0.3]]), None, "hr@1"),
    "nothing in common": lambda: rm.evaluate({1: ["a"]}, {1: ["b"]}, "rr", no_overlap="allow"),
}
EXAMPLES = {name: make() for name, make in MADE.items()}


def parts(result):
    """All that a result has, as something that can be compared."""
    scores = result.scores
    return [
        result.to_dict(), repr(result), repr(result.details()), str(result.plan), result.plan,
        result.plan.options(), result.per_user if result.kind.is_pandas is False else None,
        result.values_by_user.to_dict(as_series=False), scores.users.to_list(), scores.users.dtype,
        repr(result.to_polars().rows()), repr([*result.estimates.items()]), scores.matrix.tolist(),
        [(facts.n_relevant.tolist(), facts.n_ranked.tolist(), facts.n_found, facts.n_hits)
         for facts in scores.facts.values()], [*scores.facts], result.cautions, result.remarks,
        repr(result.groups), repr(result.clusters), [result.random, result.perfect],
    ]  # fmt: skip


def same(result, again):
    return repr(parts(replace(result, kind=again.kind))) == repr(parts(again))


def stored(result, folder):
    path = folder / "some.result"
    result.save(path)
    return path


@pytest.mark.parametrize("name", EXAMPLES)
def test_what_is_saved_is_read_back(name, tmp_path):
    result = EXAMPLES[name]
    assert same(result, rm.load_result(stored(result, tmp_path)))


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_stored_result_is_stored_again_as_the_same_file(name, tmp_path):
    path = stored(EXAMPLES[name], tmp_path)
    first = path.read_bytes()
    assert stored(rm.load_result(path), tmp_path).read_bytes() == first


SIMPLE = [
    name
    for name, spec in METRICS.items()
    if {"hits", "nonrelevant"}.issuperset(spec.needs) and not any(
        option.required for option in spec.options.values()
    )
]  # fmt: skip


@given(
    names=st.lists(st.sampled_from(SIMPLE), min_size=1, max_size=4, unique=True),
    seed=st.integers(0, 10**6),
    choices=st.sampled_from(
        [{}, {"relevant": ">=2"}, {"undefined": "skip"}, {"missing": "skip"}, {"n_items": 30}]
    ),
)
def test_every_metric_of_hits_is_read_back(names, seed, choices, tmp_path_factory):
    draw = random.Random(seed)
    truth = {n: {i: draw.randint(0, 3) for i in draw.sample(range(20), 5)} for n in range(9)}
    lists = {n: draw.sample(range(20), draw.randint(0, 9)) for n in range(9) if draw.random() < 0.9}
    try:
        result = rm.evaluate(lists, truth, names, **choices)
    except rm.errors.RankmeterError:
        return
    assert same(result, rm.load_result(stored(result, tmp_path_factory.mktemp("stored"))))


def test_the_numbers_of_an_aggregate_need_its_lists_for_other_users(tmp_path):
    again = rm.load_result(stored(EXAMPLES["lists"], tmp_path))
    with pytest.raises(UsageError, match="coverage@2 of other users than all needs the rankings"):
        again.by_segment(GROUPS)


def test_what_needs_rankings_says_that_a_stored_result_has_none(tmp_path):
    again = rm.load_result(stored(EXAMPLES["plain"], tmp_path))
    with pytest.raises(UsageError, match="rankings"):
        again.show("u1")


def test_sums_cannot_be_stored(tmp_path):
    accumulator = rm.accumulator("mrr", keep="moments")
    accumulator.update(scores=np.eye(3), target=[0, 1, 2])
    with pytest.raises(UsageError, match="keep='values'"):
        accumulator.compute().save(tmp_path / "a.result")


@pytest.mark.parametrize("path", ["a.json", "a", None, 3])
def test_a_stored_result_has_a_name_of_its_own(path):
    with pytest.raises(UsageError, match=r"ends in \.result"):
        EXAMPLES["plain"].save(path)


# ---------------------------------------------------------------------------------------------
# Fingerprints


def fingerprints(lists, truth, folder):
    return rm.load_result(stored(rm.evaluate(lists, truth, "rr"), folder)).fingerprints


def test_fingerprints_do_not_depend_on_form_nor_order(tmp_path):
    rows = [(user, item, gain) for user, items in TRUTH.items() for item, gain in items.items()]
    frame = pl.DataFrame(rows[::-1], ["user", "item", "gain"], orient="row")
    one, other = (fingerprints(LISTS, truth, tmp_path) for truth in (TRUTH, frame))
    assert one == other
    assert one.judged_items == 3
    assert one.shown_items == 2


@pytest.mark.parametrize(
    ("lists", "truth", "changed"),
    [
        ({**LISTS, "u1": ["a", "c", "b"]}, TRUTH, "lists"),
        ({**LISTS, "u1": []}, TRUTH, "lists"),
        (LISTS, {**TRUTH, "u1": {"a": 2, "b": 2, "d": 0}}, "truth"),
        (LISTS, {**TRUTH, "u1": {"a": 2, "b": 1, "e": 0}}, "truth"),
        (LISTS, {**TRUTH, "new": {"a": 2}}, "truth"),
    ],
)
def test_a_fingerprint_sees_every_change(lists, truth, changed, tmp_path):
    one, other = fingerprints(LISTS, TRUTH, tmp_path), fingerprints(lists, truth, tmp_path)
    assert (one.truth != other.truth, one.lists != other.lists) == (
        changed == "truth", changed == "lists",
    )  # fmt: skip


def test_rankings_that_changed_since_have_no_fingerprints(tmp_path):
    lists = {"u1": ["a", "b"]}
    result = rm.evaluate(lists, {"u1": ["a"]}, "rr")
    lists["u1"].reverse()
    assert rm.load_result(stored(result, tmp_path)).fingerprints.lists is None


# ---------------------------------------------------------------------------------------------
# Files by whoever


def rewritten(path, change):
    """A stored result with other contents."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    content = json.loads(members["result.json"])
    change(content, members)
    members["result.json"] = json.dumps(content).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return path


def twice(content, _):
    content["users"]["String"][1] = content["users"]["String"][0]


BROKEN = {
    "no member": lambda content, members: members.pop("matrix"),
    "short numbers": lambda content, members: members.update(matrix=members["matrix"][:-8]),
    "other type": lambda content, members: content["arrays"]["matrix"].update(type="|O"),
    "objects": lambda content, members: members.update(matrix=pickle.dumps(print)),
    "large shape": lambda content, members: content["arrays"]["matrix"].update(shape=[10**12, 3]),
    "a user twice": twice,
    "users of another type": lambda content, members: content.update(users={"Object": ["a"]}),
    "no plan": lambda content, members: content.pop("plan"),
    "another form": lambda content, members: content.update(form="other"),
    "no version": lambda content, members: content.update(version="1"),
    "no choice": lambda content, members: content["plan"]["metrics"][0]["alignment"].update(ties=3),
    "fewer labels": lambda content, members: content.update(labels=["rr"]),
    "not a mapping": lambda content, members: content.update(facts=[1]),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_damaged_file_is_an_error_that_names_it(name, tmp_path):
    path = rewritten(stored(EXAMPLES["plain"], tmp_path), BROKEN[name])
    with pytest.raises(FileFormatError, match=r"some\.result is damaged"):
        rm.load_result(path)


@given(place=st.integers(0, 10**6), byte=st.integers(0, 255), cut=st.booleans())
def test_any_changed_byte_is_an_error_or_harmless(place, byte, cut, tmp_path_factory):
    path = stored(EXAMPLES["plain"], tmp_path_factory.mktemp("stored"))
    data = bytearray(path.read_bytes())
    data[place % len(data)] = byte
    path.write_bytes(data[: place % len(data)] if cut else data)
    try:
        again = rm.load_result(path)
    except DataError:
        return
    assert same(EXAMPLES["plain"], again)


def test_a_later_version_says_what_to_do(tmp_path):
    path = rewritten(
        stored(EXAMPLES["plain"], tmp_path), lambda content, _: content.update(version=2)
    )
    with pytest.raises(FileFormatError, match=r"version 2 .* reads versions up to 1: update"):
        rm.load_result(path)


def test_a_file_that_unpacks_to_more_than_the_memory_is_refused(tmp_path, monkeypatch):
    path = stored(EXAMPLES["plain"], tmp_path)
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("more", bytes(200 * 2**20))
    monkeypatch.setattr("rankmeter._reading.memory.available_memory", lambda: 100 * 2**20)
    with pytest.raises(DataError, match=r"Reading .*some\.result needs at least"):
        rm.load_result(path)


@pytest.mark.parametrize("data", [b"", b"user,item\n1,2\n", b"PK\x03\x04", pickle.dumps([1])])
def test_another_file_is_no_stored_result(data, tmp_path):
    path = tmp_path / "a.result"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match="is not a stored result"):
        rm.load_result(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileFormatError, match="No such file"):
        rm.load_result(tmp_path / "no.result")


def test_a_metric_that_is_not_registered_is_named(tmp_path):
    @register("Nothing")
    def nothing_at_all(hits):
        """Nothing.

        Notes
        -----
        .. math:: 0
        """
        return hits.n_relevant * 0.0

    try:
        path = stored(rm.evaluate(LISTS, TRUTH, "nothing_at_all"), tmp_path)
    finally:
        unregister("nothing_at_all")
    with pytest.raises(UnknownMetricError, match="'nothing_at_all', which is not registered here"):
        rm.load_result(path)
