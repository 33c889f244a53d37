"""Compiles the C modules, where pip finds a compiler; without them Python does their work."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Compile(BuildHookInterface[Any]):
    """Adds the modules to a wheel, or puts them next to their sources if it is editable."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """See hatchling."""
        source = Path(self.root, "src")
        self._folder = tempfile.TemporaryDirectory()
        try:
            made = compiled(source, Path(self._folder.name))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - compilers fail in many ways
            self.app.display_warning(f"Not compiled, Python does the work: {error}")
            return
        if version == "editable":
            for place, module in made.items():
                part = Path(source, f"{place}.{os.getpid()}")
                shutil.copyfile(module, part)
                part.replace(source / place)  # another process may have it loaded
            return
        build_data["pure_python"] = False
        build_data["infer_tag"] = True
        build_data["force_include"] |= {str(module): str(place) for place, module in made.items()}

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """See hatchling."""
        self._folder.cleanup()


def compiled(source: Path, folder: Path) -> dict[Path, Path]:
    """The compiled modules, in a folder, by where they belong in the sources."""
    from setuptools import Distribution, Extension
    from setuptools.command.build_ext import build_ext

    files = [path.relative_to(source) for path in sorted(source.rglob("*.c"))]
    names = {path: ".".join(path.with_suffix("").parts) for path in files}
    extensions = [Extension(name, [str(source / path)]) for path, name in names.items()]
    command = build_ext(Distribution({"ext_modules": extensions}))
    command.build_lib = command.build_temp = str(folder)
    command.ensure_finalized()
    command.run()
    made = [Path(command.get_ext_fullpath(name)) for name in names.values()]
    return {path.with_name(one.name): one for path, one in zip(files, made, strict=True)}
