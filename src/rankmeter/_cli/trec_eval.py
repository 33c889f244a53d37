"""``rankmeter trec_eval``: Drop-in replacement for trec_eval."""

from __future__ import annotations

import sys
from typing import Any

import click

from rankmeter._cli._command import Command, CommandOption
from rankmeter._cli._files import standard_input_as_file
from rankmeter._cli._trec_eval._files import FORMS
from rankmeter._cli._trec_eval._measures import MEASURES, NICKNAMES
from rankmeter._cli._trec_eval._report import report_lines


def _run_command(qrels: str, run: str, measures: tuple[str, ...], **choices: Any) -> None:
    with standard_input_as_file(run) as (results,):
        lines = report_lines(qrels, str(results), measures or ("official",), **choices)
        # Byte for byte as in the files, whatever the terminal; a topic that stops the evaluation
        # does so after the lines of the topics before it.
        for line in lines:
            sys.stdout.buffer.write(line.encode("utf-8", "surrogateescape"))


def _print_version(context: click.Context, _: click.Parameter, requested: bool) -> None:
    if requested:
        click.echo("trec_eval version 10.0", err=True)
        context.exit()


COUNT, LEVEL = click.IntRange(min=1), click.IntRange(min=0)

command = Command(
    "trec_eval",
    "Evaluate a TREC run like trec_eval 10, with the same output byte for byte, "
    "except where that of trec_eval is wrong: gains of a parameter that are less than 1 apart "
    "(ndcg.1=0.3,2=0.7) are sorted by their values, not by their difference cut to an integer; and "
    "rbp is not scaled by numbers that were never set. The run may be - for standard "
    "input; either file may be gzipped.\n\n"
    "As in trec_eval 10, a judged topic without results is an error, unless -c counts it. "
    "Debugging (-D from 1) is not supported: it prints between the results.",
    _run_command,
    [
        click.Argument(["qrels"]),
        click.Argument(["run"]),
        CommandOption(
            "measures -m --measure",
            "What to measure, such as map, P.5,10 or all_trec. May be repeated. "
            "[default: official]",
            multiple=True,
            metavar="MEASURE[.PARAMETERS]",
        ),
        CommandOption(
            "per_topic -q --query_eval_wanted", "Print the values of each topic, too.", is_flag=True
        ),
        CommandOption(
            "summary -n --nosummary",
            "Do not print the values of all topics together.",
            is_flag=True,
            flag_value=False,
            default=True,
        ),
        CommandOption(
            "complete -c --complete_rel_info_wanted",
            "Average over all judged topics; one without results mostly counts as 0.",
            is_flag=True,
        ),
        CommandOption(
            "level -l --level_for_rel",
            "Smallest grade that is relevant. [default: 1]",
            type=LEVEL,
            default=1,
        ),
        CommandOption(
            "depth -M --Max_retrieved_per_topic",
            "Use only this many results per topic.",
            type=COUNT,
        ),
        CommandOption(
            "judged_only -J --Judged_docs_only",
            "Remove documents without a relevance judgment from the results first.",
            is_flag=True,
        ),
        CommandOption(
            "n_items -N --Number_docs_in_coll",
            "Documents in the collection, for utility. [default: 0]",
            type=LEVEL,
            default=0,
        ),
        CommandOption(
            "form -R --Rel_info_format",
            "Format of the judgments: grades (qrels), grades by several judges (qrels_jg), or "
            "levels that say which documents are preferred to which others (prefs, qrels_prefs). "
            "[default: qrels]",
            type=click.Choice([*FORMS]),
            default="qrels",
        ),
        CommandOption(
            "zscores -Z --Zscore",
            "Print z-scores: a file of lines with topic, measure, mean and standard deviation of "
            "reference runs.",
            path="FILE",
        ),
        CommandOption(
            "version -v --version",
            "Print the version of trec_eval that this reproduces, and exit.",
            is_flag=True,
            is_eager=True,
            expose_value=False,
            callback=_print_version,
        ),
        # Without debugging, which would print between the lines of the results.
        CommandOption(
            "-D --Debug_level", type=click.Choice(["0"]), hidden=True, expose_value=False
        ),
        # The only format there is: accepted, as trec_eval does.
        CommandOption(
            "-T --Results_format",
            type=click.Choice(["trec_results"]),
            hidden=True,
            expose_value=False,
        ),
    ],
    topics={
        "Formats of judgments": {f"-R {form}": fields for form, fields in FORMS.items()},
        "Measures": {
            **{name: ", ".join(NICKNAMES[name]) for name in ("official", "set", "prefs")},
            "all_trec": "all with -R qrels but dcg, ideal_dcg and yaap",
            "qrels_jg": "all with -R qrels_jg",
            "all_prefs": "all with -R prefs or -R qrels_prefs",
            **{f"-R {form}": ", ".join(MEASURES[form]) for form in ("qrels", "qrels_jg", "prefs")},
        },
    },
    example="rankmeter trec_eval -q -m map -m P.5,10 qrels.txt run.txt",
)
