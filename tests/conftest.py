"""Settings shared by all tests, and the report at the end."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

import lacking

settings.register_profile(
    "house", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=15
)
settings.register_profile("few", settings.get_profile("house"), max_examples=5)
settings.register_profile("thorough", settings.get_profile("house"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


collect_ignore = ["on_cluster.py", "laws/client.py"]  # programs: for PySpark, and for mypy

TOGETHER = frozenset(
    f"test_{name}.py"
    for name in ("bench", "cli_data", "explain", "gates_page", "readme", "report", "report_page")
    + ("spark", "spark_cluster", "worst")
)
"""Files whose tests share something that takes long to make."""


LATER = {
    "cli/test_cli_facts.py": "documentation",
    "docs": "documentation",
    "fuzz": "fuzzers",
    "rankings/test_spark.py": "Spark",
    "rankings/test_spark_cluster.py": "Spark",
    "evaluation/test_retrieval_tools.py": "other libraries",
    "evaluation/test_trainers.py": "other libraries",
    "evaluation/test_wrappers.py": "other libraries",
    "laws/test_each.py": "other libraries",
    "results/test_track.py": "other libraries",
    "statistics/test_statsmodels.py": "other libraries",
    "results/test_chart_parts.py": "reports in a browser and in LaTeX",
    "results/test_charts.py": "reports in a browser and in LaTeX",
    "results/test_desk.py": "reports in a browser and in LaTeX",
    "results/test_page_parts.py": "reports in a browser and in LaTeX",
    "results/test_paper.py": "reports in a browser and in LaTeX",
    "results/test_report.py": "reports in a browser and in LaTeX",
    "results/test_report_page.py": "reports in a browser and in LaTeX",
    "results/test_worst.py": "reports in a browser and in LaTeX",
    "cli/test_cli_compare.py": "processes, signals and full disks",
    "cli/test_cli_data.py": "processes, signals and full disks",
    "cli/test_cli_help.py": "processes, signals and full disks",
    "cli/test_cli_process.py": "processes, signals and full disks",
    "cli/test_cold_start.py": "processes, signals and full disks",
    "cli/test_github.py": "processes, signals and full disks",
    "cli/test_gates_page.py": "processes, signals and full disks",
    "cli/test_signals.py": "processes, signals and full disks",
    "cli/test_spinner.py": "processes, signals and full disks",
    "laws/test_forks.py": "processes, signals and full disks",
    "rankings/test_disk_ends.py": "processes, signals and full disks",
    "cli/test_cli_bad_input.py": "hostile input",
    "laws/test_hostile_names.py": "hostile input",
    "laws/test_hostile_options.py": "hostile input",
    "laws/test_limits.py": "hostile input",
    "reading/test_ingest_limits.py": "hostile input",
    "before/test_baselines.py": "the longest searches for counterexamples",
    "door/test_first_calls.py": "Spark",
    "door/test_spark_shapes.py": "Spark",
    "before/test_splits.py": "the longest searches for counterexamples",
    "door/test_all_shapes.py": "the longest searches for counterexamples",
    "evaluation/test_accumulator.py": "the longest searches for counterexamples",
    "evaluation/test_explain.py": "the longest searches for counterexamples",
    "laws/test_doubts.py": "the longest searches for counterexamples",
    "laws/test_inputs.py": "the longest searches for counterexamples",
    "laws/test_json.py": "the longest searches for counterexamples",
    "laws/test_kinds.py": "the longest searches for counterexamples",
    "laws/test_large_k.py": "the longest searches for counterexamples",
    "laws/test_product_random.py": "the longest searches for counterexamples",
    "laws/test_ranges.py": "the longest searches for counterexamples",
    "laws/test_verbs.py": "the longest searches for counterexamples",
    "laws/test_work.py": "the longest searches for counterexamples",
    "rankings/test_disk.py": "the longest searches for counterexamples",
    "rankings/test_disk_pieces.py": "the longest searches for counterexamples",
    "rankings/test_engine.py": "the longest searches for counterexamples",
    "rankings/test_order.py": "the longest searches for counterexamples",
    "rankings/test_pairs.py": "the longest searches for counterexamples",
    "reading/test_ingest_lines.py": "the longest searches for counterexamples",
    "reading/test_ingest_meet.py": "the longest searches for counterexamples",
    "reading/test_ingest_lists.py": "the longest searches for counterexamples",
    "results/test_results.py": "the longest searches for counterexamples",
    "cli/test_import_later.py": "the structure of the code, and its English",
    "laws/test_costs.py": "the structure of the code, and its English",
    "laws/test_english.py": "the structure of the code, and its English",
    "laws/test_house.py": "the structure of the code, and its English",
    "laws/test_words.py": "the structure of the code, and its English",
}
"""Folders and files that ``make test`` leaves to ``make test-rest``, by what they are about.

