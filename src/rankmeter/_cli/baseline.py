"""``rankmeter baseline``: interactions in, rankings by simple statistics out."""

from __future__ import annotations

from collections import Counter
from inspect import signature
from pathlib import Path
from typing import Any

import click
import polars as pl

from rankmeter._cli._command import Command, Option
from rankmeter._cli._files import RANKINGS, check_paths, format_of, standard_input, write_frames
from rankmeter._cli._options import options_of, own_options, summaries
from rankmeter._cli._terminal import note, working
from rankmeter._ingest import read_interactions
from rankmeter._ingest._columns import Columns, named
from rankmeter._ingest._forms import find
from rankmeter._ingest._ids import ids
from rankmeter._ingest._messages import some
from rankmeter._ingest._text import looks_like_trec
from rankmeter.baselines import BASELINES
from rankmeter.errors import ColumnError

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
    k = chosen.get("k", signature(BASELINES[method]).parameters["k"].default)
    if short := _short_lists(rankings, chosen.get("users", frame["user"]).n_unique(), k):
        click.echo(f"warning: {short}", err=True)
    note(f"{rankings.height:,} items for {rankings['user'].n_unique():,} users in {output}")


def _short_lists(rankings: pl.DataFrame, n_users: int, k: int) -> str | None:
    """How many users get nothing, or fewer items than asked for."""
    lengths = rankings.group_by("user").len()["len"]
    none, fewer = n_users - len(lengths), int((lengths < k).sum())
    told = [f"{none:,} get no items"] * bool(none) + [f"{fewer:,} fewer than {k:,}"] * bool(fewer)
    if not told:
        return None
    return (
        f"of {n_users:,} users {' and '.join(told)}: the method has no more items for them, or "
        "none that they have not seen in TRAIN"
    )


def _users(path: str, columns: dict[str, str] | None, dtype: pl.DataType) -> pl.Series:
    """The users of a file; numbers in a text are names if those of the train part are."""
    lines = _lines(path)
    if lines is not None:
        return ids(pl.Series(lines), "user", path, Counter(), untyped=dtype != pl.String)
    found = _table(path)
    name = _user_column(found, path, (columns or {}).get("user"))
    users = ids(found.fetch([name])[name], "user", path, Counter(), untyped=found.untyped)
    return users.cast(pl.String) if found.textual and dtype == pl.String else users


def _lines(path: str) -> list[str] | None:
    """A text with one user per line; None of anything else.

    Standard input has no extension either, so what has columns or brackets is left to others.
    """
    file = Path(path).expanduser()
    if file.suffix.lower() not in ("", ".txt") or not file.is_file():
        return None
    try:
        text = file.read_bytes().decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        return None
    lines = [line for line in map(str.strip, text.splitlines()) if line]
    if not lines or text[0] in "{[" or looks_like_trec(text) or any(c in lines[0] for c in "\t,"):
        return None
    return lines[1:] if named("user", lines[:1]) else lines


def _table(path: str) -> Columns:
    """A file with columns. JSON Lines of users alone would be read as users with their items."""
    if Path(path).suffix.lower() in (".jsonl", ".ndjson"):
        try:
            records = pl.read_ndjson(path)
        except (pl.exceptions.PolarsError, OSError):
            return find(path, "truth")  # which says what is wrong
        if named("user", records.columns):
            return find(records, "truth")
    return find(path, "truth")


def _user_column(found: Columns, path: str, told: str | None) -> str:
    if found.roles is not None:
        return found.roles["user"]
    if told in found.names:
        return str(told)
    candidates = named("user", found.names)
    if len(candidates) != 1:
        raise ColumnError(
            f"{path} has {'several columns' if candidates else 'no column'} for the user: "
            f"{some(found.names, 12)}. Call one of them user or name it with --columns user=..., "
            "or write a .txt with one user per line"
        )
    return candidates[0]


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
                "Recommend to the users of this file, such as the test part: a table with a "
                "column for the user, or a .txt with one user per line. Without it, to everyone "
                "in TRAIN."
            ),
            group="Options of the methods",
        ),
    ],
    topics={"Methods": summaries(BASELINES)},
    example="rankmeter baseline train.csv --method popularity --output popularity.csv",
)
