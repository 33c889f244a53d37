"""Engines: ways of cutting users into blocks. An engine counts; the formulas exist once.

An engine is opened on data and answers plans:

    data = ENGINE.open(truth, systems)
    scores = data.run(plan)          # by name of the system

All public functions run through `ENGINE`. A block is some users, whole, and decides nothing about
the whole: checks over all data run after the blocks are merged.
"""

from __future__ import annotations

from rankmeter._engine.memory import Data, Engine, Memory
from rankmeter._engine.scores import Averaged, Scores

__all__ = ["ENGINE", "Averaged", "Data", "Engine", "Memory", "Scores"]

ENGINE: Engine = Memory()
"""The engine that all functions use."""
