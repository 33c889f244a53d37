"""The speed of rankmeter, compared with other tools: ``make bench``.

`data` makes the rows, `peers` says how each tool evaluates them, `worker` runs one tool in its own
environment, `run` lets the workers take turns, `page` writes what they measured.
"""
