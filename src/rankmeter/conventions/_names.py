"""Names of other tools: the metric of a tool as a metric of rankmeter.

A tool's name means what the profile of the tool says: ``hits`` of ranx is a count, not a share.
All other names are read as everywhere else in rankmeter.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import replace

from rankmeter.conventions._profiles import Convention, convention_names, load_convention
from rankmeter.errors import UnknownMetricError, UsageError
from rankmeter.errors._checks import brief, suggest_words
from rankmeter.metrics import (
    ADJUSTED,
    Metric,
    is_elsewhere,
    parse_metrics,
    read_metric,
    remembered,
    take_cutoffs,
    without_braces,
)

_GROUP = re.compile(r"[\[({]([^\[\](){}]*)[\])}]")
_CUTOFF = re.compile(r"(?:(?:k|n|top_?[kn]?)\s*=\s*)?(\d{1,18})", re.IGNORECASE)
"""A cutoff among the options: ``Recall(k=10)``, ``RetrievalMAP(top_k=10)``, ``ndcgAt(10)``."""

_COLON = re.compile(r"(\w{1,80}):(\w{1,80}=[\w.]{1,80}(?:;\w{1,80}=[\w.]{1,80}){0,20})")
"""A name and its options in CatBoost: ``NDCG:top=10;type=Exp``."""


def translate_name(name: str, tool: str, *, ours: bool = True) -> tuple[Metric, ...]:
    """Translate a name of a tool to metrics, one for each cutoff, labeled as written.

    The name is written as in the tool, with the same case. Its cutoffs follow ``@`` or ``_`` (in
    TREC also ``.``), take the place of ``k`` in ``precision_at_k``, or are an option, ``k=10``. The
    options of the tool are in brackets: ``RetrievalMAP[empty_target_action=skip]@10``. Parentheses
    may also hold options and choices of rankmeter. The meaning of the tool's name and options is
    inside the metrics, where it wins over all other choices. A name that the tool does not have
    may be one of rankmeter, if `ours`; the error names the tools that have it, or the nearest
    names.
    """
    return _translate_name(name, load_convention(tool).name, native_names=ours)


@remembered
def _translate_name(name: str, tool: str, *, native_names: bool) -> tuple[Metric, ...]:
    profile = load_convention(tool)
    if metrics := _read_name(name, profile):
        return metrics
    if not native_names:
        raise UnknownMetricError(
            _unknown_name_message(name, profile) or f"unknown metric {brief(name)}"
        )
    try:
        return tuple(read_metric(name))
    except UnknownMetricError as error:
        raise UnknownMetricError(_unknown_name_message(name, profile) or str(error)) from error


def translate_metrics(
    metrics: str | Metric | Iterable[str | Metric], tool: str
) -> tuple[Metric, ...]:
    """Translate metrics under a convention, without repetition; a text may hold several names.

    A measure of ir_measures has the options that ir_measures gives it; all others are the tool's.
    """
    if isinstance(metrics, str):
        return _translate_text(metrics, load_convention(tool).name)
    read = functools.partial(translate_name, tool=tool)
    return parse_metrics(metrics, read, functools.partial(translate_name, tool="ir_measures"))


@remembered
def _translate_text(text: str, tool: str) -> tuple[Metric, ...]:
    text = _put_options_in_parentheses(text, load_convention(tool))
    return parse_metrics(text, functools.partial(translate_name, tool=tool))


def _put_options_in_parentheses(text: str, profile: Convention) -> str:
    """Rewrite text for `read_metric`: tables without braces, options in parentheses."""
    text = without_braces(text)
    if ":" not in profile.marks:
        return text
    return _COLON.sub(lambda name: f"{name[1]}({name[2].replace(';', ',')})", text)


def has_metric(tool: str, metric: str) -> bool:
    """Whether a tool has a name for a metric, or no list of names."""
    return metric in _metric_names(load_convention(tool).name) or not load_convention(tool).names


@functools.cache
def _metric_names(tool: str) -> frozenset[str]:
    return frozenset(
        metric.name for name in load_convention(tool).names for metric in translate_name(name, tool)
    )


def _read_name(text: str, profile: Convention) -> tuple[Metric, ...]:
    """Translate a name of the tool to metrics; empty if the tool has no such name."""
    text = _put_options_in_parentheses(text.strip(), profile)
    bare, options, in_parentheses = _split_brackets(text)
    bare, options = _split_suffix(bare, options, profile)
    means = _find_meaning(bare, options, in_parentheses, profile)
    labels, points = [text], list[float | None]()
    if means is None:
        head, mark, points = take_cutoffs(bare, profile.marks)
        if not points:
            return ()
        written = bare[len(head) :].strip()
        before, _, after = text.rpartition(written)
        if len(points) > 1:
            labels = [f"{before}{mark}{k.strip()}{after}" for k in written[1:].split(",")]
        head, options = _split_suffix(head, options, profile)
        for base in (head, f"{head}_k"):
            means = means or _find_meaning(base, options, in_parentheses, profile)
    if means is None:
        return ()
    native, remaining = means
    for option in remaining & in_parentheses:
        if cutoff := _CUTOFF.fullmatch(option):
            points, remaining = [*points, int(cutoff[1])], remaining - {option}
    if len(points) > len(labels):
        raise UsageError(f"{brief(text)} has two cutoffs: use one")
    return tuple(
        replace(_to_metric(native, remaining, k, profile), label=label)
        for k, label in zip(points or [None], labels, strict=True)
    )


def _split_brackets(text: str) -> tuple[str, frozenset[str], frozenset[str]]:
    """Split text into a bare name, all options in brackets, and options in parentheses."""
    options, in_parentheses = set(), set()
    for group in _GROUP.finditer(text):
        group_options = {part.strip() for part in group[1].split(",")} - {""}
        options |= group_options
        in_parentheses |= group_options if group[0][0] == "(" else set()
    return _GROUP.sub("", text).strip(), frozenset(options), frozenset(in_parentheses)


def _split_suffix(
    bare: str, options: frozenset[str], profile: Convention
) -> tuple[str, frozenset[str]]:
    """Move an option in the suffix of a name, such as ``ndcg-l2`` of ranx, to the options."""
    head, dash, tail = bare.rpartition("-")
    if dash and dash + tail in profile.options:
        return head, options | {dash + tail}
    return bare, options


def _find_meaning(
    base: str, options: frozenset[str], in_parentheses: frozenset[str], profile: Convention
) -> tuple[str, frozenset[str]] | None:
    """The meaning of a name, and the remaining options; None if the tool has no such name.

    Of the names with this base, the one with most of the options is meant.
    """
    allowed = profile.options.keys() | in_parentheses
    fits = [
        (len(required), native, options - required)
        for name, required, native in _split_metric_names(profile.name)
        if name == base and required <= options and options - required <= allowed
    ]
    return max(fits, key=lambda fit: fit[0])[1:] if fits else None


@functools.cache
def _split_metric_names(tool: str) -> tuple[tuple[str, frozenset[str], str], ...]:
    """Each metric name of a tool as its bare name and its options, with our name."""
    names = load_convention(tool).names.items()
    return tuple((*_split_brackets(theirs)[:2], native) for theirs, native in names)


def _to_metric(text: str, options: frozenset[str], k: float | None, profile: Convention) -> Metric:
    cut = "{k}" in text
    (metric,) = read_metric(text.replace("{k}", "none" if k is None else str(k)))
    if k is not None and not cut:
        metric = metric @ k
    option_names: set[str] = set()
    for option in sorted(options):
        name, _, value = (option + "=true" if option == ADJUSTED else option).partition("=")
        with_value = profile.options.get(f"{name.strip()}={{value}}", {name.strip(): "{value}"})
        means = {
            target: value.strip() if meaning == "{value}" else meaning
            for target, meaning in profile.options.get(option, with_value).items()
        }
        if repeated := option_names & means.keys():
            raise UsageError(f"{text} has the option {min(repeated)!r} twice: use it once")
        option_names |= means.keys()
        metric = metric(**means)
    return metric


def _unknown_name_message(text: str, profile: Convention) -> str:
    """Build the message for an unknown name; empty without a specific message."""
    if len(text) > 200:
        return ""
    if advice := profile.elsewhere.get(_split_brackets(text)[0]):
        return f"{text} of {profile.title} is not a metric here, but can be computed: {advice}"
    tools = [tool for tool in convention_names() if _is_name_of_tool(text, load_convention(tool))]
    if tools:
        follow = f"like={tools[0]!r} follows it"
        return f"unknown metric {brief(text)}: it is a name of {', '.join(tools)}; {follow}"
    bare = take_cutoffs(_split_brackets(text)[0], profile.marks)[0]
    hint = (
        ""
        if is_elsewhere(bare)
        else suggest_words(bare, (_split_brackets(name)[0] for name in profile.names))
    )
    return f"unknown metric {brief(bare)} of {profile.title}{hint}" if hint else ""


def _is_name_of_tool(text: str, profile: Convention) -> bool:
    try:
        return bool(_read_name(text, profile))
    except UsageError:
        return True
