"""``rankmeter explain``: why two tools differ, or which convention gives a number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from rankmeter._api import evaluate
from rankmeter._cli import _complete
from rankmeter._cli._command import Command, Option
from rankmeter._cli._files import check_paths, replacing, standard_input
from rankmeter._cli._options import by_side, options_of
from rankmeter._cli._terminal import print_table, working
from rankmeter._explain import explain
from rankmeter._results.explanation import Explanation
from rankmeter.errors import UsageError

__all__ = ["command"]

RENDERINGS: dict[str, Callable[[Explanation], str]] = {
    "table": repr,
    "md": lambda found: found.table().to_markdown(),
    "latex": lambda found: found.table().to_latex(),
    "footnote": Explanation.footnote,
    "json": Explanation.to_json,
}
"""How an explanation is written, by the name of the format."""


def _run(
    rankings: str,
    truth: str,
    metrics: tuple[str, ...],
    between: tuple[str, str] | None,
    target: str | None,
    form: str | None,
    as_json: bool | None,
    output: str | None,
    **choices: Any,
) -> None:
    if len(metrics) > 1:
        raise UsageError(f"one metric is explained at a time, not {' and '.join(metrics)}")
    check_paths([output], [rankings, truth])
    given = {name: value for name, value in choices.items() if value is not None}
    if "columns" in given:
        given["columns"] = by_side(given["columns"])
    with standard_input(rankings, truth) as (ranked, judged), working("explaining"):
        found = explain(ranked, judged, metrics[0], between=between or None, target=target, **given)
    form = form or ("json" if as_json else "table")
    if output is not None:
        with replacing(output) as file:
            file.write(f"{RENDERINGS[form](found).rstrip()}\n".encode())
    elif form == "table":
        print_table(found.table())
        if found.users:
            print_table(found.user_table(), "The users whose value changes most")
    else:
        click.echo(RENDERINGS[form](found))


command = Command(
    "explain",
    help=(
        "Say which choices make the difference between two tools, or which give a number.\n\n"
        "RANKINGS and TRUTH as for evaluate. With --between, every choice in which the two "
        "conventions differ is turned, one after the other. With --target, all conventions, "
        "single switches and pairs of switches are tried."
    ),
    callback=_run,
    params=[
        click.Argument(["rankings"], type=click.Path()),
        click.Argument(["truth"], type=click.Path()),
        Option(
            ["metrics", "-m", "--metric"],
            required=True,
            multiple=True,  # to refuse a second one, of which Click would drop the first
            help="What to explain: one metric, such as ndcg@10.",
            shell_complete=_complete.metrics,
        ),
        Option(
            ["between", "--between"],
            nargs=2,
            default=None,
            metavar="A B",
            help="Two conventions: walk from A's number to B's.",
            shell_complete=_complete.conventions,
        ),
        Option(
            ["target", "--target"],
            metavar="NUMBER",
            help="A number as somebody printed it: find what gives it.",
        ),
        Option(
            ["form", "--format"],
            type=click.Choice(list(RENDERINGS)),
            help="How to write the explanation; footnote is prose for a paper.",
            group="Output",
        ),
        Option(
            ["as_json", "--json"],
            is_flag=True,
            default=None,
            help="Write one JSON object: the same as --format json.",
            group="Output",
        ),
        Option(
            ["output", "--output", "-o"],
            metavar="FILE",
            type=click.Path(),
            help="Write to a file instead of standard output.",
            group="Output",
        ),
        *options_of(
            {"evaluate": evaluate},
            group="Choices that hold throughout",
            without=("confidence", "bad_scores", "no_overlap", "interval", "clusters"),
        ),
    ],
    example="rankmeter explain recs.csv truth.csv -m ndcg@10 --between rankmeter lenskit",
)
