from typing import TypeAlias

import numpy as np
import numpy.typing as npt

_Whole: TypeAlias = npt.NDArray[np.int64]
_Bits: TypeAlias = npt.NDArray[np.uint64]
_Real: TypeAlias = npt.NDArray[np.float64]

def group(user: _Whole, order: _Whole, offsets: _Whole, /) -> bool: ...
def match(
    item: _Bits,
    order: _Whole | None,
    offsets: _Whole,
    wanted: _Bits,
    wanted_order: _Whole | None,
    wanted_offsets: _Whole,
    row: _Whole,
    judgment: _Whole,
    low: int,
    width: int,
    /,
) -> int: ...
def count(
    value: _Real,
    order: _Whole | None,
    offsets: _Whole,
    user: _Whole,
    wanted: _Real,
    above: _Whole,
    upto: _Whole,
    /,
) -> None: ...
def sort(user: _Whole, rank: _Real, order: _Whole, /) -> bool: ...
