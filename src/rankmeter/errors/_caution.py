"""Warnings that point at the caller's line."""

from __future__ import annotations

import inspect
import os
import warnings
from pathlib import Path

from rankmeter.errors import RankmeterWarning, spell_out_hidden_characters

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
