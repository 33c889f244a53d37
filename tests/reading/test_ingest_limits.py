"""Damage and size: what no reader survives is found before it reads, and said with sizes."""

import gzip
import os
import subprocess
import sys

import polars as pl
import pytest

import rankmeter as rm
from rankmeter._reading import memory as _memory
from rankmeter._reading.read import read_interactions, read_rankings, read_truth
from rankmeter.errors import DataError, FileFormatError, NotEnoughMemoryError

GB = 10**9


def flat(n, text=False):
    user = [f"u{i // 5}" if text else i // 5 for i in range(n)]
    item = [f"item {i}" if text else i % 7 for i in range(n)]
    return pl.DataFrame({"user": user, "item": item, "score": [float(n - i) for i in range(n)]})


# ---------------------------------------------------------------------------------------------
# Parquet

FLIP = """
import sys
from pathlib import Path
from rankmeter._reading.read import read_rankings
from rankmeter.errors import DataError
source, first, last = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
whole, path = source.read_bytes(), source.with_name("flipped.parquet")
for bit in range(8 * first, 8 * min(last, len(whole)), 3):
    content = bytearray(whole)
    content[bit // 8] ^= 1 << bit % 8
    path.write_bytes(content)
    try:
        read_rankings(path)
    except DataError as error:
        assert "flipped.parquet" in str(error), error
print("done")
"""


@pytest.mark.parametrize("kind", ["integers", "texts", "zstd", "arrow"])
def test_no_flipped_bit_of_a_parquet_file_ends_the_process(kind, tmp_path):
    """The first pages of two columns, and the end of the footer."""
    path = tmp_path / "whole.parquet"
    frame = flat(2, text=kind == "texts")
    if kind == "arrow":
        pytest.importorskip("pyarrow.parquet").write_table(frame.to_arrow(), path)
    else:
        frame.write_parquet(path, compression="zstd" if kind == "zstd" else "uncompressed")
    n = path.stat().st_size
    for first, last in ((0, 190), (n - 60, n)):
        done = subprocess.run(
            [sys.executable, "-c", FLIP, path, str(first), str(last)],
            capture_output=True, text=True, check=False,
            env={**os.environ, "POLARS_MAX_THREADS": "1"},
        )  # fmt: skip
        assert (done.returncode, done.stdout) == (0, "done\n"), done.stderr[-2000:]


@pytest.mark.parametrize("rows", [1, 20, 10_000])
@pytest.mark.parametrize(
    "writer", ["polars", "plain", "dictionary", "v2", "groups", "long", "nulls"]
)
def test_a_parquet_file_of_every_writer_is_whole(writer, rows, tmp_path):
    path = tmp_path / "a.parquet"
    frame = flat(rows, text=writer != "v2")
    if writer == "long":  # the statistics of a page are as long as its texts
        frame = frame.with_columns(item=pl.col("item") + "x" * 3000).head(200)
    if writer == "nulls":
        frame = frame.with_columns(note=pl.lit(None, pl.String), parts=pl.Series([["a"]] * rows))
    if writer == "polars":
        frame.write_parquet(path, row_group_size=1000, data_page_size=100)
    else:
        options = {
            "plain": {"use_dictionary": False, "compression": "NONE"},
            "v2": {"data_page_version": "2.0", "column_encoding": {"user": "DELTA_BINARY_PACKED"},
                   "use_dictionary": ["item"]},
            "groups": {"row_group_size": 3000, "data_page_size": 1},
            "long": {"use_dictionary": False, "write_page_index": False},
        }.get(writer, {})  # fmt: skip
        pytest.importorskip("pyarrow.parquet").write_table(frame.to_arrow(), path, **options)
    assert read_rankings(path).frame.equals(frame.select("user", "item", "score"))


def test_a_column_that_is_not_read_may_be_damaged(tmp_path):
    path = tmp_path / "a.parquet"
    flat(2).insert_column(0, pl.Series("extra", [5, 6])).write_parquet(path, statistics=False)
    content = path.read_bytes()
    path.write_bytes(content[:4] + b"\xff" * 8 + content[12:])

    assert read_rankings(path).frame.equals(flat(2))
    with pytest.raises(FileFormatError, match=r"a\.parquet cannot be read as Parquet"):
        read_rankings(path, columns={"score": "extra"})


def test_a_panic_of_polars_names_the_file(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    flat(2).write_parquet(path)

    def panic(*_, **__):
        raise pl.exceptions.PanicException("called `Option::unwrap()` on a `None` value")

    monkeypatch.setattr(pl.LazyFrame, "collect", panic)
    with pytest.raises(FileFormatError, match=r"a\.parquet cannot be read as Parquet: called"):
        read_rankings(path)


# ---------------------------------------------------------------------------------------------
# Folders of Parquet files named key=value


def partitioned(folder, *names, frame=None):
    for name in names:
        part = folder / name / "part-0.parquet"
        part.parent.mkdir(parents=True)
        (flat(2) if frame is None else frame).write_parquet(part)
    return folder


def test_a_key_of_folders_that_has_a_role_is_its_column(tmp_path):
    items = pl.DataFrame({"item": [1, 2]})
    partitioned(tmp_path / "n", "user=7", "user=10", frame=items)
    partitioned(tmp_path / "t", "user=a%20b", "user=07", frame=items)
    partitioned(tmp_path / "q", "query_id=7/item=3", "query_id=8/item=4", frame=flat(1)[["score"]])

    rows = read_rankings(tmp_path / "n").frame.rows()
    assert rows == [(10, 1), (10, 2), (7, 1), (7, 2)]
    assert read_truth(tmp_path / "t").frame["user"].to_list() == ["07", "07", "a b", "a b"]
    assert read_rankings(tmp_path / "q").frame.rows() == [(7, 3, 1.0), (8, 4, 1.0)]


def test_folders_of_a_key_that_is_not_read_are_not_one_table(tmp_path):
    several = partitioned(tmp_path / "several", "split=a", "split=b")
    for read in (read_rankings, read_truth):
        with pytest.raises(FileFormatError, match=r"2 partitions, 'split=a', 'split=b'.*Pass one"):
            read(several, columns={"gain": "score"})
    assert read_rankings(several / "split=a").frame.equals(flat(2))
    assert read_interactions(several)["split"].to_list() == ["a", "a", "b", "b"]
    assert read_rankings(partitioned(tmp_path / "one", "split=a")).frame.equals(flat(2))


def test_a_key_that_is_a_column_of_the_files_is_read_from_them(tmp_path):
    frame = pl.DataFrame({"user": [1, 2], "item": [3, 4]})
    assert read_rankings(partitioned(tmp_path, "user=9", frame=frame)).frame.equals(frame)


def test_folders_of_other_keys_are_not_one_table(tmp_path):
    with pytest.raises(FileFormatError, match="folders of the same keys"):
        read_rankings(partitioned(tmp_path, "split=a", "user=7"))


def test_a_folder_without_a_value_has_no_id(tmp_path):
    folder = partitioned(tmp_path, "user=__HIVE_DEFAULT_PARTITION__", "user=1")
    (folder / "user=1" / "part-0.parquet").unlink()
    pl.DataFrame({"item": [1], "score": [1.0]}).write_parquet(folder / "user=1/a.parquet")
    pl.DataFrame({"item": [1], "score": [1.0]}).write_parquet(
        folder / "user=__HIVE_DEFAULT_PARTITION__/part-0.parquet"
    )
    with pytest.raises(DataError, match=r"1 of 2 user ids .* are missing"):
        read_rankings(folder)


# ---------------------------------------------------------------------------------------------
# Memory


def has(monkeypatch, free):
    monkeypatch.setattr(_memory, "_LITTLE", 0)
    for name in (
        "_free_memory_of_machine",
        "_free_memory_of_groups",
        "_free_address_space",
    ):
        monkeypatch.setattr(_memory, name, lambda: iter([free]))


def write(path, frame):
    if path.name.endswith(".parquet"):
        frame.write_parquet(path)
    elif path.name.endswith(".jsonl"):
        frame.write_ndjson(path)
    else:
        content = frame.write_csv().encode()
        path.write_bytes(gzip.compress(content) if path.name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.jsonl", "a.parquet"])
def test_what_memory_cannot_hold_is_not_read(name, tmp_path, monkeypatch):
    path = write(tmp_path / name, flat(50_000))
    has(monkeypatch, 400_000)

    with pytest.raises(NotEnoughMemoryError, match=r"needs at least .*[Mk]B of memory, and 400 kB"):
        read_rankings(path)
    has(monkeypatch, 100_000_000)
    assert read_rankings(path).frame.height == 50_000


def test_what_memory_cannot_hold_is_not_measured(monkeypatch):
    frame = flat(50_000).unique(["user", "item"])
    has(monkeypatch, 1_000_000)
    with pytest.raises(NotEnoughMemoryError, match=r"Measuring 100,000 rows .* 2 MB"):
        rm.evaluate(frame, frame.drop("score"), "recall@1")


def test_no_more_is_decompressed_than_there_is_memory_for(tmp_path, monkeypatch):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(bytes(200_000_000), 1))
    has(monkeypatch, 40_000_000)
    pieces = []
    check = _memory.check_memory
    monkeypatch.setattr(
        "rankmeter._formats.files.check_memory", lambda *args: [pieces.append(args), check(*args)]
    )
    with pytest.raises(
        NotEnoughMemoryError, match=r"bomb\.csv\.gz .*hold 12\.6 MB or more of text"
    ):
        read_rankings(path)
    assert len(pieces) <= 5


def test_memory_is_what_the_least_of_the_limits_leaves(tmp_path, monkeypatch):
    monkeypatch.setattr(_memory, "_free_memory_of_machine", lambda: iter([9 * GB]))
    monkeypatch.setattr(_memory, "_free_memory_of_groups", lambda: iter([8 * GB, 3 * GB]))
    monkeypatch.setattr(_memory, "_free_address_space", lambda: iter(()))
    assert _memory.available_memory() == 3 * GB
    monkeypatch.setattr(_memory, "_free_memory_of_groups", lambda: iter(()))
    assert _memory.available_memory() == 9 * GB
    monkeypatch.setattr(_memory, "_free_memory_of_machine", lambda: iter(()))
    assert _memory.available_memory() is None
    _memory.check_memory(10**15, "This")  # not known is not refused


@pytest.mark.parametrize("version", [1, 2])
def test_a_control_group_leaves_its_limit_without_what_is_used(version, tmp_path, monkeypatch):
    top = tmp_path / "fs/cgroup" / ("memory" if version == 1 else "")
    inner = top / "jobs/mine"
    inner.mkdir(parents=True)
    names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
    limit, usage, cache = (
        names if version == 1 else ("memory.max", "memory.current", "inactive_file")
    )
    for folder, most in ((inner, "max" if version == 2 else str(2**63)), (top / "jobs", "5000")):
        (folder / limit).write_text(most)
        (folder / usage).write_text("1500")
        (folder / "memory.stat").write_text(f"anon 7\n{cache} 500\n")
    (tmp_path / "self").write_text(
        "4:cpu,memory:/jobs/mine\n1:cpu:/\n" if version == 1 else "0::/jobs/mine\n"
    )
    places = {"/sys/fs/cgroup": tmp_path / "fs/cgroup", "/proc/self/cgroup": tmp_path / "self"}
    monkeypatch.setattr(_memory, "Path", lambda path: places[path])

    assert min(_memory._free_memory_of_groups()) == 5000 - 1500 + 500


@pytest.mark.skipif(sys.platform != "linux", reason="ulimit -v is of Linux")
def test_a_process_of_little_memory_ends_with_the_sizes(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("user,item,score\n1,2,0.5\n")
    os.truncate(path, 10 * GB)  # a hole, which takes no place on the disk
    (tmp_path / "t.csv").write_text("user,item\n1,2\n")
    limit = 'ulimit -v 8000000; exec "$@"'
    command = [sys.executable, "-m", "rankmeter", "evaluate", path, tmp_path / "t.csv"]
    for engine, words in (
        ("memory", f"{path} (10 GB) needs at least 40 GB of memory, and "),
        ("auto", f"of {path} does not end within "),
    ):
        done = subprocess.run(
            ["bash", "-c", limit, "bash", *command, "--engine", engine],
            capture_output=True, text=True, check=False,
            env={**os.environ, "POLARS_MAX_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )  # fmt: skip
        assert done.returncode == 3, done.stderr
        assert words in done.stderr


BOMBS = """
import gzip, resource, sys
import rankmeter as rm

rm.evaluate({1: [1]}, {1: [1]}, "rr")
longest = str([*range(100_000)])
texts = {
    "zeros.csv": ["user,item,score\\n", *["\\0" * 2**20] * 100],
    "rows.csv": ["user,item,score\\n", *(f"{i // 100},{i % 100},1\\n" for i in range(10**6))],
    "topics.run": (f"{i // 100} 0 {i % 100} 1 1 t\\n" for i in range(10**6)),
    "lists.jsonl": (f'{{"user": {u}, "items": {longest}}}\\n' for u in range(40)),
    "one.json": ["{", *(f'"{u}": {longest},\\n' for u in range(40)), '"x": [1]}'],
    "short.jsonl": (f'{{"user":{u},"items":[1]}}\\n' for u in range(150_000)),
}
for name, parts in texts.items():
    with gzip.open(f"{name}.gz", "wt", 1) as file:
        file.writelines(parts)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for name in texts:
    try:
        print(rm.evaluate(f"{name}.gz", {1: [1]}, "rr", memory="64MiB").plan.engine)
    except rm.errors.NotEnoughMemoryError as error:
        print(error)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the unit of the peak is of Linux")
def test_no_compressed_text_takes_more_memory_than_is_allowed(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", BOMBS], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    *said, peak = done.stdout.splitlines()
    ends = ["does not end within", "disk: ", "disk: ", *["cannot be read in pieces"] * 3]
    assert all(end in line for end, line in zip(ends, said, strict=True)), said
    assert int(peak) < 2**18  # kilobytes; what Polars holds in its threads is in it


def test_a_memory_error_is_no_internal_error(monkeypatch, capsys):
    from rankmeter._cli._exits import run_for_exit_code

    def fail():
        raise MemoryError

    assert run_for_exit_code(fail) == 3
    assert "not enough memory" in capsys.readouterr().err
    assert issubclass(NotEnoughMemoryError, MemoryError)
