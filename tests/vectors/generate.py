"""Write the vectors: what each metric and each tool gives for small rankings, as JSON.

    python tests/vectors/generate.py

The values of metrics come from the slow definitions of `reference` and `reference_lists`, those of
tools from the recordings of `conformance`. Nothing is computed by the fast code: rankmeter is asked
for the names of metrics and options alone.
"""

from __future__ import annotations

import functools
import json
import math
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "tests" / part) for part in ("", "laws", "conformance")]

import test_conformance as conformance
import test_contract as contract

import cases
import reference
import reference_lists
from rankmeter.metrics import METRICS

FOLDER = ROOT / "vectors"
VERSION = 1
CUTOFFS = (None, 1, 3, 10)  # lists have at most 6 items
TIES = ("item", "item-descending", "input", "expected")


def listed(items):
    """Items with scores that fall from rank to rank."""
    return [[item, float(len(items) - at)] for at, item in enumerate(items)]


INPUTS = {
    "binary": {
        "about": "no ties, gains of 1, unjudged items between relevant ones, one user without hits",
        "rankings": {"u1": listed("abcde"), "u2": listed("cfagb"), "u3": listed("defgh"),
                     "u4": listed("ab")},
        "truth": {"u1": dict.fromkeys("ad", 1), "u2": dict.fromkeys("abchi", 1), "u3": {"a": 1},
                  "u4": dict.fromkeys("ab", 1)},
    },
    "graded": {
        "about": "no ties, gains of 0 to 3, a relevant item that is not ranked",
        "rankings": {"u1": listed("abcdef"), "u2": listed("fedcba"), "u3": listed("xayb")},
        "truth": {"u1": {"a": 1, "b": 0, "c": 3, "e": 2, "z": 3}, "u2": {"a": 3, "d": 1, "e": 0},
                  "u3": {"a": 2, "b": 2, "y": 0, "c": 1}},
    },
    "ties": {
        "about": "equal scores: the vector names the rule that orders them",
        "rankings": {
            "u1": [["b", 2.0], ["a", 2.0], ["c", 1.0], ["d", 1.0], ["e", 1.0]],
            "u2": [["c", 1.0], ["b", 1.0], ["a", 1.0]],
            "u3": [["e", 3.0], ["d", 2.0], ["a", 2.0], ["b", 0.5]],
        },
        "truth": {"u1": {"a": 1, "e": 2}, "u2": {"b": 1}, "u3": {"a": 1, "b": 3, "d": 2}},
    },
    "repeats": {
        "about": "an item twice in a list: the vector names the rule",
        "rankings": {"u1": listed("abacd"), "u2": listed("xxab"), "u3": listed("abcb")},
        "truth": {"u1": {"a": 1, "c": 2}, "u2": {"a": 1, "b": 1}, "u3": {"b": 3, "q": 1}},
    },
    "empty": {
        "about": "users with an empty ranking, without one, without judgments, with gains of 0",
        "rankings": {"u1": listed("abc"), "u2": [], "u4": listed("ab"), "u5": listed("ab"),
                     "u6": listed("ab")},
        "truth": {"u1": {"b": 1}, "u2": {"a": 1}, "u3": {"a": 1}, "u4": {}, "u5": {"a": 0}},
    },
}  # fmt: skip
"""Inputs of metrics of hits, each with all that a reader must know."""

SHOWN = {
    "about": "what was shown: side data of users and items, no ties",
    "rankings": {"u1": listed("abcde"), "u2": listed("cfa"), "u3": listed("gh")},
    "truth": {"u1": {"a": 1, "d": 2}, "u2": {"b": 1, "c": 1}, "u3": {"a": 1}},
    "train": {"u1": {"f": 5.0, "g": 3.0}, "u2": {"a": 4.0, "b": 1.0, "g": 2.0},
              "u3": {"a": 5.0, "c": 2.0}, "u4": {"a": 1.0, "d": 3.0, "e": 4.0}},
    "items": {"a": ["drama"], "b": ["action", "war"], "c": ["drama", "noir"], "d": ["war"],
              "e": ["action"], "f": ["noir"], "h": ["drama", "war"]},
    "catalogue": list("abcdefghi"),
    "baseline_lists": {"u1": list("abf"), "u2": list("ac"), "u3": list("ga")},
    "propensity": dict(zip("abcdefgh", (0.9, 0.8, 0.5, 0.4, 0.3, 0.25, 0.2, 0.1), strict=True)),
}  # fmt: skip
"""The input of metrics that need more than ranks and gains."""

