"""``rankmeter evaluate-scores``: Measure a matrix of scores against the true items."""

from __future__ import annotations

from typing import Any

import click

from rankmeter._cli._command import Command
from rankmeter._cli._gates import read_gate
from rankmeter._cli._options import build_options, given_options
from rankmeter._cli._shared import FORMATS, Outputs, evaluation_options, input_files
from rankmeter._cli._terminal import show_spinner
from rankmeter._scores.scored import evaluate_scores
from rankmeter.errors._checks import option_error


def _run_command(scores: str, target: str | None, **choices: Any) -> None:
    outputs = Outputs.take_from_options(FORMATS, choices)
    gates = [read_gate(condition, choices.get("like")) for condition in outputs.conditions]
    outputs.check_files([scores, target, *input_files(choices)])
    options = given_options(choices)
    if "tolerance" in options:
        options["tolerance"] = _parse_two_numbers(options["tolerance"])
    with show_spinner("evaluating"):
        result = evaluate_scores(scores, target, **options)
        walks = outputs.write_page_and_trace_users(result)
    outputs.write_result(result, walks, gates)


def _parse_two_numbers(text: str) -> tuple[float, float]:
    """Parse the option ``--tolerance 1e-5,1e-4``."""
    try:
        absolute, relative = map(float, text.split(","))
    except ValueError:
        raise option_error("tolerance", "two numbers, such as 1e-5,1e-4", text) from None
    return absolute, relative


command = Command(
    "evaluate-scores",
    "Measure SCORES, one row for each query and one column for each item, against the TARGET.\n\n"
    "SCORES is a .npy file, or an .npz file with one array or a sparse matrix of SciPy. TARGET is "
    "such a file with ids of columns or a mask, or a .json file with a list of ids for each row. "
    "It may be left out with --negatives: SCORES then has the scores of the positives.",
    _run_command,
    [
        click.Argument(["scores"], type=click.Path()),
        click.Argument(["target"], required=False, type=click.Path()),
        *evaluation_options(),
        *build_options({"evaluate-scores": evaluate_scores}, group="Conventions"),
    ],
    example="rankmeter evaluate-scores scores.npy targets.npy --exclude known.npz -m mrr",
)
