"""``rankmeter split``: Split interactions into train and test sets."""

from __future__ import annotations

from itertools import chain
from pathlib import Path
from typing import Any

import click

from rankmeter._cli._command import Command, CommandOption
from rankmeter._cli._files import (
    STDIN,
    TABLES,
    output_format,
    refuse_overwriting,
    standard_input_as_file,
    write_frames,
)
from rankmeter._cli._options import build_options, method_summaries, select_method_options
from rankmeter._cli._output import json_option, print_result
from rankmeter._cli._terminal import show_spinner
from rankmeter._reading.read import Interactions
from rankmeter.errors import UsageError
from rankmeter.splits import SPLITS, Split


def _run_command(
    ratings: str,
    method: str,
    train: str | None,
    test: str | None,
    output: str | None,
    form: str | None,
    as_json: bool,
    **choices: Any,
) -> None:
    options = select_method_options(SPLITS, method, choices)
    _check_destinations(train, test, output, form)
    refuse_overwriting([train, test, output], [ratings])
    with standard_input_as_file(ratings) as (data,), show_spinner("splitting"):
        read = Interactions.read(data, columns=options.pop("columns", None))
        result = SPLITS[method](read, **options)
    folds = (result,) if isinstance(result, Split) else result
    if output is not None:
        names = [*_parts(folds[0])]
        paths = _fold_paths(Path(output), len(folds), form or _input_format(ratings), names)
        refuse_overwriting([*chain(*paths)], [ratings])
        _refuse_old_parts(Path(output), paths)
    elif len(folds) > 1:
        raise UsageError(f"{method} makes {len(folds)} splits: name a folder with --output")
    elif folds[0].validation is not None:
        raise UsageError("with --validation there are three parts: name a folder with --output")
    else:
        paths = [(str(train), str(test))]
    tables = [part for fold in folds for part in _parts(fold).values()]
    frames = dict(zip(chain(*paths), map(read.restore_input_columns, tables), strict=True))
    write_frames(frames, folders=output is not None)
    splits = [
        {
            "method": fold.method,
            **dict(zip(_parts(fold), files, strict=True)),
            "counts": fold.counts,
        }
        for fold, files in zip(folds, paths, strict=True)
    ]
    print_result({"splits": splits}, "\n\n".join(map(repr, folds)), as_json=as_json)


def _parts(fold: Split) -> dict[str, Any]:
    """The parts of a split by name."""
    parts = {"train": fold.train, "test": fold.test}
    return parts if fold.validation is None else {**parts, "validation": fold.validation}


def _check_destinations(
    train: str | None, test: str | None, output: str | None, form: str | None
) -> None:
    if output is not None and (train is not None or test is not None):
        raise UsageError("--output is a folder for both parts: leave out --train and --test")
    if output is None and (train is None or test is None):
        raise UsageError("name the outputs: --train FILE and --test FILE, or --output FOLDER")
    if form is not None and output is None:
        raise UsageError(
            "--format is for --output: the formats of --train and --test follow from their "
            "extensions"
        )
    for path in (train, test):
        if path == STDIN:
            raise UsageError("the parts are written to files: pass a file instead of -")
        if path is not None:
            output_format(path, TABLES)


def _input_format(ratings: str) -> str:
    """The format of the input if it is known, else CSV."""
    try:
        return output_format(ratings, TABLES)[0]
    except UsageError:
        return "csv"


def _fold_paths(folder: Path, n: int, form: str, names: list[str]) -> list[tuple[str, ...]]:
    """Name the files of each fold, one for each part."""
    digits = len(str(n))
    homes = [folder / f"fold-{i:0{digits}}" for i in range(1, n + 1)] if n > 1 else [folder]
    return [tuple(str(home / f"{name}.{form}") for name in names) for home in homes]


def _refuse_old_parts(folder: Path, paths: list[tuple[str, ...]]) -> None:
    """Refuse old parts next to the new ones: they would look like parts of the same split."""
    present_parts = [
        str(file)
        for name in ("train.*", "test.*", "validation.*")
        for pattern in (name, f"fold-*/{name}")
        for file in sorted(folder.glob(pattern))
        if file.suffix.removeprefix(".") in TABLES
    ]
    if old_parts := sorted(set(present_parts).difference(*paths)):
        tail = f" and {len(old_parts) - 1} more" if len(old_parts) > 1 else ""
        raise UsageError(
            f"{folder} holds another split, of which {old_parts[0]}{tail} would remain: delete it, "
            "or choose another folder"
        )


command = Command(
    "split",
    "Split RATINGS into train and test.\n\n"
    "RATINGS is a file of interactions with columns for user, item and, if the method uses "
    "it, time, or - for standard input. Both parts keep all columns, with their names, and "
    "the order of columns and rows. Values are written as they were read: a rating of 5 as "
    "5.0, 1.10 as 1.1, all times in one form. Input without column names (a TREC file, "
    "JSON by user) gets the names user, item, rating and time.",
    _run_command,
    [
        click.Argument(["ratings"], type=click.Path()),
        CommandOption(
            "--method",
            "How to choose the interactions to hold out.",
            type=click.Choice(list(SPLITS)),
            required=True,
        ),
        CommandOption(
            "--train",
            "Where to write the train part: .csv, .tsv, .jsonl, .parquet; text also with .gz.",
            path="FILE",
            group="Output",
        ),
        CommandOption("--test", "Where to write the test part.", path="FILE", group="Output"),
        CommandOption(
            "--output -o",
            "Instead: a folder for train and test; of several folds, each gets a subfolder.",
            path="FOLDER",
            group="Output",
        ),
        CommandOption(
            "form --format",
            "Format of the files in that folder; default: that of RATINGS, or CSV.",
            type=click.Choice(list(TABLES)),
            group="Output",
        ),
        json_option("Write the sizes of the parts as one JSON object."),
        *build_options(SPLITS, group="Options of the methods"),
    ],
    topics={"Methods": method_summaries(SPLITS)},
    example="rankmeter split ratings.csv --method leave-one-out --train train.csv --test test.csv",
)