What proves the numbers stays: definitions, laws, conventions, statistics, every form of data.
"""
ON_WHEEL = frozenset({"docs/test_readme.py", "docs/test_use_from.py"})
"""Files that only `make test-wheel` runs, with the pages of the documentation."""
TESTS = Path(__file__).parent


def is_later(path):
    """Whether a file or folder of tests is one of `LATER`, or in one."""
    if not path.is_relative_to(TESTS):
        return False
    name = path.relative_to(TESTS).as_posix()
    return any(name == other or name.startswith(f"{other}/") for other in LATER)


def pytest_addoption(parser):
    """``--quick``: what `make test` runs; ``--rest``: all other tests."""
    parser.addoption("--quick", action="store_true", help="run what make test runs")
    parser.addoption("--rest", action="store_true", help="run what make test leaves out")


def pytest_ignore_collect(collection_path, config):
    """Do not even import what is left out."""
    if config.option.rest and collection_path in {TESTS / name for name in ON_WHEEL}:
        return True
    if is_later(collection_path):
        return True if config.option.quick else None
    return True if config.option.rest and collection_path.is_file() else None


def pytest_configure(config):
    """Skip what needs an annex that was taken out of this checkout."""
    lacking.register(config)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Each of these files goes to one worker; all other tests are distributed one by one.

    Groups of pytest-xdist 3.8 have no effect under pytest 9.2.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file = nodeid.partition("::")[0].rpartition("/")[2]
            return file if file in TOGETHER else nodeid

    return Scheduling(config, log)


@pytest.fixture(scope="session", autouse=True)
def parts_of_few_rows():
    """Cut what the engine ``disk`` reads into many parts, in every test of this process."""
    import cases

    with cases.parts_of(60):
        yield


@pytest.fixture
def unprivileged(tmp_path):
    """Run the test as a user other than root, because root can read and write everything."""
    if os.geteuid() != 0:
        yield
        return
    top = Path(tempfile.gettempdir())
    for folder in (tmp_path, *tmp_path.parents):
        if folder.is_relative_to(top) and folder != top:
            folder.chmod(0o755)
    os.seteuid(65534)
    yield
    os.seteuid(0)


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter):
    """What was compared with other tools, and what ``--quick`` left out."""
    compared_with_tools(terminalreporter)
    if terminalreporter.config.option.quick:
        files = [*TESTS.rglob("test_*.py")]
        later = sum(map(is_later, files))
        about = ", ".join(dict.fromkeys(LATER.values()))
        terminalreporter.write_line(
            f"not run: {later} of {len(files)} files ({about}); make test-all runs them"
        )


def compared_with_tools(terminalreporter):
    """Tool by tool: values compared and the largest deviation, metric by metric with ``-v``."""
    rows = [
        (report.nodeid.rpartition("[")[2].rstrip("]"), value)
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == "conformance" and report.when == "call"
    ]
    if not rows:
        return
    verbose = terminalreporter.config.option.verbose > 0
    terminalreporter.section("conventions held against their tools")
    for tool, metrics in sorted(rows):
        compared, largest = sum(m[1] for m in metrics), max(m[2] for m in metrics)
        line = f"{tool:<18} {len(metrics):>3} metrics {compared:>7,} values, largest deviation"
        terminalreporter.write_line(f"{line} {largest:.1e}")
        for name, count, deviation in metrics if verbose else ():
            terminalreporter.write_line(f"    {name:<58} {count:>6,} {deviation:.1e}")


def pytest_sessionfinish(session):
    """In CI, which installs everything, a skipped test is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter is not None and reporter.stats.get("skipped"):
        reporter.write_line("tests were skipped: a missing part must be installed", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
