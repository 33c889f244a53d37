"""Warnings that point at the caller's line."""

import inspect
import os
import warnings
from pathlib import Path

from rankmeter.errors import RankmeterWarning

HERE = f"{Path(__file__).parent}{os.sep}"


def warn(*cautions: str) -> None:
    """Warn of each caution at the line that called rankmeter, however deep this call is."""
    if not cautions:
        return
    frame, depth = inspect.currentframe(), 1
    while frame is not None and frame.f_code.co_filename.startswith(HERE):
        frame, depth = frame.f_back, depth + 1
    for caution in cautions:
        warnings.warn(caution, RankmeterWarning, stacklevel=depth)
