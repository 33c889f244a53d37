"""Which files of the package a program loads, and how many lines of code they have."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
import tokenize
from pathlib import Path

SHOWN = """
import sys
for name, module in sorted(sys.modules.items()):
    if name.split(".")[0] == "rankmeter" and str(module.__dict__.get("__file__")).endswith(".py"):
        print(module.__file__)
"""
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
LAYOUT |= {tokenize.ENCODING, tokenize.ENDMARKER}


def loaded_files(code):
    """The files of the package that a fresh interpreter has loaded after running some code."""
    ran = subprocess.run(
        [sys.executable, "-c", code + SHOWN], capture_output=True, text=True, check=True
    )
    return [Path(line) for line in ran.stdout.splitlines()]


def count_code_lines(path):
    """The number of lines that are neither blank nor part of a comment or docstring."""
    text = Path(path).read_text("utf-8")
    lines = {
        number
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in LAYOUT
        for number in range(token.start[0], token.end[0] + 1)
    }
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            lines -= {*range(node.lineno, node.end_lineno + 1)}
    return len(lines)


PACKAGE = Path(__file__).parents[2] / "src" / "rankmeter"
PRICE_LIST = Path(__file__).with_name("price_list.toml")


def lines_by_room():
    """The number of lines of code of each folder and each file at the root of the package."""
    files = {path.stem: [path] for path in PACKAGE.glob("*.py")}
    folders = {path.name: [*path.rglob("*.py")] for path in PACKAGE.iterdir() if path.is_dir()}
    rooms = {name: sum(map(count_code_lines, own)) for name, own in (files | folders).items()}
    return {name: n for name, n in sorted(rooms.items()) if n}


if __name__ == "__main__":
    rows = "".join(f"{name} = {n}\n" for name, n in lines_by_room().items())
    head = "# Lines of code of each room of the package; `tests/laws/test_price.py` counts them.\n"
    PRICE_LIST.write_text(f"{head}[lines]\n{rows}", "utf-8")
