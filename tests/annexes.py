"""Take annexes out of a copy of the repository, and run the tests that are left.

``python tests/annexes.py`` takes out each annex of `rankmeter._annexes.ANNEXES`, one after the
other, each together with the annexes that need it; ``python tests/annexes.py show report`` those
two. Folders go, and nothing is edited. No test is listed, either: one that asks for what is missing
is skipped (`lacking`), all others must pass, and no more than `SKIPPED` may be skipped. The files
with skipped tests are shown, because a test of the core has no reason to be among them.
"""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from xml.etree import ElementTree as ET

ROOT = Path(__file__).parents[1]
ANNEXES = runpy.run_path(str(ROOT / "src" / "rankmeter" / "_annexes.py"))["ANNEXES"]
SKIPPED = dict.fromkeys(ANNEXES, 10) | {"formats": 35, "scores": 25}
"""The largest share of tests in percent that need an annex, or one that needs it."""


def with_dependents(name):
    """An annex and the annexes that need it."""
    found = {name}
    while more := {n for n, annex in ANNEXES.items() if found & {*annex["needs"]}} - found:
        found |= more
    return [n for n in ANNEXES if n in found]


def take_out(root, names):
    """Delete the folders of annexes from a working tree."""
    package = root / "src" / "rankmeter"
    for path in (package / folder for name in names for folder in ANNEXES[name]["folders"]):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


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


def tests_pass_without(name, options):
    """Whether the tests that are left pass without an annex, and few enough are skipped."""
    names = with_dependents(name)
    sys.stderr.write(f"without {', '.join(names)}\n")
    with TemporaryDirectory() as folder:
        root = Path(folder)
        copy(root)
        take_out(root, names)
        ran = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-rfE", *options]
            + ["--junit-xml", str(root / "ran.xml")],
            cwd=root,
            # Where CI is set a skipped test fails the run.
            env={**os.environ, "PYTHONPATH": str(root / "src"), "CI": ""},
            check=False,
        )
        cases = [*ET.parse(root / "ran.xml").iter("testcase")]
    files = Counter(case.get("classname") or case.get("name") for case in cases)
    skipped = [case for case in cases if case.find("skipped") is not None]
    skips = Counter(case.get("classname") or case.get("name") for case in skipped)
    for file, n in sorted(skips.items()):
        sys.stderr.write(f"    skipped {n} of {files[file]}: {file}\n")
    share = 100 * len(skipped) / len(cases)
    sys.stderr.write(f"without {name} {len(skipped)} of {len(cases)} tests are skipped\n")
    return ran.returncode == 0 and share <= SKIPPED[name]


def main():
    """Take out the annexes named before ``--``, or each one; pytest gets the words after it."""
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    options = words[cut + 1 :] or ["-n", "auto", "--quick"]
    names = words[:cut] or ANNEXES
    failed = [name for name in names if not tests_pass_without(name, options)]
    sys.exit(f"tests fail, or too many are skipped, without {failed}" if failed else 0)


if __name__ == "__main__":
    main()
