"""Record what the old code of the page "Coming from other tools" answers.

``PYTHON record_moving.py TOOL``, with the Python of the tool's environment, runs ``moving/TOOL.py``
and keeps its ``found`` in ``moving/found.json`` with the version of the tool and the command.
"""

import json
import runpy
import sys
from importlib.metadata import version
from pathlib import Path

HERE = Path(__file__).resolve().parent / "moving"
PACKAGES = {"pytrec_eval": "pytrec-eval-terrier"}


def main(tool):
    found = runpy.run_path(str(HERE / f"{tool}.py"))["found"]
    answer = {
        "version": version(PACKAGES.get(tool, tool)),
        "command": f"python tests/conformance/record_moving.py {tool}",
        "found": {str(name): float(value) for name, value in found.items()},
    }
    file = HERE / "found.json"
    known = json.loads(file.read_text("utf-8")) if file.exists() else {}
    known[tool] = answer
    file.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    sys.path = [path for path in sys.path if Path(path or ".").resolve() != HERE.parent]
    main(sys.argv[1])
