"""All JSON that rankmeter writes follows its schema: numbers that do not exist are null."""

from __future__ import annotations

import json
import re

import jsonschema
import numpy as np
import pytest

import rankmeter as rm
from command_line import RATINGS, RECS, TRUTH, rankmeter
from json_schema import kind_of, kinds, schema
from rankmeter.conventions import convention_names
from rankmeter.metrics import METRICS

pytestmark = pytest.mark.once


def strict(text):
    """Read JSON, without the words NaN and Infinity that Python understands, too."""

    def refuse(word):
        raise AssertionError(f"{word} is not JSON")

    return json.loads(text, parse_constant=refuse)


# One user, or users without any value: means, intervals and p-values that do not exist.
FILES = {
    "recs.csv": RECS,
    "truth.csv": TRUTH,
    "ratings.csv": RATINGS,
    "one.csv": "user,item,score\nann,x,1\n",
    "ranks.csv": "rank\n1\n4\n",
    "rank.csv": "rank\n1\n",
    "nothing.csv": "user,item,gain\nann,x,0\n",
    "values.csv": "system,user,value\na,1,0.5\na,2,1\na,3,0\nb,1,0\nb,2,1\nb,3,2\n",
    "alone.csv": "system,user,value\na,1,0.5\nb,1,0\n",
}
HARD = "-m mean_rank -m rr -m ndcg@3 -m yaap"
COMMANDS = {
    "evaluate": [
        f"evaluate recs.csv truth.csv {HARD} --json",
        "evaluate one.csv nothing.csv -m mean_rank -m rr -m yaap --json --no-overlap allow",
        "evaluate recs.csv truth.csv -m ndcg@3 --undefined nan --json",
    ],
    "evaluate-ranks": ["evaluate-ranks ranks.csv --json", "evaluate-ranks rank.csv --json"],
    "evaluate-scores": ["evaluate-scores scores.npy targets.npy --json"],
    "compare": [
        f"compare truth.csv a=recs.csv b=recs.csv {HARD} --json",
        "compare nothing.csv a=one.csv b=one.csv -m rr -m yaap --json --no-overlap allow",
    ],
    "compare-values": ["compare-values values.csv --json", "compare-values alone.csv --json"],
    "sample-size": ["sample-size values.csv --difference 0.1 --json"],
    "explain": [
        "explain recs.csv truth.csv -m ap@2 --between rankereval evidently --json",
        "explain recs.csv truth.csv -m ndcg@3 --target 0.123456789 --json",
    ],
    "metrics": ["metrics --json", *(f"metrics {name} --json" for name in METRICS)],
    "conventions": [
        "conventions --json",
        *(f"conventions {name} --json" for name in convention_names()),
    ],
    "describe": ["describe ratings.csv --json", "describe one.csv --json"],
    "split": ["split ratings.csv --method leave-one-out --output parts --json"],
    "audit": [
        "audit ratings.csv ratings.csv --json",
        "audit ratings.csv one.csv a=recs.csv --fail-if leak --json",
    ],
    "diff": ["diff recs.csv recs.csv --json", "diff recs.csv recs.csv --k 2 --json"],
    "check": [
        "check --n 300 --mean 0.35 --against 0.34 --json",
        "check --n 3 --mean .4 --metric hr@1 --json",
    ],
    "doctor": ["doctor --json"],
    "report": [],
    "schema": [],
    "demo": [],
}
KINDS = {
    "evaluate": {"evaluation"},
    "evaluate-ranks": {"evaluation"},
    "evaluate-scores": {"evaluation"},
    "compare": {"comparison"},
    "compare-values": {"comparison"},
    "sample-size": {"sample_size"},
    "explain": {"steps", "search"},
    "metrics": {"metrics", "metric"},
    "conventions": {"conventions", "convention"},
    "describe": {"description"},
    "split": {"splits"},
    "audit": {"audit"},
    "diff": {"diff"},
    "check": {"mean_check"},
    "doctor": {"machine"},
}


def with_json():
    """The commands that take ``--json``."""
    commands = re.findall(r"^  ([a-z_-]+) {2,}\S", rankmeter("--help").out, re.MULTILINE)
    assert "evaluate" in commands
    return {name for name in commands if "--json" in help_of(name)}


def help_of(command):
    """All that the help of a command names."""
    done = rankmeter(command, "--help-all")
    return (done if done.code == 0 else rankmeter(command, "--help")).out


def test_every_command_with_json_is_here():
    assert with_json() <= COMMANDS.keys()


@pytest.mark.parametrize("command", [name for name, calls in COMMANDS.items() if calls])
def test_what_a_command_writes_is_json(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, "utf-8")
    np.save("scores.npy", [[0.9, 0.5, 0.1], [0.2, 0.8, 0.8]])
    np.save("targets.npy", [1, 2])
    for call in COMMANDS[command]:
        done = rankmeter(*call.split())
        assert done.code in (0, 1), done
        assert kind_of(strict(done.out)) in KINDS[command]


