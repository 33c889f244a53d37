"""The column names that are recognized."""

from __future__ import annotations

from rankmeter._reading.columns import ROLES, SYNONYMS
from rankmeter_docs.rst import code, table

SIDES = {"rankings": "rankings", "truth": "truth", "interactions": "data of splits and baselines"}


def names() -> str:
    """Every role with the inputs it belongs to and its column names."""
    rows = []
    for role, known in SYNONYMS.items():
        sides = [said for side, said in SIDES.items() if role in ROLES[side]]
        where = "all" if len(sides) == len(SIDES) else ", ".join(sides)
        rows.append((code(role), where, ", ".join(map(code, sorted(known, key=_by_role(role))))))
    return table(["role", "input", "column names"], rows, widths=[12, 28, 60])


def _by_role(role: str) -> object:
    """The name of the role first, then the others in alphabetical order."""
    return lambda name: (name != role, name)
