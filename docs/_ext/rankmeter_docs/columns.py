"""By which names columns are found."""

from __future__ import annotations

from rankmeter._ingest._columns import ROLES, SYNONYMS
from rankmeter_docs.rst import code, table

SIDES = {"rankings": "rankings", "truth": "truth", "interactions": "data of splits and baselines"}


def names() -> str:
    """Every role with where it is looked for and the names that it goes by."""
    rows = []
    for role, known in SYNONYMS.items():
        sides = [said for side, said in SIDES.items() if role in ROLES[side]]
        where = "all" if len(sides) == len(SIDES) else ", ".join(sides)
        rows.append((code(role), where, ", ".join(map(code, sorted(known, key=_by_role(role))))))
    return table(["role", "of", "names"], rows, widths=[12, 28, 60])


def _by_role(role: str) -> object:
    """The role itself first, then the alphabet."""
    return lambda name: (name != role, name)
