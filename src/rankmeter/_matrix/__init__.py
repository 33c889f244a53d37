"""Score matrices, samples of scores and ranks → counts, with no table in between.

`_arrays` reads arrays and tensors of any library, `_cells` the cells of a matrix (targets,
exclusions, candidates), `_counting` counts in the memory that holds the scores, and `_queries` has
the result: a `RankCounts` with what the scoring of metrics needs next to it.
"""

from __future__ import annotations

from rankmeter._matrix._array_files import is_array_file, read_array_file
from rankmeter._matrix._arrays import host, length
from rankmeter._matrix._cells import Cells, read_cells
from rankmeter._matrix._labels import row_frame, row_ids, row_labels
from rankmeter._matrix._lists import count_lists
from rankmeter._matrix._queries import Queries
from rankmeter._matrix._rank_files import is_path, is_table, read_rank_table
from rankmeter._matrix._ranks import read_ranks
from rankmeter._matrix._samples import count_samples
from rankmeter._matrix._scores import Asked, count_scores

__all__ = [
    "Asked",
    "Cells",
    "Queries",
    "count_lists",
    "count_samples",
    "count_scores",
    "host",
    "is_array_file",
    "is_path",
    "is_table",
    "length",
    "read_array_file",
    "read_cells",
    "read_rank_table",
    "read_ranks",
    "row_frame",
    "row_ids",
    "row_labels",
]
