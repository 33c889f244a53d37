"""Files of arrays: ``.npy``, ``.npz`` with an array or a matrix of SciPy, ``.json`` with lists."""

from __future__ import annotations

import json
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from rankmeter.errors import FileFormatError

SUFFIXES = (".npy", ".npz", ".json")

PAIRS = (("row", "col"), ("row", "column"), ("rows", "columns"))
"""The names of two arrays that are the cells of a matrix."""


def is_array_file(data: object) -> bool:
    """Whether this is the path of a file of arrays, by its name."""
    return isinstance(data, str | PathLike) and str(data).endswith(SUFFIXES)


def read_array_file(path: str | PathLike[str]) -> Any:
    """The array, sparse matrix, pair of arrays or nested list in a file.

    Raises
    ------
    FileFormatError
        If the file has another form.
    """
    file = Path(path)
    try:
        if file.suffix == ".npy":
            return np.load(file, mmap_mode="r", allow_pickle=False)
        if file.suffix == ".npz":
            return _archive(file)
        if file.suffix == ".json":
            return json.loads(file.read_text("utf-8"))
    except FileFormatError:
        raise
    except (OSError, ValueError, KeyError) as error:
        raise FileFormatError(f"{file} cannot be read as an array: {reason(error)}") from error
    raise FileFormatError(f"{file} cannot be read as an array: expected a .npy, .npz or .json file")


def reason(error: Exception) -> str:
    """Why NumPy cannot read a file; it offers what is not allowed here."""
    return "it is damaged or holds Python objects" if "pickle" in str(error) else str(error)


def _archive(file: Path) -> Any:
    with np.load(file, allow_pickle=False) as archive:
        names = archive.files
        if "format" in names and "shape" in names:
            from scipy.sparse import load_npz

            return load_npz(file)
        for pair in PAIRS:
            if set(pair) == set(names):
                return tuple(archive[name] for name in pair)
        if len(names) == 1:
            return archive[names[0]]
    raise FileFormatError(
        f"{file} has the arrays {', '.join(names)}: expected one array, row and column of cells, "
        "or a matrix written by scipy.sparse.save_npz"
    )
