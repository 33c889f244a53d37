"""One page per metric and an overview, all generated from the registry.

A page has the metric's docstring, its options, the conventions, and numbers that the library
computes while the pages are built. The formula is that of the Notes, ``.. math::``, unless
``docs/formulas.toml`` has one.
"""

from __future__ import annotations

import inspect
import re
import sys
import tomllib
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

from numpydoc.docscrape import FunctionDoc

import rankmeter as rm
from rankmeter._choices import format_bound
from rankmeter.errors import UsageError
from rankmeter.metrics import METRICS, Metric, Option, Spec
from rankmeter.metrics._metric_strings import PRESETS
from rankmeter_docs.conventions import choosers
from rankmeter_docs.example import asks, given, picture, shown, steps, values
from rankmeter_docs.korean_summaries import summary
from rankmeter_docs.needs import needs
from rankmeter_docs.public import ready_made
from rankmeter_docs.rst import code, facts, heading, paragraphs, raw_html, table

K = 5
FORMULAS = Path(__file__).parents[2] / "formulas.toml"

NOTATION = (
    ("*R*", "the ranks of the relevant items in the list; the best rank is 1"),
    ("*gᵣ*", "the gain of the item at rank *r*: its relevance grade, or 1 for binary relevance"),
    ("*n*", "the number of relevant items, in the list or not"),
    ("*k*", "the cutoff: only ranks up to *k* count"),
)

LETTERS = (
    (r"(?<![\w{\\])R(?![\w@])", "*R* are the ranks of the relevant items in the list"),
    (r"g_r", "*gᵣ* is the gain of the item at rank *r*"),
    (r"(?<![\w{\\])n(?!\w)", "*n* is the number of relevant items, in the list or not"),
    (r"(?<![\w{\\])k(?!\w)", "*k* is the cutoff"),
)
"""What the formula of a metric has if its own letters say nothing else."""

LEAD = """
A metric turns the hits of a user into one number; the result is the mean over the users. On
these pages, for a single user:
"""

THE_LIST = """
Every page shows its metric on the same list of ten items, for a user with six relevant items of the
gains 3, 3, 2, 2, 1, 1. Four of them are in the list, at ranks 1, 3, 5 and 8; two are not
found:
"""


@cache
def formulas() -> dict[str, dict[str, str]]:
    """Formula, symbols and interpretation by metric."""
    return tomllib.loads(FORMULAS.read_text("utf-8"))


def pages() -> dict[str, str]:
    """The pages by name: the overview and one for each metric."""
    return {"index": _overview(), **{name: page(spec) for name, spec in METRICS.items()}}


def families() -> dict[str, list[Spec]]:
    """The metrics by module, the modules with the most common metrics first."""
    found = defaultdict(list)
    for spec in METRICS.values():
        found[spec.family].append(spec)
    usual = {rm.metric(text).name for text in rm.DEFAULT_METRICS}
    return dict(sorted(found.items(), key=lambda f: -sum(spec.name in usual for spec in f[1])))


# -- the overview -----------------------------------------------------------------------------


def _overview() -> str:
    parts = [heading("Metrics", "="), LEAD, facts(NOTATION), THE_LIST, raw_html(picture())]
    for module, specs in families().items():
        title, _, about = inspect.getdoc(sys.modules[module]).partition(": ")
        parts += [heading(title, "-"), about[0].upper() + about[1:]]
        rows = [
            (f":doc:`{spec.name} </metrics/{spec.name}>`", spec.summary.rstrip("."), _range(spec),
             shown(values(_at(spec, K))[0]))
            for spec in specs
        ]  # fmt: skip
        heads = ["metric", "meaning", "range", f"on the list, k = {K}"]
        parts.append(table(heads, rows, widths=[18, 52, 15, 15]))
        names = "\n".join(f"   {spec.name} <{spec.name}>" for spec in specs)
        parts.append(f".. toctree::\n   :hidden:\n   :caption: {title}\n\n{names}")
    return paragraphs(*parts)


# -- a page -----------------------------------------------------------------------------------


def page(spec: Spec) -> str:
    """The page of one metric."""
    doc = FunctionDoc(spec.function)
    notes, source = _notes_and_source(doc)
    notes, extra = _formula_of(spec, notes)
    return paragraphs(
        f".. _metric-{spec.name}:",
        heading(spec.title, "="),
        f".. rst-class:: rm-lead\n\n{spec.summary}",
        "\n".join(doc["Extended Summary"]),
        facts(_facts(spec)),
        _formula(extra),
        f".. code-block:: python\n\n   {line(spec)}",
        heading("On the example list", "-"),
        _on_the_list(spec),
        f"How the value of {code(_at(spec, K))} is computed ({code('result.show')}):",
        raw_html(steps(_at(spec, K))),
        *_options(spec, doc),
        heading("Edge cases and notes", "-") + "\n" + notes if notes else "",
        heading("Names", "-"),
        _names(spec),
        heading("한국어 요약", "-") + "\n" + summary(spec.name) if summary(spec.name) else "",
        heading("Example", "-") + "\n" + "\n".join(doc["Examples"]) if doc["Examples"] else "",
        heading("Source", "-") + "\n" + source if source else "",
    )


