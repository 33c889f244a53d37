"""What can be taken out of the package, and the one door by which the core calls it.

The core evaluates and compares; an annex makes or shows something more of its results. No module of
the core imports an annex: it asks for one here, when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rankmeter.errors import MissingDependencyError


def annex(module: str) -> Any:
    """Import a module of an annex, ``_report.plots``.

    Raises
    ------
    MissingDependencyError
        If the annex was taken out of this installation.
    """
    path = f"rankmeter.{module}"
    try:
        return import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise  # a package that the annex needs
        folder = module.partition(".")[0]
        raise MissingDependencyError(
            f"this needs the folder rankmeter/{folder}, which was taken out of this installation: "
            "install rankmeter again"
        ) from None
