"""``rankmeter demo``: Run the whole job on the MovieLens ratings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import numpy as np
import polars as pl

from rankmeter._choices import Choices
from rankmeter._cli._command import Command, Option
from rankmeter._cli._files import refuse_overwriting, write_frames
from rankmeter._cli._output import encode_json
from rankmeter._cli._terminal import mean_with_interval, print_progress, print_table, show_spinner
from rankmeter._evaluation.evaluate import evaluate
from rankmeter._evaluation.systems import compare
from rankmeter._files import open_replacement
from rankmeter._reading.read import Interactions
from rankmeter._results.comparison import Comparison
from rankmeter._results.segments import by_activity
from rankmeter._results.summary import Summary
from rankmeter._results.tables import Table
from rankmeter._results.wording import level_text, number_text
from rankmeter.baselines import BASELINES, popularity
from rankmeter.conventions import load_convention
from rankmeter.datasets import movielens, movielens_items, synthetic
from rankmeter.errors import ColumnError, DataError, MissingDependencyError, to_one_line
from rankmeter.errors._checks import counted
from rankmeter.splits import Split, holdout, k_fold
from rankmeter.splits._describe import Description, describe
from rankmeter.splits._split import split_rows

CUTOFFS = (1, 5, 10, 20, 50, 100)
MAIN = "ndcg@10"
OF_LISTS = ("popularity", "random", "item-knn", "svd")
"""The systems of which the lists themselves are measured."""
SHOWN = ("coverage@10", "gini@10", "novelty@10")
OF_ITEMS = ("ild@10", "calibration@10")
"""What is measured of the lists, and what else if categories of the items are known."""
TOOLS = ("recbole", "rectools", "lenskit", "sklearn")
LIKED = 4
"""From this rating on an item is relevant, if ratings go up to 5."""
NEW = 10
"""One user in so many is new to the models."""


@dataclass(frozen=True)
class _DemoData:
    """Data of the demo, and the rule for relevance."""

    data: pl.DataFrame
    items: pl.DataFrame | None
    made_up: bool

    @classmethod
    def read(cls, ratings: str | None) -> _DemoData:
        """Read a file of ratings, or MovieLens; make ratings up if MovieLens is not installed."""
        if ratings is not None:
            return cls(movielens(ratings), None, made_up=False)
        try:
            return cls(movielens(), movielens_items(), made_up=False)
        except DataError:
            return cls(synthetic(), None, made_up=True)

    @cached_property
    def held_out_split(self) -> Split:
        """Split with a fifth of each user's ratings held out."""
        return holdout(self.data, ratio=0.2)

    @cached_property
    def new_users(self) -> pl.Series:
        """Users who are new to the models, a tenth; empty for few users."""
        rows: pl.DataFrame = self.held_out_split.test
        few = rows["user"].n_unique() < NEW
        of_new: pl.DataFrame = rows.clear() if few else k_fold(rows, k=NEW)[0].test
        return of_new["user"].unique()

    @cached_property
    def known_users_split(self) -> Split:
        """The held-out ratings, and all other ratings of known users."""
        train = self.held_out_split.train.filter(~pl.col("user").is_in(self.new_users.implode()))
        rows = Interactions.read(pl.concat([train, self.held_out_split.test]))
        is_test = np.arange(rows.frame.height) >= train.height
        counts = {"short_users": self.held_out_split.counts["short_users"]}
        return split_rows(rows, is_test, method=self.held_out_split.method, counts=counts)

    @property
    def new_users_sentence(self) -> str:
        """A sentence about the new users."""
        left_out = self.held_out_split.train.height - self.known_users_split.train.height
        return (
            f"One user in {NEW} is new: the other {left_out:,} ratings of "
            f"{counted(len(self.new_users), 'user')} are not in train. Models that learn know "
            "nothing of these users and give them the most popular items."
        )

    @cached_property
    def evaluation_options(self) -> Choices:
        """Options of evaluations: relevance threshold; systems may find nothing."""
        graded = "rating" in self.data.columns and self.data["rating"].max() == 5
        return {"relevant": f">={LIKED}" if graded else ">0", "no_overlap": "allow"}

    @cached_property
    def side_data(self) -> dict[str, Any]:
        """Side data: train, catalogue, and the items if available."""
        side: dict[str, Any] = {
            "train": self.known_users_split.train,
            "catalogue": self.data["item"].unique(),
        }
        if self.items is not None:
            side["items"] = self.items
        return side

    @property
    def list_metrics(self) -> tuple[str, ...]:
        """Names of the list metrics, with metrics of item features if available."""
        return SHOWN if self.items is None else (*SHOWN, *OF_ITEMS)


