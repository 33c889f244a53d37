"""Polars in a forked child, where its threads are gone: an error instead of an endless wait.

Polars computes in threads, which a fork does not copy: a child whose parent has computed with
Polars waits for them forever. In such a child, every function of Polars that may need them is
wrapped, so that it raises an error when rankmeter calls it. A few functions that never need threads
are not wrapped (`_SAFE`); tests call each of them in a child. All other callers of Polars get what
they got before.
"""

from __future__ import annotations

import functools
import inspect
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType, FunctionType, ModuleType
from typing import Any, TypeAlias

from rankmeter.errors import UsageError

_HERE = str(Path(__file__).parents[1] / "_")[:-1]
_PATIENCE = 2.0
"""Seconds after which Polars is believed to wait forever."""
_POLARS = """
all all_horizontal any_horizontal coalesce concat_str disable_string_cache element
enable_string_cache exclude field format len lit max_horizontal min_horizontal struct
sum_horizontal thread_pool_size when
"""
_SERIES = """
__array__ __bool__ __copy__ __deepcopy__ __eq__ __ge__ __getitem__ __getstate__ __gt__
__iter__ __le__ __len__ __lt__ __ne__ __repr__ __setstate__ __str__ alias all any cast clone
dtype equals filter gather head is_empty is_null item len limit max min name null_count rename
shape slice sum tail to_frame to_list to_numpy to_physical value_counts
"""
_DATAFRAME = """
__contains__ __copy__ __deepcopy__ __getstate__ __iter__ __len__ __repr__ __setstate__ __str__
_repr_html_ clone columns dtypes equals get_column get_columns head height is_empty item
iter_columns iter_rows rename row rows schema shape slice tail to_dict to_dicts to_series
width
"""
_LAZYFRAME = """
__repr__ __str__
"""
_SAFE = {
    "polars": frozenset(_POLARS.split()),
    "Series": frozenset(_SERIES.split()),
    "DataFrame": frozenset(_DATAFRAME.split()),
    "LazyFrame": frozenset(_LAZYFRAME.split()),
}
"""Functions and methods that work in a forked child, for data of any size."""
_Check: TypeAlias = Callable[..., bool]


def _is_plain(value: Any) -> bool:
    """Whether Polars reads a value without threads: not that of Arrow, pandas or another library.

    Of a dictionary or sequence, the columns and the first value are looked at.
    """
    if type(value).__module__ == "polars.series.series":
        return True
    if isinstance(value, dict):
        return all(map(_is_plain, value.values()))
    if isinstance(value, list | tuple):
        return not value or _is_plain(value[0])
    return not (
        type(value).__module__.partition(".")[0] in ("pandas", "pyarrow", "polars")
        and not isinstance(value, type)
        and (hasattr(value, "__arrow_c_stream__") or hasattr(value, "__array__"))
    )


def _are_series(parts: object, **_options: Any) -> bool:
    """Whether series are concatenated, not frames."""
    return isinstance(parts, list) and all(map(_is_plain, parts))


def _is_plain_key(_frame: object, key: object) -> bool:
    """Whether a frame takes these columns or rows without threads."""
    return isinstance(key, str | int | slice) or (
        isinstance(key, list) and all(isinstance(name, str) for name in key)
    )


def _are_plain(_self: object, *values: Any, **named: Any) -> bool:
    """Whether Polars makes a series or frame of these values without threads."""
    return all(map(_is_plain, (*values, *named.values())))


_SAFE_FOR: dict[tuple[str, str], _Check] = {
    ("polars", "concat"): _are_series,
    ("Series", "__init__"): _are_plain,
    ("DataFrame", "__init__"): _are_plain,
    ("DataFrame", "__getitem__"): _is_plain_key,
}
"""Methods that work in a forked child for some arguments."""

_threads = {"are": "alive"}  # or "doubtful", or "dead"
_unwrapped: list[tuple[Any, str, Any]] = []
"""What was wrapped: owner, name, and the original."""


def guard_polars() -> None:
    """Wrap what Polars computes with; call in a forked child, before anything else."""
    polars = sys.modules.get("polars")
    if _unwrapped or type(polars) is not ModuleType or not hasattr(polars, "LazyFrame"):
        return
    _threads["are"] = "doubtful"
    for owner in (polars, polars.Series, polars.DataFrame, polars.LazyFrame):
        label = owner.__name__
        for name, member in list(vars(owner).items()):
            is_private = name.startswith("_") and not name.endswith("__")
            is_foreign = owner is polars and not _is_function_of_polars(name, member)
            if is_private or is_foreign or name in _SAFE[label] or name in _OF_OBJECTS:
                continue
            wrapped = _wrap(member, _SAFE_FOR.get((label, name)))
            if wrapped is not None:
                _unwrapped.append((owner, name, member))
                setattr(owner, name, wrapped)


_OF_OBJECTS = frozenset({"__class_getitem__", "__init_subclass__", "__new__", "__del__"})


def _is_function_of_polars(name: str, member: object) -> bool:
    return isinstance(member, FunctionType) and not name.startswith("_")


def _wrap(member: object, is_safe: _Check | None) -> object:
    """Wrap a function, method or property; None for anything else."""
    if isinstance(member, FunctionType):
        return _guarded(member, is_safe)
    if isinstance(member, classmethod | staticmethod):
        return type(member)(_guarded(member.__func__, is_safe))
    if isinstance(member, property) and member.fget is not None:
        return property(_guarded(member.fget, is_safe), member.fset, member.fdel, member.__doc__)
    return None


def _guarded(function: Callable[..., Any], is_safe: _Check | None) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if _is_called_by_rankmeter(inspect.currentframe()) and not (
            is_safe and is_safe(*args, **kwargs)
        ):
            _refuse_dead_threads()
        return function(*args, **kwargs)

    return call


def _is_called_by_rankmeter(frame: FrameType | None) -> bool:
    """Whether rankmeter calls Polars, itself or through another library."""
    frame = frame.f_back if frame is not None else None
    if frame is None or frame.f_globals.get("__name__", "").startswith("polars."):
        return False  # a part of Polars calls another: the call of the first was judged
    while frame is not None:
        if frame.f_code is _compute_with_polars.__code__:
            return False
        if frame.f_code.co_filename.startswith(_HERE):
            return True
        frame = frame.f_back
    return False


def can_compute() -> bool:
    """Whether Polars computes: not in a child of a process that had used it."""
    if _threads["are"] == "doubtful":
        thread = threading.Thread(target=_compute_with_polars, daemon=True)
        thread.start()
        thread.join(_PATIENCE)
        _threads["are"] = "dead" if thread.is_alive() else "alive"
        while _threads["are"] == "alive" and _unwrapped:
            setattr(*_unwrapped.pop())
    return _threads["are"] == "alive"


def _refuse_dead_threads() -> None:
    """Raise an error where Polars would wait forever.

    Raises
    ------
    UsageError
        In a child of a process that had used Polars.
    """
    if not can_compute():
        raise UsageError(
            "This process was forked from one that had used Polars, whose threads do not survive a "
            "fork. Start workers with 'spawn' or 'forkserver', as in multiprocessing.get_context("
            "'spawn') or DataLoader(multiprocessing_context='spawn'), or fork before the first "
            "evaluation. Dictionaries and lists of plain values, scores and ranks can be evaluated "
            "here."
        )


def _compute_with_polars() -> None:
    import polars as pl

    pl.DataFrame({"a": [1, 2], "b": [2, 1]}).sort("b").select(pl.col("a").sum(), pl.col("b").max())