def _facts(spec: Spec) -> list[tuple[str, str]]:
    return [
        ("Name", code(spec.name)),
        ("Range", _all_ranges(spec)),
        ("Better", "larger values" if spec.increasing else "smaller values"),
        ("Cutoff", _cutoff(spec)),
        ("Needs", _needs(spec)),
        ("Unresolved ties", _OPEN_TIES[spec.open_ties]),
    ]


_OPEN_TIES = {
    True: f"the mean over all orders ({code('ties=expected')})",
    False: f"refused: choose a rule that orders tied items, such as {code('ties=item')}",
}


def _needs(spec: Spec) -> str:
    said = f"rankings; {needs(spec.name)}".removesuffix("; ")
    return f"{said} (:doc:`their forms </guide/beyond-accuracy>`)" if "=" in said else said


def _cutoff(spec: Spec) -> str:
    if spec.cutoff:
        return f"{code(f'{spec.name}@k')}, or none: the whole list"
    if spec.at:
        return f"none; the number after @ is the option {code(spec.at)}"
    return "none"


def _formula(extra: dict[str, str]) -> str:
    if not extra:
        return ""
    return paragraphs(
        heading("Formula", "-"),
        f".. math::\n\n   {extra['formula']}",
        extra.get("where", ""),
        _letters(extra["formula"], extra.get("where", "")) if "reading" in extra else "",
        extra.get("reading", ""),
    )


def _letters(formula: str, where: str) -> str:
    """What the letters mean that `where` does not explain."""
    text = re.sub(r"\\(?:text|operatorname|mathrm|mathtt)\{[^}]*\}", " ", formula)
    found = [
        meaning for pattern, meaning in LETTERS
        if re.search(pattern, text) and not re.search(rf"(?<!\w){meaning[1]}(?!\w)", where)
    ]  # fmt: skip
    return f"{'; '.join(found)}." if found else ""


def line(spec: Spec) -> str:
    """The line that computes the metric, with names of the data that it needs."""
    asked = needs(spec.name)
    side = [name for name in inspect.signature(rm.evaluate).parameters if f"{name}=" in asked]
    data = ["rankings", *["truth"] * ("ground truth" in asked)]
    named = [f'metrics="{_at(spec, 10)}"', *(f"{name}={name}" for name in side)]
    return f"rm.evaluate({', '.join([*data, *named])})"


def _formula_of(spec: Spec, notes: str) -> tuple[str, dict[str, str]]:
    """The notes without their formula, and the formula of the metric."""
    if spec.name in formulas():
        return notes, formulas()[spec.name]
    found = re.search(r"^\.\. math::((?: .*)?(?:\n *$|\n +.*)*)", notes, re.MULTILINE)
    if not found:
        return notes, {}
    lines = [line.strip() for line in found[1].splitlines()]
    text = "\n   ".join(line for line in lines if line)
    return (notes[: found.start()] + notes[found.end() :]).strip(), {"formula": text}


def _on_the_list(spec: Spec) -> str:
    wanted = given(spec)
    chosen = ", ".join(f"{code(f'{name}={_spell(v)}')}" for name, v in wanted.items())
    with_options = f" (with {chosen})" if chosen else ""
    if spec.cutoff:
        said = f"The value of {code(f'{spec.name}@k')}{with_options} for each cutoff k:"
    else:
        said = f"The value of {code(_at(spec, None))} is {shown(values(_at(spec, None))[0])}."
    pool = ""
    if asks(spec):
        pool = "Items with gain 0 were judged not relevant; items with ? were not judged."
    return paragraphs(
        f"Six items are relevant; two of them are not in the list. {said} {pool}".strip(),
        raw_html(picture(spec)),
    )


# -- options ----------------------------------------------------------------------------------


def _options(spec: Spec, doc: FunctionDoc) -> list[str]:
    if not spec.options:
        return []
    parameters = {
        name: parameter for parameter in doc["Parameters"] for name in parameter.name.split(", ")
    }
    parts = [heading("Options", "-")]
    for option in spec.options.values():
        if option.name not in parameters:
            raise LookupError(f"the docstring of {spec.name} does not describe {option.name}")
        described = "\n".join(parameters[option.name].desc)
        parts += [heading(option.name, "~"), described, _permitted(option), _choices(spec, option)]
    return parts


