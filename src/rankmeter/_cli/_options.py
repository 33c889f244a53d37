"""Options made from signatures and docstrings: names, types, choices, defaults and help."""

from __future__ import annotations

import functools
import inspect
import re
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import click

from rankmeter._choices import (
    ALIASES,
    CHOICES,
    EVERY,
    name_and_aliases,
    permitted_words_and_types,
)
from rankmeter._cli._command import LARGE, RARE, SIDE, CommandOption, WordChoice, spell_flag
from rankmeter.errors import UsageError
from rankmeter.errors._checks import unknown_word_error

_HEADING = re.compile(r"^(?P<title>\S[^\n]*)\n-{3,}$", re.MULTILINE)
_ENTRY = re.compile(
    r"^(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : (?P<type>[^\n]*))?$", re.MULTILINE
)


@dataclass(frozen=True)
class Docstring:
    """The parts of a docstring, in plain text."""

    text: str  # everything above the first section
    parameters: dict[str, str]  # each on one line; the items of lists are paragraphs
    sections: dict[str, str]  # the others, by title

    @property
    def summary(self) -> str:
        """The first paragraph, on one line."""
        return _join_lines(self.text.partition("\n\n")[0])


@functools.cache
def read_docstring(thing: Callable[..., Any]) -> Docstring:
    """Parse the docstring of a function; no docstring (``python -OO``) gives empty parts."""
    source = inspect.getdoc(thing) or ""
    text, *titled = _HEADING.split(source)
    sections = dict(zip(titled[::2], (part.strip("\n") for part in titled[1::2]), strict=True))
    parameters = {}
    _, *entries = _ENTRY.split(sections.pop("Parameters", ""))
    for names, body in zip(entries[::3], entries[2::3], strict=True):
        for name in names.split(", "):
            items = re.split(r"\n\s*(?=\* )", body)
            parameters[name.lstrip("*")] = "\n\n".join(map(_join_lines, items))
    return Docstring(text.strip(), parameters, sections)


def parameter_text(function: Callable[..., Any], name: str) -> str:
    """The text of a docstring about a parameter, without markup.

    A docstring that does not repeat itself is followed: ``As in `leave_k_out`.`` or a text that
    names the function without listing the parameter leads there.
    """
    doc = read_docstring(function)
    text = doc.parameters.get(name, "")
    referred = re.fullmatch(r"As in `(\w+)`\.", text)
    if text and not referred:
        return remove_markup(text)
    for other in [referred[1]] if referred else re.findall(r"`(\w+)`", doc.text):
        target = getattr(inspect.getmodule(function), other, None)
        if callable(target) and (inherited := parameter_text(target, name)):
            return inherited
    return remove_markup(text)


def remove_markup(text: str) -> str:
    """Remove the inline markup of reStructuredText from a text."""
    return re.sub(r"``(.+?)``|`(.+?)`", lambda m: m[1] or m[2], text, flags=re.DOTALL)


def _join_lines(text: str) -> str:
    return " ".join(text.split())


COLUMNS_HELP = (
    "Which column has which role, if the names do not say so: user=member,item=sku; gain= if "
    "no column has it. May be repeated."
)
HEADINGS = {
    SIDE: ("train", "items", "catalogue", "baseline_lists", "propensity", "collapse", "judge"),
    LARGE: ("engine", "memory"),
}
"""Headings of the help, and the options under them."""
SIDES_HELP = "If the two files differ: rankings.user=member,truth.user=customer."


def build_options(
    functions: Mapping[str, Callable[..., Any]], *, group: str, without: Iterable[str] = ()
) -> list[CommandOption]:
    """Build the options for the keyword-only parameters of functions that a command calls.

    `functions` are by the name that the help shows, `without` are the parameters that the command
    provides in its own way. An option that is not given has the value None.
    """
    hints: dict[str, list[Any]] = {}
    texts: dict[str, dict[str, list[str]]] = {}  # parameter → text → the methods with this text
    for method, function in functions.items():
        taken = {n: hint for n, hint in function.__annotations__.items() if n != "return"}
        types = typing.get_type_hints(
            SimpleNamespace(__annotations__=taken), inspect.unwrap(function).__globals__
        )  # without Polars, which the return type may name
        for parameter in _keyword_parameters(function):
            if (name := parameter.name) not in without:
                hints.setdefault(name, []).append(types.get(name, parameter.annotation))
                text = parameter_text(function, name) + _default_text(parameter)
                texts.setdefault(name, {}).setdefault(text, []).append(method)
    two_sided = all("truth" in inspect.signature(f).parameters for f in functions.values())
    measures = {name for name, choice in CHOICES.items() if choice.inputs == EVERY} <= texts.keys()
    options = []
    for name, methods in texts.items():
        text = " ".join(f"{', '.join(who)}: {text}" for text, who in methods.items())
        if [*methods.values()] == [[*functions]]:
            (text,) = methods  # all say the same
        heading = _option_heading(name, group) if measures else group
        options += (
            [_columns_option(heading, two_sided=two_sided), _encoding_option(heading)]
            if name == "columns"
            else [_build_option(name, _click_type(hints[name]), text, heading)]
        )
    return options


def _option_heading(name: str, group: str) -> str:
    """Heading of an option in the help of a command that measures."""
    if name in CHOICES and CHOICES[name].rare:
        return RARE
    return next((heading for heading, names in HEADINGS.items() if name in names), group)


