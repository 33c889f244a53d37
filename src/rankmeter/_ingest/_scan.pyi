from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Content: TypeAlias = bytes | bytearray | memoryview | _Bytes
_Ids: TypeAlias = npt.NDArray[Any]
_Numbers: TypeAlias = npt.NDArray[np.float64]
_Places: TypeAlias = npt.NDArray[np.int64]

def first_topic(piece: _Content) -> int: ...
def last_topic(piece: _Content) -> int: ...
def count(piece: _Content) -> tuple[int, bool]: ...
def scan(
    piece: _Content,
    n_fields: int,
    number: int,
    items: _Ids,
    numbers: _Numbers,
    topics: _Ids,
    first: _Places,
    kept: _Bytes,
    used: int,
) -> tuple[int, int, int] | None: ...
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
