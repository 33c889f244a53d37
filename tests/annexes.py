"""Take annexes out of a copy of the repository, and run the tests that are left.

``python tests/annexes.py`` takes out each annex of `rankmeter._annexes.ANNEXES`, one after the
other, each together with the annexes that need it; ``python tests/annexes.py show report`` those
two. Nothing else is edited: what the table names goes, and the rest must pass.
"""

from __future__ import annotations

import ast
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
ANNEXES = runpy.run_path(str(ROOT / "src" / "rankmeter" / "_annexes.py"))["ANNEXES"]
LISTS = ("src/rankmeter/__init__.py", "src/rankmeter/_annexes.py", "tests/conftest.py")
"""Files in which modules and files of tests have lines of their own."""


def present(table, **needed):
    """The entries of a table without those that need an annex that was taken out.

    `needed` has the annex by name of the entry, up to a comma: ``show="show"``.
    """
    return {
        name: value
        for name, value in table.items()
        if needed.get(name.partition(",")[0]) in {None, *ANNEXES}
    }


def with_dependents(name):
    """An annex and the annexes that need it."""
    found = {name}
    while more := {n for n, annex in ANNEXES.items() if found & {*annex["needs"]}} - found:
        found |= more
    return [n for n in ANNEXES if n in found]


def take_out(root, names):
    """Delete annexes from a working tree: folders, tests, examples in docstrings, and lines."""
    package = root / "src" / "rankmeter"
    modules, files = [], []
    for name in names:
        modules += [path.removesuffix(".py").replace("/", ".") for path in ANNEXES[name]["folders"]]
        for path in (package / path for path in ANNEXES[name]["folders"]):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for test in ANNEXES[name]["tests"]:
            if test.startswith("tests/"):
                (root / test).unlink(missing_ok=True)  # may belong to another annex, too
                files.append(test.removeprefix("tests/"))
            else:
                delete_examples(package, test)
    words = [rf"rankmeter\.{m}\b|\"{m}[.\"]| import {m} as" for m in map(re.escape, modules)]
    words += [f'^ +"(tests/)?{re.escape(file)}"[:,]' for file in files]
    for path in (root / name for name in LISTS):
        lines = path.read_text("utf-8").splitlines(keepends=True)
        kept = [line for line in lines if not re.search("|".join(words), line)]
        path.write_text("".join(kept), "utf-8")
    delete_entries(package / "_annexes.py", names)


def delete_examples(package, name):
    """Delete the examples of a docstring, by its dotted name."""
    module, *rest = name.removeprefix("rankmeter.").split(".")
    path = package / module
    while path.is_dir():
        path /= rest.pop(0)
    path = path.with_suffix(".py")
    text = path.read_text("utf-8")
    node = ast.parse(text)
    for part in rest:
        node = next(n for n in node.body if getattr(n, "name", "") == part)
    docstring = ast.get_docstring(node, clean=False)
    start = docstring.index("Examples\n")
    kept = docstring[:start].rstrip() + docstring[docstring.rindex("\n") :]
    path.write_text(text.replace(docstring, kept), "utf-8")


def delete_entries(path, names):
    """Delete the entries of annexes from their table."""
    text = path.read_text("utf-8")
    for name in names:
        text = re.sub(
            rf'^    "{name}": {{\n.*?^    }},\n', "", text, flags=re.DOTALL | re.MULTILINE
        )
    path.write_text(text, "utf-8")


def copy(root):
    """Copy the files that git knows or would add, or all where it knows none; compiled code."""
    known = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(known, cwd=ROOT, capture_output=True, text=True, check=False).stdout
    files = {ROOT / name for name in listed.split("\0") if name} or {*ROOT.rglob("*")}
    files |= {*ROOT.glob("src/rankmeter/_native/native*.*")}
    for path in filter(Path.is_file, files):
        copied = root / path.relative_to(ROOT)
        copied.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copied)


def tests_pass_without(names, options):
    """Whether the tests that are left pass when annexes were taken out."""
    sys.stderr.write(f"without {', '.join(names)}\n")
    with TemporaryDirectory() as folder:
        root = Path(folder)
        copy(root)
        take_out(root, names)
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options],
            cwd=root,
            env={**os.environ, "PYTHONPATH": str(root / "src")},
            check=False,
        )
    return ran.returncode == 0


def main():
    """Take out the annexes named before ``--``, or each one; pytest gets the words after it."""
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    options = words[cut + 1 :] or ["-n", "auto", "--quick"]
    groups = [with_dependents(name) for name in words[:cut] or ANNEXES]
    failed = [names for names in groups if not tests_pass_without(names, options)]
    sys.exit(f"tests fail without {failed}" if failed else 0)


if __name__ == "__main__":
    main()
