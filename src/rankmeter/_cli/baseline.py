"""``rankmeter baseline``: Generate baseline recommendations."""

from __future__ import annotations

from inspect import signature
from typing import Any

import click
import polars as pl

from rankmeter._cli._command import Command, CommandOption
from rankmeter._cli._files import (
    RANKINGS,
    output_format,
    refuse_overwriting,
    standard_input_as_file,
    write_frames,
)
from rankmeter._cli._options import build_options, method_summaries, select_method_options
from rankmeter._cli._terminal import print_progress, show_spinner
from rankmeter._reading.keyed import read_users
from rankmeter._reading.read import Interactions
from rankmeter.baselines import BASELINES
from rankmeter.errors._checks import counted


def _run_command(train: str, method: str, output: str, users: str | None, **choices: Any) -> None:
    options = select_method_options(BASELINES, method, choices)
    output_format(output, RANKINGS)
    refuse_overwriting([output], [train, users])
    with standard_input_as_file(train, users) as (data, audience), show_spinner("recommending"):
        columns = options.pop("columns", None)
        read = Interactions.read(data, columns=columns)
        train_users = read.frame["user"]
        if audience is not None:
            options["users"] = read_users(audience, train_users, columns=columns)
        rankings = BASELINES[method](read, **options)
    write_frames({output: rankings}, RANKINGS)
    k = options.get("k", signature(BASELINES[method]).parameters["k"].default)
    if short := _short_lists_sentence(rankings, options.get("users", train_users).n_unique(), k):
        click.echo(f"warning: {short}", err=True)
    users = counted(rankings["user"].n_unique(), "user")
    print_progress(f"{counted(rankings.height, 'item')} for {users} in {output}")


def _short_lists_sentence(rankings: pl.DataFrame, n_users: int, k: int) -> str | None:
    """Sentence about users with no items, or fewer than requested; None without such users."""
    lengths = rankings.group_by("user").len()["len"]
    none, fewer = n_users - len(lengths), int((lengths < k).sum())
    without_items = counted(none, "gets no items", "get no items")
    short = [without_items] * bool(none) + [f"{fewer:,} fewer than {k:,}"] * bool(fewer)
    if not short:
        return None
    return (
        f"of {counted(n_users, 'user')} {' and '.join(short)}: the method has no further "
        "items for them, or they have already seen the others in TRAIN"
    )


command = Command(
    "baseline",
    "Recommend items to every user of TRAIN by simple statistics.\n\n"
    "TRAIN is a file of interactions with columns for user, item and, if the method uses "
    "them, rating and time, or - for standard input. A real recommender has to beat these.",
    _run_command,
    [
        click.Argument(["train"], type=click.Path()),
        CommandOption(
            "--method", "The baseline.", type=click.Choice(list(BASELINES)), required=True
        ),
        CommandOption(
            "--output -o",
            "Where to write the rankings: .csv, .tsv, .jsonl, .parquet, or .run for a TREC "
            "run; text also with .gz; - is CSV on standard output.",
            path="FILE",
            required=True,
            group="Output",
        ),
        *build_options(BASELINES, group="Options of the methods", without=["users"]),
        CommandOption(
            "--users",
            "Recommend to the users of this file, such as the test part: a table with a "
            "column for the user, or a .txt with one user per line. Default: all users "
            "in TRAIN.",
            path="FILE",
            group="Options of the methods",
        ),
    ],
    topics={"Methods": method_summaries(BASELINES)},
    example="rankmeter baseline train.csv --method popularity --output popularity.csv",
)
