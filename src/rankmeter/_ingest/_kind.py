"""The kind of frame that came in: frames of this kind, with its names, are handed out."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import polars as pl

from rankmeter._forks import refuse_dead_threads
from rankmeter.errors import MissingDependencyError

Frame: TypeAlias = Any
"""A Polars frame, or a frame of pandas or Spark where the data came in one."""


@dataclass(frozen=True)
class Kind:
    """Polars, or pandas with the names and types that the data had for users and items."""

    is_pandas: bool = False
    names: Mapping[str, Hashable] = field(default_factory=dict)  # role → label of the column
    types: Mapping[str, Any] = field(default_factory=dict)  # role → type of the column

    def frame(self, frame: pl.DataFrame) -> Frame:
        """A frame with the columns ``user`` and ``item``, or one of them or none, in this kind.

        Ids keep their type where the one that came in cannot hold them all. No column is renamed if
        a name is taken by another column.
        """
        refuse_dead_threads()
        if not self.is_pandas:
            return frame
        made, columns = to_pandas(frame), set(frame.columns)
        for role in self.types.keys() & columns:
            made[role] = _typed(made[role], self.types[role])
        names = {role: name for role, name in self.names.items() if role in columns}
        taken = columns - names.keys()
        return made if taken & set(names.values()) else made.rename(columns=names)


POLARS = Kind()
"""The kind of all that came neither from pandas nor from Spark."""


def to_pandas(frame: pl.DataFrame, needed_by: str = "a frame of") -> Any:
    """A frame in pandas, without pyarrow.

    Raises
    ------
    MissingDependencyError
        If pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise MissingDependencyError(
            f"{needed_by} pandas: pip install 'rankmeter[pandas]'"
        ) from None
    plain = (pl.Float64, pl.Int64)
    return pd.DataFrame(
        {ids.name: ids.to_numpy() if ids.dtype in plain else ids.to_list() for ids in frame}
    )


def _typed(ids: Any, dtype: Any) -> Any:
    """A column of pandas in a type, if that holds all its values."""
    categories = getattr(dtype, "categories", None)
    if ids.dtype == dtype or not (categories is None or ids.isin(categories).all()):
        return ids
    try:
        typed = ids.astype(dtype)
    except (TypeError, ValueError, OverflowError, NotImplementedError):
        return ids
    return typed if typed.tolist() == ids.tolist() else ids
