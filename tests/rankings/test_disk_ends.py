"""A run on disk that a signal or a full disk ends leaves no file."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from test_disk import some


@pytest.mark.once
@pytest.mark.skipif(sys.platform != "linux", reason="files without a name")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_behind_after_a_signal(number, tmp_path):
    rankings, truth = some()
    rankings.write_csv(tmp_path / "r.csv")
    truth.write_csv(tmp_path / "t.csv")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    code = (
        "import os, signal, sys\n"
        # Which a shell ignores in the background.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from rankmeter._large import parts\n"
        "from rankmeter.__main__ import main\n"
        "original = parts._divide\n"
        "def divide(*args):\n"
        f"    os.kill(os.getpid(), {int(number)})\n"
        "    return original(*args)\n"
        "parts._divide = divide\n"
        "sys.argv = ['rankmeter', 'evaluate', 'r.csv', 't.csv', '--engine', 'disk']\n"
        "sys.exit(main())\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        check=False,
    )
    assert ended.returncode in (128 + number, -number), ended.stderr
    assert [*temporary.iterdir()] == []


FULL = """
import resource, signal, sys
import polars as pl
import rankmeter as rm
rankings, truth = pl.read_parquet("r.parquet"), pl.read_parquet("t.parquet")
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
whole = {item: item // 3 for item in rankings["item"].unique()}

for work in (
    lambda: rm.evaluate("r.parquet", truth, "rr", engine="disk", collapse=whole),
    lambda: rm.evaluate(rankings.to_arrow().to_reader(), truth, "rr", engine="disk"),
    lambda: rm.evaluate("r.csv", truth, "rr", engine="disk"),
    lambda: rm.evaluate("r.parquet", truth, "rr", engine="disk"),
):
    try:
        work()
    except rm.errors.DataError as error:
        print(error)
"""


@pytest.mark.once
@pytest.mark.skipif(sys.platform != "linux", reason="files without a name")
def test_a_disk_that_fills_up_is_named_and_nothing_is_left(tmp_path):
    rankings, truth = some()
    rankings.write_csv(tmp_path / "r.csv")
    rankings.write_parquet(tmp_path / "r.parquet")
    truth.write_parquet(tmp_path / "t.parquet")
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    ended = subprocess.run(
        [sys.executable, "-c", FULL],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )
    said = f"A temporary file in {temporary} cannot be written: File too large. Set TMPDIR"
    assert [line.startswith(said) for line in ended.stdout.splitlines()] == [True] * 4, ended
    assert [*temporary.iterdir()] == []
