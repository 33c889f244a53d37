"""``rankmeter doctor``: Show versions, packages and the machine."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import click

from rankmeter._cli._command import Command
from rankmeter._cli._exits import print_error
from rankmeter._cli._output import json_option, print_result
from rankmeter._cli._terminal import terminal_help_formatter
from rankmeter._native import native
from rankmeter._version import __version__

PACKAGES = {
    "click": ("the command line", ""),
    "numpy": ("the metrics", ""),
    "polars": ("reading, joining and writing tables", ""),
    "rich": ("tables and progress on a terminal", ""),
    "scipy": ("tests of significance, sparse matrices", ""),
    "altair": ("charts in reports", "rankmeter[report]"),
    "duckdb": ("rankings and truth from DuckDB relations", "duckdb"),
    "jinja2": ("HTML reports", "rankmeter[report]"),
    "pandas": ("results as pandas frames", "rankmeter[pandas]"),
    "pyarrow": ("Arrow-backed pandas frames", "rankmeter[pandas]"),
    "pyspark": ("Spark frames", "rankmeter[spark]"),
    "vl-convert-python": ("charts as images", "rankmeter[report]"),
}
"""What each package is for, and what brings it if it is optional."""


def _run_command(as_json: bool) -> None:
    machine: dict[str, Any] = {
        "rankmeter": __version__,
        "Python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "cores": os.cpu_count(),
        "Java": os.environ.get("JAVA_HOME") or shutil.which("java") or "not found (for Spark)",
        "compiled code": "used"
        if native is not None
        else "not used, which is slower: pip found no C compiler with the headers of Python",
    }
    packages = {name: _package_facts(name, *about) for name, about in PACKAGES.items()}
    formatter = terminal_help_formatter()
    formatter.write_dl([(name, str(value)) for name, value in machine.items()])
    with formatter.section("Packages"):
        formatter.write_dl([(name, _package_text(**facts)) for name, facts in packages.items()])
    facts = {"machine": machine, "packages": packages}
    print_result(facts, formatter.getvalue().rstrip(), as_json=as_json)
    if missing := [name for name, of in packages.items() if of["core"] and not of["version"]]:
        print_error(f"rankmeter does not work without {', '.join(missing)}")
        click.get_current_context().exit(4)


def _package_facts(name: str, purpose: str, source: str) -> dict[str, Any]:
    try:
        installed: str | None = version(name)
    except PackageNotFoundError:
        installed = None
    install = f"pip install '{source}'" if "[" in source else f"pip install {name}"
    return {"core": not source, "version": installed, "purpose": purpose, "install": install}


def _package_text(core: bool, version: str | None, purpose: str, install: str) -> str:
    about = f"{'required' if core else 'optional'}: {purpose}"
    return f"{version} ({about})" if version else f"not installed ({about}): {install}"


command = Command(
    "doctor",
    "Show versions, packages and the machine, for a report of a problem.\n\n"
    "Exits with code 4 if a required package is missing.",
    _run_command,
    [json_option()],
    example="rankmeter doctor",
)
