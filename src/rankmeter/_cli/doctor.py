"""``rankmeter doctor``: Show versions, packages and the machine."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, requires, version
from typing import Any

import click

from rankmeter._cli._command import Command
from rankmeter._cli._exits import print_error
from rankmeter._cli._output import json_option, print_result
from rankmeter._cli._terminal import terminal_help_formatter
from rankmeter._native import native
from rankmeter._version import __version__

PURPOSES = {
    "altair": "charts in reports",
    "click": "the command line",
    "duckdb": "rankings and truth from DuckDB relations",
    "jinja2": "HTML reports",
    "numpy": "the metrics",
    "pandas": "results as pandas frames",
    "polars": "reading, joining and writing tables",
    "pyarrow": "Arrow-backed pandas frames",
    "pyspark": "Spark frames",
    "rich": "tables and progress on a terminal",
    "scipy": "tests of significance, sparse matrices",
    "vl-convert-python": "charts as images",
}
"""What a package is for."""


def _run_command(as_json: bool) -> None:
    facts = {"machine": _machine_facts(), "packages": _package_facts()}
    print_result(facts, _facts_text(**facts), as_json=as_json)
    packages = facts["packages"].items()
    if missing := [name for name, facts in packages if facts["core"] and not facts["version"]]:
        print_error(f"rankmeter does not work without {', '.join(missing)}")
        click.get_current_context().exit(4)


def _facts_text(machine: dict[str, Any], packages: dict[str, Any]) -> str:
    formatter = terminal_help_formatter()
    formatter.write_dl([(name, str(value)) for name, value in machine.items()])
    for title, core in (("Required packages", True), ("Optional packages", False)):
        with formatter.section(title):
            formatter.write_dl(
                [
                    (name, "{version} ({purpose})".format(**facts))
                    if facts["version"]
                    else (name, "not installed ({purpose}): {install}".format(**facts))
                    for name, facts in packages.items()
                    if facts["core"] == core
                ]
            )
    return formatter.getvalue().rstrip()


def _machine_facts() -> dict[str, Any]:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        memory = f"{total / 2**30:.1f} GiB"
    except (AttributeError, ValueError, OSError):  # not on Windows
        memory = "unknown"
    compiled = "not used, which is slower: pip found no C compiler with the headers of Python"
    return {
        "rankmeter": __version__,
        "Python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "cores": cores,
        "memory": memory,
        "Java": _java_version(),
        "compiled code": compiled if native is None else "used",
    }


def _java_version() -> str:
    """The first line of ``java -version``, which Spark needs."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else None  # noqa: PTH118
    java = java or shutil.which("java")
    if java is None:
        return "not found (only Spark needs it)"
    try:
        done = subprocess.run(  # noqa: S603 - the program that the user has installed
            [java, "-version"], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{java} does not run: {error}"
    return f"{(done.stderr or done.stdout).strip().partition(chr(10))[0]} ({java})"


def _package_facts() -> dict[str, dict[str, Any]]:
    """Facts on each package in rankmeter's metadata, and on DuckDB and Spark."""
    requirements = ["duckdb; extra == ''", "pyspark; extra == ''", *(requires("rankmeter") or ())]
    packages = {}
    for requirement in requirements:
        name = re.split(r"[^\w.-]", requirement)[0].lower()
        extra = re.search(r"extra == ['\"]([\w-]*)['\"]", requirement)
        try:
            installed: str | None = version(name)
        except PackageNotFoundError:
            installed = None
        packages[name] = {
            "core": extra is None,
            "version": installed,
            "purpose": PURPOSES.get(name, "more"),
            "install": f"pip install 'rankmeter[{extra[1]}]'"
            if extra and extra[1]
            else f"pip install {name}",
        }
    return dict(sorted(packages.items()))


command = Command(
    "doctor",
    "Show versions, packages and the machine, for a report of a problem.\n\n"
    "Exits with code 4 if a required package is missing.",
    _run_command,
    [json_option()],
    example="rankmeter doctor",
)
