"""``rankmeter demo``: Run the whole job on the MovieLens ratings."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path

import click

from rankmeter._cli._command import Command, CommandOption
from rankmeter._cli._files import refuse_overwriting
from rankmeter._cli._terminal import print_table, show_spinner
from rankmeter._results.tables import TextTable
from rankmeter.baselines import BASELINES
from rankmeter.errors import to_one_line

_HERE = Path(__file__)
EXAMPLES = (_HERE.with_name("_demo.py"), _HERE.parents[3] / "examples" / "demo.py")
"""Where the example is: in an installed package, and in a checkout."""


def _run_command(ratings: str | None, output: str) -> None:
    names = [*(f"{name}.csv" for name in ("train", "test", *BASELINES)), "results.json"]
    outputs = [str(Path(output, name)) for name in (*names, "report.html")]
    refuse_overwriting(outputs, [ratings] if ratings and Path(ratings).is_file() else [])
    example = run_path(str(next(filter(Path.is_file, EXAMPLES))))
    with show_spinner("splitting, recommending, evaluating, comparing"):
        parts = list(example["demo"](ratings, output))
    for part in parts:
        if isinstance(part, str):
            click.echo("\n".join(map(to_one_line, part.split("\n"))))
        else:
            title, cells = part
            print_table(TextTable(cells.columns, cells.rows()), title)
            click.echo()


command = Command(
    "demo",
    "Run the whole job on the MovieLens ratings.\n\n"
    "Describes the ratings and holds out a fifth of each user's; hides the rest for one user in "
    "ten, to simulate new users. Recommends the top 100 of every baseline and of two simple models "
    "that learn, measures accuracy, diversity, novelty and coverage, compares the systems, and "
    "writes a report. Takes about half a minute.",
    _run_command,
    [
        CommandOption(
            "--ratings",
            "Ratings to use instead of the MovieLens ratings in the folder examples: a file with "
            "columns for user, item and optionally rating and time.",
            path="FILE",
        ),
        CommandOption(
            "--output -o",
            "Where to write train, test, the rankings, results.json and report.html.",
            path="FOLDER",
            default="demo",
            show_default=True,
        ),
    ],
    example="rankmeter demo --output demo",
)
