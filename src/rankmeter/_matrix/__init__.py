"""Score matrices, samples of scores and ranks → counts, with no table in between.

`_arrays` reads arrays and tensors of any library, `_cells` the cells of a matrix (targets,
exclusions, candidates), `_counting` counts in the memory that holds the scores, and `_queries` has
the result: a `RankCounts` with what the scoring of metrics needs next to it.
"""
