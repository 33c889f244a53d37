"""Modules that the command line imports only if something of them is used."""

from __future__ import annotations

import sys
from importlib.util import find_spec, module_from_spec
from threading import RLock
from types import ModuleType
from typing import Any

__all__ = ["import_later"]

_lock = RLock()


class _Later(ModuleType):
    """A module whose code runs when one of its names is first asked for.

    That of `importlib.util.LazyLoader` would run at ``import``, which asks for ``__spec__``.
    """

    def __getattr__(self, name: str) -> Any:
        with _lock:  # other threads wait until all names are there
            if type(self) is _Later and not vars(self).get(_RUNS):
                vars(self)[_RUNS] = True
                try:
                    self.__spec__.loader.exec_module(self)  # type: ignore[union-attr]
                finally:
                    del vars(self)[_RUNS]
                self.__class__ = ModuleType  # type: ignore[assignment]
            elif name not in vars(self):
                raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        return getattr(self, name)


_RUNS = "__runs__"


def import_later(name: str) -> None:
    """Let ``import name`` do nothing until the module is used; ignored if it was imported."""
    spec = None if name in sys.modules else find_spec(name)
    if spec is not None:
        module = sys.modules[name] = module_from_spec(spec)
        module.__class__ = _Later
