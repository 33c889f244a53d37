"""Every choice behind a number, explicit: metric strings + convention + choices → `Plan`.

Choices are declared in `_choices` and resolved here, nowhere else. A known tool may make any of
them differently per metric, so a plan is a list of metrics, each with all its choices.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from rankmeter._choices import (
    CHOICES,
    RELEVANCE,
    SETTINGS,
    STAND_INS,
    WITHOUT_STAND_IN,
    Alignment,
    Averaging,
    Input,
    Setting,
    active_choices,
    check_choice,
    format_bound,
    format_value,
    name_and_aliases,
    refuse_inert_choices,
    replace_aliases,
)
from rankmeter._evidence.hits import Hits
from rankmeter.conventions import (
    Convention,
    has_metric,
    load_convention,
    translate_metrics,
    translate_name,
)
from rankmeter.errors import UnknownMetricError, UsageError
from rankmeter.errors._calls import option_remedy
from rankmeter.errors._checks import (
    USERS,
    Words,
    brief,
    exact_text,
    suggest_words,
    unknown_word_error,
)
from rankmeter.metrics import ADJUSTED, METRICS, Metric, Spec, remembered
from rankmeter.metrics.long_tail import Border

_BUGGY = " with its bugs"


@dataclass(frozen=True, repr=False)
class MetricPlan:
    """One metric with every choice made.

    Attributes
    ----------
    label : str
        The name under which results are shown.
    metric : Metric
        With all its options explicit.
    alignment : Alignment
    averaging : Averaging
    requested : Metric, optional
        The metric as it was given, with the options and choices that were named.
    choice_names : frozenset of str
        The choices that the caller or the convention makes; the others have their defaults.
    candidates : int, optional
        Their number, if values are adjusted for chance; 0 for the number that each query has.
    has_ties_of_tool : bool
        Whether the tie rule is that of a tool, which applies it to every metric; so do the steps
        between two tools.
    """

    label: str
    metric: Metric
    alignment: Alignment
    averaging: Averaging
    requested: Metric | None = None
    choice_names: frozenset[str] = dataclasses.field(default=frozenset(), compare=False)
    candidates: int | None = None
    has_ties_of_tool: bool = dataclasses.field(default=False, compare=False)

    def __repr__(self) -> str:
        return f"MetricPlan({self.label}: {self.metric})"

    @property
    def spec(self) -> Spec:
        """The registry entry of the metric; adjusted for chance, 1 is the best value."""
        if self.candidates is None:
            return self.metric.spec
        return replace(
            self.metric.spec,
            low=-math.inf,
            high=math.inf,  # 1 if no shorter ranking is better: `UserValues.ends` knows it
            bounds=None,
            increasing=True,
            reached=False,
        )

    @property
    def range(self) -> tuple[float, float]:
        """Lowest and highest value that a user can have."""
        return self.range_of(self.spec)

    def range_of(self, spec: Spec) -> tuple[float, float]:
        """`range`, or with the spec of the metric the range of values not adjusted for chance."""
        options = {**dict(self.metric.options), "k": self.metric.k}
        stand_ins = [getattr(self.averaging, name) for name in WITHOUT_STAND_IN]
        return spec.range_under(options, self.alignment, stand_ins)

    @property
    def is_pooled(self) -> bool:
        """Whether users are pooled, and not averaged."""
        return self.averaging.aggregate == "micro"

    @property
    def needs_order(self) -> bool:
        """Whether the metric has no value where several items of a user share a rank."""
        cut = self.metric.k is not None or self.alignment.depth is not None
        return not self.has_ties_of_tool and not self.spec.allows_shared_ranks(
            self.alignment.ties, cut=cut
        )

    @property
    def borders(self) -> set[Border]:
        """The borders between popular and other items used by the metric."""
        borders_of = self.spec.borders
        return set() if borders_of is None else set(borders_of(dict(self.metric.options)))

    @property
    def keeps_state(self) -> bool:
        """Whether states are needed in addition to the values of the users."""
        return self.is_pooled or self.spec.weighted

    def choices_by_name(self) -> dict[str, Any]:
        """Every choice by name, metric options first."""
        adjusted: dict[str, Any] = {} if self.candidates is None else {ADJUSTED: True}
        if self.candidates:
            adjusted["n_items"] = self.candidates
        return {
            **dict(self.metric.options),
            **adjusted,
            **_values_by_name(self.alignment),
            **_values_by_name(self.averaging),
        }


def _values_by_name(choices: Alignment | Averaging) -> dict[str, Any]:
    """Like `dataclasses.asdict`, which copies the values, and takes as long as a small ranking."""
    return {field.name: getattr(choices, field.name) for field in dataclasses.fields(choices)}


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan(Setting):
    """All choices, explicit or by convention, made before a number was computed.

    The choices that hold for all metrics are attributes: ``plan.confidence``, ``plan.interval``.

    Attributes
    ----------
    convention : str
    metrics : tuple of MetricPlan
    engine : str
        How rankings that do not fit into memory are read; empty if all of them fit.
    side : tuple of str
        How the side data were read, where a reader should know.
    words : Words
        What tables and sentences call users and items.
    data : str
        What is measured; choices that cannot act on it are not shown.
    """

    convention: str
    metrics: tuple[MetricPlan, ...]
    engine: str = ""
    side: tuple[str, ...] = ()
    words: Words = USERS
    data: Input = "rankings"

    @property
    def tool(self) -> str:
        """The tool whose conventions are followed."""
        return self.convention.removesuffix(_BUGGY)

    def __getitem__(self, label: str) -> MetricPlan:
        """The plan of one metric, by any of its metric strings."""
        if not isinstance(label, str | Metric):
            raise UnknownMetricError(f"a metric has a name, such as 'mrr', got {brief(label)}")
        label = str(label)
        for entry in self.metrics:
            if label == entry.label:
                return entry
        tool = self.tool
        matching: set[str] = set()
        for metric in translate_metrics(label, tool):
            matches = [e for e in self.metrics if _matches_entry(metric, e)]
            exact = [e for e in matches if e.requested == metric]
            if len(exact or matches) == 1 and not matching:
                matching.add((exact or matches)[0].label)
            else:
                matching |= {e.label for e in matches}
        found = [entry for entry in self.metrics if entry.label in matching]
        if found and all(replace(entry, label=found[0].label) == found[0] for entry in found):
            return found[0]  # the others are the same metric by another name
        labels = [entry.label for entry in self.metrics]
        if matching:
            one_of = " or ".join(repr(name) for name in labels if name in matching)
            raise UnknownMetricError(f"{brief(label)} names several metrics: {one_of}")
        names = {metric.name for metric in translate_metrics(label, tool)}
        similar = [repr(entry.label) for entry in self.metrics if entry.metric.name in names]
        meant = (
            f"; did you mean {' or '.join(similar)}?" if similar else suggest_words(label, labels)
        )
        meant = meant or f"; evaluated: {', '.join(map(repr, labels))}"
        raise UnknownMetricError(f"{brief(label)} was not evaluated{meant}", allowed=(*labels,))

    @property
    def assumes_relevance(self) -> bool:
        """Whether some metric has the default threshold, and no other tool is followed."""
        takes_default = [entry.choice_names.isdisjoint(RELEVANCE) for entry in self.metrics]
        return self.convention == "rankmeter" and any(takes_default)

    @property
    def needs_no_truth(self) -> bool:
        """Whether no metric depends on what is relevant, nor weighs items by it."""
        return all(
            entry.spec.of_lists
            and not entry.spec.of_hits
            and entry.choices_by_name().get("relevance", "none") == "none"
            for entry in self.metrics
        )

    @property
    def version(self) -> str:
        """The version of the tool whose numbers were recorded; empty for rankmeter itself."""
        return load_convention(self.tool).version

    @property
    def convention_and_version(self) -> str:
        return self.convention.replace(self.tool, f"{self.tool} {self.version}".rstrip(), 1)

    @property
    def notes(self) -> tuple[str, ...]:
        """Warnings about agreement with the tool, and notes on how the side data were read."""
        tool = load_convention(self.tool)
        evaluated = dict.fromkeys(entry.metric.name for entry in self.metrics)
        absent = [name for name in evaluated if not has_metric(tool.name, name)]
        differs = tool.differs
        other = [f"{name} of {tool.title} {differs[name]}" for name in absent if name in differs]
        if names := ", ".join(name for name in absent if name not in differs):
            applied = f"its conventions are applied to rankmeter's {names}"
            other.append(f"{tool.title} has no {names}; {applied}")
        return (*other, *self._notes_on_synonyms(tool), *self.side)

    def _notes_on_synonyms(self, tool: Convention) -> list[str]:
        """A note for each metric that has several names here with different choices.

        A tool can have one name of a metric, such as ``map`` of recommenders, with an option.
        """
        groups: dict[Metric, list[MetricPlan]] = {}
        for entry in self.metrics if tool.names and len(self.metrics) > 1 else ():
            with suppress(UsageError):
                for metric in translate_name(entry.label, "rankmeter"):
                    groups.setdefault(metric, []).append(entry)
        notes = []
        for entries in groups.values():
            switches = [
                {"metric": e.metric.name, "k": e.metric.k, **e.choices_by_name()} for e in entries
            ]
            differing = [
                name
                for name in dict.fromkeys(name for own in switches for name in own)
                if len({(name in own, own.get(name)) for own in switches}) > 1
            ]
            if differing:
                names = "; ".join(
                    " ".join([e.label, *(f"{n}={format_value(s[n])}" for n in differing if n in s)])
                    for e, s in zip(entries, switches, strict=True)
                )
                notes.append(f"names of one metric with different options in {tool.name}: {names}")
        return notes

    def metrics_by_alignment(self) -> dict[Alignment, list[MetricPlan]]:
        """The metrics by alignment: each distinct one is computed once."""
        groups: dict[Alignment, list[MetricPlan]] = {}
        for entry in self.metrics:
            groups.setdefault(entry.alignment, []).append(entry)
        return groups

    def list_depths(self) -> dict[Alignment, int | None]:
        """The list depth that the metrics of each alignment need; None for whole lists."""
        depths: dict[Alignment, int | None] = {}
        for entry in self.metrics:
            if entry.spec.of_lists:
                k, deepest = entry.metric.k, depths.get(entry.alignment, 0)
                deeper = None if k is None or deepest is None else max(k, deepest)
                depths[entry.alignment] = deeper
        return depths

    def alignments_with_hit_items(self) -> set[Alignment]:
        """The alignments of metrics that ask for facts about the items of the hits."""
        return {entry.alignment for entry in self.metrics if entry.spec.needs_hit_items}

    def settings(self) -> dict[str, Any]:
        """The choices that hold for all metrics and that every result depends on."""
        # The catalogue is an option of the metrics that need it; the name of the convention shows
        # whether its bugs are followed; only a bootstrap draws samples; bounds change no mean.
        hidden = {"n_items", "bugs", *(() if self.uses_bootstrap else ("resamples", "seed"))}
        hidden |= set() if self.has_bounds else {"unjudged"}
        return {n: getattr(self, n) for n in active_choices(SETTINGS, self.data) if n not in hidden}

    def refuse_bounds(self, what: str) -> None:
        """Raise an error if bounds are asked of something that has none."""
        if self.has_bounds:
            raise UsageError(
                f"unjudged='bounds': {what} has no bounds, only means of evaluate and compare have",
                option="unjudged",
            )

    def _acting_choices(self, entry: MetricPlan) -> dict[str, Any]:
        """`MetricPlan.choices_by_name` without the choices that cannot act."""
        inert = CHOICES.keys() - active_choices(CHOICES, self.data) - {"n_items"}
        return {n: value for n, value in entry.choices_by_name().items() if n not in inert}

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values, for JSON."""
        return {
            "convention": self.convention,
            **({"convention_version": version} if (version := self.version) else {}),
            **self.settings(),
            **({"engine": self.engine} if self.engine else {}),
            "notes": list(self.notes),
            "metrics": {
                e.label: {"metric": e.metric.name, "k": e.metric.k, **self._acting_choices(e)}
                for e in self.metrics
            },
        }

    def options(self) -> dict[str, Any] | None:
        """The options of `evaluate` that resolve to this plan with the labels of its metrics.

        None if no options do, because choices differ between metrics whose labels do not say so.
        """
        tool = self.tool
        labels = [entry.label for entry in self.metrics]
        settings = {name: getattr(self, name) for name in SETTINGS}
        usual = Setting(**_plan_settings(load_convention(tool), self.data))
        choices = {n: value for n, value in settings.items() if value != getattr(usual, n)}
        like = None if tool == "rankmeter" else tool
        try:
            plain = resolve_plan(labels, like=like, choices=choices, data=self.data)
            for entry, other in zip(self.metrics, plain.metrics, strict=True):
                switches = other.choices_by_name()
                choices |= {
                    name: value
                    for name, value in entry.choices_by_name().items()
                    if name in CHOICES and value != switches.get(name)
                }
            resolved = resolve_plan(labels, like=like, choices=choices, data=self.data)
        except (UsageError, ValueError):
            return None
        before, after = (
            [(e.label, e.choices_by_name()) for e in p.metrics] for p in (self, resolved)
        )
        tool_option = {} if like is None else {"like": like}
        return {**tool_option, **choices} if before == after else None

    def _repr_html_(self) -> str:
        from html import escape

        return f"<pre>{escape(self.describe())}</pre>"

    def describe(self) -> str:
        """The plan in words: what all metrics share first, then each metric's own choices."""
        all_switches = [self._acting_choices(entry) for entry in self.metrics]
        common = {
            name: value
            for name, value in all_switches[0].items()
            if len(self.metrics) > 1 and all(name in s and s[name] == value for s in all_switches)
        }
        if len(self.metrics) == 1:
            options = dict(self.metrics[0].metric.options)
            common = {n: value for n, value in all_switches[0].items() if n not in options}
        shared = {"convention": self.convention, **common, **self.settings()}
        if self.engine:
            shared["engine"] = self.engine
        lines = [f"{name:<11} {format_value(value)}" for name, value in shared.items()]
        for entry, switches in zip(self.metrics, all_switches, strict=True):
            options = {name: value for name, value in switches.items() if name not in common}
            text = "".join(f", {name}={format_value(value)}" for name, value in options.items())
            name = str(entry.requested)
            name = entry.label if entry.label == name else f"{entry.label} ({name})"
            lines.append(f"{name}: {entry.spec.title}{text}")
        return "\n".join([*lines, *self.notes])

    def __str__(self) -> str:
        return self.describe()

    __repr__ = __str__


