"""Each convention, held against what its tool really answered.

For every tool with a recording: all shared cases × all metrics that the profile names, per user and
in the mean. ``pytest -k conformance`` lists them tool by tool; `compare` is
also what the matrix in the docs is generated from.
"""

from __future__ import annotations

import fnmatch
import functools
import json
import math
import re
from dataclasses import dataclass, field

import inputs
import polars as pl
import pytest
import shown
from agreement import MATRIX
from recordings import answers, recordings

import rankmeter as rm
from rankmeter.conventions import load_convention, translate_name
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once

CASES = {case["name"]: case for case in (*inputs.CASES, *shown.CASES)}
RECORDINGS = {load_convention(tool).name: (tool, facts) for tool, facts in recordings().items()}
TOOLS = sorted(RECORDINGS)


@dataclass
class Agreement:
    """What was compared for one metric of one tool."""

    metric: str
    compared: int = 0
    largest: float = 0.0
    differs: list[str] = field(default_factory=list)


def rankings_of(case, takes):
    """The case's rankings as the tool takes them: lists in order, items with scores, or rows."""
    if takes == "lists":
        return {user: [item for item, _ in listed] for user, listed in case["rankings"].items()}
    if takes == "scores" and case["name"] == "duplicates":
        rows = [(u, i, s) for u, listed in case["rankings"].items() for i, s in listed]
        return pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    return {user: dict(map(tuple, listed)) for user, listed in case["rankings"].items()}


def triples(case, *, filtered):
    """Each true item as a query of its own, whose candidates leave out the user's other ones.

    The rankings and the truth of link prediction; raw, the other true items stay candidates.
    """
    rankings, truth = {}, {}
    for user, listed in case["rankings"].items():
        true = set(inputs.relevant_items(case, user))
        for item in true:
            out = true - {item} if filtered else set()
            rankings[f"{user}/{item}"] = {i: score for i, score in listed if i not in out}
            truth[f"{user}/{item}"] = {item}
    return rankings, truth


def threshold(case, facts):
    """What makes an item relevant; None where the names of the metrics say so."""
    rule = case["relevant"]
    if facts.get("threshold") == "named":
        return None
    if facts.get("threshold") == "reached":
        return f">={rule['at_least'] if 'at_least' in rule else rule['above'] + 1}"
    return f">{rule['above']}" if "above" in rule else f">={rule['at_least']}"


def options(name):
    """The words in the brackets of a name: some say how the tool was fed."""
    return {word.strip() for part in re.findall(r"\[([^\]]*)\]", name) for word in part.split(",")}


def excuses(tool, name, case):
    """What the profile and the recording say of their distance here."""
    excused = RECORDINGS[tool][1].get("excused", {})
    for deviation in load_convention(tool).deviations:
        facts = excused[deviation["why"]]
        cases = facts.get("cases", ["*"])
        if matches(deviation, name) and any(fnmatch.fnmatchcase(case, c) for c in cases):
            yield facts


def matches(deviation, name):
    """Whether a deviation speaks of this metric of the tool."""
    return any(_like(name, pattern) for pattern in deviation.get("names", ["*"]))


def _like(name, pattern):
    """Whether a spelling, with or without its cutoff, matches; only * is special."""
    regex = ".*".join(map(re.escape, pattern.split("*")))
    return re.fullmatch(regex + r"(@[\d.]+)?", name) is not None


def value(number):
    return float(number)


def close(got, want, tolerance):
    if math.isnan(want) or math.isnan(got):
        return math.isnan(want) and math.isnan(got)
    return math.isclose(got, want, rel_tol=tolerance, abs_tol=tolerance)


@functools.cache
def spelled(name, tool):
    """The metric here that a name of the tool means, or None."""
    try:
        (found,) = translate_name(name, tool, ours=False)
    except UsageError:
        return None
    return found


def compare(tool):
    """Agreement by the tool's own metric name (without cutoff)."""
    golden, facts = RECORDINGS[tool]
    found: dict[str, Agreement] = {}
    for name, recorded in answers(golden)["cases"].items():
        case = inputs.with_typed_items(CASES[name]) if facts.get("numbers") else CASES[name]
        # What is fed alike is evaluated together.
        together = {}
        for metric, recording in recorded.get("metrics", {}).items():
            answer, tolerance = expected(tool, case, metric, recording)
            meant = spelled(metric, tool)
            if meant is None or not answer or "refused" in answer:
                continue
            key = frozenset(options(metric) & {"filtered", "score", "scores"})
            together.setdefault(key, []).append((metric, meant, answer, tolerance))
        for fed, asked in together.items():
            labels = {}  # two names may mean the same metric, which is evaluated once
            for _, one, _, _ in asked:
                labels.setdefault(one, one.label)
            result = evaluate(case, tool, given(case, tool, fed), labels)
            values = result.per_user.to_dict(as_series=False)
            for metric, one, answer, tolerance in asked:
                base = metric.rpartition("@")[0] or metric
                agreement = found.setdefault(
                    base, Agreement(str(one).rpartition("@")[0] or str(one))
                )
                ours = {
                    user: value
                    for user, value in zip(values["user"], values[labels[one]], strict=True)
                    if value is not None
                }
                mean = result[labels[one]].mean
                one_metric(mean, ours, answer, tolerance, agreement, f"{name} {metric}")
    return found


