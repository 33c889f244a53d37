"""Rankings of a result that are read once more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from rankmeter._engine.memory import Opener, Source
from rankmeter._engine.scores import UserValues
from rankmeter._results.evaluated import Evaluated
from rankmeter.conventions._plan import Plan
from rankmeter.errors import RankmeterError, UsageError


def reopen_source(result: Evaluated) -> Source | None:
    """Reopen the data of a result; None if unavailable, or if the values have changed."""
    if result.source is None:
        return None
    try:
        data = result.source.open()
        values = data.run(result.plan)[result.source.system].values
    except (RankmeterError, OSError):
        return None
    labels = [entry.label for entry in result.plan.metrics]
    before = result.scores.values
    unchanged = all(np.array_equal(before[x], values[x], equal_nan=True) for x in labels)
    return replace(result.source, open=Opener.of(data)) if unchanged else None


def refuse_without_ranks(_: Plan) -> Mapping[str, UserValues]:
    """Raise a UsageError: scores under another plan need the ranks of each user."""
    raise UsageError("this needs the ranks of each user: pass the rankings to rm.compare")