def _matches_entry(metric: Metric, entry: MetricPlan) -> bool:
    """Whether a metric matches an entry, with all choices given in the request."""
    resolved, requested = entry.choices_by_name(), entry.requested
    return (
        (metric.name, metric.k) == (entry.metric.name, entry.metric.k)
        and all(resolved.get(n) == value for n, value in (*metric.options, *metric.choices))
        and dict(requested.choices if requested else ()).keys() <= dict(metric.choices).keys()
    )


def resolve_plan(
    metrics: str | Metric | Iterable[str | Metric],
    *,
    like: str | None = None,
    choices: Mapping[str, Any] | None = None,
    data: Input = "rankings",
) -> Plan:
    """Resolve metrics, a convention and choices to a plan.

    Parameters
    ----------
    metrics : str, Metric or iterable of them
        Names of rankmeter or of the tool of `like`. A choice inside a metric's parentheses wins
        over all others.
    like : str, optional
        The convention to start from; default ``rankmeter``.
    choices : mapping of str to value
        Choices that win over the convention; None means not given.
    data : str
        What is measured. A choice that cannot act on it is refused, even with its default value;
        those of the convention, which holds for all data, are left out instead. Only rankings do
        not count the candidates of each query, which metrics adjusted for chance need.

    Returns
    -------
    Plan

    Raises
    ------
    UsageError
        If a choice does not exist, cannot act or contradicts another, or a required one is missing.
    """
    named_values = {name: value for name, value in (choices or {}).items() if value is not None}
    if like is None and type(metrics) is str and not named_values:
        return _resolve_names(metrics, data)
    named_values = replace_aliases(named_values)
    for name in named_values:
        if name not in CHOICES:
            if remedy := option_remedy(name):
                raise UsageError(f"unknown option {name!r}: {remedy}")
            from rankmeter.errors._removed import refuse_removed_options

            refuse_removed_options([name])
            raise unknown_word_error("option", name, CHOICES)
    refuse_inert_choices(named_values, data)
    decided = {name: check_choice(name, value) for name, value in named_values.items()}
    convention = load_convention("rankmeter" if like is None else like)
    settings = {name: decided.pop(name) for name in SETTINGS if name in decided}
    setting = _plan_settings(convention, data) | settings
    now = Setting(**setting)
    translated = translate_metrics(metrics, convention.name)
    entries = [_resolve_metric(metric, convention, decided, now, data) for metric in translated]
    followed = now.bugs and convention.bugs
    name = convention.name + _BUGGY if followed else convention.name
    return Plan(convention=name, metrics=tuple(entries), data=data, **setting)


