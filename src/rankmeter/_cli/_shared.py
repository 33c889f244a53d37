"""What several commands share: the Spark session, and the outputs of a result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import polars as pl

from rankmeter._cli._command import LARGE, CommandOption
from rankmeter._cli._files import STDIN, TABLES, output_format, refuse_overwriting, write_frames
from rankmeter._cli._gates import ComparisonGate, Gate, exit_on_failures, fail_if_option
from rankmeter._cli._options import metrics_option
from rankmeter._cli._output import AnswerFormats, Formats, check_page_name, end_of_summary
from rankmeter._cli._terminal import print_walkthrough
from rankmeter._files import is_result_name
from rankmeter._results.evaluated import labels_by_group
from rankmeter._results.summary import Summary
from rankmeter.errors import UsageError

if TYPE_CHECKING:
    from rankmeter._results.walkthrough import Walkthrough


def master_option() -> CommandOption:
    """Build the option ``--master``."""
    return CommandOption(
        "--master",
        "The cluster of --engine spark: local[4], spark://HOST:7077, yarn, sc://HOST. "
        "Default: that of spark-submit, or all cores of this machine.",
        metavar="URL",
        group=LARGE,
    )


def start_spark(master: str | None, engine: str | None) -> None:
    """Start a Spark session on `master`, if one is given."""
    if master is None:
        return
    if engine != "spark":
        raise UsageError("--master has no effect without --engine spark")
    from rankmeter._reading.spark import spark_session

    spark_session(master)


def show_option(scope: str = "") -> CommandOption:
    """Build the option ``--show``; `scope` says more about the values."""
    return CommandOption(
        "--show",
        f"Show how a user's values are computed{scope}: rank, item, gain, discount, term, sum, "
        "ideal. May be repeated.",
        multiple=True,
        metavar="USER",
        group="Output",
    )


def segments_option(effect: str, *, group: str = "Output") -> CommandOption:
    """Build the option ``--segments``; `effect` says what the segments are for."""
    help_text = f"A file with the columns user and segment: {effect}"
    return CommandOption("--segments", help_text, path="FILE", group=group)


def per_user_option(unit: str, remark: str = "") -> CommandOption:
    """Build the option ``--per-user``; a value belongs to a `unit` and a metric."""
    formats = "a .csv, .tsv, .jsonl or .parquet file."
    help_text = f"Write the value of every {unit} and metric to {formats}{remark}"
    return CommandOption("--per-user", help_text, path="FILE", group="Output")


@dataclass(frozen=True)
class Outputs:
    """The files and formats of a result: the options of a command in the group ``Output``."""

    formats: Formats[Any]
    form: str
    output: str | None
    report: str | None = None
    queries: str | None = None
    static: bool = False
    per_user: str | None = None
    worst: str | None = None
    conditions: tuple[str, ...] = ()
    show: tuple[str, ...] = ()
    details: bool = False
    stored: str | None = None
    """A file that stores the result; the format is then written on standard output."""

    @classmethod
    def take_from_options(cls, formats: Formats[Any], options: dict[str, Any]) -> Outputs:
        """Remove the output options from the options of a command, check them, and return them."""
        form = formats.choose_format(options.pop("form"), as_json=options.pop("as_json"))
        names = [field.name for field in fields(cls) if field.name in options]
        outputs = cls(formats, form, **{name: options.pop(name) for name in names})
        if formats.stores and is_result_name(outputs.output):
            outputs = replace(outputs, output=None, stored=outputs.output)
        if outputs.details and form not in ("table", "md"):
            raise UsageError(f"--details is for tables and Markdown: --format {form} has no more")
        if outputs.show and (form != "table" or outputs.output not in (None, STDIN)):
            raise UsageError("--show writes a table on standard output: leave out --format and -o")
        for option in ("queries", "static"):
            if getattr(outputs, option) and outputs.report is None:
                raise UsageError(
                    f"--{option} is for the page: add --report FILE.html", option=option
                )
        return outputs

    def check_files(self, inputs: Sequence[str | None]) -> None:
        """Refuse files that cannot be written, before anything is computed."""
        tables: list[str | None] = [self.per_user, self.worst]
        for path in filter(None, tables):
            output_format(path, TABLES)
        check_page_name(self.report)
        paths = [self.output, self.stored, self.report, *tables]
        refuse_overwriting(paths, [*inputs, self.queries])

    def write_page_and_trace_users(self, result: Any, **page: Any) -> list[Walkthrough]:
        """Write the page of a result, store it, and return the walkthroughs of the users."""
        walks = [result.show(user) for user in self.show]
        if self.report is not None:
            asked = {"interactive": not self.static, "queries": self.queries}
            result.report(self.report, **asked, **page)
        if self.stored is not None:
            result.save(self.stored)
        return walks

    def write_result(
        self,
        result: Any,
        walks: Iterable[Walkthrough] = (),
        gates: Iterable[Gate | ComparisonGate] = (),
        frames: Mapping[str, Any] = MappingProxyType({}),
        before: str | None = None,
    ) -> None:
        """Write the result, its values by user and other `frames` by file.

        Lines `before` the result have the values by user. Exits with code 1 if a gate trips.
        """
        reasons = [(gate.text, gate.failure_reason(result)) for gate in gates]
        if self.per_user is not None and before is None:
            frames = {self.per_user: result._pieces_by_user, **frames}
        write_frames(frames)
        formats = self.formats
        if self.details and isinstance(formats, AnswerFormats):
            formats = formats.in_detail()
        after = end_of_summary(result, reasons) if self.form == "github" else ""
        formats.write_result(result, self.form, self.output, before=before or "", after=after)
        for walk in walks:
            print_walkthrough(walk)
        exit_on_failures(reasons)


def means_csv(result: Summary) -> str:
    """Means as CSV in one table; rows of groups have a group and a segment."""
    if result.groups is None:
        return result.to_csv()
    names = result.groups.columns
    groups = (result.by_group(name).with_columns(group=pl.lit(name)) for name in names)
    rows: pl.DataFrame = pl.concat([result.to_polars(), *groups], how="diagonal_relaxed")
    return rows.select("group", "segment", pl.exclude("group", "segment")).write_csv()


def means_latex(result: Summary) -> str:
    groups = map(result.group_table, labels_by_group(result))
    return "\n\n".join([result.to_latex(), *(table.to_latex() for table in groups)])


FORMATS: AnswerFormats[Summary] = AnswerFormats(
    csv=means_csv, latex=means_latex, json=Summary.to_json, stores=True
)


def evaluation_options() -> list[CommandOption]:
    """Build the options for metrics, format, files and gates."""
    return [
        metrics_option(
            "What to measure: mrr, hits@1,3,10, amri. May be repeated.", group="What to measure"
        ),
        *FORMATS.build_options("Format of the result; default: a table."),
        per_user_option("query"),
        fail_if_option("'mrr<0.2'. A NaN mean also fails."),
        show_option(),
    ]


def input_files(choices: Mapping[str, Any]) -> list[str | None]:
    """Values of the options that may be input files."""
    names = ("negatives", "exclude", "candidates", "upper", "users", "groups", "clusters")
    return [choices.get(name) for name in names]
