"""Write how far each convention agrees with its tool: the matrix of the documentation.

    python tests/conformance/agreement.py [TOOL ...]

Run it after a profile or a recording has changed; a test says so if it was forgotten. Without
names all tools are compared again.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
MATRIX = HERE / "agreement.json"


def agreement(*tools):
    """By tool and by the tool's own name of a metric: what was compared, and the largest deviation.

    Deviations are given to one digit: the next differs from machine to machine.
    """
    from test_conformance import TOOLS, compare, matches

    from rankmeter.conventions import load_convention

    found = {}
    for tool in tools or TOOLS:
        convention = load_convention(tool)
        found[tool] = {
            name: {
                "metric": one.metric,
                "compared": one.compared,
                "largest": float(f"{one.largest:.0e}"),
                "differs": len(one.differs),
                "excused": [d["why"] for d in convention.deviations if matches(d, name)],
            }
            for name, one in sorted(compare(tool).items())
        }
    return found


def text(found):
    """One line for each metric, so that changes are readable."""
    tools = []
    for tool, metrics in found.items():
        lines = [
            f"    {json.dumps(name)}: {json.dumps(one, ensure_ascii=False)}"
            for name, one in metrics.items()
        ]
        tools.append(f"  {json.dumps(tool)}: {{\n" + ",\n".join(lines) + "\n  }")
    return "{\n" + ",\n".join(tools) + "\n}\n"


if __name__ == "__main__":
    sys.path[:0] = [str(HERE), str(HERE.parent)]
    stored = json.loads(MATRIX.read_text("utf-8")) if sys.argv[1:] else {}
    MATRIX.write_text(text(stored | agreement(*sys.argv[1:])), "utf-8")