@remembered
def _resolve_names(text: str, data: Input) -> Plan:
    return resolve_plan(translate_metrics(text, "rankmeter"), data=data)


def _plan_settings(convention: Convention, data: Input) -> dict[str, Any]:
    """Select the choices of a convention that hold for all metrics."""
    return {n: v for n, v in active_choices(convention.switches, data).items() if n in SETTINGS}


def _resolve_metric(
    metric: Metric,
    convention: Convention,
    decided: Mapping[str, Any],
    setting: Setting,
    data: Input,
) -> MetricPlan:
    spec = metric.spec
    usual = convention.choices(metric.name, metric.k, bugs=setting.bugs)
    metric_choices = dict(metric.choices)
    # The others come from the name that a tool gives the metric.
    label = metric.label or str(metric)
    written = [n for n in metric_choices for s in name_and_aliases(n) if f"{s}=" in label]
    refuse_inert_choices(written, data)
    switches = active_choices({**spec.default_choices, **usual, **decided, **metric_choices}, data)
    metric_options = dict(metric.options)
    options: dict[str, Any] = {}
    for name, option in spec.options.items():
        if name in metric_options:
            options[name] = metric_options[name]
        elif name == "n_items" and setting.n_items is not None:
            options[name] = setting.n_items
        elif name in usual:
            options[name] = usual[name]
        elif option.required:
            flag = " or pass n_items=" if name == "n_items" else ""
            raise UsageError(
                f"{metric} needs {name}: write {metric.name}({name}=…)"
                f"{'' if metric.k is None else f'@{metric.k}'}{flag}"
            )
        else:
            options[name] = option.default
    alignment = build_choices(Alignment, switches)
    _refuse_contradictions(alignment)
    averaging = build_choices(Averaging, switches)
    if spec.whole and averaging.aggregate != "micro":
        raise UsageError(
            f"{metric} is computed over all lists at once, so it has no "
            f"{averaging.aggregate} (aggregate=)"
        )
    is_adjusted = ADJUSTED in metric_choices
    candidates = _number_of_candidates(metric, setting, data) if is_adjusted else None
    if averaging.aggregate == "micro" and not spec.pools and candidates is None:
        shares = ", ".join(name for name, other in METRICS.items() if other.pools)
        raise UsageError(f"{metric} cannot be pooled (aggregate='micro'): only {shares} can")
    resolved = Metric(metric.name, metric.k)(**options)
    entry = MetricPlan(
        label, resolved, alignment, averaging, metric, frozenset(switches), candidates,
        has_ties_of_tool=build_choices(Alignment, usual).ties == alignment.ties,
    )  # fmt: skip
    return _settle_stand_ins(entry, {*decided, *written}, usual, convention)


