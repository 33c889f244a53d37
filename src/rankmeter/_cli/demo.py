"""``rankmeter demo``: Run the whole job on the MovieLens ratings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click
import polars as pl

from rankmeter._api import compare, evaluate
from rankmeter._choices import Choices
from rankmeter._cli._command import Command, Option
from rankmeter._cli._files import check_paths, write_frames
from rankmeter._cli._output import dumps
from rankmeter._cli._terminal import note, print_table, with_interval, working
from rankmeter._estimates.estimates import Estimate
from rankmeter._estimates.wording import number
from rankmeter._files import replacing
from rankmeter._interactions.describe import describe
from rankmeter._report.table import Table, one_line
from rankmeter._results.comparison import Comparison
from rankmeter._results.summary import Summary
from rankmeter.baselines import BASELINES
from rankmeter.datasets import movielens
from rankmeter.errors import ColumnError, MissingDependencyError
from rankmeter.splits import leave_one_out

__all__ = ["command"]

METRICS = ("ndcg", "recall")
CUTOFFS = (1, 5, 10, 20, 50, 100)
MAIN = 10
"""The cutoff of the table with intervals."""


def _run(ratings: str | None, output: str) -> None:
    folder = Path(output)
    names = ["train", "test", *BASELINES]
    paths = {name: str(folder / f"{name}.csv") for name in names}
    numbers, page = str(folder / "results.json"), str(folder / "report.html")
    inputs = [ratings] if ratings and Path(ratings).is_file() else []
    check_paths([*paths.values(), numbers, page], inputs)
    with working("reading and splitting the ratings"):
        data = movielens(ratings)
        description = describe(data)
        split = leave_one_out(data)
    with working("recommending"):
        rankings = _recommend(split.train)
    # Every film that a user rated next is one to find. A baseline may find none of them: that is a
    # result here, not a mistake.
    options: Choices = {"relevant": ">0", "no_overlap": "allow"}
    metrics = [f"{name}@{k}" for name in METRICS for k in CUTOFFS]
    with working("evaluating"):
        results = {
            name: evaluate(ranked, split.test, metrics, **options)
            for name, ranked in rankings.items()
        }
    metrics = [f"{name}@{MAIN}" for name in METRICS]
    with working("comparing"):
        first = next(iter(rankings))
        comparison = compare(rankings, split.test, metrics, baseline=first, **options)
    frames = {"train": split.train, "test": split.test, **rankings}
    write_frames({paths[name]: frame for name, frame in frames.items()}, folders=True)
    measured = {"baselines": {name: result.to_dict() for name, result in results.items()}}
    with replacing(numbers) as file:
        file.write(dumps(measured).encode())
    with working("writing the report"):
        try:
            comparison.report(page)
            where = f"the report is {page}: open it in a browser"
        except MissingDependencyError as error:
            where = f"there is no report: {error}"
    for part in (description, split):
        click.echo(f"{part!r}\n")
    for title, table in _tables(results).items():
        print_table(table, title)
        click.echo()
    _show(comparison)
    click.echo(f"train, test, rankings and results.json are in {one_line(str(folder))}")
    click.echo(where)


def _recommend(train: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The top 100 of every baseline that the columns of the ratings allow."""
    rankings = {}
    for name, make in BASELINES.items():
        note(f"baseline {name}")
        try:
            rankings[name] = make(train)
        except ColumnError as error:
            click.echo(f"warning: {name} is left out: {one_line(str(error))}", err=True)
    return rankings


def _show(comparison: Comparison) -> None:
    """Write the means with their significance markers, and the answer in words."""
    marked = comparison.table()
    title = f"Against {comparison.baseline}: ▲ significantly better, ▼ worse"
    print_table(Table(marked.columns, marked.rows), title)
    found = comparison.headline(marked.columns[1])
    click.echo()
    for sentence in (f"{found.title}.", *found.sentences):
        click.echo(click.wrap_text(sentence, 80))
    click.echo()


def _cell(found: Estimate) -> str:
    return with_interval(found.mean, found.low, found.high)


def _tables(results: Mapping[str, Summary]) -> dict[str, Table]:
    """The metrics with their intervals, then each metric against the cutoff, by title."""
    confidence = next(iter(results.values())).confidence
    columns = ("baseline", *(f"{name}@{MAIN}" for name in METRICS))
    rows = [
        (baseline, *(_cell(found[metric]) for metric in columns[1:]))
        for baseline, found in results.items()
    ]
    tables = {f"Means with their {100 * confidence:g} % intervals": Table(columns, rows)}
    for metric in METRICS:
        rows = [
            (baseline, *(number(found[f"{metric}@{k}"].mean) for k in CUTOFFS))
            for baseline, found in results.items()
        ]
        tables[f"{metric} against k"] = Table(("baseline", *(f"@{k}" for k in CUTOFFS)), rows)
    return tables


command = Command(
    "demo",
    "Run the whole job on the MovieLens ratings.\n\n"
    "Describes the ratings, holds out the last one of every user, recommends the top 100 of "
    "every baseline, measures them at several cutoffs, compares them, and writes a report. "
    "Takes a few seconds.",
    _run,
    [
        Option(
            "--ratings",
            "Ratings to use instead of the MovieLens ratings in the folder examples: a file with "
            "columns for user, item, time and optionally rating.",
            path="FILE",
        ),
        Option(
            "--output -o",
            "Where to write train, test, the rankings, results.json and report.html.",
            path="FOLDER",
            default="demo",
            show_default=True,
        ),
    ],
    example="rankmeter demo --output demo",
)