def _run_command(ratings: str | None, output: str) -> None:
    folder = Path(output)
    names = ["train", "test", *BASELINES]
    paths = {name: str(folder / f"{name}.csv") for name in names}
    numbers, page = str(folder / "results.json"), str(folder / "report.html")
    inputs = [ratings] if ratings and Path(ratings).is_file() else []
    refuse_overwriting([*paths.values(), numbers, page], inputs)
    with show_spinner("reading and splitting the ratings"):
        job = _DemoData.read(ratings)
        description, split = describe(job.data), job.known_users_split
    with show_spinner("recommending"):
        rankings = _recommend_by_baselines(job)
    metrics = [*(f"ndcg@{k}" for k in CUTOFFS), "recall@10", "mrr@10"]
    with show_spinner("evaluating"):
        results = {
            name: evaluate(ranked, split.test, metrics, **job.evaluation_options)
            for name, ranked in rankings.items()
        }
    with show_spinner("comparing"):
        first = next(iter(rankings))
        segments = by_activity(split.train, bins=3, users=split.test)
        comparison = compare(
            rankings, split.test, [MAIN, "recall@10", *job.list_metrics], baseline=first,
            segments=segments, **job.evaluation_options, **job.side_data,
        )  # fmt: skip
    frames = {"train": split.train, "test": split.test, **rankings}
    write_frames({paths[name]: frame for name, frame in frames.items()}, folders=True)
    measured = {"baselines": {name: result.to_dict() for name, result in results.items()}}
    with open_replacement(numbers) as file:
        file.write(encode_json(measured).encode())
    with show_spinner("writing the report"):
        try:
            comparison.report(page)
            report_line = f"the report is {page}: open it in a browser"
        except MissingDependencyError as error:
            report_line = f"there is no report: {error}"
    _print_results(job, description, rankings, results, comparison)
    click.echo(f"train, test, rankings and results.json are in {to_one_line(str(folder))}")
    click.echo(report_line)


def _print_results(
    job: _DemoData,
    description: Description,
    rankings: Mapping[str, pl.DataFrame],
    results: Mapping[str, Summary],
    comparison: Comparison,
) -> None:
    """Print a description of the data, and the tables of results."""
    if job.made_up:
        click.echo("The MovieLens ratings are not installed: these ratings are made up.\n")
    click.echo(f"{description!r}\n\n{job.known_users_split!r}\n")
    if len(job.new_users):
        _print_sentences(job.new_users_sentence)
    best = max(results, key=lambda name: results[name][MAIN].mean)
    _print_tables(_accuracy_tables(results))
    headline = comparison.headline(MAIN)
    _print_sentences(f"{headline.title}.", *headline.sentences)
    names = [name for name in rankings if name in OF_LISTS]
    _print_tables(_segment_table(comparison, names))
    _print_tables(_list_metrics_table(comparison, names, [MAIN, *job.list_metrics]))
    _print_tables(_conventions_table(best, rankings[best], job))
    _print_tables(_user_list_table(best, rankings[best], job))


def _recommend_by_baselines(job: _DemoData) -> dict[str, pl.DataFrame]:
    """Top 100 items of each baseline that the columns of the ratings allow.

    New users, if a model has no list for them, get the most popular items.
    """
    train, rankings = job.known_users_split.train, {}
    users = job.data["user"].unique()
    usual = popularity(train, users=job.new_users) if len(job.new_users) else None
    for name, make in BASELINES.items():
        print_progress(f"baseline {name}")
        try:
            lists = make(train, users=users)
        except ColumnError as error:
            click.echo(f"warning: {name} is left out: {to_one_line(str(error))}", err=True)
            continue
        if usual is not None:
            lists = pl.concat([lists, usual.join(lists, on="user", how="anti")])
        rankings[name] = lists.sort("user", "rank")
    return rankings


def _print_tables(tables: Mapping[str, Table]) -> None:
    for title, table in tables.items():
        print_table(table, title)
        click.echo()


def _print_sentences(*sentences: str) -> None:
    for sentence in sentences:
        click.echo(click.wrap_text(sentence, 80))
    click.echo()


