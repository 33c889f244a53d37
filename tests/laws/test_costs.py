"""What adding something costs: the exercises of CONTRIBUTING, done in memory."""

from __future__ import annotations

import dataclasses
import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter import _choices, _cli
from rankmeter._cli import command_summaries
from rankmeter._engine.block import Block
from rankmeter._engine.memory import Data, Engine
from rankmeter._engine.scores import UserValues, check_whole
from rankmeter._engine.side import NO_SIDE, Side
from rankmeter._engine.side_tables import SideTables
from rankmeter._reading.forms import FORMS, Form
from rankmeter._reading.frames import from_polars
from rankmeter._reading.table import Table

pytestmark = pytest.mark.once

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src" / "rankmeter"
RANKINGS = {"ann": {"a": 2.0, "b": 1.0}, "bob": {"b": 3.0, "a": 1.0}}
TRUTH = {"ann": {"b"}, "bob": {"b"}}


def test_contributing_names_every_cost():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    table = re.findall(r"^\| \*\*(a|an) (.+?)\*\* \| (\d) \|", text, re.MULTILINE)
    costs = {what: int(n) for _, what, n in table}
    assert costs == {
        "choice": 3,
        "metric": 2,
        "convention": 2,
        "input form": 2,
        "command": 1,
        "engine": 1,
        "value of a choice": 3,
        "type of option": 4,
        "kind of evidence": 4,
        "number of a comparison": 2,
    }