@pytest.mark.parametrize("undefined", ["skip", "nan", "one"])
def test_what_a_result_gives_is_json(undefined):
    rankings, truth = {"u": ["a", "b"], "v": ["c"]}, {"u": {"b": 1}, "v": {"c": 0}}
    metrics = "rr yaap ap@2" if undefined == "one" else "mean_rank rr yaap ap@2"
    for ranked in (rankings, {"u": ["x"]}, {"u": ["b"]}):
        some = {"undefined": undefined, "no_overlap": "allow"}
        results = [rm.evaluate(ranked, truth, metrics, **some)]
        if undefined != "nan":
            both = {"a": ranked, "b": rankings}
            results.append(rm.compare(both, truth, metrics, **some))
        for result in results:
            assert kind_of(strict(result.to_json())) in {"evaluation", "comparison"}
    for pair in (("rankereval", "evidently"), ("evidently", "rankereval")):
        found = rm.explain(rankings, truth, "ap@2", between=pair)
        assert kind_of(strict(found.to_json())) == "steps"
    found = rm.explain(rankings, truth, "ap@2", target="0.77")
    assert kind_of(strict(found.to_json())) == "search"


A = {"u": {"a": 3.0, "b": 2.0}, "v": {"c": 1.0}, "w": {"a": 1.0}}
B = {"u": {"b": 3.0, "a": 2.0}, "v": {"a": 1.0}, "w": {"a": 1.0}}
T = {"u": {"b": 2}, "v": {"c": 1, "a": 0}, "w": {"b": 1}}
SEGMENTS = {"u": "old", "v": "old", "w": "new"}
RESULTS = {
    "evaluation": [
        lambda: rm.evaluate(A, T, "ndcg@2 recall(aggregate=micro)@2", n_items=9, interval="bca"),
        lambda: rm.evaluate(A, T, "mr", like="pykeen", no_overlap="allow"),
        lambda: rm.evaluate(A, None, "coverage gini personalization@2", catalogue=["a", "b", "c"]),
        lambda: rm.evaluate_ranks([1, 4, 2], groups={"side": ["head", "tail", "tail"]}),
        lambda: rm.Evaluator(T, "rr").evaluate(B),
    ],
    "comparison": [
        lambda: rm.compare({"A": A, "B": B}, T, "ndcg@2 rr", segments=SEGMENTS, margin=0.1),
        lambda: rm.compare({"A": [A, B], "B": B}, T, "rr", baseline="B", n_items=9),
        lambda: rm.compare({"A": A, "B": B}, T, "rr", clusters=SEGMENTS, interval="bca"),
        lambda: rm.compare_values({"A": {"u": 0.0, "v": 1.0}, "B": {"u": 1.0, "v": 1.0}}),
    ],
    "curve": [
        lambda: rm.curve(A, T, "ndcg", max_k=2),
        lambda: rm.compare({"A": A, "B": B}, T, "ndcg@2").curve("ndcg@2", max_k=2),
    ],
    "walkthrough": [
        lambda: rm.evaluate(A, T, "ndcg@2 ap rr mean_rank").show("u"),
        lambda: rm.evaluate(A, T, "mean_rank").show("w"),
        lambda: rm.compare({"A": A, "B": B}, T, "ndcg@2").show("u"),
    ],
    "across": [
        lambda: rm.across({n: rm.compare({"A": A, "B": B}, T, "ndcg@2 rr") for n in "xy"}),
        lambda: rm.across({n: {"A": 0.5, "B": x} for n, x in zip("xyz", (1, 2, 4), strict=True)}),
    ],
    "audit": [lambda: rm.audit(A, T), lambda: rm.audit(A, T, {"A": A, "B": B})],
    "diff": [lambda: rm.diff(A, B), lambda: rm.diff(A, A, k=1)],
    "description": [lambda: rm.describe({"u": ["a"], "v": ["a"]})],
}


@pytest.mark.parametrize(
    ("kind", "make"), [(kind, make) for kind, makers in RESULTS.items() for make in makers]
)
def test_every_kind_of_result_follows_the_schema(kind, make):
    result = make()
    assert kind_of(strict(result.to_json())) == kind
    assert result.to_dict() == json.loads(result.to_json())


def test_the_schema_is_one_and_every_kind_of_it_is_written_by_a_test():
    jsonschema.Draft202012Validator.check_schema(schema())
    tested = {*RESULTS, "steps", "search", "demo"}.union(*KINDS.values())
    assert {*kinds()} == tested
    assert rankmeter("--version").out.split()[1] == rm.__version__
    with pytest.raises(AssertionError, match="'typo' was unexpected"):
        kind_of({**rm.evaluate(A, T, "rr").to_dict(), "typo": 1})