def _settle_stand_ins(
    entry: MetricPlan, asked: Collection[str], usual: Mapping[str, Any], convention: Convention
) -> MetricPlan:
    """Refuse a number for users without a value that the metric cannot have, or that rewards them.

    A tool keeps its own numbers for its own metrics; for others its users without a value do not
    count.
    """
    is_known = has_metric(convention.name, entry.metric.name)
    for name, nothing in WITHOUT_STAND_IN.items():
        word = getattr(entry.averaging, name)
        if word not in STAND_INS or _accepts_stand_in(entry, STAND_INS[word]):
            continue
        if name in asked and not (is_known and usual.get(name) == word):
            raise UsageError(_stand_in_message(entry, name, word), option=name, got=word)
        if not is_known:
            skipping: Any = {name: nothing}
            entry = replace(entry, averaging=replace(entry.averaging, **skipping))
    return entry


def _accepts_stand_in(entry: MetricPlan, number: float) -> bool:
    """Whether users without a value can count as a number without a reward for a missed item."""
    spec, computed = entry.spec, replace(entry, averaging=Averaging())
    low, high = computed.range
    if spec.whole:  # no user has a value
        return True
    if not low <= number <= high:
        return False
    if not spec.increasing:
        return number == high
    return number < high or not _is_undefined_for_a_miss(entry)


