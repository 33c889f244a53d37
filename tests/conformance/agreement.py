"""Write how far each convention agrees with its tool: the matrix of the documentation.

    python tests/conformance/agreement.py

Run it after a profile or a recording has changed; a test says so if it was forgotten.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

HERE = Path(__file__).parent
MATRIX = HERE / "agreement.json"


def agreement():
    """By tool and by the tool's own name of a metric: what was compared, and the largest deviation.

    Deviations are given to one digit: the next differs from machine to machine.
    """
    from test_conformance import TOOLS, compare, matches

    from rankmeter.conventions import load_convention

    found = {}
    for tool in TOOLS:
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
    MATRIX.write_text(text(agreement()), "utf-8")
