"""Warnings that point at the caller's line, and calls that a forked child cannot make."""

from __future__ import annotations

import inspect
import os
import sys
import threading
import warnings
from pathlib import Path

from rankmeter.errors import RankmeterWarning, UsageError, spell_out_hidden_characters

HERE = f"{Path(__file__).parents[1]}{os.sep}"


def warn(*cautions: str) -> None:
    """Issue a warning for each caution, at the line that called rankmeter from any depth."""
    if not cautions:
        return
    frame, depth = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(HERE):
        frame, depth = frame.f_back, depth + 1
    for caution in cautions:
        warnings.warn(spell_out_hidden_characters(caution), RankmeterWarning, stacklevel=depth)


_PATIENCE = 2.0
"""Seconds after which Polars is believed to wait forever."""
_threads = {"are": "alive"}  # or "doubtful", or "dead"


def _doubt_threads_after_fork() -> None:
    if "polars" in sys.modules:
        _threads["are"] = "doubtful"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_doubt_threads_after_fork)


def refuse_dead_threads() -> None:
    """Raise an error where Polars would wait forever; call before Polars computes.

    Raises
    ------
    UsageError
        In a child of a process that had used Polars.
    """
    if _threads["are"] == "doubtful":
        thread = threading.Thread(target=_compute_with_polars, daemon=True)
        thread.start()
        thread.join(_PATIENCE)
        _threads["are"] = "dead" if thread.is_alive() else "alive"
    if _threads["are"] == "dead":
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
