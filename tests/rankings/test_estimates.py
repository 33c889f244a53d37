"""Estimates of the memory that rankings take, before they are read."""

import polars as pl
import pyarrow.parquet as pq

from rankmeter._large.opened import estimate_memory
from rankmeter._reading.memory import PER_ROW_OF_NUMBERS, PER_ROW_WITHOUT_TEXT


def test_long_ids_need_memory_unless_a_dictionary_has_them(tmp_path):
    n, path = 1000, tmp_path / "r.parquet"
    user = [f"{number % 7:050}" for number in range(n)]
    rows = pl.DataFrame({"user": user, "item": range(n), "title": ["t" * 999] * n})
    found = []
    for has_dictionary in (True, False):
        pq.write_table(rows.to_arrow(), path, use_dictionary=has_dictionary)
        found.append(estimate_memory(path, 0) - PER_ROW_WITHOUT_TEXT * n)
    assert 0 < found[0] < 5 * n
    assert 50 * n <= found[1] < 60 * n
    rows.select("item").write_parquet(path)
    assert estimate_memory(path, 0) == PER_ROW_OF_NUMBERS * n
