"""``rankmeter explain``: Explain why two results differ."""

from __future__ import annotations

from typing import Any

import click

from rankmeter._cli._command import Command, CommandOption
from rankmeter._cli._files import standard_input_as_file
from rankmeter._cli._options import (
    build_options,
    complete_conventions,
    given_options,
    metrics_option,
)
from rankmeter._cli._output import Formats
from rankmeter._cli._shared import Outputs
from rankmeter._cli._terminal import print_table, show_spinner
from rankmeter._evaluation.evaluate import evaluate
from rankmeter._explain.explain import explain
from rankmeter._results.explanation import Explanation
from rankmeter.errors import UsageError


def _print_explanation(explanation: Explanation) -> None:
    print_table(explanation.table())
    if explanation.users:
        print_table(explanation.user_table(), "The users whose value changes most")


FORMATS: Formats[Explanation] = Formats(
    _print_explanation,
    table=repr,
    md=lambda explanation: explanation.table().to_markdown(),
    latex=lambda explanation: explanation.table().to_latex(),
    footnote=Explanation.footnote,
    json=Explanation.to_json,
)


def _run_command(
    rankings: str,
    truth: str,
    metrics: tuple[str, ...],
    **choices: Any,
) -> None:
    outputs = Outputs.take_from_options(FORMATS, choices)
    if len(metrics) > 1:
        raise UsageError(f"expected one metric, got {' and '.join(metrics)}")
    outputs.check_files([rankings, truth])
    with standard_input_as_file(rankings, truth) as (ranked, judged), show_spinner("explaining"):
        explanation = explain(ranked, judged, metrics[0], **given_options(choices))
    outputs.write_result(explanation)
    if explanation.target and not explanation.matches:
        click.get_current_context().exit(1)


command = Command(
    "explain",
    "Find the options that make two tools differ, or that give a number.\n\n"
    "RANKINGS and TRUTH as for evaluate. With --between, every option in which the two "
    "conventions differ is changed, one after the other. With --target, all conventions that have "
    "the metric are tried at each threshold in the data, then with one option changed; if nothing "
    "gives the number, the nearest settings are listed and the exit code is 1.",
    _run_command,
    [
        click.Argument(["rankings"], type=click.Path()),
        click.Argument(["truth"], type=click.Path()),
        metrics_option("What to explain: one metric, such as ndcg@10.", required=True),
        CommandOption(
            "--between",
            "Two conventions: walk from A's number to B's.",
            nargs=2,
            default=None,
            metavar="A B",
            shell_complete=complete_conventions,
        ),
        CommandOption(
            "--target", "A published number: find the settings that give it.", metavar="NUMBER"
        ),
        *FORMATS.build_options("Format of the explanation; footnote is prose for a paper."),
        *build_options(
            {"evaluate": evaluate}, group="Options that hold throughout", without=("clusters",)
        ),
    ],
    example="rankmeter explain recs.csv truth.csv -m ndcg@10 --between rankmeter lenskit",
)
