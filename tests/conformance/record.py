"""Record the goldens: ``python tests/conformance/record.py [TOOL ...] [--check]``.

Every tool of ``record/`` gets its own virtual environment with its pinned packages, runs its
recording script there on the shared inputs, and its answers become ``goldens/TOOL.json``; those of
``record/shown/TOOL.py``, about what was shown, become ``goldens/shown/TOOL.json``. With
``--check`` nothing is written: the answers are compared with the stored ones, and any difference
beyond 1e-12 relative is printed and ends in exit code 1.

Environments live in ``$RANKMETER_CONFORMANCE_ENVS`` (default ``~/.cache/rankmeter-conformance``).
Interpreters are found as ``python3.X`` on the path or in pyenv's folder. A tool that no registry
carries is read from where the variable in its ``needs`` points; without it the tool is skipped.
"""

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from recordings import GOLDENS, HERE, RECORD, recordings

RELATIVE = 1e-12


def interpreter(version: str) -> str:
    """The Python of this minor version: on the path, else the newest of pyenv."""
    found = shutil.which(f"python{version}")
    # A pyenv shim is on the path for every version but works only for the selected ones.
    if found and not subprocess.run([found, "-V"], capture_output=True, check=False).returncode:
        return found
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    installed = sorted(
        root.glob(f"versions/{version}.*/bin/python"),
        key=lambda path: [int(part) for part in path.parts[-3].split(".") if part.isdigit()],
    )
    if not installed:
        sys.exit(f"Python {version} is neither on the path nor in {root}: install it first.")
    return str(installed[-1])


def environment(tool: str, wanted: dict) -> Path:
    """The Python inside `tool`'s environment, which is built where it is missing or outdated."""
    root = os.environ.get("RANKMETER_CONFORMANCE_ENVS", "~/.cache/rankmeter-conformance")
    fingerprint = hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:8]
    folder = Path(root).expanduser() / tool
    python = folder / "bin" / "python"
    ready = folder / "ready"
    if ready.exists() and ready.read_text() == fingerprint:
        return python
    print(f"{tool}: building {folder}", file=sys.stderr)
    subprocess.run([interpreter(wanted["python"]), "-m", "venv", "--clear", folder], check=True)
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if requirements := wanted.get("requirements"):
        subprocess.run([*pip, *requirements], check=True)
    if alone := wanted.get("without_dependencies"):
        subprocess.run([*pip, "--no-deps", *alone], check=True)
    ready.write_text(fingerprint)
    return python


def scripts(tool: str, wanted: dict) -> list[str]:
    """The recording scripts of a tool: about accuracy, and about what was shown if there is one."""
    asked = [wanted.get("script", tool), f"shown/{tool}"]
    return [script for script in asked if (RECORD / f"{script}.py").exists()]


def golden(tool: str, script: str) -> Path:
    """The answers to a script."""
    return GOLDENS / ("shown" if script.startswith("shown/") else "") / f"{tool}.json"


def record(tool: str, wanted: dict, script: str, output: Path) -> None:
    """Let `tool` answer all inputs of a script and write its golden to `output`."""
    variables = {**os.environ, "PYTHONHASHSEED": "0"}
    if needs := wanted.get("needs"):
        variables["TOOL_SOURCE"] = os.environ[needs]
    command = [environment(tool, wanted), HERE / "golden.py", tool, script, output]
    subprocess.run(command, check=True, env=variables)


def differences(stored: object, fresh: object, where: str = "") -> list[str]:
    """Every place where two goldens' cases differ by more than rounding."""
    if isinstance(stored, dict) and isinstance(fresh, dict):
        found = []
        for key in sorted(stored.keys() | fresh.keys()):
            at = f"{where} / {key}" if where else key
            if key not in stored or key not in fresh:
                found.append(f"{at}: only {'recorded now' if key in fresh else 'stored'}")
            else:
                found += differences(stored[key], fresh[key], at)
        return found
    if isinstance(stored, float) and isinstance(fresh, float):
        same = abs(stored - fresh) <= RELATIVE * max(abs(stored), abs(fresh))
    else:
        same = stored == fresh
    return [] if same else [f"{where}: stored {stored!r}, now {fresh!r}"]


def check(tool: str, wanted: dict, script: str) -> bool:
    """Whether `tool` still answers what is stored."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / f"{tool}.json"
        record(tool, wanted, script, output)
        fresh = json.loads(output.read_text())
    stored = json.loads(golden(tool, script).read_text())
    found = [
        line
        for part in ("version", "inputs", "cases")
        for line in differences(stored[part], fresh[part], part)
    ]
    for line in found:
        print(f"{tool}: {line}")
    print(f"{script}: {len(found)} differences")
    return not found


def main() -> int:
    environments = {tool: facts["environment"] for tool, facts in recordings().items()}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tools", nargs="*", metavar="TOOL", help="default: all")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args()
    if unknown := set(options.tools) - environments.keys():
        parser.error(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(environments)}")
    agreed = True
    for tool in options.tools or environments:
        wanted = environments[tool]
        needs = wanted.get("needs")
        if needs and needs not in os.environ:
            print(f"{tool}: skipped, ${needs} is not set ({wanted['why']})", file=sys.stderr)
            continue
        try:
            for script in scripts(tool, wanted):
                if options.check:
                    agreed = check(tool, wanted, script) and agreed
                else:
                    record(tool, wanted, script, golden(tool, script))
                    print(f"{script}: recorded")
        except subprocess.CalledProcessError as error:
            # One tool that cannot be installed or run must not hide what the others answer.
            print(f"{tool}: failed: {error}", file=sys.stderr)
            agreed = False
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main())
