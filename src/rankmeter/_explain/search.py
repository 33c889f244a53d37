"""Which settings give a number: conventions, thresholds and options, the simplest first.

Settings are searched in rounds; a round is searched only if the earlier ones gave nothing. Many
settings of a round are the same plan, and many alignments find the same hits on the given data, so
that one is computed for all of them.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from decimal import Decimal
from typing import Any

import numpy as np

from rankmeter._choices import CHOICES, Alignment, Averaging
from rankmeter._engine.memory import Data
from rankmeter._reading.table import Table
from rankmeter._results.estimates import estimate
from rankmeter._results.explanation import Explanation, Match
from rankmeter._results.notes import notes_on_means
from rankmeter._results.summary import Summary
from rankmeter.conventions import convention_names, has_metric, usage_rank
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.errors import RankmeterError, UsageError
from rankmeter.errors._checks import exact_text, option_error
from rankmeter.metrics import metric

MAX_GRADES = 10
"""The largest number of thresholds tried."""
MAX_ROWS = 40_000_000
"""Rows that all alignments together may read, which takes seconds; the rest is counted."""
NEAREST = 5

_PROBES = ("n_relevant", "n_ranked", "n_hits", "dcg", "dcg(gain=binary)", "ideal_dcg")
"""Metrics whose values differ if the hits do."""
_INERT = (
    "ties", "duplicates", "judgements", "scope", "pool", "exclude", "retrieved", "score_type"
)  # fmt: skip
"""Choices that can be without effect on the given data, whatever the others are."""

Switches = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class _Setting:
    """A convention, the options changed in it, and the resulting plan."""

    tool: str
    switches: Switches
    plan: MetricPlan


def search_settings(
    data: Data,
    truth: Table,
    plan: Plan,
    entry: Callable[[str], MetricPlan],
    start: Summary,
    target: float | str,
    held: set[str],
) -> Explanation:
    """Search for settings with a mean equal to the target in its printed digits.

    `plan` is that of the requested convention and `start` its result, `entry` gives the plan of the
    metric under any convention, `held` names the options that were given and stay.
    """
    text, digits = _parse_target(target)
    goal, tolerance = float(text), 0.5 * 10.0**-digits * (1 + 1e-9)
    means = _Means(data, truth, plan)
    like, (base,) = start.plan.convention, start.plan.metrics
    space = _SearchSpace(truth, like, entry, held)
    matches: list[Match] = []
    candidates: list[tuple[float, int, Match]] = []
    for number, settings in enumerate(space.rounds()):
        by_plan = means.compute([setting.plan for setting in settings])
        for setting in settings:
            value = by_plan[setting.plan]
            if isinstance(value, RankmeterError) or math.isnan(value):
                continue  # a combination that the data or the metric does not allow
            match = Match(setting.tool, setting.switches, value)
            simpler = (means.mean(simple) for simple in space.simpler_plans(setting))
            if any(math.isclose(value, mean, rel_tol=1e-12) for mean in simpler):
                continue
            candidates.append((abs(value - goal), number, match))
            if abs(value - goal) <= tolerance:
                matches.append(match)
        if matches:
            break
    matches.sort(key=lambda m: (len(m.switches), m.convention != like, usage_rank(m.convention)))
    return Explanation(
        base.label,
        like,
        "",
        start[base.label],
        start[base.label],
        target=text,
        matches=tuple(matches),
        tried=len(means.computed),
        nearest=() if matches else _nearest_matches(candidates),
        searched=space.describe(len(means.left_out)),
        notes=tuple(notes_on_means(start.plan, {like: start.facts()})),
        cautions=start.cautions,
    )


class _SearchSpace:
    """The settings of the search, in rounds."""

    def __init__(
        self, truth: Table, like: str, entry: Callable[[str], MetricPlan], held: set[str]
    ) -> None:
        self.like, self.entry, self.held = like, entry, held
        self.bases: dict[str, MetricPlan] = {}
        name = entry(like).metric.name
        other_tools = (n for n in convention_names() if n != like and has_metric(n, name))
        for tool in (like, *other_tools):
            with suppress(UsageError):  # choices that contradict each other under this convention
                self.bases[tool] = entry(tool)
        grades = np.unique(truth.gains)
        self.n_grades = grades.size
        indices = np.unique(np.linspace(0, max(grades.size - 1, 0), MAX_GRADES).round().astype(int))
        self.grades: list[float] = grades[indices].tolist() if grades.size else []

    def rounds(self) -> Iterator[list[_Setting]]:
        """Yield the rounds; the settings of one round are about equally simple."""
        like, tools = self.like, list(self.bases)
        plain: list[tuple[str, Switches]] = [(tool, {}) for tool in tools]
        levels = {tool: list(self._other_thresholds(tool)) for tool in tools}
        words = {tool: list(self._other_option_values(tool)) for tool in tools}
        singles = [*levels[like], *words[like]]
        at_levels = [(tool, s) for tool in tools for s in levels[tool] if tool != like]
        yield self._settings_with_changes([*plain, *((like, s) for s in singles), *at_levels])
        switched = [(tool, s) for tool in tools for s in words[tool] if tool != like]
        pairs = [
            (like, first | other)
            for first, other in itertools.combinations(singles, 2)
            if first.keys() != other.keys()
        ]
        yield self._settings_with_changes([*switched, *pairs])
        yield self._settings_with_changes(
            (tool, level | word)
            for tool in tools
            if tool != like
            for level in levels[tool]
            for word in words[tool]
        )

    def _settings_with_changes(self, switched: Iterable[tuple[str, Switches]]) -> list[_Setting]:
        settings = []
        for tool, switches in switched:
            plan = change_options(self.bases[tool], switches)
            if plan.alignment.gains != "above" or plan.alignment.relevant != "any":
                settings.append(_Setting(tool, switches, plan))
        return settings

    def simpler_plans(self, setting: _Setting) -> Iterator[MetricPlan]:
        """Yield the plans of the same convention with fewer options changed."""
        names = list(setting.switches)
        for size in range(len(names)):
            for changed in itertools.combinations(names, size):
                switches = {name: setting.switches[name] for name in changed}
                yield change_options(self.bases[setting.tool], switches)

    def _other_thresholds(self, tool: str) -> Iterator[Switches]:
        """Yield every other threshold in the data, as a change of options."""
        now = self.bases[tool].alignment
        if "relevant" in self.held or now.gains in ("positive", "all"):
            return
        for grade in self.grades:
            # Just above a grade means from the next grade, unless gains are counted from the
            # threshold.
            for sign in (">=", ">") if now.gains == "above" else (">=",):
                rule = f"{sign}{grade:.15g}"
                if rule != now.relevant:
                    yield {"relevant": rule}

    def _other_option_values(self, tool: str) -> Iterator[Switches]:
        """Yield a change of one option for each word that it permits and does not have now."""
        base = self.bases[tool]
        now = base.choices_by_name()
        words_by_name = {name: option.choices for name, option in base.spec.options.items()}
        words_by_name |= {name: choice.words for name, choice in CHOICES.items() if name in now}
        for name, words in words_by_name.items():
            for word in words if name not in self.held else ():
                pools = word != "micro" or base.spec.pools
                if pools and word not in (now[name], "raise", "error", "unchecked"):
                    yield {name: word}

    def describe(self, n_left_out: int) -> str:
        """A sentence on the rounds of the search, and on the settings that were left out."""
        levels = ""
        if self.grades and "relevant" not in self.held:
            share = f" ({len(self.grades)} of {self.n_grades})"
            thresholds = ", ".join(exact_text(grade) for grade in self.grades)
            levels = f" at the thresholds {thresholds}{share if self.n_grades > MAX_GRADES else ''}"
        cut = f", except {n_left_out:,} settings, because the data are large" if n_left_out else ""
        return (
            f"{len(self.bases)} conventions{levels} with up to one option changed, and "
            f"{self.like} with up to two{cut}"
        )


class _Means:
    """The means of plans on the data, each computed once."""

    def __init__(self, data: Data, truth: Table, plan: Plan) -> None:
        # Intervals are not used here, and a bootstrap is slow.
        self.data, self.plan = data, dataclasses.replace(plan, interval="wilson")
        self.grades = np.unique(truth.gains)
        self._rows, self._size = 0, truth.height
        self.left_out: set[MetricPlan] = set()  # plans that would have taken too long
        self.computed: dict[MetricPlan, float | RankmeterError] = {}
        self._inert: dict[tuple[str, str], bool] = {}
        self._prints: dict[Alignment, list[bytes] | None] = {}

    def mean(self, plan: MetricPlan) -> float:
        """The mean of a computed plan; NaN if the plan was not computed or failed."""
        value = self.computed.get(plan, math.nan)
        return math.nan if isinstance(value, RankmeterError) else value

    def compute(self, plans: Iterable[MetricPlan]) -> Mapping[MetricPlan, float | RankmeterError]:
        """Compute the mean of each plan, or its error; NaN for plans that exceed `MAX_ROWS`."""
        groups: dict[Alignment, list[MetricPlan]] = {}
        for plan in dict.fromkeys(plans):
            if plan not in self.computed:
                groups.setdefault(self._representative_alignment(plan.alignment), []).append(plan)
        for alignment, members in sorted(groups.items(), key=lambda group: -len(group[1])):
            if self._rows > MAX_ROWS:
                self.left_out.update(members)
            else:
                self._compute_aligned(alignment, members)
        return {plan: self.computed.get(plan, math.nan) for plan in plans}

    def _compute_aligned(self, alignment: Alignment, plans: list[MetricPlan]) -> None:
        """Compute all plans of one alignment together."""
        columns: dict[tuple[Any, bool], MetricPlan] = {}
        for plan in plans:
            pooled = plan.averaging.aggregate == "micro"
            label = str(len(columns))
            entry = dataclasses.replace(plan, label=label, alignment=alignment)
            columns.setdefault((plan.metric, pooled), entry)
        joint_plan = dataclasses.replace(self.plan, metrics=tuple(columns.values()))
        try:
            (scores,) = self.data.run(joint_plan).values()
        except RankmeterError as error:
            self.computed |= dict.fromkeys(plans, error)
            return
        self._rows += scores.n_users + int(scores.facts[alignment].n_ranked.sum()) + self._size
        for plan in plans:
            column = columns[plan.metric, plan.averaging.aggregate == "micro"]
            entry = dataclasses.replace(column, averaging=plan.averaging)
            mean: float | RankmeterError
            try:
                mean = estimate(self.plan, entry, scores.averaged(entry)).mean
            except RankmeterError as error:
                mean = error
            self.computed[plan] = mean

    def _representative_alignment(self, alignment: Alignment) -> Alignment:
        """The representative of all alignments that find the same hits in these data."""
        if alignment.gains in ("positive", "all"):
            alignment = dataclasses.replace(alignment, relevant=">0")
        elif alignment.gains == "relevant" and self.grades.size:
            relevant = self.grades[alignment.is_relevant(self.grades)]
            least = (
                f">={exact_text(relevant[0])}"
                if relevant.size
                else f">{exact_text(self.grades[-1])}"
            )
            alignment = dataclasses.replace(alignment, relevant=least)
        usual: dict[str, Any] = {
            name: CHOICES[name].default
            for name in _INERT
            if self._leaves_hits_unchanged(name, getattr(alignment, name))
        }
        if alignment.scope == "appended":  # appended items are tied
            usual.pop("ties", None)
        return dataclasses.replace(alignment, **usual)

    def _leaves_hits_unchanged(self, name: str, word: str) -> bool:
        """Whether a choice finds the same hits as its default, with all judged items relevant."""
        if word == CHOICES[name].default:
            return False
        if (name, word) not in self._inert:
            coarse = Alignment(
                relevant="any", score_type="float32", duplicates="each", judgements="max"
            )
            words: tuple[Any, ...] = (CHOICES[name].default, word)
            changed = (dataclasses.replace(coarse, **{name: value}) for value in words)
            prints = [*map(self._hits_fingerprint, changed)]
            self._inert[name, word] = prints[0] is not None and prints[0] == prints[1]
        return self._inert[name, word]

    def _hits_fingerprint(self, alignment: Alignment) -> list[bytes] | None:
        """A key that differs between alignments with different hits; None if scoring fails."""
        if alignment not in self._prints:
            entries = (
                MetricPlan(p, metric(p), alignment, Averaging(), has_ties_of_tool=True)
                for p in _PROBES
            )
            plan = dataclasses.replace(self.plan, metrics=tuple(entries))
            try:
                (scores,) = self.data.run(plan).values()
            except RankmeterError:
                self._prints[alignment] = None
            else:
                errors = str(sorted(scores.errors)).encode()
                self._prints[alignment] = [scores.matrix.tobytes(), errors]
        return self._prints[alignment]


def change_options(entry: MetricPlan, switches: Mapping[str, Any]) -> MetricPlan:
    """The plan of a metric with some options changed."""

    def switches_of(part: Any) -> dict[str, Any]:
        names = {field.name for field in dataclasses.fields(part)}
        return {name: value for name, value in switches.items() if name in names}

    options = {n: v for n, v in switches.items() if n in dict(entry.metric.options)}
    alignment = dataclasses.replace(entry.alignment, **switches_of(entry.alignment))
    averaging = dataclasses.replace(entry.averaging, **switches_of(entry.averaging))
    return MetricPlan(
        entry.label, entry.metric(**options), alignment, averaging, has_ties_of_tool=True
    )


def _nearest_matches(candidates: list[tuple[float, int, Match]]) -> tuple[Match, ...]:
    """The settings nearest to the target, with the simplest setting for each value."""
    by_value: dict[str, Match] = {}
    for _, _, match in sorted(
        candidates, key=lambda candidate: (*candidate[:2], len(candidate[2].switches))
    ):
        by_value.setdefault(f"{match.value:.10g}", match)
        if len(by_value) == NEAREST:
            break
    return tuple(by_value.values())


def _parse_target(target: float | str) -> tuple[str, int]:
    """Parse a target into its printed text and its number of decimals."""
    try:
        text = str(target).strip()
        exponent = Decimal(text).as_tuple().exponent
        finite = math.isfinite(float(text))
    except Exception:  # noqa: BLE001 - not a number, or whatever a foreign class raises
        raise option_error("target", "a number such as 0.1405", target) from None
    if not (finite and isinstance(exponent, int)):
        raise option_error("target", "a finite number", target)
    return text, max(-exponent, 0)
