"""Functions that other libraries call: trainers of Hugging Face, scorers of scikit-learn."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankmeter._checks import counted, refused, several, shown
from rankmeter._choices import CHOICES, acting
from rankmeter._matrix._arrays import asarray
from rankmeter._matrix._kind import plan_of_data
from rankmeter._scored import RANK_METRICS, evaluate_scores, users_from_option
from rankmeter.errors import DataError, UsageError
from rankmeter.metrics import METRICS, Metric
from rankmeter.metrics import metric as metric_of


def compute_metrics(
    metrics: str | Metric | Iterable[str | Metric] = RANK_METRICS, **options: Any
) -> Callable[[Any], dict[str, float]]:
    """Make the ``compute_metrics`` of a Hugging Face trainer.

    Parameters
    ----------
    metrics : str, Metric or iterable of them
        As in `rankmeter.evaluate`.
    **options
        Those of `rankmeter.evaluate_scores`.

    Returns
    -------
    callable
        From predictions, scores of shape (n, n_items), and label ids, the true items in any form
        of `rankmeter.evaluate_scores`, to the means by name: ``hits@10`` is ``hits_at_10``.

    Examples
    --------
    >>> import numpy as np
    >>> import rankmeter as rm
    >>> function = rm.compute_metrics(["mrr", "hits@1"])
    >>> function((np.array([[0.1, 0.9, 0.5]]), np.array([2])))
    {'mrr': 0.5, 'hits_at_1': 0.0}
    """
    names = [metrics] if isinstance(metrics, Metric) else several("metrics", "metrics", metrics)
    _check(names, options)
    return _Computing(names, options)


@dataclass(frozen=True)
class _Computing:
    """The callable that `compute_metrics` returns; unlike a closure, it can be pickled."""

    metrics: list[str | Metric]
    options: Mapping[str, Any]

    def __repr__(self) -> str:
        return f"compute_metrics({self.metrics})"

    def __call__(self, prediction: Any) -> dict[str, float]:
        pair = prediction
        if hasattr(prediction, "predictions"):
            pair = (prediction.predictions, prediction.label_ids)
        if not isinstance(pair, tuple | list) or len(pair) < 2:
            raise refused("prediction", "predictions and label ids, as of a trainer", prediction)
        scores, labels = pair[:2]
        scores = scores[0] if isinstance(scores, tuple) else scores  # logits come first
        result = evaluate_scores(scores, labels, self.metrics, **self.options)
        return {name.replace("@", "_at_"): float(row.mean) for name, row in result.items()}


def _check(metrics: list[str | Metric], options: Mapping[str, Any]) -> None:
    """Raise an error for metrics and options now, and not after an epoch."""
    parameters = inspect.signature(evaluate_scores).parameters.keys() - acting(CHOICES, "scores")
    choices = {n: value for n, value in options.items() if n not in parameters}
    users = choices.pop("users", None)
    plan_of_data(metrics, options.get("like"), users_from_option(users, choices)[1], "scores")


def scorer(metric: str | Metric, **options: Any) -> Callable[[Any, Any, Any], float]:
    """Make a scorer for the model selection of scikit-learn: larger is better.

    Parameters
    ----------
    metric : str or Metric
        A metric of which less is better, such as ``mr``, has its sign changed.
    **options
        Those of `rankmeter.evaluate_scores`.

    Returns
    -------
    callable
        ``scorer(estimator, X, y)``: the scores are those of ``predict_proba``,
        ``decision_function`` or ``predict``, whichever the estimator has first; `y` has the true
        class of each row (one of ``estimator.classes_``), or labels of the shape of the scores.

    Raises
    ------
    UsageError
        If there is no such metric or option, or several metrics are named.
    DataError
        When it is called, if a class of `y` is unknown to the estimator.

    Examples
    --------
    >>> import numpy as np
    >>> import rankmeter as rm
    >>> class Model:
    ...     classes_ = np.array(["a", "b", "c"])
    ...     def predict_proba(self, X):
    ...         return np.array([[0.5, 0.3, 0.2]] * len(X))
    >>> rm.scorer("mrr")(Model(), [[0], [0]], ["b", "a"])
    0.75
    """
    if not isinstance(metric, str | Metric):
        raise UsageError(f"scorer takes one metric, got {shown(metric)}")
    _check([metric], options)
    metric_asked = metric_of(metric) if isinstance(metric, str) else metric
    return _Scorer(metric, options, 1.0 if METRICS[metric_asked.name].increasing else -1.0)


@dataclass(frozen=True)
class _Scorer:
    """The callable that `scorer` returns; it can be pickled, for several processes."""

    metric: str | Metric
    options: Mapping[str, Any]
    sign: float

    def __repr__(self) -> str:
        return f"scorer({self.metric})"

    def __call__(self, estimator: Any, X: Any, y: Any) -> float:  # noqa: N803 - as scikit-learn
        ways = ("predict_proba", "decision_function", "predict")
        way = next((way for way in ways if hasattr(estimator, way)), "")
        if not way:
            raise refused("estimator", f"an object with {' or '.join(ways)}", estimator)
        scores, target = _matrix(getattr(estimator, way)(X), way), asarray(y, "y")
        if target.ndim == 1 and hasattr(estimator, "classes_"):
            target = _class_columns(target, np.asarray(estimator.classes_))
        (mean,) = evaluate_scores(scores, target, self.metric, **self.options).values()
        return self.sign * float(mean.mean)


def _matrix(scores: Any, way: str) -> Any:
    """Scores with a column for each class or label, in all forms in which estimators give them."""
    if way == "predict_proba" and isinstance(scores, list):  # each label is false or true
        return np.column_stack([np.asarray(part)[:, -1] for part in scores])
    if way == "decision_function" and np.ndim(scores) == 1:  # the score of the second of two
        return np.column_stack([-scores, scores])
    return scores


def _class_columns(target: Any, classes: Any) -> Any:
    """The column of the class of each row."""
    order = np.argsort(classes)
    try:
        place = np.minimum(np.searchsorted(classes, target, sorter=order), classes.size - 1)
    except TypeError:
        raise refused("y", "the true class of each row", target.tolist()) from None
    column = order[place]
    wrong = np.flatnonzero(classes[column] != target)
    if wrong.size:
        raise DataError(
            f"the class {shown(target[wrong[0]].item())} of row {wrong[0]} is not one of the "
            f"{counted(classes.size, 'class', 'classes')} of the estimator"
        )
    return column
