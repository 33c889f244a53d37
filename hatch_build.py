"""Compiles the module that reads dictionaries, where pip finds a compiler; it is optional."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NAME = "rankmeter._ingest._dicts"


class Compile(BuildHookInterface[Any]):
    """Adds the module to a wheel, or puts it next to its source for an editable installation."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See hatchling."""
        source = Path(self.root, "src", *NAME.split(".")).with_suffix(".c")
        self._folder = tempfile.TemporaryDirectory()
        try:
            made = compiled(source, Path(self._folder.name))
            if version == "editable":
                part = source.with_name(f"{made.name}.{os.getpid()}")
                shutil.copyfile(made, part)
                part.replace(source.with_name(made.name))  # another process may have it loaded
                return
        except (Exception, SystemExit) as error:  # noqa: BLE001 - compilers fail in many ways
            self.app.display_warning(f"{NAME} is not compiled, its work is done in Python: {error}")
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"][str(made)] = str(Path(*NAME.split(".")).with_name(made.name))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """See hatchling."""
        self._folder.cleanup()


def compiled(source: Path, folder: Path) -> Path:
    """The compiled module, in a folder."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    extension = Extension(NAME, [str(source)])
    command = build_ext(Distribution({"ext_modules": [extension]}))
    command.build_lib = command.build_temp = str(folder)
    command.ensure_finalized()
    command.run()
    return Path(command.get_ext_fullpath(NAME))
