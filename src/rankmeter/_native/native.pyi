from collections.abc import Sequence
from typing import Any, TypeAlias

from numpy.typing import NDArray

_Array: TypeAlias = NDArray[Any]

def group(user: _Array, order: _Array, offsets: _Array) -> int: ...
def match(
    item: _Array,
    order: _Array | None,
    offsets: _Array,
    wanted: _Array,
    wanted_order: _Array | None,
    wanted_offsets: _Array,
    row: _Array,
    judgment: _Array,
    low: int,
    width: int,
) -> int: ...
def count(
    value: _Array,
    order: _Array | None,
    offsets: _Array,
    user: _Array,
    wanted: _Array,
    above: _Array,
    upto: _Array,
) -> int: ...
def sort(user: _Array, rank: _Array, order: _Array) -> int: ...
def read(numbers: _Array | None, containers: list[Any]) -> int: ...
def find(at: _Array, found: _Array, containers: list[Any], items: Sequence[Any]) -> int: ...
def gather(content: bytes | _Array, ids: _Array) -> bytes: ...
def find_in_lines(
    content: bytes | _Array,
    items: _Array,
    numbers: _Array,
    offsets: _Array,
    at: _Array,
    others: bytes | _Array,
    sought: _Array,
    found: _Array,
) -> int: ...
def scan(
    piece: Any,
    items: _Array,
    numbers: _Array,
    ranks: _Array | None,
    topics: _Array,
    first: _Array,
    kept: _Array,
    progress: _Array,
) -> int: ...
