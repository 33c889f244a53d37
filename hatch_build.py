"""Compiles the C module, where pip finds a compiler; without it Python does its work."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Compile(BuildHookInterface[Any]):
    """Adds the module to a wheel, or puts it next to its source if it is editable."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See hatchling."""
        source = Path(self.root, "src")
        self._folder = tempfile.TemporaryDirectory()
        try:
            made = compiled(source, Path(self._folder.name))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - compilers fail in many ways
            self.app.display_warning(f"Not compiled, Python does the work: {error}")
            return
        place = MODULE.with_name(made.name)
        if version == "editable":
            part = Path(source, f"{place}.{os.getpid()}")
            shutil.copyfile(made, part)
            part.replace(source / place)  # another process may have it loaded
            return
        build_data["pure_python"] = False
        build_data["force_include"][str(made)] = str(place)
        if LIMITED:
            platform = self.build_config.builder.get_best_matching_tag().rpartition("-")[2]
            build_data["tag"] = f"cp311-abi3-{platform}"
        else:
            build_data["infer_tag"] = True

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """See hatchling."""
        self._folder.cleanup()


MODULE = Path("rankmeter", "_native", "native.c")
LIMITED = bool(os.environ.get("RANKMETER_ABI3"))
"""Whether only the stable ABI is used, for one wheel for all versions of Python on a platform.

What is built for one version is faster: dictionaries and lists take about a sixth less time.
"""


def compiled(source: Path, folder: Path) -> Path:
    """The compiled module, in a folder."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    name = ".".join(MODULE.with_suffix("").parts)
    macros: list[tuple[str, str | None]] = [("Py_LIMITED_API", "0x030B0000")] if LIMITED else []
    extension = Extension(
        name, [str(source / MODULE)], define_macros=macros, py_limited_api=LIMITED
    )
    command = build_ext(Distribution({"ext_modules": [extension]}))
    command.build_lib = command.build_temp = str(folder)
    command.ensure_finalized()
    command.run()
    return Path(command.get_ext_fullpath(name))
