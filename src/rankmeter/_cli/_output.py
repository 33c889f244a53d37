"""What a command writes: its result in a format, on standard output or to a file, or as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click

from rankmeter._cli._command import RARE, SIDE, CommandOption
from rankmeter._cli._terminal import print_answer
from rankmeter._files import RESULT, is_result_name, open_replacement
from rankmeter._results.wording import to_json_value
from rankmeter.errors import UsageError

if TYPE_CHECKING:
    from rankmeter._results.result import Logged

T = TypeVar("T")
R = TypeVar("R", bound="Logged")


class Formats(Generic[T]):
    """The formats in which a command writes its result.

    `show` draws it on standard output for a terminal; `texts` makes text of it, by the name of the
    format: ``table`` and ``json`` are among them. The result is stored in a file of such a name if
    it `stores`.
    """

    def __init__(
        self, show: Callable[[T], None], *, stores: bool = False, **texts: Callable[[T], str]
    ) -> None:
        self.show, self.texts, self.stores = show, texts, stores

    def build_options(self, format_help: str) -> list[CommandOption]:
        """Build the options ``--format``, ``--json`` and ``--output``."""
        forms = click.Choice(list(self.texts))
        to_file = "Write to a file instead of standard output."
        if self.stores:
            to_file += f" A {RESULT} file stores the result, for compare."
        return [
            CommandOption("form --format", format_help, type=forms, group="Output"),
            json_option("Write one JSON object: the same as --format json."),
            CommandOption("output --output -o", to_file, path="FILE", group="Output"),
        ]

    @staticmethod
    def choose_format(form: str | None, *, as_json: bool) -> str:
        """The name of the format that ``--format`` and ``--json`` select."""
        if as_json and form not in (None, "json"):
            raise UsageError(f"--json and --format {form} contradict each other: choose one")
        return form or ("json" if as_json else "table")

    def write_result(
        self, result: T, form: str, output: str | None, *, before: str = "", after: str = ""
    ) -> None:
        """Write a result, between the lines `before` and `after`, to a file or standard output."""
        from rankmeter._cli._files import STDIN  # brings Polars with it

        if is_result_name(output):
            raise UsageError(
                f"{output}: only the result of an evaluation is stored; choose another name",
                option="output",
            )
        to_stdout = output in (None, STDIN)
        if form == "table" and to_stdout:
            self.show(result)
            return
        text = before + self.texts[form](result).rstrip() + after
        if output is None or to_stdout:
            click.echo(text)
            return
        with open_replacement(output) as file:
            file.write(f"{text}\n".encode())


class AnswerFormats(Formats[R]):
    """The formats of a result that has an answer, of which ``--details`` shows all."""

    def __init__(self, *, stores: bool = False, **texts: Callable[[R], str]) -> None:
        super().__init__(
            lambda result: print_answer(result._answer()),
            stores=stores,
            table=lambda result: result._answer().to_text("--details"),
            md=lambda result: result.to_markdown(),
            github=lambda result: result.to_markdown(),
            **texts,
        )

    def build_options(self, format_help: str) -> list[CommandOption]:
        """Build the options ``--details``, ``--format``, ``--json`` and ``--output``."""
        details = "Also show all differences, tests and notes."
        option = CommandOption("--details", details, is_flag=True, group="Output")
        return [option, *super().build_options(format_help)]

    def in_detail(self) -> Formats[R]:
        """The formats that show all."""
        return Formats(
            lambda result: print_answer(result.details()),
            table=lambda result: result.details().to_text(),
            md=lambda result: result.details().to_markdown(),
        )


def end_of_summary(result: Logged, reasons: Sequence[tuple[str, str]]) -> str:
    """What ``--format github`` writes after the answer: gates, and the details in a fold."""
    from rankmeter._results.tables import TextTable

    rows = [(text, "failed" if why else "passed", why) for text, why in reasons]
    gates = TextTable(("gate", "result", "reason"), rows, left=3).to_markdown() if rows else ""
    return "".join(f"\n\n{part}" for part in (gates, result._answer().fold_in_markdown()) if part)


def json_option(help_text: str = "Write one JSON object.") -> CommandOption:
    """Build the option ``--json``."""
    return CommandOption("as_json --json", help_text, is_flag=True, group="Output")


def report_options() -> list[CommandOption]:
    """Build the option ``--report`` and those of its page."""
    page = "Write a page with tables, charts and all users."
    queries = "A file with the columns user and text: the report shows the text of each query."
    static = "In the report: leave the values and lists of users out of the page."
    return [
        CommandOption("--report", page, path="FILE.html", group="Output"),
        CommandOption("--queries", queries, path="FILE", group=SIDE),
        CommandOption("--static", static, is_flag=True, group=RARE),
    ]


def check_page_name(path: str | None) -> None:
    """Refuse a page whose name does not end in .html or .htm."""
    if path is not None and not path.lower().endswith((".html", ".htm")):
        raise UsageError(f"--report {path}: the report must be an .html file")


def print_result(result: Mapping[str, Any], text: str, *, as_json: bool) -> None:
    """Write the result of a command on standard output: as JSON, or as equivalent text."""
    click.echo(encode_json(result) if as_json else text)


def encode_json(result: Mapping[str, Any]) -> str:
    """Encode a result as JSON for any command: one object with the version of the schema.

    A number that is infinite or does not exist is null.
    """
    from rankmeter._results.tables import escape_json

    content = to_json_value({"schema": 1, **result})
    return escape_json(json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False))