AVERAGES = {
    "mean": statistics.fmean,
    "median": statistics.median,
    "geometric": lambda values: math.exp(statistics.fmean(map(math.log, values))),
}
"""What is one number over users; a metric that is pooled (``micro``) has none here."""


def number(value):
    """A number as JSON holds it: null where it is undefined."""
    value = float(value)
    return None if math.isnan(value) else value if math.isfinite(value) else str(value)


def mean(name, values):
    """The mean over users with a value, None where no user has one or the metric is pooled."""
    known = [value for value in values if value is not None]
    average = AVERAGES.get(METRICS[name].aggregate)
    return average(known) if average and known else None


def repeated(items, rule):
    """A list without repetitions: those below move up (best), or nothing is in their place."""
    if rule == "first":
        return [item if item not in items[:at] else ("again", at) for at, item in enumerate(items)]
    return list(dict.fromkeys(items))


def user_value(name, data, user, k, options, ties, duplicates):
    """The value of one user by the slow definition."""
    module, truth = contract.definition(name), data["truth"][user]
    scored = data["rankings"].get(user, [])
    if ties == "expected":
        return module.expected(name, scored, truth, k, **options)
    if duplicates != "error":
        items = repeated([item for item, _ in scored], duplicates)
    else:
        items = contract.in_order(dict(scored), ties)
    return module.value(name, items, truth, k, **options)


def rules(name, data):
    """The rules about ties and repeated items that a vector of an input can have."""
    if data == "repeats":
        return [("item", "best"), ("item", "first")]
    if data != "ties":
        return [("item", "error")]
    spec = METRICS[name]
    return [(rule, "error") for rule in TIES if rule != "expected" or spec.open_ties]


def questions(name):
    """Cutoffs and options: the defaults at every cutoff, each other value of an option at one."""
    spec = METRICS[name]
    plain = dict(spec.example)
    for k in CUTOFFS if spec.cutoff else (None,):
        yield k, plain, True
    seen = [plain]
    for _, options in cases.accepted(spec):
        differ = [o for o, v in options.items() if plain.get(o) != v]
        if len(differ) == 1 and options not in seen:
            seen.append(options)
            yield 3 if spec.cutoff else None, options, False


def vectors_of_hits(name):
    """Vectors of a metric that needs ranks and gains alone."""
    excused, _ = contract.NO_MEAN_OVER_ORDERS.get(name, (lambda *_: False, ""))
    for k, options, default in questions(name):
        for data in INPUTS if default else ("binary", "graded"):
            for ties, duplicates in rules(name, data):
                if ties == "expected" and excused(k, options):
                    continue
                values = {
                    user: number(user_value(name, INPUTS[data], user, k, options, ties, duplicates))
                    for user in INPUTS[data]["truth"]
                }
                more = {"ties": ties} if data == "ties" else {}
                more |= {"duplicates": duplicates} if data == "repeats" else {}
                yield vector(data, name, k, options, more, values)


@functools.cache
def side():
    """The side data of `SHOWN` as the slow definitions take it."""
    truth = {user: {i: g for i, g in own.items() if g > 0} for user, own in SHOWN["truth"].items()}
    categories = {item: set(names) for item, names in SHOWN["items"].items()}
    more = SHOWN["baseline_lists"], SHOWN["propensity"], [*SHOWN["rankings"]]
    return reference_lists.Side(SHOWN["train"], categories, {*SHOWN["catalogue"]}, truth, *more)


def vectors_of_lists(name):
    """Vectors of a metric that needs more: what was shown, or facts about items."""
    function = contract.definition(name)
    lists = {user: [item for item, _ in own] for user, own in SHOWN["rankings"].items()}
    for k, options, _ in questions(name):
        if METRICS[name].whole:
            whole = number(function([*lists.values()], side(), k, **options))
            yield vector("shown", name, k, options, {}, None) | {"mean": whole}
            continue
        values = {u: number(function(own, side(), u, k, **options)) for u, own in lists.items()}
        yield vector("shown", name, k, options, {}, values)


def vector(data, name, k, options, more, values):
    """One vector; a pooled metric has values of users and no mean of them."""
    found = {"input": data, "k": k, "options": options, **more}
    if values is None:
        return found
    found["per_user"] = values
    if METRICS[name].aggregate in AVERAGES:
        found["mean"] = mean(name, values.values())
    return found