def _is_undefined_for_a_miss(entry: MetricPlan) -> bool:
    """Whether a metric of hits has no value for a user with a relevant item that is not ranked."""
    spec, nothing, one = entry.metric.spec, np.zeros(0), np.ones(1, dtype=np.int64)
    if not {"hits", "nonrelevant"}.issuperset(spec.needs):
        return False
    perfect = Hits.perfect(np.array([0, 1]), np.ones(1))
    hits = Hits(np.zeros(2, dtype=np.int64), nothing, nothing, one, one, ideal=perfect)
    k = [entry.metric.k] if spec.cutoff else []
    try:
        values = spec.function(*[hits for _ in spec.needs], *k, **dict(entry.metric.options))
    except UsageError:
        return False
    return bool(np.isnan(values).any())


def _stand_in_message(entry: MetricPlan, name: str, word: str) -> str:
    """Explain why users without a value cannot count as a number, and what to write instead."""
    low, high = replace(entry, averaging=Averaging()).range
    metric, number = entry.metric.name, STAND_INS[word]
    better = "higher" if entry.spec.increasing else "lower"
    reason = (
        f"{better} is better, so it would reward them"
        if low <= number <= high
        else f"values of {metric} are from {format_bound(low)} to {format_bound(high)}"
    )
    option, absent = entry.spec.options.get("absent"), ""
    if option and dict(entry.metric.options)[option.name] == option.default:
        absent = f", or say what a missed item counts: {metric}(absent=next)"
    return (
        f"{entry.label}: {name}={word!r} counts such users as {number:g}, but {reason}. Choose "
        f"{name}={WITHOUT_STAND_IN[name]!r}{absent}. For other metrics alone, write it inside "
        f"their names: ndcg({name}={word})"
    )


