"""Files are replaced as a whole or not at all."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from rankmeter._files import open_replacement

pytestmark = pytest.mark.once
pytest.importorskip("resource", reason="signals, pipes and limits of Unix")


def test_ctrl_c_while_writing_keeps_the_old_file(workspace):
    Path("old.txt").write_text("old")

    def write_and_interrupt():
        with open_replacement("old.txt") as file:
            file.write(b"half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_and_interrupt()
    assert Path("old.txt").read_text() == "old"
    assert list(workspace.glob(".*")) == []


@pytest.mark.parametrize("named", [False, True])
def test_a_disk_that_fills_up_leaves_nothing_with_and_without_names(workspace, monkeypatch, named):
    if named:  # another system than Linux, a file system without files that have no name
        monkeypatch.setattr(os, "O_TMPFILE", 0, raising=False)

    def fill_the_disk(name):
        with open_replacement(name) as file:
            file.write(b"half")
            file.flush()
            assert bool(list(workspace.glob(".rankmeter-*"))) == named
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    Path("old.txt").write_text("old")
    for name in ("old.txt", "new.txt"):
        with pytest.raises(OSError, match=name) as caught:
            fill_the_disk(name)
        assert caught.value.filename == name
    assert Path("old.txt").read_text() == "old"
    assert not Path("new.txt").exists()
    assert list(workspace.glob(".*")) == []


@pytest.mark.parametrize("named", [False, True])
def test_writers_with_equal_process_ids_do_not_disturb_each_other(workspace, monkeypatch, named):
    """As in two containers that share a folder, or after one that was killed."""
    if named:
        monkeypatch.setattr(os, "O_TMPFILE", 0, raising=False)
    with open_replacement("out.txt") as first, open_replacement("out.txt") as second:
        first.write(b"first")
        second.write(b"second")
    assert Path("out.txt").read_text() == "first"  # it ends last
    assert list(workspace.glob(".*")) == []


def test_a_name_that_is_taken_is_left_to_its_owner(workspace, monkeypatch):
    monkeypatch.setattr("rankmeter._files.os.urandom", bytes)
    taken = Path(f".rankmeter-{bytes(8).hex()}.tmp")
    taken.write_text("of another process")
    with pytest.raises(FileExistsError), open_replacement("out.txt") as file:
        file.write(b"mine")
    assert taken.read_text() == "of another process"
    assert not Path("out.txt").exists()
