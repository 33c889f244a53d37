"""Functions that other libraries call: trainers of Hugging Face, scorers of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from rankmeter._checks import counted, shown
from rankmeter._scored import RANK_METRICS, evaluate_scores
from rankmeter.errors import DataError
from rankmeter.metrics import METRICS, Metric, parse_metrics

__all__ = ["compute_metrics", "scorer"]


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

    def compute(prediction: Any) -> dict[str, float]:
        named = hasattr(prediction, "predictions")
        scores = prediction.predictions if named else prediction[0]
        labels = prediction.label_ids if named else prediction[1]
        scores = scores[0] if isinstance(scores, tuple) else scores  # logits come first
        result = evaluate_scores(scores, labels, metrics, **options)
        return {name.replace("@", "_at_"): float(one.mean) for name, one in result.items()}

    compute.__qualname__ = f"compute_metrics({metrics})"
    return compute


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
    (wanted,) = parse_metrics(metric)
    sign = 1.0 if METRICS[wanted.name].increasing else -1.0

    def score(estimator: Any, X: Any, y: Any) -> float:  # noqa: N803 - as scikit-learn calls it
        ways = ("predict_proba", "decision_function", "predict")
        way = next(way for way in ways if hasattr(estimator, way))
        scores, target = _matrix(getattr(estimator, way)(X), way), np.asarray(y)
        if target.ndim == 1 and hasattr(estimator, "classes_"):
            target = _columns(target, np.asarray(estimator.classes_))
        (mean,) = evaluate_scores(scores, target, [wanted], **options).values()
        return sign * float(mean.mean)

    score.__qualname__ = f"scorer({metric})"
    return score


def _matrix(scores: Any, way: str) -> Any:
    """Scores with a column for each class or label, in all forms in which estimators give them."""
    if way == "predict_proba" and isinstance(scores, list):  # each label is false or true
        return np.column_stack([np.asarray(one)[:, -1] for one in scores])
    if way == "decision_function" and np.ndim(scores) == 1:  # the score of the second of two
        return np.column_stack([-scores, scores])
    return scores


def _columns(target: Any, classes: Any) -> Any:
    """The column of the class of each row."""
    order = np.argsort(classes)
    place = np.minimum(np.searchsorted(classes, target, sorter=order), classes.size - 1)
    column = order[place]
    wrong = np.flatnonzero(classes[column] != target)
    if wrong.size:
        raise DataError(
            f"the class {shown(target[wrong[0]].item())} of row {wrong[0]} is not one of the "
            f"{counted(classes.size, 'class', 'classes')} of the estimator"
        )
    return column