def metric_file(name):
    """The file of a metric."""
    needs_side = contract.needs_side(name)
    found = [*(vectors_of_lists if needs_side else vectors_of_hits)(name)]
    inputs = {"shown": SHOWN} if needs_side else INPUTS
    return {"version": VERSION, "metric": name, "title": METRICS[name].title,
            "average": METRICS[name].aggregate, "tolerance": 1e-12,
            "inputs": {n: one for n, one in inputs.items() if any(v["input"] == n for v in found)},
            "vectors": found}  # fmt: skip


# ---------------------------------------------------------------------------------------------
# Tools

RECORDED = ("three_way_tie", "short_lists", "empty_lists", "missing_users", "empty_truth",
            "zero_truth", "duplicates", "graded", "short_list_graded", "short_list_two_relevant",
            "short_list_many_relevant", "judged_and_unjudged")  # fmt: skip
"""The inputs of the recordings that are vectors; of link prediction, the smallest one."""
DEEP = (None, 3, 10)
"""The cutoffs of tools that are vectors."""


def cutoff(name):
    """The cutoff at the end of a name, or None."""
    _, at, k = name.rpartition("@")
    return int(k) if at and k.isdecimal() else None


def plain_rankings(rankings):
    """Rankings as JSON holds them: items in order, or items with scores."""
    if hasattr(rankings, "rows"):
        found = {}
        for user, item, score in rankings.rows():
            found.setdefault(user, []).append([item, score])
        return found
    return {
        user: [list(pair) for pair in own.items()] if isinstance(own, dict) else own
        for user, own in rankings.items()
    }


def plain_truth(truth):
    """Judgments as JSON holds them."""
    return {
        user: own if isinstance(own, dict) else dict.fromkeys(own, 1) for user, own in truth.items()
    }


def asked(tool, case, name, recording):
    """What is asked of a tool, or None where no reader could expect its answer.

    That is where the tool refused, where the profile names no metric, and where its answer is not
    that of a convention: the profile says why (``deviations``).
    """
    meant = conformance.spelled(name, tool)
    at = cutoff(name)
    if meant is None or "refused" in recording or at not in DEEP:
        return None
    answer, tolerance = conformance.expected(tool, case, name, recording)
    if answer != recording:
        return None
    fed = frozenset(conformance.options(name) & {"filtered", "score", "scores"})
    return meant, fed, tolerance


def recorded_number(value):
    """A recorded number: null where the tool has none."""
    return None if value == "nan" else value


def tool_file(tool):
    """The file of a tool, or None where it has no recording of these inputs."""
    golden, facts = conformance.RECORDINGS[tool]
    answers = conformance.answers(golden)
    inputs, vectors = {}, []
    chosen = [name for name in RECORDED if name in answers["cases"]]
    for name in chosen or [min(answers["cases"], key=lambda n: len(str(conformance.CASES[n])))]:
        case = conformance.CASES[name]
        if facts.get("numbers"):
            case = conformance.inputs.with_typed_items(case)
        for metric, recording in answers["cases"][name].get("metrics", {}).items():
            if (found := asked(tool, case, metric, recording)) is None:
                continue
            meant, fed, tolerance = found
            key = "-".join([name, *sorted(fed)])
            rankings, truth = conformance.given(case, tool, fed)
            inputs[key] = {
                "about": ", ".join(case["features"]),
                "relevant": conformance.threshold(case, facts),
                "rankings": plain_rankings(rankings),
                "truth": plain_truth(truth),
                **conformance.side_of(case),
            }
            kept = {"input": key, "metric": metric, "means": str(meant), "tolerance": tolerance}
            if "per_user" in recording:
                values = recording["per_user"].items()
                kept["per_user"] = {user: recorded_number(value) for user, value in values}
            if "mean" in recording:
                kept["mean"] = recorded_number(recording["mean"])
            vectors.append(kept)
    if not vectors:
        return None
    return {"version": VERSION, "tool": tool, "tool_version": answers["version"],
            "python": answers["python"], "packages": answers["packages"],
            "inputs": inputs, "vectors": vectors}  # fmt: skip


# ---------------------------------------------------------------------------------------------
# Where tools differ

