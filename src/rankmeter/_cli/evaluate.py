"""``rankmeter evaluate``: Measure rankings against the ground truth."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import click

from rankmeter._cli._command import Command
from rankmeter._cli._files import STDIN, standard_input_as_file
from rankmeter._cli._gates import fail_if_option, read_gate
from rankmeter._cli._options import build_options, given_options, metrics_option, side_files
from rankmeter._cli._output import AnswerFormats, report_options
from rankmeter._cli._shared import (
    Outputs,
    master_option,
    means_csv,
    means_latex,
    per_user_option,
    segments_option,
    show_option,
    start_spark,
)
from rankmeter._cli._terminal import show_spinner
from rankmeter._evaluation.evaluate import evaluate
from rankmeter._results.segments import read_segments
from rankmeter._results.summary import Summary
from rankmeter.errors import UsageError

FORMATS: AnswerFormats[Summary] = AnswerFormats(
    csv=means_csv,
    latex=means_latex,
    trec=lambda result: "\n".join(_trec_line(name, "all", e.mean) for name, e in result.items()),
    json=Summary.to_json,
    stores=True,
)


def _run_command(
    rankings: str,
    truth: str | None,
    segments: str | None,
    master: str | None,
    **choices: Any,
) -> None:
    outputs = Outputs.take_from_options(FORMATS, choices)
    gates = [read_gate(condition, choices.get("like")) for condition in outputs.conditions]
    to_stdout = outputs.per_user == STDIN
    if to_stdout and outputs.form != "trec":
        raise UsageError("--per-user - needs --format trec: choose it, or name a file")
    outputs.check_files([rankings, truth, segments, *side_files(choices)])
    start_spark(master, choices.get("engine"))
    with standard_input_as_file(rankings, truth) as (ranked, judged), show_spinner("evaluating"):
        result = evaluate(ranked, judged, **given_options(choices))
        if segments is not None:
            labels = read_segments(segments, result.scores)
            result = replace(result, groups=labels.alias("segment").to_frame())
        walks = outputs.write_page_and_trace_users(result, segments=segments)
    before = "".join(_trec_lines_per_user(result)) if to_stdout else None
    outputs.write_result(result, walks, gates, before=before)


def _trec_line(metric: str, user: object, value: float) -> str:
    return f"{metric:<22}\t{user}\t{value:6.4f}"


def _trec_lines_per_user(result: Summary) -> Iterator[str]:
    for row in result.values_by_user.iter_rows(named=True):
        for metric in result:
            if row[metric] is not None:
                yield _trec_line(metric, row["user"], row[metric]) + "\n"


command = Command(
    "evaluate",
    "Measure RANKINGS against the TRUTH.\n\n"
    "Either is a Parquet file or folder, CSV, TSV, JSON Lines or a TREC file (text also "
    "gzipped), or - for standard input. TRUTH may be left out if RANKINGS holds records of "
    'the form {"predict_list": …, "ground_truth": …}.',
    _run_command,
    [
        click.Argument(["rankings"], type=click.Path()),
        click.Argument(["truth"], required=False, type=click.Path()),
        metrics_option(
            "What to measure: ndcg@10, map@5,10, 'ndcg(gain=exp2)@10'. May be repeated.",
            group="What to measure",
        ),
        *FORMATS.build_options("Format of the result; default: a table."),
        *report_options(),
        segments_option("the means of each segment follow."),
        per_user_option(
            "user", " With --format trec, - writes them on standard output before the means."
        ),
        fail_if_option(
            "'ndcg@10<0.2', or for a bound of the interval 'ndcg@10.low<0.2'. A NaN mean also "
            "fails."
        ),
        show_option(),
        *build_options({"evaluate": evaluate}, group="Conventions"),
        master_option(),
    ],
    example="rankmeter evaluate recs.csv truth.csv -m ndcg@10 -m recall@5,10",
)