def _permitted(option: Option) -> str:
    """The values of an option other than the words in the table below."""
    kinds = {int: "An integer", float: "A number", bool: "true or false"}
    said = [kinds[option.type]] if option.type is not None else []
    said += [code("none")] if option.optional else []
    if option.required:
        return f"{' or '.join(said)}; required." if said else "Required."
    standard = f"default {code(_spell(option.default))}" if not option.choices else ""
    return "; ".join(filter(None, [" or ".join(said), standard])) + "." if said else ""


def _choices(spec: Spec, option: Option) -> str:
    """The value on the list with each choice, and the conventions that use it."""
    users = choosers(spec.name, option.name)
    flags = [False, True] if option.type is bool else []
    numbers = sorted(v for v in users if isinstance(v, int | float))
    tried = list(option.choices) or flags or numbers
    if not tried:
        return ""
    cutoffs = [K, 10] if spec.cutoff else [None]
    rows = []
    for choice in tried:
        own = not option.required and choice == option.default
        row = [code(_spell(choice)) + (" (default)" if own else "")]
        row += _try([_at(spec, k) for k in cutoffs], option, choice)
        rows.append([*row, ", ".join(users.get(choice, []))])
    heads = [f"@{k}" if k else "on the list" for k in cutoffs]
    columns = [option.name, *heads, "conventions"]
    widths = [26, *([14] * len(cutoffs)), 74 - 14 * len(cutoffs)]
    return table(columns, rows, widths=widths)


def _try(metrics: list[Metric], option: Option, choice: Any) -> list[str]:
    """The values with a choice, or dashes where it is refused."""
    chosen = {option.name: choice}
    try:
        made = [one(**chosen) @ one.k if one.k else one(**chosen) for one in metrics]
        return [shown(found) for found in values(*made)]
    except (UsageError, LookupError):
        return ["–"] * len(metrics)


# -- names ------------------------------------------------------------------------------------


def _names(spec: Spec) -> str:
    """The metric strings of the metric; each is checked to be accepted."""
    metric = _at(spec, 10)
    forms = [str(metric)]
    if spec.cutoff:
        forms += [f"{str(metric).removesuffix('@10')}{cut}10" for cut in ("_", "_at_", "_cut_")]
    choice = next((option for option in spec.options.values() if len(option.choices) > 1), None)
    if choice is not None:
        other = next(word for word in choice.choices if word != choice.default)
        chosen = metric(**{choice.name: other})
        forms.append(str(chosen @ 10 if spec.cutoff else chosen))
    at = "@10" if spec.cutoff else ""
    presets = [f"{name}{at}" for name, (target, _) in PRESETS.items() if target == spec.name]
    synonyms = [*spec.synonyms, *presets]
    for text in [*synonyms, *forms]:
        if rm.metric(text).name != spec.name:
            raise LookupError(f"{text} is read as {rm.metric(text)}, not as {spec.name}")
    needed = ", ".join(f"{name}={value!r}" for name, value in given(spec).items())
    call = f"({needed})" if needed else ""
    python = [f"rm.{name}{call}{' @ 10' if spec.cutoff else ''}"
              for name, one in ready_made().items() if one.name == spec.name]  # fmt: skip
    shell = f"'{metric}'" if "(" in str(metric) else str(metric)
    rows = [
        ("Written", ", ".join(map(code, forms))),
        ("Also called", ", ".join(map(code, synonyms))),
        ("In Python", ", ".join(map(code, python))),
        ("In a shell", code(f"rankmeter evaluate RANKINGS TRUTH -m {shell}")),
    ]
    said = "Names ignore case, spaces, hyphens and underscores."
    return paragraphs(facts([row for row in rows if row[1]]), said)


# -- pieces -----------------------------------------------------------------------------------


def _at(spec: Spec, k: int | None) -> Metric:
    metric = Metric(spec.name)(**given(spec))
    return metric @ k if k and spec.cutoff else metric


def _notes_and_source(doc: FunctionDoc) -> tuple[str, str]:
    """The notes without the sentence that names the sources, and that sentence separately."""
    text = re.sub(r"\bEdge cases: (\w)", lambda m: m[1].upper(), "\n".join(doc["Notes"]))
    notes, *rest = re.split(r"\bSources?:\s+", text, maxsplit=1)
    source = "".join(rest).strip()
    return notes.strip(), source[:1].upper() + source[1:]


def _range(spec: Spec) -> str:
    return f"{format_bound(spec.low)} to {format_bound(spec.high)}"


def _all_ranges(spec: Spec) -> str:
    others = (
        f"{format_bound(low)} to {format_bound(high)} with {' or '.join(map(code, names))}"
        for (low, high), names in spec.ranges().items()
    )
    return "; ".join([_range(spec), *others])


def _spell(value: Any) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