def test_contributing_leads_to_files_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    table = text.partition("## To change something")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| .+? \| `([^`]+)`.*? \| `(\S+?)(?: -k \w+)?` \|$", table, re.MULTILINE)
    assert len(rows) >= 30
    assert not [name for name, _ in rows if not ((SRC / name).exists() or (ROOT / name).exists())]
    assert not [test for _, test in rows if not (ROOT / test).exists()]


def test_a_metric_is_a_function_and_a_slow_definition(tmp_path):
    """The metric of CONTRIBUTING passes all checks of metrics in a copy with two changed files."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    blocks = re.findall(r"^ +```python\n(.*?)^ +```", text, re.DOTALL | re.MULTILINE)
    function, definition = map(textwrap.dedent, blocks)
    for folder in ("src", "docs", "tests"):
        ignored = shutil.ignore_patterns("_build", "data", "conformance", "__pycache__", "fuzz")
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=ignored)
    for name in ("CONTRIBUTING.md", "README.md", "pyproject.toml"):
        shutil.copy(ROOT / name, tmp_path)
    written = {
        "src/rankmeter/metrics/precision_recall.py": function,
        "tests/reference.py": definition,
    }
    for path, code in written.items():
        with (tmp_path / path).open("a", encoding="utf-8") as file:
            file.write("\n\n" + code)
    checks = [
        "tests/laws/test_contract.py",
        "tests/results/test_show.py",
        "tests/docs/test_docs.py",
    ]
    chosen = (
        "(test_every_metric and weighted_recall) or of_every_metric or summaries or formulas_are"
    )
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rP", "-p", "no:cacheprovider", "-n0",
         *checks, "-k", chosen],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": f"{tmp_path / 'src'}{os.pathsep}{tmp_path / 'tests'}"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    if importlib.util.find_spec("sphinx"):
        assert "no summary in Korean of weighted_recall" in ran.stdout
    costs = re.search(r"^\| \*\*a metric\*\* \| (\d) \|", text, re.MULTILINE)
    assert len(written) == int(costs[1])


@pytest.mark.parametrize("name", _choices.CHOICES)
def test_a_choice_is_named_where_it_takes_effect_and_in_no_other_list(name):
    """Its declaration, its behavior and its row in the test of the command line."""
    declared = (SRC / "_choices.py").read_text("utf-8")
    assert len(re.findall(rf"^    {name}: ", declared, re.MULTILINE)) == 2  # value, type checkers
    for path in (
        "_evaluation/evaluate.py",
        "conventions/_plan.py",
        "_cli/evaluate.py",
        "_cli/_options.py",
    ):
        listed = re.findall(rf'"{name}"', (SRC / path).read_text("utf-8"))
        known = {"interval", "n_items", "bugs", "resamples", "seed", "users", "unjudged"}
        assert not listed or name in known, (name, path)


class Pairs:
    """A custom container that an input form accepts."""

    def __init__(self, frame):
        self.frame = frame


def test_an_input_form_is_a_reader_and_a_row(monkeypatch):
    form = Form(
        "pairs", lambda data: isinstance(data, Pairs), lambda data, side: from_polars(
            data.frame, side, "pairs"
        )
    )  # fmt: skip
    monkeypatch.setattr("rankmeter._reading.forms.FORMS", (form, *FORMS))

    def pairs(**columns):
        return Pairs(pl.DataFrame(columns))

    rankings = pairs(user=["ann", "ann"], item=["a", "b"], score=[2.0, 1.0])
    truth = pairs(user=["ann"], item=["b"])
    groups = pairs(user=["ann"], segment=["old"])
    found = rm.evaluate(rankings, truth, "rr", clusters=pairs(user=["ann"], cluster=["c"]))
    assert found["rr"].mean == 0.5
    assert found.by_segment(groups)["segment"].to_list() == ["old"]
    compared = rm.compare({"x": rankings, "y": rankings}, truth, "rr", segments=groups)
    assert compared["rr"][0].difference == 0
    listed = rm.baselines.popularity(truth, users=pairs(user=["ann"]), exclude_seen=False)
    assert listed["item"].to_list() == ["b"]
    assert rm.describe(truth)


def test_a_command_is_one_file():
    files = {path.stem for path in Path(_cli.__file__).parent.glob("*.py") if path.stem[0] != "_"}
    assert {name.replace("-", "_") for name in command_summaries()} == files
    told = rankmeter("--help").out
    for name, summary in command_summaries().items():
        assert re.search(rf"^\s+{name}\s+{re.escape(summary[:30])}", told, re.MULTILINE), name


opened = []
"""The systems of each call that opened the engine below."""


@dataclasses.dataclass(frozen=True)
class OneUserAtATime:
    """An engine: it divides users into blocks, runs them, merges, and checks the whole."""

    def open(
        self,
        truth: Table,
        systems: Mapping[str, Table],
        *,
        side: Side = NO_SIDE,
        keep: bool = False,  # noqa: ARG002
    ) -> Data:
        opened.append(tuple(systems))
        known = SideTables(side, systems, truth)
        users = Block(truth, systems).users

        class Blocks:
            def run(self, plan):
                parts = [
                    Block(
                        only(truth, user),
                        {n: only(t, user) for n, t in systems.items()},
                        side_tables=lambda: known,
                    ).score(plan)
                    for user in users
                ]
                return {
                    name: check_whole(plan, UserValues.merge(p[name] for p in parts), truth, table)
                    for name, table in systems.items()
                }

        return Blocks()


def only(table, user):
    rows = table.frame.filter(pl.col("user") == user)
    mine = np.array([one == user for one in table.empty_users], dtype=bool)
    return dataclasses.replace(table.with_rows(rows), empty_users=table.empty_users.filter(mine))


def test_an_engine_is_one_class_and_serves_every_function(monkeypatch):
    def answers():
        compared = rm.compare({"x": RANKINGS, "y": {"ann": ["b"]}}, TRUTH, ["rr", "ndcg@1"])
        return [
            rm.evaluate(RANKINGS, TRUTH, ["rr", "ap@1"]).to_json(),
            compared.to_json(),
            compared.curve("ndcg@1", 2).frame.rows(),
            rm.curve(RANKINGS, TRUTH, "rr", 2).frame.rows(),
            repr(rm.explain(RANKINGS, TRUTH, "ndcg@2", between=("sklearn", "lenskit"))),
            repr(rm.explain(RANKINGS, TRUTH, "ndcg@2", target="0.82")),
        ]

    whole = answers()
    engine: Engine = OneUserAtATime()
    monkeypatch.setattr("rankmeter._engine.ENGINE", engine)
    opened.clear()
    assert answers() == whole
    one = ("rankings",)
    assert opened == [("x", "y"), one, one, one, one], "a function passed the engine by"
    assert set(inspect.signature(Engine.open).parameters) == {
        "self", "truth", "systems", "side", "keep",
    }  # fmt: skip
