"""What the commands that evaluate scores and ranks share: options of the output, and writing it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import click
import polars as pl

from rankmeter._cli._command import Option
from rankmeter._cli._files import TABLES, check_paths, format_of, write_frames
from rankmeter._cli._gates import exit_on, read_gate
from rankmeter._cli._output import Formats
from rankmeter._cli._show import print_walks, show_option
from rankmeter._cli._terminal import print_table
from rankmeter._report.table import Table
from rankmeter._results.summary import Summary


def _tables(result: Summary) -> list[Table]:
    """The means, and those of groups."""
    names = [] if result.groups is None else result.groups.columns
    return [result.table(), *map(result.group_table, names)]


def _show(result: Summary) -> None:
    for place, table in enumerate(_tables(result)):
        if place:
            click.echo()
        print_table(table)


def _csv(result: Summary) -> str:
    """One table: the rows of groups have a group and a segment."""
    if result.groups is None:
        return result.to_csv()
    groups = [
        result.by_group(name).with_columns(group=pl.lit(name)) for name in result.groups.columns
    ]
    rows: pl.DataFrame = pl.concat([result.to_polars(), *groups], how="diagonal_relaxed")
    return rows.select("group", "segment", pl.exclude("group", "segment")).write_csv()


FORMATS: Formats[Summary] = Formats(
    _show,
    table=lambda result: "\n\n".join(table.to_text() for table in _tables(result)),
    csv=_csv,
    md=lambda result: "\n\n".join(table.to_markdown() for table in _tables(result)),
    latex=lambda result: "\n\n".join(table.to_latex() for table in _tables(result)),
    json=Summary.to_json,
)


def output_options() -> list[Option]:
    """Format, files and gates."""
    return [
        *FORMATS.options("Format of the result; default: a table."),
        Option(
            "--per-user",
            "Write the value of every query and metric to a .csv, .tsv, .jsonl or .parquet file.",
            path="FILE",
            group="Output",
        ),
        Option(
            "conditions --fail-if",
            "Exit with code 1 if this holds: 'mrr<0.2'. A NaN mean also fails. May be repeated.",
            multiple=True,
            metavar="CONDITION",
            group="Output",
        ),
        show_option(),
    ]


def files_of(choices: Mapping[str, Any]) -> list[str | None]:
    """What may be files of the input among the options."""
    names = ("negatives", "exclude", "candidates", "upper", "users", "groups", "clusters")
    return [choices.get(name) for name in names]


def check_output(per_user: str | None, output: str | None, inputs: list[str | None]) -> None:
    """Refuse files that cannot be written, before anything is computed."""
    if per_user is not None:
        format_of(per_user, TABLES)
    check_paths([output, per_user], inputs)


def write(
    result: Summary,
    per_user: str | None,
    output: str | None,
    form: str,
    conditions: tuple[str, ...],
    like: str | None,
    show: tuple[str, ...],
) -> None:
    """Write the result and its values; exit with code 1 if a condition holds."""
    walks = [result.show(user) for user in show]
    figures = [(gate, gate.find(result)) for gate in [read_gate(c, like) for c in conditions]]
    if per_user is not None:
        write_frames({per_user: result.pieces_by_user})
    FORMATS.emit(result, form, output)
    print_walks(walks)
    exit_on((gate, gate.reason(value)) for gate, value in figures)
