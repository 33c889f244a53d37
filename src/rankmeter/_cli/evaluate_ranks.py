"""``rankmeter evaluate-ranks``: Measure ranks that another tool has computed."""

from __future__ import annotations

from typing import Any

import click

from rankmeter._cli._command import Command
from rankmeter._cli._files import standard_input_as_file
from rankmeter._cli._gates import read_gate
from rankmeter._cli._options import build_options, given_options
from rankmeter._cli._shared import FORMATS, Outputs, evaluation_options, input_files
from rankmeter._cli._terminal import show_spinner
from rankmeter._scores.array_files import is_array_file
from rankmeter._scores.scored import evaluate_ranks
from rankmeter.errors._checks import option_error


def _run_command(ranks: str, **choices: Any) -> None:
    outputs = Outputs.take_from_options(FORMATS, choices)
    gates = [read_gate(condition, choices.get("like")) for condition in outputs.conditions]
    outputs.check_files([ranks, *input_files(choices)])
    options = given_options(choices)
    candidates = options.get("candidates")
    if candidates is not None and not is_array_file(candidates):
        try:
            options["candidates"] = int(candidates)
        except ValueError:
            expected = "an integer ≥ 1, or a .npy, .npz or .json file"
            raise option_error("candidates", expected, candidates) from None
    with standard_input_as_file(ranks) as (path,), show_spinner("evaluating"):
        result = evaluate_ranks(path, **options)
        walks = outputs.write_page_and_trace_users(result)
    outputs.write_result(result, walks, gates)


command = Command(
    "evaluate-ranks",
    "Measure RANKS, one for each query.\n\n"
    "RANKS is a table (Parquet, CSV, TSV, JSON Lines) with a column rank and optionally candidates "
    "and user; a .npy file; a text file with one rank per line; or - for standard input.",
    _run_command,
    [
        click.Argument(["ranks"], type=click.Path()),
        *evaluation_options(),
        *build_options({"evaluate-ranks": evaluate_ranks}, group="Conventions"),
    ],
    example="rankmeter evaluate-ranks ranks.csv -m mrr -m hits@10 --candidates 14541",
)
