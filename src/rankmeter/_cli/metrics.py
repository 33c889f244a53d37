"""``rankmeter metrics``: List the metrics, or explain one."""

from __future__ import annotations

import re
from typing import Any

import click

from rankmeter._choices import format_bound
from rankmeter._cli._command import Command
from rankmeter._cli._options import complete_metrics, parameter_text, read_docstring, remove_markup
from rankmeter._cli._output import json_option, print_result
from rankmeter._cli._terminal import terminal_help_formatter
from rankmeter.metrics import METRICS, Option, Spec, metric


def _run_command(name: str | None, as_json: bool) -> None:
    if name is None:
        print_result(
            {"metrics": [*map(_spec_as_dict, METRICS.values())]}, _list_metrics(), as_json=as_json
        )
    else:
        spec = metric(name).spec
        print_result(_spec_as_dict(spec), _explain_metric(spec), as_json=as_json)


def _list_metrics() -> str:
    formatter = terminal_help_formatter()
    formatter.write_dl([(name, _metric_facts(spec, spec.title)) for name, spec in METRICS.items()])
    return formatter.getvalue().rstrip()


def _metric_facts(spec: Spec, *first: str) -> str:
    also = [f"also {', '.join(spec.synonyms)}"] if spec.synonyms else []
    better = "higher" if spec.increasing else "lower"
    low, high = format_bound(spec.low), format_bound(spec.high)
    return "; ".join([*first, f"{low} to {high}, {better} is better", *also])


def _other_ranges(spec: Spec) -> str:
    """The ranges under other options and choices, in words, or an empty text."""
    return "; ".join(
        f"{format_bound(low)} to {format_bound(high)} with {' or '.join(names)}"
        for (low, high), names in spec.ranges().items()
    )


def _explain_metric(spec: Spec) -> str:
    doc = read_docstring(spec.function)
    formatter = terminal_help_formatter()
    formatter.write_text(f"{spec.name}{'@k' if spec.cutoff else ''} · {spec.title}")
    formatter.write_text("; ".join(filter(None, [_metric_facts(spec), _other_ranges(spec)])))
    formatter.write_paragraph()
    formatter.write(remove_markup(doc.text) + "\n")
    if spec.options:
        with formatter.section("Options, written as " + _example_metric_string(spec)):
            rows = [
                (f"{name}={_option_values_text(option)}", _option_text(spec, name, option))
                for name, option in spec.options.items()
            ]
            formatter.write_dl(rows, col_max=36)
    for title in ("Notes", "Examples"):
        if title in doc.sections:
            with formatter.section(title):
                lines = remove_markup(doc.sections[title]).splitlines()
                formatter.write("".join(f"  {line}".rstrip() + "\n" for line in lines))
    # Click separates paragraphs by empty lines, and the items of a list are paragraphs.
    return re.sub(r"\n *\n(?= *(?:\* |\[default))", "\n", formatter.getvalue()).rstrip()


def _example_metric_string(spec: Spec) -> str:
    """Example of a metric string with the first option and its first value."""
    name, option = next(iter(spec.options.items()))
    value = option.choices[0] if option.choices else "…"
    return f"{spec.name}({name}={value}){'@10' if spec.cutoff else ''}"


def _option_values_text(option: Option) -> str:
    words = list(option.choices)
    if option.type is not None:
        words.append({int: "INTEGER", float: "NUMBER", bool: "true|false"}[option.type])
    if option.optional:
        words.append("none")
    return "|".join(words)


def _option_text(spec: Spec, name: str, option: Option) -> str:
    """Format the effect of an option and its default, separated from the last item of a list."""
    text = parameter_text(spec.function, name)
    default = f"default: {'none' if option.default is None else option.default}"
    apart = "\n\n" if "\n" in text else " "
    return f"{text}{apart}[{'required' if option.required else default}]"


def _spec_as_dict(spec: Spec) -> dict[str, Any]:
    return {
        "name": spec.name,
        "title": spec.title,
        "summary": remove_markup(read_docstring(spec.function).summary),
        "low": spec.low,
        "high": spec.high,
        "increasing": spec.increasing,
        "cutoff": spec.cutoff,
        "synonyms": list(spec.synonyms),
        "options": {
            name: {
                "required": option.required,
                "default": None if option.required else option.default,
                "choices": list(option.choices),
                "number": None if option.type is None else option.type.__name__,
                "optional": option.optional,
            }
            for name, option in spec.options.items()
        },
    }


command = Command(
    "metrics",
    "List the metrics, or explain the metric NAME: its options, edge cases and an example.",
    _run_command,
    [click.Argument(["name"], required=False, shell_complete=complete_metrics), json_option()],
    example="rankmeter metrics\nrankmeter metrics ndcg",
)
