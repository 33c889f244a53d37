"""Statistics of per-user values: pure functions of NumPy arrays, no frames and no metrics.

The first line of each module is the question that it answers. Values are vectors of shape
(n_users,), paired ones in the same order of users, and finite: other shapes and options are a
UsageError, other values an InvalidValueError. SciPy is imported by the functions that need it, when
they are called.
"""
