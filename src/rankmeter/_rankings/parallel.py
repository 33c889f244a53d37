"""Arrays of one length, which are selected and joined together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from rankmeter._evidence.hits import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Parallel:
    """Fields of which some are arrays with a value for each row, or None."""

    arrays: ClassVar[tuple[str, ...]]

    def only(self, rows: BoolArray | IntArray | slice) -> Self:
        """Select rows by mask, place or slice."""
        if isinstance(rows, np.ndarray) and rows.dtype == bool:
            if rows.all():
                return self
            rows = np.flatnonzero(rows)
        columns = {name: getattr(self, name) for name in self.arrays}
        return replace(self, **{name: c if c is None else c[rows] for name, c in columns.items()})


def joined(blocks: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Some arrays of all parts, one part after the other; None where one part has none."""
    columns = {name: [getattr(part, name) for part in blocks] for name in names}
    return {name: _concatenated(arrays) for name, arrays in columns.items()}


def _concatenated(arrays: list[npt.NDArray[Any] | None]) -> npt.NDArray[Any] | None:
    present = [array for array in arrays if array is not None]
    return np.concatenate(present) if len(present) == len(arrays) else None
