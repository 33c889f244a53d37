"""Arrays of one length, a value for each row, which are selected and joined together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from rankmeter._evidence.hits import BoolArray, IntArray


@dataclass(frozen=True, eq=False)
class Parallel:
    """Dataclass with some array fields of one length, a value for each row; a field may be None."""

    arrays: ClassVar[tuple[str, ...]]

    def only(self, rows: BoolArray | IntArray | slice) -> Self:
        """Select rows by mask, index or slice."""
        if isinstance(rows, np.ndarray) and rows.dtype == bool:
            if rows.all():
                return self
            rows = np.flatnonzero(rows)
        columns = {name: getattr(self, name) for name in self.arrays}
        return replace(self, **{name: c if c is None else c[rows] for name, c in columns.items()})


Join: TypeAlias = Callable[[object, Sequence[npt.NDArray[Any]]], npt.NDArray[Any]]
"""Concatenates arrays; its first argument names what they are."""


def concatenate(_: object, arrays: Sequence[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    """Concatenate arrays into a new one."""
    return np.concatenate(arrays)


def concatenate_fields(
    blocks: Sequence[Any], names: Sequence[str], join: Join = concatenate
) -> dict[str, Any]:
    """Concatenate the named arrays of all blocks; None where a block has None."""
    columns = {name: [getattr(block, name) for block in blocks] for name in names}
    return {
        name: None if any(array is None for array in arrays) else join(name, arrays)
        for name, arrays in columns.items()
    }
