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
from rankmeter._cli._exits import complain
from rankmeter._cli._output import answer, json_option
from rankmeter._cli._terminal import page
from rankmeter._compiled import native
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


def _run(as_json: bool) -> None:
    machine, packages = _machine(), _packages()
    missing = [name for name, facts in packages.items() if facts["core"] and not facts["version"]]
    found = {"machine": machine, "packages": packages}
    answer(found, _text(machine, packages), as_json=as_json)
    if missing:
        complain(f"rankmeter does not work without {', '.join(missing)}")
        click.get_current_context().exit(4)


def _text(machine: dict[str, Any], packages: dict[str, dict[str, Any]]) -> str:
    formatter = page()
    formatter.write_dl([(name, str(value)) for name, value in machine.items()])
    for title, core in (("Required packages", True), ("Optional packages", False)):
        with formatter.section(title):
            chosen = {name: facts for name, facts in packages.items() if facts["core"] == core}
            formatter.write_dl([(name, _status(facts)) for name, facts in chosen.items()])
    return formatter.getvalue().rstrip()


def _status(facts: dict[str, Any]) -> str:
    if facts["version"]:
        return f"{facts['version']} ({facts['purpose']})"
    return f"not installed ({facts['purpose']}): {facts['install']}"


def _machine() -> dict[str, Any]:
    return {
        "rankmeter": __version__,
        "Python": f"{platform.python_version()} ({sys.executable})",
        "platform": platform.platform(),
        "cores": _cores(),
        "memory": _memory(),
        "Java": _java(),
        "compiled code": _compiled_code(),
    }


def _cores() -> int:
    """Cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


def _memory() -> str:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # not on Windows
        return "unknown"
    return f"{total / 2**30:.1f} GiB"


def _java() -> str:
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
    said = (done.stderr or done.stdout).strip().partition("\n")[0]
    return f"{said} ({java})"


def _compiled_code() -> str:
    if native is not None:
        return "used"
    return "not used, which is slower: pip found no C compiler with the headers of Python"


def _packages() -> dict[str, dict[str, Any]]:
    """Every package that the metadata of rankmeter names, and those that it reads frames of."""
    extras: dict[str, str | None] = {"duckdb": None, "pyspark": None}
    core = set()
    for requirement in requires("rankmeter") or ():
        name = re.split(r"[^\w.-]", requirement)[0].lower()
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", requirement)
        extras[name] = extra[1] if extra else None
        if not extra:
            core.add(name)
    return {
        name: {
            "core": name in core,
            "version": _version(name),
            "purpose": PURPOSES.get(name, "more"),
            "install": f"pip install 'rankmeter[{extra}]'" if extra else f"pip install {name}",
        }
        for name, extra in sorted(extras.items())
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


command = Command(
    "doctor",
    "Show versions, packages and the machine, for a report of a problem.\n\n"
    "Exits with code 4 if a required package is missing.",
    _run,
    [json_option()],
    example="rankmeter doctor",
)
