"""The page of a result as text, and the examples of a page of the documentation."""

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory


def page_of(result, **options):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "page.html"
        result.report(path, **options)
        return path.read_text("utf-8")


def blocks(page, language):
    """The fenced blocks of a language; every line keeps its line number."""
    kept, inside = [], False
    for line in page.read_text("utf-8").splitlines():
        fence = line.startswith("```")
        if fence:
            inside = line == f"```{language}"
        kept.append(line if inside and not fence else "")
    return "\n".join(kept) + "\n"


def run_python(page):
    """The number of Python examples of a page, and the differences from the output it shows."""
    options = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    told: list[str] = []
    test = doctest.DocTestParser().get_doctest(
        blocks(page, "python"), {}, page.name, str(page), lineno=0
    )
    doctest.DocTestRunner(optionflags=options).run(test, out=told.append)
    return len(test.examples), "".join(told)


COMMANDS = re.compile(r"^\$ (rankmeter .*?)(?<!\\)\n(.*?)(?=^\$ |\Z)", re.DOTALL | re.MULTILINE)


def run_commands(page):
    """Each command of a page that begins with ``rankmeter``, what it printed, and what it must."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for command, expected in COMMANDS.findall(blocks(page, "console")):
        run = subprocess.run(
            command,
            shell=True,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        yield command, run, expected
