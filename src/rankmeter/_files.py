"""Write files completely or not at all, and report the progress of long work."""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import IO, TypeVar

from rankmeter.errors import DataError
from rankmeter.errors._checks import option_error

_T = TypeVar("_T")
_LISTENER: ContextVar[Callable[[str], None] | None] = ContextVar("listener", default=None)


def is_existing_path(text: str) -> bool:
    """Whether a file or folder has this name; a text too long for a name has none."""
    return os.path.exists(text)  # noqa: PTH110  (Path.exists raises for a long text)


def is_small_file(path: str | os.PathLike[str]) -> bool:
    """Whether a path names a file of at most 64 KiB; a text too long for a name names none."""
    return os.path.isfile(path) and os.path.getsize(path) <= 2**16  # noqa: PTH113, PTH202


RESULT = ".result"
"""How the name of a stored result ends."""


def is_result_name(data: object) -> bool:
    """Whether the data are a path with the name of a stored result."""
    return isinstance(data, str | os.PathLike) and str(data).endswith(RESULT)


def is_stored_result(data: object) -> bool:
    """Whether the data are the path of a stored result, by name and first bytes."""
    if not is_result_name(data) or not os.path.isfile(str(data)):  # noqa: PTH113  (a long text)
        return False
    with Path(str(data)).open("rb") as file:
        return file.read(4) == b"PK\x03\x04"


@contextmanager
def report_progress_to(show: Callable[[str], None]) -> Iterator[None]:
    """Call `show` with a line about the work in progress, inside the context."""
    token = _LISTENER.set(show)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def with_progress(pieces: Iterable[_T], task: str, n_parts: int, n_rows: int) -> Iterator[_T]:
    """Yield the parts; report the share that is done, rows per second and time left."""
    show, start = _LISTENER.get(), time.monotonic()
    for done, part in enumerate(pieces, start=1):
        yield part  # it is done when the next one is asked for
        if show is not None:
            passed = max(time.monotonic() - start, 1e-9)
            share = done / n_parts
            left = "" if done == n_parts else f", {_format_duration(passed / share - passed)} left"
            show(f"{task}: {share:.0%}, {n_rows * share / passed:,.0f} rows/s{left}")


def _format_duration(duration: float) -> str:
    """Format a duration in seconds as minutes and seconds."""
    minutes, seconds = divmod(round(duration), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"


@contextmanager
def open_replacement(path: str | Path) -> Iterator[IO[bytes]]:
    """Yield a file that replaces `path` once written without an error.

    Until then it is a file in the same folder: without a name where the system has such files, so
    that it ends with the process, however that ends; else under a random name, and it is removed if
    anything goes wrong. What was at `path` is still there then. Pipes and devices are written
    directly.

    Raises
    ------
    UsageError
        If `path` is not a text or `os.PathLike`, or cannot be the name of a file.
    """
    try:
        is_name = isinstance(path, str | os.PathLike) and b"\0" not in os.fsencode(path)
    except (TypeError, UnicodeError):
        is_name = False
    if not is_name:
        raise option_error("path", "the path of a file, as text", path)
    if is_special_file(path):
        try:
            with Path(path).open("wb") as file:
                yield file
        except OSError as error:  # of a write, which does not know the name
            error.filename = error.filename or str(path)
            raise
        return
    real = Path(os.path.realpath(path))
    if real.is_dir():
        raise IsADirectoryError(errno.EISDIR, "is a folder; name a file", str(path))
    if not real.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "this folder does not exist", str(Path(path).parent))
    other = real.with_name(f".rankmeter-{os.urandom(8).hex()}.tmp")
    try:
        unnamed = _open_unnamed_file(real.parent)
        with unnamed or other.open("xb") as file:
            yield file
            file.flush()
            if unnamed:
                number = unnamed.fileno()
                link = _path_of_descriptor(number)
                # With a folder given, even one that is not looked at, the link is followed.
                os.link(link, other, src_dir_fd=number, follow_symlinks=True)
        with suppress(FileNotFoundError):
            shutil.copymode(real, other)
        other.replace(real)
    except BaseException as error:
        names = {str(getattr(error, name, None) or "") for name in ("filename", "filename2")} - {""}
        about_it = str(other) in names
        if not (about_it and isinstance(error, FileExistsError)):  # then another process has it
            with suppress(OSError):
                other.unlink(missing_ok=True)
        if isinstance(error, OSError) and (about_it or not names):
            error.filename, error.filename2 = str(path), None
        raise


def _open_unnamed_file(folder: Path) -> IO[bytes] | None:
    """Open a file without a name in a folder; None if the system cannot name such a file later."""
    try:
        number = os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o666)
    except (AttributeError, OSError):  # another system than Linux; a file system without them
        return None
    if Path(_path_of_descriptor(number)).exists():
        return os.fdopen(number, "wb")
    os.close(number)
    return None


def _path_of_descriptor(number: int) -> str:
    return f"/proc/self/fd/{number}"


@contextmanager
def open_temporary_file() -> Iterator[tuple[IO[bytes], str]]:
    """Yield a new file and a path for reading the file repeatedly; both are removed at the end.

    Like those of `open_replacement`, the file has no name in a folder if the system allows that.
    """
    with tempfile.TemporaryFile() as file:
        if Path(_path_of_descriptor(file.fileno())).exists():
            yield file, _path_of_descriptor(file.fileno())
            return
    with tempfile.TemporaryDirectory(prefix="rankmeter-") as folder:
        path = Path(folder, "input")
        with path.open("xb") as file:
            yield file, str(path)


@contextmanager
def translate_temporary_file_errors() -> Iterator[None]:
    """Turn an OSError into an error with the temporary folder and how to choose another folder."""
    try:
        yield
    except OSError as error:
        raise DataError(
            f"A temporary file in {tempfile.gettempdir()} cannot be written: {error.strerror}. "
            f"Set TMPDIR to a folder with more space, or free some."
        ) from error


@contextmanager
def create_folder(path: str | Path) -> Iterator[None]:
    """Create a folder with its missing parents; remove the new folders if the work fails."""
    folder = Path(path)
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    try:
        yield
    except BaseException:
        with suppress(OSError):  # not empty: another process uses it
            for parent in missing:
                parent.rmdir()
        raise


def is_special_file(path: str | Path) -> bool:
    """Whether a path exists and is neither a file nor a folder."""
    location = Path(path)
    return location.exists() and not location.is_file() and not location.is_dir()
