"""The facts of each recording besides its output: ``record/TOOL.toml``, one file for each tool.

To add a convention costs two places: its profile, ``src/rankmeter/conventions/NAME.toml``, and the
recording. The recording is a script ``record/TOOL.py``, which asks the tool, the answers that
``record.py`` keeps in ``goldens/TOOL.json``, and the facts that the comparison needs. A second
script, ``record/shown/TOOL.py``, may ask about what was shown, on the inputs of ``shown.py``:

.. code-block:: toml

    takes = "lists"               # what the tool is given, as below
    numbers = true                # it was given the items of integer_ids as numbers
    single_precision = true       # its numbers have 6 digits, not 15
    threshold = "named"           # it is part of a metric's name: a name without it has none
    binary_labels = ["…"]         # cases in which it was given labels 0 and 1

    [environment]                 # what ``record.py`` installs
    python = "3.11"
    requirements = ["lenskit==2025.8.1"]

    [excused."…"]                 # where a deviation shows, by the ``why`` of the profile
    cases = ["ties"]              # the shared inputs; default all
    values = ["per_user"]         # where only these, or only the "mean", differ
    decimals = 4                  # where it only rounds
    absent = 0                    # where it only has no line for a user with this value

``takes`` is rows with ``scores``, in which an item may occur twice; ``mappings`` from item to
score; ``lists`` in order; or ``triples``, each with the scores of its candidates: every true item
is a user of its own. ``threshold = "reached"`` is that of a tool whose threshold is a number that
has to be reached: above 0 is 1 and more.

TOOL is the name of the convention or an alias of it. `test_recordings` holds that every profile has
a recording and every recording a profile; nothing else lists the tools.

Standard library only: ``record.py`` reads the environments here.
"""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

HERE = Path(__file__).resolve().parent
RECORD = HERE / "record"
GOLDENS = HERE / "goldens"
FACTS = {"takes", "numbers", "single_precision", "threshold", "binary_labels"}
EXCUSES = {"cases", "values", "decimals", "absent"}


def recordings():
    """The facts of every recording, by the name of the tool."""
    return {
        file.stem: tomllib.loads(file.read_text("utf-8")) for file in sorted(RECORD.glob("*.toml"))
    }


def answers(tool):
    """What a tool answered, about accuracy and about what was shown."""
    files = [GOLDENS / f"{tool}.json", GOLDENS / "shown" / f"{tool}.json"]
    if not files[0].exists() and not files[1].exists():
        raise FileNotFoundError(f"{files[0]} is missing: run tests/conformance/record.py {tool}")
    parts = [json.loads(file.read_text("utf-8")) for file in files if file.exists()]
    return parts[0] | {"cases": {n: c for part in parts for n, c in part["cases"].items()}}
