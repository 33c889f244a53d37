"""``rankmeter cite``: Print what a paper cites."""

from __future__ import annotations

import click

from rankmeter._cli._command import Command, CommandOption, WordChoice
from rankmeter._cli._files import standard_input_as_file
from rankmeter._report.page import read_page
from rankmeter._results.citation import FORMS, CitationForm, bibtex, in_form, plain_sentence
from rankmeter.errors import DataError, to_one_line


def _run_command(read: str | None, form: CitationForm | None) -> None:
    sentence = plain_sentence() if read is None else _sentence_of_page(read)
    if form is None:
        click.echo(f"{sentence}\n\n{bibtex()}")
    else:
        click.echo(in_form(sentence, form))


def _sentence_of_page(read: str) -> str:
    with standard_input_as_file(read) as (path,):
        assert path is not None
        result = read_page(path)
    if "citation" not in result:
        raise DataError(
            f"{read} was written by a version of rankmeter whose pages have no sentence to cite: "
            "write the page again"
        )
    return to_one_line(str(result["citation"]))


command = Command(
    "cite",
    "Print the sentence by which a paper says how its numbers were computed, and the entry for its "
    "references.\n\n"
    "With a report, the sentence names its metrics, convention, users and tests.",
    _run_command,
    [
        CommandOption(
            "--read",
            "A page from rankmeter evaluate --report or compare --report, or - for standard input.",
            path="FILE.html",
        ),
        CommandOption(
            "--form",
            "The sentence alone, as text or in LaTeX, or the BibTeX entry alone.",
            type=WordChoice(FORMS),
        ),
    ],
    example=(
        "rankmeter compare truth.csv old=old.csv new=new.csv --report report.html\n"
        "rankmeter cite --read report.html --form latex\n"
        "rankmeter cite --form bibtex"
    ),
)
