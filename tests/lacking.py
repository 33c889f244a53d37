"""Skip what cannot pass without the annexes that were taken out of this checkout.

Nobody lists these tests: one that fails after it asked for a module of a missing annex, itself or
in a process that it started, is skipped by the name of that annex. In a complete checkout this
plugin is not even registered.
"""

from __future__ import annotations

import re
import sys
from typing import ClassVar

import pytest

from rankmeter._annexes import annex_of, is_missing, missing_annexes

SENTENCE = re.compile(r"this installation lacks the annex (\w+)")
"""What `rankmeter._annexes.annex` and the command line say of a missing annex."""
PATH = re.compile(r"No (?:module named|such file).*?[\s'/]rankmeter[./]([\w./]+)")
"""What Python says of a module or a file, which it does not always quote."""


class Lacking:
    """Plugin of pytest, and the first finder of modules, which notes what is asked in vain."""

    asked: ClassVar[set[str]] = set()

    def find_spec(self, name, *_):
        """Note the annex of a module that is imported, and leave the search to others."""
        if name.startswith("rankmeter.") and is_missing(module := name.partition(".")[2]):
            self.asked.add(annex_of(module))

    def skip(self, report, call):
        """Make a skip of a failure that comes from a missing annex."""
        if not report.failed:
            return
        error, texts = call.excinfo.value, [report.longreprtext, *(t for _, t in report.sections)]
        texts += [str(getattr(error, name, "")) for name in ("stdout", "stderr")]  # of a process
        asked = {*self.asked, *getattr(error, "asked_in_vain", ())}
        asked |= {name for text in texts for name in SENTENCE.findall(text)}
        paths = [path for text in texts for path in PATH.findall(text)]
        asked |= {annex_of(p) for path in paths if is_missing(p := path.replace("/", "."))}
        if asked:
            error.asked_in_vain = asked  # by a fixture, whose error the next test gets again
            report.outcome = "skipped"
            path = str(getattr(report, "fspath", report.nodeid))
            report.longrepr = (path, 0, f"Skipped: without {', '.join(sorted(asked))}")

    @pytest.hookimpl(wrapper=True)
    def pytest_make_collect_report(self):
        """Skip a file that cannot be imported."""
        self.asked.clear()
        report = yield
        if report.failed:
            self.skip(report, report.call)
        return report

    def pytest_runtest_logstart(self):
        """Forget what other tests asked for."""
        self.asked.clear()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, call):
        """Skip a test that failed."""
        report = yield
        self.skip(report, call)
        return report


def register(config):
    """Register the plugin if an annex is missing."""
    if missing_annexes():
        sys.meta_path.insert(0, plugin := Lacking())
        config.pluginmanager.register(plugin, "lacking annexes")
