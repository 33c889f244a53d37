"""Arrays of any library: NumPy, PyTorch, JAX, CuPy, the array API, DLPack, SciPy.

An array in memory of the CPU becomes a NumPy array, without a copy where that is possible. One on
another device stays there: its own library compares and adds up, and `to_numpy` fetches the counts.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from rankmeter._evidence.hits import IntArray
from rankmeter.errors import DataError
from rankmeter.errors._checks import brief

HALF = ("float16", "bfloat16", "float8")
"""Types whose few digits make ties."""


def asarray(data: Any, name: str) -> Any:
    """Convert data in CPU memory to a NumPy array; return arrays on other devices unchanged.

    Raises
    ------
    DataError
        If the data are neither an array nor nested lists of numbers.
    """
    if isinstance(data, np.ndarray):
        if np.ma.is_masked(data):
            raise DataError(f"`{name}` has masked cells: pass them in `exclude`")
        return np.asarray(np.ma.getdata(data))  # no subclass: a matrix would stay two-dimensional
    library = type(data).__module__.partition(".")[0]
    if library == "torch":
        if str(data.layout) != "torch.strided":
            raise DataError(
                f"`{name}` is a sparse tensor: pass to_dense() of it, or a SciPy matrix"
            )
        data = data.detach()
        if data.device.type != "cpu":
            return data
        if str(data.dtype).startswith(("torch.bfloat16", "torch.float8")):  # which NumPy lacks
            data = data.float()
        return data.numpy()
    if library in ("jax", "jaxlib"):
        on_cpu = all(device.platform == "cpu" for device in data.devices())
        return np.asarray(data) if on_cpu else data
    if library == "cupy" or hasattr(data, "__array_namespace__"):
        return data
    try:
        return np.from_dlpack(data) if hasattr(data, "__dlpack__") else np.asarray(data)
    except (TypeError, ValueError, RuntimeError, BufferError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"`{name}` cannot be read as an array ({reason}): {brief(data)}") from error


def array_namespace(array: Any) -> Any:
    """The module with the functions of the array API for the library of an array."""
    if isinstance(array, np.ndarray):
        return np
    if hasattr(array, "__array_namespace__"):
        return array.__array_namespace__()
    return sys.modules[type(array).__module__.partition(".")[0]]


def to_device_of(array: Any, numbers: Any) -> Any:
    """Convert NumPy integers to the library and the device of an array."""
    if isinstance(array, np.ndarray):
        return numbers
    library = array_namespace(array)
    if library.__name__.startswith("cupy"):
        return library.asarray(numbers)
    return library.asarray(np.ascontiguousarray(numbers), device=array.device)


def take_cells(array: Any, row: Any, column: Any) -> Any:
    """Values of the matrix cells (row, column), on the device of the matrix."""
    return array[to_device_of(array, row), to_device_of(array, column)]


def concatenate_vectors(vectors: list[Any]) -> Any:
    """Concatenate vectors of one library."""
    library = array_namespace(vectors[0])
    join = library.concat if hasattr(library, "concat") else library.concatenate
    return join(vectors)


def nonzero(array: Any) -> tuple[Any, Any]:
    """Rows and columns of the nonzero cells of a matrix, as NumPy arrays."""
    if is_torch(array):
        row, column = array.nonzero(as_tuple=True)
    else:
        row, column = array_namespace(array).nonzero(array)
    return to_numpy(row), to_numpy(column)


def to_numpy(array: Any) -> Any:
    """Convert a small array of any device to NumPy."""
    if isinstance(array, np.ndarray):
        return array
    for fetch in ("cpu", "get"):  # torch, cupy
        if hasattr(array, fetch):
            array = getattr(array, fetch)()
    try:
        return np.asarray(array)
    except (TypeError, RuntimeError, ValueError):
        return np.from_dlpack(array)


def half_precision_type(data: Any) -> str:
    """Type name of scores with few digits, where equal scores are common; otherwise ""."""
    kind = type_name(data)
    return kind if kind.startswith(HALF) else ""


def to_floating(array: Any) -> Any:
    """Convert integers and booleans to float64; return other arrays unchanged."""
    is_integer = "int" in type_name(array) or "bool" in type_name(array)
    return to_type(array, "float64") if is_integer else array


def to_type(array: Any, kind: Any) -> Any:
    """Convert an array to another type of its library, given as the type or the type's name."""
    library = array_namespace(array)
    kind = getattr(library, kind) if isinstance(kind, str) else kind
    if is_torch(array):
        return array.to(kind)
    if hasattr(array, "astype"):
        return array.astype(kind, copy=False)
    return library.astype(array, kind, copy=False)


def is_numeric(array: Any) -> bool:
    """Whether an array holds real numbers, booleans included."""
    return type_name(array).startswith(("float", "bfloat", "int", "uint", "bool"))


def type_name(array: Any) -> str:
    """Name of an array's type without the name of the library, for example ``float32``."""
    return str(getattr(array, "dtype", "")).rpartition(".")[2]


def shape_and_type(array: Any) -> str:
    """Say what an array is that is not what was expected."""
    return f"an array of shape {tuple(array.shape)} and type {type_name(array)}"


def is_torch(array: Any) -> bool:
    """Whether an array is a PyTorch tensor."""
    return type(array).__module__.partition(".")[0] == "torch"


def take_rows(array: Any, row: Any) -> Any:
    """Select matrix rows by index, as a view if the indices are consecutive and ascending."""
    if row.size and row[-1] - row[0] + 1 == row.size and (row[1:] > row[:-1]).all():
        return array[int(row[0]) : int(row[-1]) + 1, :]
    return take_positions(array, row, axis=0)


def take_positions(array: Any, positions: IntArray, axis: int) -> Any:
    """Copy rows (axis 0) or columns (axis 1) of a matrix."""
    index = to_device_of(array, positions)
    if is_torch(array):
        return array.index_select(axis, index)
    return array_namespace(array).take(array, index, axis=axis)


def insertion_positions(ordered: Any, values: Any, side: str) -> IntArray:
    """Positions at which values would be inserted into an ascending vector, as a NumPy array."""
    library = array_namespace(ordered)
    kind = library.result_type(ordered, values)
    arrays = to_type(ordered, kind), to_type(values, kind)
    return to_numpy(library.searchsorted(*arrays, side=side))  # type: ignore[no-any-return]


def sort_ascending(array: Any) -> Any:
    """Sort a vector in ascending order, on its device."""
    ordered = array_namespace(array).sort(array)
    return ordered.values if is_torch(array) else ordered


def refuse_different_devices(arrays: list[Any], names: str) -> None:
    """Refuse arrays on different devices, as these cannot be compared."""
    places = dict[str, None]()
    for array in arrays:
        device = (
            "the CPU" if isinstance(array, np.ndarray) else getattr(array, "device", "a device")
        )
        places[f"{type(array).__module__.partition('.')[0]} on {device}"] = None
    if len(places) > 1:
        raise DataError(f"{names} must be on one device, got {' and '.join(places)}")
