"""The vectors: generated anew, held by rankmeter, and run by the runners."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys

import generate
import jsonschema
import polars as pl
import pytest
import test_conformance as conformance

import cases
import rankmeter as rm

pytestmark = pytest.mark.once

FOLDER = generate.FOLDER
METRIC_FILES = sorted((FOLDER / "metrics").glob("*.json"))
TOOL_FILES = sorted((FOLDER / "tools").glob("*.json"))
MADE_ANEW = "run python tests/vectors/generate.py"


def read(path):
    return json.loads(path.read_text("utf-8"))


def same(one, other):
    """Whether two contents are equal; the last digit of a number differs among machines."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-14, abs_tol=1e-15)
    return one == other


def test_the_vectors_are_those_of_the_definitions_and_recordings():
    made = generate.files()
    stored = {p.relative_to(FOLDER).as_posix(): p for p in (*METRIC_FILES, *TOOL_FILES)}
    assert made.keys() == stored.keys(), MADE_ANEW
    differ = [
        p for p, one in made.items() if not same(json.loads(generate.text(one)), read(stored[p]))
    ]
    assert not differ, f"{differ[:5]}: {MADE_ANEW}"
    assert (FOLDER / "differences.md").read_text("utf-8") == generate.table(), MADE_ANEW


@pytest.mark.parametrize("path", (*METRIC_FILES, *TOOL_FILES), ids=lambda path: path.stem)
def test_each_file_fits_the_schema(path):
    content = read(path)
    jsonschema.validate(content, read(FOLDER / "schema.json"))
    assert {v["input"] for v in content["vectors"]} == content["inputs"].keys()


def rankings_of(data):
    """Rankings as rows, in which an item may be repeated; an empty list has no rows."""
    rows = [(user, *pair) for user, own in data["rankings"].items() for pair in own]
    return pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")


def together(content):
    """Vectors that are asked in one evaluation."""
    groups = {}
    for vector in content["vectors"]:
        key = vector["input"], vector.get("ties", "item"), vector.get("duplicates", "error")
        groups.setdefault(key, []).append(vector)
    return groups.items()


SIDE = ("train", "items", "catalogue", "baseline_lists", "propensity")


@pytest.mark.parametrize("path", METRIC_FILES, ids=lambda path: path.stem)
def test_rankmeter_has_the_values_of_a_metric(path):
    content = read(path)
    for (name, ties, duplicates), vectors in together(content):
        data = content["inputs"][name]
        asked = [cases.metric(content["metric"], v["k"], v["options"]) for v in vectors]
        result = rm.evaluate(
            rankings_of(data), data["truth"], asked, ties=ties, duplicates=duplicates,
            no_overlap="allow", **{key: data[key] for key in SIDE if key in data},
        )  # fmt: skip
        for one, vector in zip(asked, vectors, strict=True):
            hold(result, str(one), vector, content["tolerance"])


def hold(result, label, vector, tolerance):
    """Assert that a result has the values of a vector."""
    near = pytest.approx
    if "per_user" in vector:
        table = result.per_user.to_dict(as_series=False)
        found = dict(zip(table["user"], table[label], strict=True))
        for user, wanted in vector["per_user"].items():
            value = found.get(user)
            value = None if value is None or math.isnan(value) else value
            if wanted is None:
                assert value is None, (label, vector)
            else:
                wanted_number = near(float(wanted), rel=tolerance, abs=tolerance)
                assert value == wanted_number, (label, vector)
    if vector.get("mean") is not None:
        assert result[label].mean == near(float(vector["mean"]), rel=tolerance, abs=tolerance)


@pytest.mark.parametrize("path", TOOL_FILES, ids=lambda path: path.stem)
def test_rankmeter_has_the_values_of_a_tool(path):
    content = read(path)
    tool = content["tool"]
    _, facts = conformance.RECORDINGS[tool]
    for key, data in content["inputs"].items():
        name, *fed = key.split("-")
        case = conformance.CASES[name]
        case = conformance.inputs.with_typed_items(case) if facts.get("numbers") else case
        vectors = [vector for vector in content["vectors"] if vector["input"] == key]
        meant = {v["metric"]: conformance.spelled(v["metric"], tool) for v in vectors}
        labels = {}  # two names may mean the same metric, which is evaluated once
        for one in meant.values():
            labels.setdefault(one, one.label)
        rankings = conformance.given(case, tool, frozenset(fed))
        assert generate.plain_rankings(rankings[0]) == data["rankings"]
        result = conformance.evaluate(case, tool, rankings, labels)
        values = result.per_user.to_dict(as_series=False)
        for vector in vectors:
            label = labels[meant[vector["metric"]]]
            ours = dict(zip(values["user"], values[label], strict=True))
            ours = {user: value for user, value in ours.items() if value is not None}
            found = conformance.Agreement(label)
            answer = {kind: vector[kind] for kind in ("mean", "per_user") if kind in vector}
            answer = json.loads(json.dumps(answer).replace("null", '"nan"'))
            conformance.one_metric(
                result[label].mean, ours, answer, vector["tolerance"], found, f"{key} {label}"
            )
            assert not found.differs


RUNNERS = {"Python": [sys.executable, "run.py", "example.py"]}
if (node := shutil.which("node")) is not None:
    RUNNERS["JavaScript"] = [node, "run.mjs", "example.mjs"]


@pytest.mark.parametrize("language", ["Python", "JavaScript"])
def test_the_runners_pass_and_name_what_differs(language, tmp_path):
    if language not in RUNNERS:
        pytest.skip("node is not installed")
    program, runner, example = RUNNERS[language]
    for metric in ("ndcg", "recall", "rr"):
        path = f"metrics/{metric}.json"
        done = run([program, runner, path, example])
        assert done.returncode == 0, done.stdout + done.stderr
        assert "48 same, 0 different" in done.stdout
    wrong = tmp_path / example
    text = (FOLDER / example).read_text("utf-8")
    wrong.write_text(text.replace("rank + 2", "rank + 3"), "utf-8")
    done = run([program, runner, "metrics/ndcg.json", str(wrong)])
    assert done.returncode == 1
    assert "ndcg binary u1: " in done.stdout


def run(words):
    """Run a program in the folder of the vectors."""
    return subprocess.run(
        words, cwd=FOLDER, capture_output=True, text=True, check=False, timeout=60
    )
