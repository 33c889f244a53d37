"""``rankmeter evaluate-ranks``: Measure ranks that another tool has computed."""

from __future__ import annotations

from typing import Any

import click

from rankmeter._cli._command import Command
from rankmeter._cli._files import standard_input
from rankmeter._cli._gates import read_gate
from rankmeter._cli._options import given_options, options_of
from rankmeter._cli._shared import FORMATS, Outputs, files_of, measured_options
from rankmeter._cli._terminal import spinner
from rankmeter._evaluation.scored import evaluate_ranks
from rankmeter._rankings.array_files import is_array_file
from rankmeter.errors._checks import refused


def _run(ranks: str, **choices: Any) -> None:
    outputs = Outputs.take(FORMATS, choices)
    gates = [read_gate(condition, choices.get("like")) for condition in outputs.conditions]
    outputs.check([ranks, *files_of(choices)])
    options = given_options(choices)
    candidates = options.get("candidates")
    if candidates is not None and not is_array_file(candidates):
        try:
            options["candidates"] = int(candidates)
        except ValueError:
            expected = "an integer ≥ 1, or a .npy, .npz or .json file"
            raise refused("candidates", expected, candidates) from None
    with standard_input(ranks) as (path,), spinner("evaluating"):
        result = evaluate_ranks(path, **options)
        walks = outputs.present(result)
    outputs.write(result, walks, gates)


command = Command(
    "evaluate-ranks",
    "Measure RANKS, one for each query.\n\n"
    "RANKS is a table (Parquet, CSV, TSV, JSON Lines) with a column rank and optionally candidates "
    "and user; a .npy file; a text file with one rank per line; or - for standard input.",
    _run,
    [
        click.Argument(["ranks"], type=click.Path()),
        *measured_options(),
        *options_of({"evaluate-ranks": evaluate_ranks}, group="Conventions"),
    ],
    example="rankmeter evaluate-ranks ranks.csv -m mrr -m hits@10 --candidates 14541",
)
