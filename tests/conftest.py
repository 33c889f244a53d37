"""Settings shared by all tests, and the report at the end."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "house", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=25
)
settings.register_profile("thorough", settings.get_profile("house"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "house"))


TOGETHER = frozenset(
    f"test_{name}.py"
    for name in ("bench", "cli_data", "explain", "gates_page", "readme", "report", "report_page")
    + ("spark", "spark_cluster", "worst")
)
"""Files whose tests share something that takes long to make."""


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


def pytest_terminal_summary(terminalreporter):
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
