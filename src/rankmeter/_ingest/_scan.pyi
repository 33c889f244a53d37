from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

_Content: TypeAlias = bytes | bytearray
_Ids: TypeAlias = npt.NDArray[Any]
_Numbers: TypeAlias = npt.NDArray[np.float64]
_Places: TypeAlias = npt.NDArray[np.int64]

def cut(content: _Content, at: int) -> int: ...
def count(content: _Content, start: int, stop: int) -> int: ...
def scan(
    content: _Content,
    start: int,
    stop: int,
    n_fields: int,
    number: int,
    items: _Ids,
    numbers: _Numbers,
    topics: _Ids,
    first: _Places,
) -> tuple[int, int] | None: ...
def different(content: _Content, ids: _Ids) -> bool: ...
def write_hashes(content: _Content, ids: _Ids) -> None: ...
def gather(content: _Content, ids: _Ids) -> bytes: ...
def look_up(
    content: _Content,
    items: _Ids,
    numbers: _Numbers,
    offsets: _Places,
    at: _Places,
    others: _Content,
    sought: _Ids,
    found: _Numbers,
) -> None: ...
