"""``rankmeter audit``: Say whether an experiment can answer its question."""

from __future__ import annotations

from typing import Any

import click

from rankmeter._audit.audit import Audit, audit
from rankmeter._audit.findings import CHECKS
from rankmeter._cli._command import Command, CommandOption, WordChoice
from rankmeter._cli._files import refuse_overwriting, standard_input_as_file
from rankmeter._cli._gates import exit_on_failures
from rankmeter._cli._options import build_options, given_options
from rankmeter._cli._output import Formats
from rankmeter._cli._terminal import print_sentences, print_table, show_spinner
from rankmeter._cli.compare import runs_by_name
from rankmeter.errors import UsageError

LEAK = "leak"
"""The word for every finding of high severity."""


def _print_audit(found: Audit) -> None:
    first, *others = found.lines()
    print_sentences([first])
    click.echo()
    if found.findings:
        print_table(found.table())
        click.echo()
    print_sentences(others)


FORMATS: Formats[Audit] = Formats(
    _print_audit,
    table=repr,
    csv=Audit.to_csv,
    md=Audit.to_markdown,
    latex=Audit.to_latex,
    json=Audit.to_json,
)


def _run_command(
    train: str,
    test: str,
    rankings: tuple[str, ...],
    conditions: tuple[str, ...],
    form: str | None,
    as_json: bool,
    output: str | None,
    **choices: Any,
) -> None:
    form = FORMATS.choose_format(form, as_json=as_json)
    systems = _systems(rankings)
    refuse_overwriting([output], [train, test, *systems.values()])
    with standard_input_as_file(train, test) as parts, show_spinner("auditing"):
        found = audit(parts[0], parts[1], systems or None, **given_options(choices))
    FORMATS.write_result(found, form, output)
    exit_on_failures((condition, _failure_reason(found, condition)) for condition in conditions)


def _systems(texts: tuple[str, ...]) -> dict[str, str]:
    """Rankings by name: ``name=FILE``, or files, which are their own names."""
    named = runs_by_name(texts)
    if named is None:
        return {text: text for text in texts}
    several = [name for name, file in named.items() if not isinstance(file, str)]
    if several:
        raise UsageError(f"{several[0]} has several files: audit each of them under its own name")
    return {name: str(file) for name, file in named.items()}


def _failure_reason(found: Audit, condition: str) -> str:
    """What was found of a condition in words; empty if nothing."""
    return "; ".join(
        f"{f.count:,} of {f.of:,} {f.title}"
        for f in found.findings
        if condition == f.check or (condition == LEAK and f.severity == "high")
    )


command = Command(
    "audit",
    "Say whether an experiment can answer its question, before any number.\n\n"
    "TRAIN and TEST are files of interactions with columns for user, item and, if there is one, "
    "time; RANKINGS are files of rankings, NAME=FILE to name them. Finds what lets a ranking see "
    "the answer (severity high), leaves the number to chance (medium), or must be said with it "
    "(low).",
    _run_command,
    [
        click.Argument(["train"], type=click.Path()),
        click.Argument(["test"], type=click.Path()),
        click.Argument(["rankings"], nargs=-1, metavar="[RANKINGS]..."),
        *FORMATS.build_options("Format of the findings; default: a table and sentences."),
        CommandOption(
            "conditions --fail-if",
            "Exit with code 1 if this was found: leak, which is all of severity high, or one "
            "finding by its name. May be repeated.",
            multiple=True,
            type=WordChoice([LEAK, *CHECKS]),
            metavar="FINDING",
            group="Output",
        ),
        *build_options({"audit": audit}, group="Options"),
    ],
    topics={"Findings": {name: f"{c.severity}: {c.subject}" for name, c in CHECKS.items()}},
    example="rankmeter audit train.csv truth.csv old=old.csv new=new.csv",
)
