"""Laws of the house: who may import whom, what is public, how fast and how light it starts."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rankmeter as rm
from rankmeter.metrics import METRICS, register, unregister
from rankmeter.testing import check_metric

PACKAGE = Path(rm.__file__).parent
ROOT = PACKAGE.parents[1]

# Each module may import the layers before its own; a module alone in a list is a layer.
LAYERS = [
    ["errors"],
    ["_statistics"],
    ["_hits"],
    ["metrics"],
    ["conventions"],
    ["_plan"],
    ["_ingest"],
    ["_ranks", "_pairs"],
    ["_align"],
    ["_scores"],
    ["_backends"],
    ["_report", "_track"],
    ["_segments"],
    ["_summary"],
    ["_curves"],
    ["_comparison"],
    ["_compare"],
    ["_options", "_chance"],
    ["_clock", "_lists"],
    ["splits"],
    ["_api", "baselines", "_describe", "datasets", "testing"],
    ["_explanation"],
    ["_explain"],
    ["_trec_eval"],
    ["_cli"],
]
HEAVY = {"pandas", "pyarrow", "duckdb", "scipy", "rich", "altair", "great_tables", "jinja2"}


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path, ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


def top_level_imports(tree):
    """Names imported when the module is loaded (not inside functions or TYPE_CHECKING)."""
    for node in tree.body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            if node.module == "rankmeter":
                yield from (f"rankmeter.{alias.name}" for alias in node.names)


def layer(name):
    first = name.split(".")[0]
    for number, group in enumerate(LAYERS):
        if first in group:
            return number
    raise AssertionError(f"{name} is in no layer: add it to LAYERS and to ARCHITECTURE.md")


@pytest.mark.parametrize(("path", "name"), list(modules()), ids=lambda value: str(value)[-40:])
def test_imports_run_one_way(path, name):
    if name in ("__init__", "__main__"):
        return
    mine = layer(name)
    for imported in top_level_imports(ast.parse(path.read_text("utf-8"))):
        if not imported.startswith("rankmeter."):
            assert imported.split(".")[0] not in HEAVY, f"{name} imports {imported} when loaded"
            continue
        other = imported.removeprefix("rankmeter.")
        assert layer(other) < mine or other.split(".")[0] == name.split(".")[0], (
            f"{name} imports {other}"
        )
        if name.split(".")[0] in ("splits", "baselines"):
            assert not other.startswith("metrics")


def test_metrics_know_neither_frames_nor_files():
    for path in (PACKAGE / "metrics").glob("*.py"):
        imported = set(top_level_imports(ast.parse(path.read_text("utf-8"))))
        assert not {i for i in imported if i.split(".")[0] in ("polars", "pathlib", "io")}, path


def test_the_public_names_are_sorted_exist_and_are_documented():
    assert rm.__all__ == sorted(rm.__all__, key=lambda n: (not n.isupper(), not n[0].isupper(), n))
    for name in rm.__all__:
        assert getattr(rm, name) is not None
        assert name in dir(rm)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = rm.nothing


def test_every_public_function_and_class_has_a_docstring_with_an_example():
    for name in ("evaluate", "metric", "Metric"):
        assert ">>>" in getattr(rm, name).__doc__
    for spec in METRICS.values():
        doc = spec.function.__doc__
        for part in ("Parameters", "Returns", "Notes", "Examples", ">>>"):
            assert part in doc, (spec.name, part)


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, rankmeter; print(sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = {name.split(".")[0] for name in ast.literal_eval(loaded.stdout)}
    assert not loaded & (HEAVY | {"numpy", "polars", "click"})


def test_evaluating_loads_no_optional_package_and_no_scipy():
    run = "result = rm.evaluate([['a']], [{'a'}]); repr(result); result.plan.describe()"
    code = f"import sys, rankmeter as rm; {run}; print(sorted(sys.modules))"
    loaded = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    loaded = {name.split(".")[0] for name in ast.literal_eval(loaded.stdout)}
    assert not loaded & HEAVY


def test_no_file_is_a_drawer():
    drawers = {"utils", "helpers", "common", "core", "base", "misc"}
    assert not [name for _, name in modules() if drawers & {p.strip("_") for p in name.split(".")}]


def test_the_version_is_said_once():
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    assert re.search(r'^version = "(.+)"', project, re.MULTILINE)[1] == rm.__version__


def test_a_metric_of_your_own_is_a_metric():
    def half_recall(hits, k=None):
        """Half of recall."""
        return hits.sum(hits.within(k)) / np.maximum(hits.n_relevant, 1) / 2

    register("Half recall", high=0.5, synonyms=("halfrec",))(half_recall)
    try:
        check_metric("half_recall", k=3)
        result = rm.evaluate([["a", "b"]], [{"a"}], "half_recall@1 halfrec")
        assert [e.mean for e in result.values()] == [0.5, 0.5]
    finally:
        unregister("half_recall")