def _refuse_contradictions(alignment: Alignment) -> None:
    """Refuse choices of an alignment that exclude each other."""
    if alignment.gains == "above" and alignment.relevant == "any":
        raise UsageError("gains='above' needs a threshold: `relevant` must not be 'any'")
    for grade, gain in alignment.gain_table.items():
        if gain > 0 >= grade and not alignment.is_relevant_grade(grade):
            raise UsageError(
                f"`gains` gives grade {exact_text(grade)} a gain, but items of that grade are "
                f"not relevant ({alignment.relevant}): choose `relevant`, such as 'any'"
            )
    if alignment.depth is not None and alignment.ties == "expected":
        raise UsageError(
            "depth cuts rankings at one rank, which unresolved ties (ties='expected') lack: choose "
            "a rule that orders tied items, such as ties='item'"
        )


def _number_of_candidates(metric: Metric, setting: Setting, data: Input) -> int:
    """Number of candidates of a chance-adjusted metric; 0 if candidates are counted."""
    if metric.spec.needs != ("hits",) or not metric.spec.open_ties:
        raise UsageError(
            f"{metric}: {metric.name} has no closed form for a random order, so it cannot be "
            "adjusted for chance"
        )
    if setting.n_items is None and data == "rankings":
        raise UsageError(f"{metric} needs the number of candidates: pass n_items=")
    return setting.n_items or 0


def build_choices(kind: type[Any], switches: Mapping[str, Any]) -> Any:
    """Build an `Alignment` or `Averaging` from its own choices, checked."""
    names = [field.name for field in dataclasses.fields(kind) if field.name in switches]
    return kind(**{name: check_choice(name, switches[name]) for name in names})
