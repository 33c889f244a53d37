"""Laws of the code: which imports are allowed, what is public, how fast and light it starts."""

from __future__ import annotations

import ast
import graphlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from code_lines import count_code_lines, loaded_files

import rankmeter as rm
from rankmeter.metrics import METRICS, register, unregister
from rankmeter.testing import check_metric

pytestmark = pytest.mark.once

PACKAGE = Path(rm.__file__).parent
ROOT = PACKAGE.parents[1]

# Each module may import the layers before its own; a module alone in a list is a layer. The root
# of the package, which knows them all, is the last one.
LAYERS = [
    ["_native"],
    ["_version"],
    ["errors"],
    ["_annexes"],
    ["_files"],
    ["_choices"],
    ["_statistics"],
    ["_evidence"],
    ["metrics"],
    ["conventions", "testing"],
    ["_typed"],
    ["_reading"],
    ["_formats"],
    ["_rankings"],
    ["_engine"],
    ["_large"],
    ["_results"],
    ["_evaluation"],
    ["_scores"],
    ["_show", "_across", "_judge", "_stored", "_diff"],
    ["_report", "_explain", "_training"],
    ["splits"],
    ["baselines", "datasets", "_audit", "_published"],
    ["beir", "ir_measures", "keras", "mteb", "pyterrier", "sentence_transformers", "torch"],
    ["_cli"],
    ["__main__", ""],
]
HEAVY = {"pandas", "pyarrow", "duckdb", "pyspark"}
HEAVY |= {
    "scipy",
    "rich",
    "altair",
    "jinja2",
    "torch",
    "keras",
    "jax",
    "ir_measures",
    "ir_datasets",
    "pyterrier",
    "beir",
    "mteb",
    "sentence_transformers",
}


def modules():
    """Every module of the package: its path, and its name without the package name."""
    for path in sorted(p for p in PACKAGE.rglob("*.py*") if p.suffix in (".py", ".pyi")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        yield path, ".".join(part for part in parts if part != "__init__")


MODULES = {name: ast.parse(path.read_text("utf-8")) for path, name in modules()}


def imported(nodes):
    """The names that the import statements among syntax nodes import, with their packages."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, "relative imports hide the layer"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                yield whole if whole.removeprefix("rankmeter.") in MODULES else node.module


def top_level_imports(tree):
    """Names imported when the module is loaded (not inside functions or TYPE_CHECKING)."""
    return imported(tree.body)


READER = re.compile(r"(_reading\.\w+)\.\w+")
"""How the table of input forms names a function, whose module is imported with the first data."""


def own_imports(tree):
    """Modules of the package that a module imports: loaded with it, lazily, or for types alone."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and (named := READER.fullmatch(str(node.value))):
            yield named[1]
    for name in imported(ast.walk(tree)):
        if name == "rankmeter" or name.startswith("rankmeter."):
            yield name.removeprefix("rankmeter").removeprefix(".")


def layer(name):
    first = name.split(".")[0]
    for number, group in enumerate(LAYERS):
        if first in group:
            return number
    raise AssertionError(f"{name} is in no layer: add it to LAYERS and to ARCHITECTURE.md")


def upward(name, tree):
    """The imports of a module that go against the order of the layers."""
    mine, package = layer(name), name.split(".")[0]
    return [
        other
        for other in own_imports(tree)
        if other.split(".")[0] != package and layer(other) >= mine
    ]


@pytest.mark.parametrize("name", MODULES)
def test_imports_run_one_way(name):
    if name:
        assert upward(name, MODULES[name]) == []
    if name.split(".")[0] in ("splits", "baselines"):
        assert not [other for other in own_imports(MODULES[name]) if other.startswith("metrics")]


@pytest.mark.parametrize(
    "statement",
    [
        "from rankmeter._results.summary import Summary",
        "import rankmeter._results.summary",
        "from rankmeter._results import summary",
        "from rankmeter import __version__",
        "def draw():\n    from rankmeter._evaluation.evaluate import evaluate",
        "class A:\n    def b(self):\n        import rankmeter",
        "if TYPE_CHECKING:\n    from rankmeter._results.comparison import Comparison",
    ],
)
def test_an_import_against_the_order_is_found_wherever_it_is_written(statement):
    assert len(upward("_engine.block", ast.parse(statement))) == 1


def test_nothing_heavy_is_imported_when_a_module_is_loaded():
    found = {name: {i.split(".")[0] for i in top_level_imports(t)} for name, t in MODULES.items()}
    assert not {name: heavy & HEAVY for name, heavy in found.items() if heavy & HEAVY}


def test_no_import_leads_back_to_where_it_came_from():
    """Inside a package, too: lazy and type-only imports included."""
    graph = {name: {*own_imports(tree)} - {name} for name, tree in MODULES.items() if name}
    assert all(targets <= MODULES.keys() for targets in graph.values())
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        pytest.fail(f"these import each other: {' ← '.join(error.args[1])}")


def test_what_presents_numbers_takes_values_and_never_a_result():
    """Tables, charts and the page compute nothing."""
    results = {"result", "evaluated", "summary", "compared", "comparison"}
    presenting = {
        "_results.tables",
        "_results.answer",
        "_report.charts",
        "_report.page",
        "_show.tables",
    }
    for name in presenting & MODULES.keys():
        taken = {other.rpartition(".")[2] for other in own_imports(MODULES[name])}
        assert not taken & results, name


def test_metrics_know_neither_frames_nor_files():
    for name, tree in MODULES.items():
        if name.split(".")[0] == "metrics":
            found = {other.split(".")[0] for other in imported(ast.walk(tree))}
            assert not found & {"polars", "pathlib", "io"}, name


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


@pytest.mark.parametrize("call", ["evaluate(f, t, 'ndcg@10')", "compare({1: f, 2: f}, t, 'rr')"])
def test_frames_load_no_matrices_files_large_data_spark_or_side_data(call):
    code = "import polars as pl, rankmeter as rm\n"
    code += "f = pl.DataFrame({'user': [1], 'item': [1], 'score': [1.0]})\n"
    code += f"t = f.drop('score')\nrm.{call}"
    folders = {"_scores", "_formats", "_large"}
    files = {"spark.py", "keyed.py", "items.py", "collapse.py", "side_tables.py", "listing.py"}
    assert not [p for p in loaded_files(code) if p.parent.name in folders or p.name in files]


def packages_of(code, **more):
    """The top-level packages that a fresh interpreter has loaded after running some code.

    Those that are imported later, if they are used, are not loaded.
    """
    show = (
        "import atexit, sys; loaded = lambda: sorted("
        "name for name, module in sys.modules.items() if type(module).__name__ != '_LazyModule'); "
        "atexit.register(lambda: print(loaded(), file=sys.stderr))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", f"{show}\n{code}"],
        capture_output=True,
        text=True,
        check=True,
        **more,
    )
    return {name.split(".")[0] for name in ast.literal_eval(ran.stderr.splitlines()[-1])}


