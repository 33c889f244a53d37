"""What keeps commands fast: modules imported when they are used, memory not returned."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import Any


class _LazyModule(ModuleType):
    """A module that is imported when one of its names is first used.

    `importlib.util.LazyLoader` does not do: the statement ``import`` asks for ``__spec__``, which
    would import the module at once.
    """

    def __getattr__(self, name: str) -> Any:
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        module = import_module(self.__name__)  # which other threads wait for
        vars(self).update(vars(module))
        self.__class__ = ModuleType  # type: ignore[assignment]
        return getattr(module, name)


def import_later(name: str) -> None:
    """Delay the import of a module until first use; no effect on imported modules."""
    spec = None if name in sys.modules else find_spec(name)
    if spec is not None:
        module = sys.modules[name] = module_from_spec(spec)
        module.__class__ = _LazyModule
        vars(module).pop("__path__", None)  # an import of a part of it asks for this


_TRIM_THRESHOLD, _MMAP_MAX = -1, -4  # of malloc.h


def keep_freed_memory() -> None:
    """Make the C library keep the freed memory of large arrays for later arrays.

    Pages that the system provides are cleared first, which is a quarter of the CPU time of reading
    a large run. The peak of the memory grows by about a tenth. Only glibc has the call.
    """
    if sys.platform != "linux":
        return
    import ctypes

    allocate = getattr(ctypes.CDLL(None), "mallopt", None)
    if allocate is not None:
        allocate(_MMAP_MAX, 0)
        allocate(_TRIM_THRESHOLD, 2**31 - 1)
