"""Each convention, held against what its tool really answered.

For every tool with a recording in ``goldens/``: all shared cases × all metrics that the profile
names, per user and in the mean. ``pytest -k conformance`` lists them tool by tool; `compare` is
also what the matrix in the docs is generated from.
"""

from __future__ import annotations

import fnmatch
import json
import math
import re
from dataclasses import dataclass, field
from pathlib import Path

import inputs
import polars as pl
import pytest
from agreement import MATRIX

import rankmeter as rm
from rankmeter.conventions import convention_names, load_convention
from rankmeter.metrics import metric as parse_metric

GOLDENS = Path(__file__).parent / "goldens"
SINGLE_PRECISION = {
    "torchmetrics",
    "recbole",
    "merlin",
    "tf_ranking",
    "pykeen",
    "libkge",
    "ogb",
    "transformers4rec",
}
# Their threshold is part of a metric's name: a name without it has none.
NAMED_THRESHOLD = {"ir_measures", "ranx", "tf_ranking"}
# Where a tool of graded labels was given labels 0 and 1, by the threshold of the case.
BINARY_LABELS = {"tf_ranking": {"rated_at_least_4", "rated_above_4", "judged_and_unjudged"}}
# They were given the items of integer_ids as numbers.
NUMBERS = {
    "lenskit",
    "recommenders",
    "rectools",
    "replay",
    "implicit",
    "recbole",
    "recpack",
    "cornac",
}
NUMBERS |= {"merlin", "transformers4rec"}
# Their threshold is a number that has to be reached: above 0 is 1 and more.
REACHED = {"elliot"}
CASES = {case["name"]: case for case in inputs.CASES}
TOOLS = [name for name in convention_names() if load_convention(name).golden]


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


def threshold(case, tool):
    rule = case["relevant"]
    if tool in REACHED:
        return f">={rule['at_least'] if 'at_least' in rule else rule['above'] + 1}"
    return f">{rule['above']}" if "above" in rule else f">={rule['at_least']}"


def golden(tool):
    return json.loads((GOLDENS / f"{load_convention(tool).golden}.json").read_text("utf-8"))


def spelled(name, convention):
    """The metric here that a golden's metric is, and the choices that its options make, or None.

    A name is a base, options in brackets and a cutoff, ``recall[-c, truncated]@10``. Of the
    profile's names with this base the one with most of the options is meant; the others must stand
    under its options.
    """
    base, options = parts(name)
    _, at, k = name.rpartition("@") if re.search(r"@[\d.]+$", name) else (name, "", "")
    fits = []
    for theirs, ours in convention.names.items():
        known, wanted = parts(theirs)
        left = options - wanted
        if known == base and wanted <= options and left <= convention.options.keys():
            fits.append((len(wanted), ours, left))
    if not fits:
        return None
    _, ours, left = max(fits, key=lambda fit: fit[0])
    ours, _, chosen = ours.partition(" with ")
    choices = dict(choice.split("=", 1) for choice in chosen.split(", ") if chosen)
    if choices.get("depth") == "k":
        choices["depth"], at = int(k), ""
    for option in sorted(left):
        choices |= convention.options[option]
    return (f"{ours}@{k}" if at else ours), choices


def parts(name):
    """``recall[-c, truncated]`` as ``recall`` and its options; ``-l2`` is an option of ranx."""
    name = re.sub(r"@[\d.]+$", "", name)
    base, *options = re.split(r"[\[\](){},]\s*|\s+(?=[\[({])|(?=-l\d)", name)
    return base, frozenset(filter(None, options))


def deviations(convention, name, case):
    """What the profile says of its distance to the tool here."""
    for deviation in convention.deviations:
        cases = deviation.get("cases", ["*"])
        if matches(deviation, name) and any(fnmatch.fnmatchcase(case, c) for c in cases):
            yield deviation


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


def compare(tool):
    """Agreement by the tool's own metric name (without cutoff)."""
    convention = load_convention(tool)
    found: dict[str, Agreement] = {}
    for name, recorded in golden(tool)["cases"].items():
        case = inputs.with_typed_items(CASES[name]) if tool in NUMBERS else CASES[name]
        # What is asked under the same choices is evaluated together.
        together = {}
        for metric, recording in recorded.get("metrics", {}).items():
            answer, tolerance = expected(convention, case, metric, recording)
            meant = spelled(metric, convention)
            if meant is None or not answer or "refused" in answer:
                continue
            ours, choices = meant
            key = (parts(metric)[1] & {"filtered", "score", "scores"}, *sorted(choices.items()))
            together.setdefault(key, []).append((metric, ours, answer, tolerance))
        for (options, *choices), asked in together.items():
            wanted = [parse_metric(ours) for _, ours, _, _ in asked]
            fed = given(case, convention, options)
            result = evaluate(case, convention, fed, wanted, dict(choices))
            for (metric, _, answer, tolerance), one in zip(asked, wanted, strict=True):
                base = metric.rpartition("@")[0] or metric
                ours = str(one).rpartition("@")[0] or str(one)
                agreement = found.setdefault(base, Agreement(ours))
                label = one.label or str(one)
                one_metric(result, label, answer, tolerance, agreement, f"{name} {metric}")
    return found


def expected(convention, case, metric, answer):
    """The values of the tool that the profile follows, and how closely."""
    tolerance = 1e-6 if convention.name in SINGLE_PRECISION else 1e-9
    for deviation in deviations(convention, metric, case["name"]):
        if "decimals" in deviation:
            # The tool rounds; the last digit may fall either way.
            tolerance = 0.500001 * 10 ** -deviation["decimals"]
        elif "absent" in deviation and "per_user" in answer:
            known = {u: v for u, v in answer["per_user"].items() if v != "nan"}
            everybody = {u: deviation["absent"] for u, at in case["rankings"].items() if at}
            answer = answer | {"per_user": everybody | known}
        elif "absent" not in deviation:
            left_out = deviation.get("values", ["mean", "per_user"])
            answer = {kind: v for kind, v in answer.items() if kind not in left_out}
    return answer, tolerance


def given(case, convention, options):
    """Rankings and truth as the tool was given them under these options."""
    if convention.takes == "triples":
        return triples(case, filtered="filtered" in options)
    # An option of this name says that a tool of lists was given scores.
    takes = "mappings" if "scores" in options else convention.takes
    takes = "scores" if "score" in options else takes
    truth = case["truth"]
    if case["name"] in BINARY_LABELS.get(convention.name, ()):
        truth = {u: dict.fromkeys(inputs.relevant_items(case, u), 1) for u in truth}
    return rankings_of(case, takes), truth


def evaluate(case, convention, fed, metrics, choices):
    """The case as the tool's convention has it, the case's own threshold included."""
    relevant = None if convention.name in NAMED_THRESHOLD else threshold(case, convention.name)
    return rm.evaluate(
        *fed,
        metrics,
        like=convention.name,
        bugs=True,
        no_overlap="allow",
        n_items=len(inputs.item_numbers(case)),
        **{"relevant": relevant, **choices},
    )


def one_metric(result, label, answer, tolerance, agreement, where):
    pairs = []
    if "mean" in answer:
        pairs.append(("mean", result[label].mean, value(answer["mean"])))
    if "per_user" in answer:
        ours = dict(result.per_user.select("user", label).drop_nulls().iter_rows())
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
