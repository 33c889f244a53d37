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

    def only(self, chosen: BoolArray | IntArray | slice) -> Self:
        """Select rows by mask, place or slice."""
        if isinstance(chosen, np.ndarray) and chosen.dtype == bool:
            if chosen.all():
                return self
            chosen = np.flatnonzero(chosen)
        columns = {name: getattr(self, name) for name in self.arrays}
        return replace(self, **{name: c if c is None else c[chosen] for name, c in columns.items()})


def joined(parts: Sequence[Any], names: Sequence[str]) -> dict[str, Any]:
    """Some arrays of all parts, one part after the other; None where one part has none."""
    columns = {name: [getattr(part, name) for part in parts] for name in names}
    return {name: _concatenated(arrays) for name, arrays in columns.items()}


def _concatenated(arrays: list[npt.NDArray[Any] | None]) -> npt.NDArray[Any] | None:
    given = [array for array in arrays if array is not None]
    return np.concatenate(given) if len(given) == len(arrays) else None
