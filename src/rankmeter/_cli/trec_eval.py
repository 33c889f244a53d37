"""``rankmeter trec_eval``: the options and the output of trec_eval 10."""

from __future__ import annotations

import sys
from typing import Any

import click

from rankmeter._cli._command import Command, Option
from rankmeter._cli._files import standard_input
from rankmeter._trec_eval import MEASURES, NICKNAMES, report

__all__ = ["command"]


def _run(
    qrels: str,
    run: str,
    measures: tuple[str, ...],
    rel_format: str | None,  # the only formats that there are: accepted as trec_eval does
    results_format: str | None,
    **choices: Any,
) -> None:
    with standard_input(run) as (results,):
        lines = report(qrels, str(results), measures or ("official",), **choices)
        # A topic that stops the evaluation stops it after the lines of those before it.
        sys.stdout.writelines(lines)


command = Command(
    "trec_eval",
    help=(
        "Evaluate a TREC run as trec_eval 10 does, and print what it prints, byte for byte. The "
        "run may be - for standard input; either file may be gzipped.\n\n"
        "As in trec_eval 10, a judged topic without results is an error, unless -c counts it. "
        "Preferences (-R prefs), several judges, z-scores (-Z) and debugging (-D) are not "
        "supported."
    ),
    callback=_run,
    params=[
        click.Argument(["qrels"]),
        click.Argument(["run"]),
        Option(
            ["measures", "-m", "--measure"],
            multiple=True,
            metavar="MEASURE[.PARAMETERS]",
            help="What to measure, such as map, P.5,10 or all_trec. May be repeated. "
            "[default: official]",
        ),
        Option(
            ["per_topic", "-q", "--query_eval_wanted"],
            is_flag=True,
            help="Print the values of each topic, too.",
        ),
        Option(
            ["summary", "-n", "--nosummary"],
            is_flag=True,
            flag_value=False,
            default=True,
            help="Do not print the values of all topics together.",
        ),
        Option(
            ["complete", "-c", "--complete_rel_info_wanted"],
            is_flag=True,
            help="Average over all judged topics; one without results counts mostly 0.",
        ),
        Option(
            ["level", "-l", "--level_for_rel"],
            type=click.IntRange(min=0),
            default=1,
            help="Smallest grade that is relevant. [default: 1]",
        ),
        Option(
            ["depth", "-M", "--Max_retrieved_per_topic"],
            type=click.IntRange(min=1),
            help="Use only this many results per topic.",
        ),
        Option(
            ["judged_only", "-J", "--Judged_docs_only"],
            is_flag=True,
            help="Remove documents without judgement from the results first.",
        ),
        Option(
            ["n_items", "-N", "--Number_docs_in_coll"],
            type=click.IntRange(min=0),
            default=0,
            help="Documents in the collection, for utility. [default: 0]",
        ),
        Option(
            ["rel_format", "-R", "--Rel_info_format"], type=click.Choice(["qrels"]), hidden=True
        ),
        Option(
            ["results_format", "-T", "--Results_format"],
            type=click.Choice(["trec_results"]),
            hidden=True,
        ),
    ],
    topics={
        "Measures": {
            **{name: ", ".join(names) for name, names in NICKNAMES.items() if name != "all_trec"},
            "all_trec": "all of the following but dcg, ideal_dcg and yaap",
            "": ", ".join(MEASURES),
        }
    },
    example="rankmeter trec_eval -q -m map -m P.5,10 qrels.txt run.txt",
)
