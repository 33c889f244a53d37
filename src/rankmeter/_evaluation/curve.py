"""A metric at every cutoff: plan → read → run a plan with all cutoffs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack, cast

from rankmeter._choices import Choices, takes_choices
from rankmeter._engine import open_data
from rankmeter._engine.side import Given
from rankmeter._evaluation.evaluate import ONE
from rankmeter._evaluation.question import Question, holds_systems
from rankmeter._results.counts import counts_of_tables
from rankmeter._results.curves import Curve, compute_curves
from rankmeter._typed import Like
from rankmeter.errors import UsageError
from rankmeter.metrics import Metric


@takes_choices
def curve(
    rankings: object,
    truth: object,
    metric: str | Metric,
    max_k: int,
    *,
    like: Like | None = None,
    columns: Mapping[str, Any] | None = None,
    clusters: object = None,
    train: object = None,
    items: object = None,
    catalogue: object = None,
    baseline_lists: object = None,
    propensity: object = None,
    collapse: object = None,
    **choices: Unpack[Choices],
) -> Curve:
    """Measure one metric at every cutoff from 1 to `max_k`, to choose how many items to show.

    Parameters
    ----------
    rankings : object
        As in `evaluate`; or a mapping from name to rankings, for a line of each.
    truth : object
        As in `evaluate`.
    metric : str or Metric
        Its cutoff, if it has one, does not matter.
    max_k : int
        The largest cutoff, up to 10,000.
    like, columns, clusters, train, items, catalogue, baseline_lists, propensity, collapse
        As in `evaluate`.
    {choices}

    Returns
    -------
    Curve
        ``curve.frame``, ``curve.best_k()``, ``curve.smallest_good_k()``.

    Raises
    ------
    UsageError
        If a metric, an option or a value of an option does not exist, or options contradict.
    DataError
        If the data cannot be read with certainty, or lack what an option asks for.

    Examples
    --------
    One relevant item, at rank 2: precision is best at k = 2.

    >>> import rankmeter as rm
    >>> found = rm.curve([["x", "a", "y"]], [{"a"}], "precision", 3)
    >>> [round(mean, 2) for mean in found.frame["mean"]], found.best_k()
    ([0.0, 0.5, 0.33], {'rankings': 2})
    """
    side_data = Given(train, items, catalogue, baseline_lists, propensity, collapse)
    question = Question(truth, metric, like, choices, side_data, columns, clusters=clusters)
    return curve_of_question(question, rankings, max_k)


def curve_of_question(question: Question, rankings: object, max_k: int) -> Curve:
    """Measure the only metric of a question at every cutoff up to `max_k`."""
    several = (
        cast("Mapping[str, object]", rankings)
        if holds_systems(rankings, question.columns)
        else None
    )
    plan, judged, systems, side = question.read(several or {ONE: rankings})
    if len(plan.metrics) != 1:
        raise UsageError(f"a curve needs exactly one metric, got {len(plan.metrics)}")
    plan.refuse_bounds("a curve")
    scored = open_data(judged, systems, side=side).run
    counts = {name: counts_of_tables(table, judged) for name, table in systems.items()}
    (entry,) = plan.metrics
    return compute_curves(plan, [entry], scored, max_k, question.clusters, counts)[entry.label]
