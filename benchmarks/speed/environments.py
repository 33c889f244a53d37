"""Where each peer is installed: the environments of `tests/conformance`, made when needed.

They live in ``.bench/environments``, or where ``$RANKMETER_CONFORMANCE_ENVS`` points. trec_eval is
a C program: ``$TREC_EVAL`` is its binary, or a checkout of https://github.com/usnistgov/trec_eval,
which is compiled with -O2; without the variable git fetches the checkout.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
HOME = ROOT / ".bench"
SOURCE = "https://github.com/usnistgov/trec_eval"
os.environ.setdefault("RANKMETER_CONFORMANCE_ENVS", str(HOME / "environments"))


class Missing(Exception):  # noqa: N818
    """Why a peer cannot be had here."""


def python_of(environment: str, *, install: bool) -> Path:
    """The interpreter of an environment, which is made if it is missing and `install` allows it."""
    if not environment:
        return Path(sys.executable)
    if environment == "trec_eval":
        os.environ["TREC_EVAL"] = str(_trec_eval(install=install))
        return Path(sys.executable)
    record, wanted = _recording(environment)
    home = Path(os.environ["RANKMETER_CONFORMANCE_ENVS"]).expanduser() / environment
    if not install and not (home / "ready").exists():
        raise Missing("not installed: make bench installs it")
    try:
        return record.environment(environment, wanted)
    except subprocess.CalledProcessError as error:
        raise Missing(f"not installed: {_words(error)}") from error
    except SystemExit as error:  # the interpreter that it needs
        raise Missing(f"not installed: {error.code}") from error


def _recording(environment: str) -> tuple:
    """The recorder of the conformance tests, and what it installs for an environment."""
    folder = str(ROOT / "tests" / "conformance")
    if folder not in sys.path:
        sys.path.append(folder)
    import record
    import recordings

    return record, recordings.recordings()[environment]["environment"]


def _trec_eval(*, install: bool) -> Path:
    """The binary of trec_eval."""
    given = Path(os.environ.get("TREC_EVAL", HOME / "trec_eval"))
    if given.is_file():
        return given
    built = HOME / "trec_eval" / "trec_eval"
    if built.is_file():
        return built
    if not install and "TREC_EVAL" not in os.environ:
        raise Missing("not installed: make bench builds it")
    try:
        if given.is_dir():
            shutil.copytree(given, built.parent, dirs_exist_ok=True)
        else:
            clone = ["git", "clone", "--quiet", "--depth", "1", SOURCE, str(built.parent)]
            subprocess.run(clone, check=True, capture_output=True, text=True)
        make = ["make", "-C", str(built.parent), "CC=cc -O2"]
        subprocess.run(make, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        shutil.rmtree(built.parent, ignore_errors=True)
        raise Missing(f"not installed: {_words(error)}; set $TREC_EVAL") from error
    return built


def _words(error: Exception) -> str:
    """One line about a command that failed, without the path of this machine."""
    said = getattr(error, "stderr", None) or str(error)
    return said.strip().splitlines()[-1].replace(str(ROOT), ".")[:160]