def metrics_option(
    help_text: str, *, required: bool = False, group: str = "Options"
) -> CommandOption:
    """Build the option ``--metric``; repeatable, so that no metric is dropped silently."""
    return CommandOption(
        "metrics -m --metric",
        help_text,
        required=required,
        multiple=True,
        shell_complete=complete_metrics,
        group=group,
    )


def complete_metrics(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a metric, for a shell."""
    from rankmeter.metrics import METRICS

    return [name for name in METRICS if name.startswith(incomplete.lower())]


def complete_conventions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Complete the name of a convention, for a shell."""
    from rankmeter.conventions import convention_names

    return [name for name in convention_names() if name.startswith(incomplete.lower())]


def given_options(choices: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given on the command line."""
    return {name: value for name, value in choices.items() if value not in (None, ())}


def side_files(choices: Mapping[str, Any]) -> list[str | None]:
    """The files with side data."""
    return [choices.get(name) for name in ("clusters", *HEADINGS[SIDE])]


def select_method_options(
    functions: Mapping[str, Callable[..., Any]], method: str, choices: Mapping[str, Any]
) -> dict[str, Any]:
    """Select the options given on the command line, and check that the method has each option."""
    options = given_options(choices)
    for name in options:
        having = [
            other
            for other, function in functions.items()
            if name in {parameter.name for parameter in _keyword_parameters(function)}
        ]
        if method not in having:
            raise UsageError(
                f"{spell_flag(name)} is not an option of {method}, but of {', '.join(having)}"
            )
    return options


def method_summaries(functions: Mapping[str, Callable[..., Any]]) -> dict[str, str]:
    """One-line summary of each method."""
    return {
        method: remove_markup(read_docstring(function).summary)
        for method, function in functions.items()
    }


def _keyword_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    parameters = inspect.signature(function).parameters.values()
    return [parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]


def _build_option(name: str, kind: click.ParamType[Any], text: str, group: str) -> CommandOption:
    names = " ".join([name, *map(spell_flag, name_and_aliases(name, ALIASES))])
    if kind is click.BOOL:
        names += f"/{spell_flag('no_' + name)}"
    complete = complete_conventions if name == "like" else None
    return CommandOption(names, text, type=kind, default=None, shell_complete=complete, group=group)


def _default_text(parameter: inspect.Parameter) -> str:
    """Format the default of an option for the help; empty for None."""
    default = parameter.default
    if isinstance(default, bool):
        default = "yes" if default else "no"
    return "" if default is None else f" [default: {default}]"


def _click_type(hints: list[Any]) -> click.ParamType[Any]:
    """Click type of an option with these type hints."""
    choices: dict[str, None] = {}
    plain: set[Any] = set()
    for hint in hints:
        words, other_types = permitted_words_and_types(hint)
        choices.update(dict.fromkeys(words))
        plain.update(other_types)
    plain.discard(types.NoneType)
    if choices and not plain:
        return WordChoice(choices)
    for kinds, kind in (({bool}, click.BOOL), ({int}, click.INT), ({int, float}, click.FLOAT)):
        if plain and plain <= kinds:
            return kind
    return click.STRING


def _columns_option(group: str, *, two_sided: bool) -> CommandOption:
    return CommandOption(
        "columns --columns",
        f"{COLUMNS_HELP} {SIDES_HELP}" if two_sided else COLUMNS_HELP,
        multiple=True,
        default=None,
        metavar="ROLE=NAME",
        callback=_parse_columns_by_side if two_sided else _parse_columns,
        group=group,
    )


def _encoding_option(group: str) -> CommandOption:
    return CommandOption(
        "--encoding",
        "Encoding of text files, such as cp949 or latin-1. Default: UTF-8.",
        default=None,
        metavar="NAME",
        expose_value=False,
        callback=_choose_encoding,
        group=group,
    )


def _choose_encoding(ctx: click.Context, param: click.Parameter, name: str | None) -> None:
    """Read all text files of this command in an encoding."""
    if name is None or ctx.resilient_parsing:
        return
    from rankmeter._formats.files import ENCODING

    try:
        "a".encode(name)
    except (LookupError, ValueError):
        raise UsageError(
            f"--encoding {name!r} is not the name of an encoding, as cp949 and latin-1 are"
        ) from None
    token = ENCODING.set(name)
    ctx.call_on_close(lambda: ENCODING.reset(token))


def _parse_columns(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, str | None] | None:
    """Parse ``user=member,item=sku`` into a dictionary; a name may contain commas, or be empty."""
    if ctx.resilient_parsing:  # in completion the value may still be incomplete
        return None
    columns: dict[str, str | None] = {}
    for text in (part for option in texts for part in re.split(r",(?=[\w.]+=)", option)):
        role, equals, name = (part.strip() for part in text.partition("="))
        if not (role and equals):
            raise UsageError(f"--columns {text!r} is not of the form ROLE=NAME, as user=member is")
        if columns.setdefault(role, name or None) != (name or None):
            raise UsageError(f"--columns names {role} twice: {columns[role]} and {name}")
    return columns or None


def _parse_columns_by_side(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> Mapping[str, Any] | None:
    """Parse columns by side: ``side.role=name`` holds for that side, ``role=name`` for both."""
    columns = _parse_columns(ctx, param, texts) or {}
    shared = {role: name for role, name in columns.items() if "." not in role}
    if len(shared) == len(columns):
        return shared or None
    sides = {"rankings": dict(shared), "truth": dict(shared)}
    for role in (role for role in columns if role not in shared):
        side, _, side_role = role.partition(".")
        if side not in sides:
            raise unknown_word_error("side of --columns", side, sides)
        sides[side][side_role] = columns[role]
    return sides