FRAMES = """
import polars as pl
import rankmeter as rm
rankings = pl.DataFrame({"user": ["a", "a", "b"], "item": ["x", "y", "x"], "rank": [1, 2, 1]})
truth = pl.DataFrame({"user": ["a", "b"], "item": ["x", "y"]})
"""
EVALUATE = FRAMES + 'rm.evaluate(rankings, truth, ["ndcg@10"])'
COMPARE = FRAMES + 'rm.compare({"a": rankings, "b": rankings.reverse()}, truth, ["ndcg@10"])'


@pytest.mark.parametrize(("code", "most"), [(EVALUATE, 12_000), (COMPARE, 15_000)])
def test_few_lines_are_loaded_to_evaluate_and_to_compare(code, most):
    """Who changes `evaluate` can rule out the rest; lower these numbers when they fall."""
    assert sum(map(count_code_lines, loaded_files(code))) <= most


def test_a_metric_loads_its_file_and_no_other():
    families = {Path(sys.modules[spec.family].__file__) for spec in METRICS.values()}
    assert families & {*loaded_files(EVALUATE)} == {PACKAGE / "metrics" / "ndcg.py"}
    assert not families & {*loaded_files("import rankmeter as rm; dir(rm)")}


def command_line(*words):
    return f"import sys; sys.argv[1:] = {words}; from rankmeter.__main__ import main; main()"


def test_importing_the_package_loads_nothing_heavy():
    assert not packages_of("import rankmeter") & (HEAVY | {"numpy", "polars", "click"})


def test_evaluating_loads_no_optional_package_and_no_scipy():
    run = "result = rm.evaluate([['a']], [{'a'}]); repr(result); result.plan.describe()"
    assert not packages_of(f"import rankmeter as rm; {run}") & HEAVY


@pytest.mark.parametrize("words", [("--version",), ("--help",), (), ("completion", "zsh")])
def test_the_command_line_answers_about_itself_without_reading_packages(words):
    assert not packages_of(command_line(*words)) & (HEAVY | {"numpy", "polars"})


def test_the_command_line_completes_commands_without_reading_packages():
    asked = {"COMP_WORDS": "rankmeter ev", "COMP_CWORD": "1"}
    asked |= {"_RANKMETER_COMPLETE": "bash_complete"}
    loaded = packages_of(command_line(), env={**os.environ, **asked})
    assert not loaded & (HEAVY | {"numpy", "polars"})


def test_the_command_line_evaluates_without_packages_that_it_does_not_need(tmp_path):
    (tmp_path / "run.csv").write_text("user,item,score\nann,a,2\nann,b,1\n", "utf-8")
    (tmp_path / "truth.csv").write_text("user,item\nann,b\n", "utf-8")
    loaded = packages_of(command_line("evaluate", "run.csv", "truth.csv"), cwd=tmp_path)
    assert not loaded & (HEAVY | {"matplotlib", "http", "multiprocessing", "unittest"})


def test_one_convention_is_read_to_follow_it():
    read = "from rankmeter.conventions import _profiles as p\n"
    read += "print(p._load_profile.cache_info().currsize)"
    run = f"import rankmeter as rm; rm.evaluate([['a']], [{{'a'}}], like='ranx'); {read}"
    ran = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True)
    assert int(ran.stdout) == 1


def test_a_class_name_has_one_meaning_in_the_package():
    nodes = [node for tree in MODULES.values() for node in ast.walk(tree)]
    names = [node.name for node in nodes if isinstance(node, ast.ClassDef)]
    assert not {name for name in names if names.count(name) > 1}


def test_no_file_is_a_drawer():
    drawers = {"utils", "helpers", "common", "core", "base", "misc"}
    assert not [name for name in MODULES if drawers & {p.strip("_") for p in name.split(".")}]


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


def test_a_sentence_of_an_error_stands_once():
    """At most three errors say the same in twenty characters or more: then it is a function."""
    places = {}
    for name, tree in MODULES.items():
        texts = (
            node
            for error in ast.walk(tree)
            if isinstance(error, ast.Raise)
            for node in ast.walk(error)
            if isinstance(node, ast.Constant) and isinstance(node.value, str)
        )
        for node in texts:
            for part in re.split(r"[.:;,?] ", node.value):
                sentence = part.strip(" .:;,")
                if len(sentence) >= 20 and " " in sentence:
                    places.setdefault(sentence, set()).add((name, node.lineno))
    assert not {said: where for said, where in places.items() if len(where) > 3}
