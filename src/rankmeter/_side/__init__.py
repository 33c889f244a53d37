"""Side data: what is known besides rankings and ground truth, for metrics of what was shown.

`Side` is what was given, with ids of the same types as the rankings. `SideTables` has it as arrays
over the codes of all items, and makes the evidence that a metric asks for by name.
"""

from __future__ import annotations

from rankmeter._side._given import NO_SIDE, Given, Side, read_side
from rankmeter._side._tables import SideTables

__all__ = ["NO_SIDE", "Given", "Side", "SideTables", "read_side"]