def _accuracy_tables(results: Mapping[str, Summary]) -> dict[str, Table]:
    """Tables of the metrics with their intervals, and of the main metric against the cutoff."""
    confidence = next(iter(results.values())).confidence
    columns = ("system", MAIN, "recall@10", "mrr@10")
    rows = [
        (name, *(mean_with_interval(e.mean, e.low, e.high) for e in (r[m] for m in columns[1:])))
        for name, r in results.items()
    ]
    deep = [
        (name, *(number_text(r[f"ndcg@{k}"].mean) for k in CUTOFFS)) for name, r in results.items()
    ]
    return {
        f"Who wins: means with their {level_text(confidence)} intervals": Table(columns, rows),
        "How long should the list be: ndcg against k": Table(
            ("system", *(f"@{k}" for k in CUTOFFS)), deep
        ),
    }


def _segment_table(comparison: Comparison, names: list[str]) -> dict[str, Table]:
    """Table of the main metric by the number of ratings of users."""
    means, rows = comparison.segment_estimates, []
    for segment in dict.fromkeys(segment for segment, _, _ in means):
        of_segment = [means[segment, MAIN, name] for name in names]
        rows.append((segment, f"{of_segment[0].n:,}", *(number_text(e.mean) for e in of_segment)))
    return {f"By activity of the users: {MAIN}": Table(("users", "n", *names), rows)}


def _list_metrics_table(
    comparison: Comparison, names: list[str], metrics: list[str]
) -> dict[str, Table]:
    """Table of accuracy and list metrics by system."""
    means = comparison.estimates
    rows = [(name, *(number_text(means[m, name].mean) for m in metrics)) for name in names]
    return {"The trade-off: accuracy, and what is shown": Table(("system", *metrics), rows)}


def _conventions_table(name: str, ranked: pl.DataFrame, job: _DemoData) -> dict[str, Table]:
    """Measure the same lists by the conventions of four tools."""
    rows = []
    for tool in TOOLS:
        mean = evaluate(
            ranked, job.known_users_split.test, MAIN, like=tool, **job.evaluation_options
        )[MAIN]
        rows.append((load_convention(tool).title, number_text(mean.mean), f"{mean.n:,}"))
    title = f"The same lists of {name}, four conventions (rankmeter explain says why)"
    return {title: Table(("as computed by", MAIN, "users"), rows)}


def _user_list_table(name: str, ranked: pl.DataFrame, job: _DemoData) -> dict[str, Table]:
    """Table with the list of a typical user, with titles if known.

    The value of the user is the median of those who have a hit.
    """
    liked = job.known_users_split.test
    if "rating" in liked.columns and job.evaluation_options["relevant"] != ">0":
        liked = liked.filter(pl.col("rating") >= LIKED)
    top = ranked.filter(pl.col("rank") <= 10)
    hits = top.join(liked, on=["user", "item"], how="semi")
    if hits.is_empty():
        return {}
    value = (1 / (pl.col("rank") + 1).log(2)).sum()
    by_value = hits.group_by("user").agg(value=value).sort("value", "user")
    user = by_value["user"][by_value.height // 2]
    listed = top.filter(pl.col("user") == user).sort("rank")
    relevant = set(hits.filter(pl.col("user") == user)["item"])
    titles = {} if job.items is None else dict(job.items.select("item", "title").iter_rows())
    rows = [
        (str(rank), to_one_line(str(titles.get(item, item))), "hit" if item in relevant else "")
        for item, rank in listed.select("item", "rank").iter_rows()
    ]
    n = liked.filter(pl.col("user") == user).height
    title = (
        f"A typical user with a hit: the first ten of {name} for user {user}, who likes {n:,} "
        "held-out items"
    )
    return {title: Table(("rank", "item", "relevant"), rows)}


command = Command(
    "demo",
    "Run the whole job on the MovieLens ratings.\n\n"
    "Describes the ratings and holds out a fifth of each user's; hides the rest for one user in "
    "ten, to simulate new users. Recommends the top 100 of every baseline and of two simple models "
    "that learn, measures accuracy, diversity, novelty and coverage, compares the systems, and "
    "writes a report. Takes about half a minute.",
    _run_command,
    [
        Option(
            "--ratings",
            "Ratings to use instead of the MovieLens ratings in the folder examples: a file with "
            "columns for user, item and optionally rating and time.",
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