def expected(tool, case, metric, answer):
    """The values of the tool that the profile follows, and how closely."""
    tolerance = 1e-6 if RECORDINGS[tool][1].get("single_precision") else 1e-9
    for excuse in excuses(tool, metric, case["name"]):
        if "decimals" in excuse:
            # The tool rounds; the last digit may fall either way.
            tolerance = 0.500001 * 10 ** -excuse["decimals"]
        elif "absent" in excuse and "per_user" in answer:
            known = {u: v for u, v in answer["per_user"].items() if v != "nan"}
            everybody = {u: excuse["absent"] for u, at in case["rankings"].items() if at}
            answer = answer | {"per_user": everybody | known}
        elif "absent" not in excuse:
            left_out = excuse.get("values", ["mean", "per_user"])
            answer = {kind: v for kind, v in answer.items() if kind not in left_out}
    return answer, tolerance


def given(case, tool, fed):
    """Rankings and truth as the tool was given them under these options."""
    facts = RECORDINGS[tool][1]
    if case in shown.CASES:
        return rankings_of(case, "lists"), case["truth"]
    if facts["takes"] == "triples":
        return triples(case, filtered="filtered" in fed)
    # An option of this name says that a tool of lists was given scores.
    takes = "mappings" if "scores" in fed else facts["takes"]
    takes = "scores" if "score" in fed else takes
    truth = case["truth"]
    if case["name"] in facts.get("binary_labels", ()):
        truth = {
            user: {item: int(inputs.is_relevant(case, gain)) for item, gain in judged.items()}
            for user, judged in truth.items()
        }
    return rankings_of(case, takes), truth


def side_of(case):
    """The side data, which only the cases about what was shown have."""
    names = {"train": "train", "items": "categories", "catalogue": "catalogue"}
    names["baseline_lists"] = "baseline"
    return {argument: case[key] for argument, key in names.items() if key in case}


def evaluate(case, tool, data, metrics):
    """The case as the tool's convention has it, the case's own threshold included."""
    counts_items = any(
        "n_items" in one.spec.options or "adjusted" in dict(one.choices) for one in metrics
    )
    return rm.evaluate(
        *data,
        metrics,
        like=tool,
        bugs=True,
        no_overlap="allow",
        n_items=len(inputs.item_numbers(case)) if counts_items else None,
        relevant=threshold(case, RECORDINGS[tool][1]),
        **side_of(case),
    )


def one_metric(mean, ours, answer, tolerance, agreement, where):
    pairs = []
    if "mean" in answer:
        pairs.append(("mean", mean, value(answer["mean"])))
    if "per_user" in answer:
        users = sorted({u for u, v in answer["per_user"].items() if v != "nan"} | set(ours))
        for user in users:
            want = value(answer["per_user"].get(user, "nan"))
            pairs.append((user, ours.get(user, math.nan), want))
    for what, got, want in pairs:
        agreement.compared += 1
        if close(got, want, tolerance):
            if not math.isnan(got):
                agreement.largest = max(agreement.largest, abs(got - want))
        else:
            agreement.differs.append(f"{where} {what}: {got} here, {want} there")


@pytest.fixture(scope="module")
def stored():
    return json.loads(MATRIX.read_text("utf-8"))


@pytest.mark.parametrize("tool", TOOLS)
def test_conformance(tool, stored, record_property):
    found = compare(tool)
    assert found, f"{tool} names no metric that was recorded"
    record_property("conformance", [(name, a.compared, a.largest) for name, a in found.items()])
    differs = [line for agreement in found.values() for line in agreement.differs]
    assert not differs, f"{len(differs)} differ:\n" + "\n".join(differs[:40])
    # The matrix of the documentation: python tests/conformance/agreement.py
    assert {n: a.compared for n, a in found.items()} == {
        n: a["compared"] for n, a in stored[tool].items()
    }
