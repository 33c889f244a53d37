"""A metric for Keras, which updates, reports and resets it in `fit` and `evaluate`."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

from rankmeter._training.accumulator import accumulator
from rankmeter.errors import MissingDependencyError, UsageError
from rankmeter.metrics import Metric

__all__ = ["RankMetric"]

SYMBOLIC = ("Tracer", "Symbolic", "KerasTensor")
"""Parts of the names of tensors without values."""


def RankMetric(  # noqa: N802 - users call it like a class
    metrics: str | Metric | Iterable[str | Metric], *, name: str = "rankmeter", **options: Any
) -> Any:
    """A ``keras.metrics.Metric`` that computes any metrics of rankmeter.

    Parameters
    ----------
    metrics : str, Metric or iterable of them
        As in `rankmeter.evaluate`.
    name : str
        The name of the metric for Keras; the results have the names of `metrics`.
    **options
        Those of `rankmeter.accumulator`, such as ``keep="moments"``.

    Returns
    -------
    keras.metrics.Metric
        ``y_pred`` are the scores of all items, ``y_true`` the true items in any form of
        `rankmeter.evaluate_scores`. ``result()`` gives a dictionary of means and ``summary()`` the
        whole result.

    Raises
    ------
    MissingDependencyError
        If Keras is not installed.

    Notes
    -----
    Ranks are not counted in compiled functions. PyTorch as the backend runs eagerly; with
    TensorFlow, call ``model.compile(run_eagerly=True)``; with JAX, pass the scores of
    ``model.predict`` to `rankmeter.evaluate_scores`.

    Examples
    --------
    Keras logs ``val_mrr`` and ``val_hits@10`` after each epoch::

        model.compile(loss=..., metrics=[RankMetric(["mrr", "hits@10"])])
        model.fit(x, y, validation_data=(x_valid, y_valid))
    """
    return _metric_class()(metrics, name, options)


@functools.cache
def _metric_class() -> Any:
    try:
        from keras.metrics import Metric as Base
    except ImportError:
        raise MissingDependencyError("RankMetric needs Keras: pip install keras") from None

    class RankMetric(Base):  # type: ignore[misc,unused-ignore]
        """Counts of ranks in an accumulator, next to the variables of Keras."""

        def __init__(self, metrics: Any, name: str, options: dict[str, Any]) -> None:
            super().__init__(name=name)
            self.accumulator = accumulator(metrics, **options)

        def update_state(self, y_true: Any, y_pred: Any, sample_weight: Any = None) -> None:
            """Count a batch."""
            if sample_weight is not None:
                raise UsageError("RankMetric has no sample weights: pass it in metrics=, not "
                                 "weighted_metrics=")  # fmt: skip
            if any(word in type(y_pred).__name__ for word in SYMBOLIC):
                raise UsageError(
                    "RankMetric cannot count in a compiled function: with TensorFlow, call "
                    "model.compile(run_eagerly=True); with JAX, evaluate_scores() takes the scores "
                    "of model.predict()"
                )
            self.accumulator.update(scores=y_pred, target=y_true)

        def summary(self) -> Any:
            """The result with intervals, values by user and notes."""
            return self.accumulator.compute()

        def result(self) -> dict[str, float]:
            """The means so far; empty before the first batch."""
            return {name: float(e.mean) for name, e in self.summary().items()}

        def reset_state(self) -> None:
            """Forget everything that was counted."""
            self.accumulator.reset()

    return RankMetric
