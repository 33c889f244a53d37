"""Engines: ways of cutting users into blocks. An engine counts; the formulas exist once.

An engine is opened on data and answers plans, for all public functions alike:

    data = open_data(truth, systems)
    scores = data.run(plan)          # by name of the system

A block has some users, each with all rows, and decides nothing about all data: such checks run
after the blocks are merged. A new engine is one class with the method `open` of `Engine`.
"""

from __future__ import annotations

from collections.abc import Mapping

from rankmeter._annexes import annex
from rankmeter._engine.memory import Data, Engine, Memory
from rankmeter._engine.side import NO_SIDE, Side
from rankmeter._reading.table import Table

ENGINE: Engine = Memory()
"""The engine of all functions."""


def open_data(
    truth: Table, systems: Mapping[str, Table], *, side: Side = NO_SIDE, keep: bool = False
) -> Data:
    """Prepare ground truth and rankings for plans; see `Engine.open`."""
    if any(table.rows.in_cluster for table in systems.values()):
        cluster: Data = annex("_large.spark").Cluster.open(truth, systems, side)
        return cluster
    return ENGINE.open(truth, systems, side=side, keep=keep)