FAMILIES = {"precision": "P", "recall": "R", "hit_rate": "HR", "rr": "RR", "ap": "AP", "ndcg": "N"}
"""The metrics that most tools have, and their letters in the table."""
COLUMNS = {
    "short_list_two_relevant": "no ties",
    "short_list_many_relevant": "truth longer than k",
    "short_lists": "short lists",
    "graded": "grades",
    "three_way_tie": "ties",
    "duplicates": "repeats",
    "empty_lists": "empty list",
    "missing_users": "no list",
    "zero_truth": "nothing relevant",
}


def defined(case, name, k):
    """The mean of a metric by its slow definition and the defaults of rankmeter."""
    truth = {u: {i: max(g, 0) for i, g in own.items()} for u, own in case["truth"].items()}
    values = []
    for user, own in truth.items():
        scored = dict(map(tuple, reversed(case["rankings"].get(user, []))))
        value = reference.value(name, contract.in_order(scored, "item"), own, k)
        values += [] if math.isnan(value) else [value]
    return statistics.fmean(values)


def recorded_mean(recording):
    """The mean that a tool gives, or that of its values of users."""
    if "mean" in recording:
        return float(recording["mean"])
    values = [float(v) for v in recording.get("per_user", {}).values() if v != "nan"]
    return statistics.fmean(values) if values else None


def same(value, wanted, tolerance):
    """Whether a recorded value is the one of the definition, or that rounded to its digits."""
    digits = len(repr(value).partition(".")[2])
    rounded = digits > 1 and "e" not in repr(value) and math.isclose(round(wanted, digits), value)
    return rounded or abs(value - wanted) <= tolerance


def differences(tool):
    """By input: which metrics the tool gives, and which differ from the definitions."""
    golden, facts = conformance.RECORDINGS[tool]
    found = {}
    if facts["takes"] == "triples":
        return found
    for case_name in COLUMNS:
        recorded = conformance.answers(golden)["cases"].get(case_name, {})
        case = conformance.CASES[case_name]
        for name, recording in recorded.get("metrics", {}).items():
            meant, k = conformance.spelled(name, tool), cutoff(name)
            if meant is None or meant.name not in FAMILIES or "refused" in recording:
                continue
            value = recorded_mean(recording)
            if value is None or meant.options or meant.choices or "[" in name:
                continue  # a variant that says so
            _, tolerance = conformance.expected(tool, case, name, recording)
            close = same(value, defined(case, meant.name, k), max(tolerance, 1e-6))
            found.setdefault(case_name, {}).setdefault(meant.name, []).append(close)
    return found


def table():
    """The differences of tools as a table: which metrics differ for each input."""
    heads = ["tool", *COLUMNS.values()]
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    for tool in conformance.TOOLS:
        found = differences(tool)
        if not found:
            continue
        cells = []
        for case in COLUMNS:
            one = found.get(case, {})
            differ = [sign for name, sign in FAMILIES.items() if not all(one.get(name, [True]))]
            cells.append(" ".join(differ) if differ else "=" if one else "")
        version = conformance.answers(conformance.RECORDINGS[tool][0])["version"]
        lines.append(f"| {tool} {version} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


# ---------------------------------------------------------------------------------------------


def text(content):
    """A file: one line for each input and each vector."""
    lines = []
    for key, value in content.items():
        if isinstance(value, dict) and value and key == "inputs":
            inner = ",\n".join(f"  {dump(name)}: {dump(one)}" for name, one in value.items())
            lines.append(f"{dump(key)}: {{\n{inner}\n}}")
        elif key == "vectors":
            lines.append(f"{dump(key)}: [\n" + ",\n".join(f"  {dump(v)}" for v in value) + "\n]")
        else:
            lines.append(f"{dump(key)}: {dump(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def dump(value):
    """JSON of a value: floats have the digits that give the same double again, at most 17."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def files():
    """Content of each file by its path in the folder."""
    found = {f"metrics/{name}.json": metric_file(name) for name in METRICS}
    found |= {f"tools/{tool}.json": tool_file(tool) for tool in conformance.TOOLS}
    return {path: content for path, content in found.items() if content}


def write():
    """Write all files anew."""
    for old in FOLDER.glob("*/*.json"):
        old.unlink()
    for path, content in files().items():
        (FOLDER / path).parent.mkdir(exist_ok=True)
        (FOLDER / path).write_text(text(content), "utf-8")
    (FOLDER / "differences.md").write_text(table(), "utf-8")


if __name__ == "__main__":
    write()
