"""``rankmeter baseline``: interactions in, rankings by simple statistics out."""

from __future__ import annotations

from typing import Any

import click
import polars as pl

from rankmeter._cli._command import Command, Option
from rankmeter._cli._files import RANKINGS, check_paths, format_of, standard_input, write_frames
from rankmeter._cli._options import options_of, own_options, summaries
from rankmeter._cli._terminal import note, working
from rankmeter._ingest import read_interactions, read_truth
from rankmeter.baselines import BASELINES

__all__ = ["command"]

_ROLES = ("user", "item", "rating", "time")


def _run(train: str, method: str, output: str, users: str | None, **choices: Any) -> None:
    chosen = own_options(BASELINES, method, choices)
    format_of(output, RANKINGS)
    check_paths([output], [train, users])
    with standard_input(train, users) as (data, audience), working("recommending"):
        columns = chosen.pop("columns", None)
        frame = read_interactions(data, columns=columns)
        # Only what has a meaning: another column could be taken for one of these again.
        frame = frame.select(name for name in _ROLES if name in frame.columns)
        if audience is not None:
            chosen["users"] = _users(audience, columns, frame["user"].dtype)
        rankings = BASELINES[method](frame, **chosen)
    write_frames({output: rankings}, RANKINGS)
    note(f"{rankings.height:,} items for {rankings['user'].n_unique():,} users in {output}")


def _users(path: str, columns: dict[str, str] | None, dtype: pl.DataType) -> pl.Series:
    """The users of a file; numbers in a text are names if those of the train part are."""
    names = {role: name for role, name in (columns or {}).items() if role in ("user", "item")}
    found = read_truth(path, columns=names)
    users = found.frame["user"].unique(maintain_order=True)
    return users.cast(pl.String) if found.textual and dtype == pl.String else users


command = Command(
    "baseline",
    help=(
        "Recommend items to every user of TRAIN by simple statistics.\n\n"
        "TRAIN is a file of interactions with columns for user, item and, where the method looks "
        "at them, rating and time, or - for standard input. A real recommender has to beat these."
    ),
    callback=_run,
    params=[
        click.Argument(["train"], type=click.Path()),
        Option(
            ["--method"],
            type=click.Choice(list(BASELINES)),
            required=True,
            help="What to recommend by.",
        ),
        Option(
            ["--output", "-o"],
            metavar="FILE",
            type=click.Path(),
            required=True,
            help=(
                "Where to write the rankings: .csv, .tsv, .jsonl, .parquet, or .run for a TREC "
                "run; text also with .gz; - is CSV on standard output."
            ),
            group="Output",
        ),
        *options_of(
            BASELINES,
            group="Options of the methods",
            without=["users"],
        ),
        Option(
            ["--users"],
            metavar="FILE",
            type=click.Path(),
            help=(
                "Recommend to the users of this file, such as the test part; without it, to "
                "everyone in TRAIN."
            ),
            group="Options of the methods",
        ),
    ],
    topics={"Methods": summaries(BASELINES)},
    example="rankmeter baseline train.csv --method popularity --output popularity.csv",
)
