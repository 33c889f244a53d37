"""What each tool answered on the same data, and which options make the difference.

The values are those of the recordings (``tests/conformance``). Why a value differs is computed: an
option counts if the tool's value changes when that option alone has the default of rankmeter.
"""

from __future__ import annotations

import importlib.util
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import rankmeter as rm
from rankmeter.conventions import load_convention, translate_name, usage_rank
from rankmeter.conventions._plan import resolve_plan
from rankmeter.errors import RankmeterError
from rankmeter.metrics import Metric
from rankmeter_docs.conventions import CONFORMANCE, link
from rankmeter_docs.rst import code, heading, paragraphs, table

CASE = "graded"
K = 10
METRICS = {"ndcg": "NDCG", "ap": "MAP", "precision": "Precision", "recall": "Recall"}
DEFAULTS = "the defaults of rankmeter"


class Data:
    """The lists that all tools were given, and the means of rankmeter under any options."""

    def __init__(self) -> None:
        spec = importlib.util.spec_from_file_location("inputs", CONFORMANCE / "inputs.py")
        assert spec is not None
        assert spec.loader is not None
        inputs = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(inputs)
        case = next(case for case in inputs.CASES if case["name"] == CASE)
        self.rankings = {
            user: dict(map(tuple, ranked)) for user, ranked in case["rankings"].items()
        }
        self.truth = case["truth"]
        self._means: dict[tuple[str, str], float] = {}

    def mean(self, name: str, options: Mapping[str, Any]) -> float:
        """The mean of a metric; NaN if rankmeter refuses the options together."""
        key = name, json.dumps(options, sort_keys=True)
        if key not in self._means:
            own = Metric(name).spec.options.keys()
            inside = {option: value for option, value in options.items() if option in own}
            choices = {option: value for option, value in options.items() if option not in own}
            metric = Metric(name)(**inside) @ K
            try:
                (estimate,) = rm.evaluate(self.rankings, self.truth, metric, **choices).values()
                self._means[key] = float(estimate.mean)
            except RankmeterError:
                self._means[key] = math.nan
        return self._means[key]


def numbers() -> str:
    """A table for each metric: values, the tools that print them, and why."""
    if not (CONFORMANCE / "goldens").is_dir():
        return ""
    data, answers = Data(), [*_answers()]
    return paragraphs(*(_section(data, name, answers) for name in METRICS))


def _answers() -> Iterator[tuple[str, str, Metric, float]]:
    """Tool, its name of a metric, what the name means, and the recorded mean."""
    for file in sorted((CONFORMANCE / "goldens").glob("*.json")):
        golden = json.loads(file.read_text("utf-8"))
        tool = load_convention(file.stem).name
        for spelled, answer in golden["cases"].get(CASE, {}).get("metrics", {}).items():
            try:
                (metric,) = translate_name(spelled, tool, ours=False)
            except RankmeterError:
                continue
            if metric.k == K and "mean" in answer:
                yield tool, spelled, metric, float(answer["mean"])


def _section(data: Data, name: str, answers: list[tuple[str, str, Metric, float]]) -> str:
    ours = resolve_plan(f"{name}@{K}").metrics[0].choices_by_name()
    found: dict[tuple[float, str], list[tuple[str, str]]] = defaultdict(list)
    usual = round(data.mean(name, ours), 4)
    found[usual, DEFAULTS].append(("rankmeter", ""))
    for tool, spelled, metric, mean in answers:
        if metric.name != name:
            continue
        theirs = resolve_plan(spelled, like=tool).metrics[0].choices_by_name()
        if not _equal(data.mean(name, theirs), mean):
            continue  # the tool was given other queries, such as triples
        matter = [
            option
            for option, value in theirs.items()
            if value != ours.get(option)
            and not _equal(data.mean(name, {**theirs, option: ours[option]}), mean)
        ]
        why = ", ".join(code(f"{option}={json.dumps(theirs[option])}") for option in matter)
        found[round(mean, 4), DEFAULTS if round(mean, 4) == usual else why].append((tool, spelled))
    n_tools = len({tool for tools in found.values() for tool, _ in tools}) - 1
    rows = [(f"{mean:.4f}", _tools(tools), why) for (mean, why), tools in sorted(found.items())]
    return paragraphs(
        heading(f"{METRICS[name]}: {len({mean for mean, _ in found})} values", "-"),
        f"{n_tools} tools and rankmeter, on the same lists:",
        table(
            [METRICS[name], "tools", "options that make the difference"], rows, widths=[12, 48, 40]
        ),
    )


def _equal(first: float, second: float) -> bool:
    return math.isclose(first, second, rel_tol=1e-4)


def _tools(tools: list[tuple[str, str]]) -> str:
    """The tools, the most used first, each once, with its name of the metric."""
    names: dict[str, str] = {}
    for tool, spelled in sorted(tools, key=lambda one: (one[0] != "rankmeter", usage_rank(one[0]))):
        names.setdefault(tool, spelled)
    return ", ".join(
        f"{link(tool)} {code(spelled)}" if spelled else link(tool)
        for tool, spelled in names.items()
    )
