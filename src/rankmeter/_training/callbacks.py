"""Metrics for the training loops of other libraries, of scores and of rows in groups."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankmeter._choices import CHOICES, active_choices
from rankmeter._evaluation.evaluate import evaluate
from rankmeter._evidence.hits import IntArray
from rankmeter._rankings.kind import resolve_plan_of_data
from rankmeter._scores.arrays import asarray
from rankmeter._scores.scored import RANK_METRICS, evaluate_scores, users_from_option
from rankmeter.conventions import translate_metrics
from rankmeter.errors import DataError, UsageError
from rankmeter.errors._calls import answers_calls
from rankmeter.errors._checks import brief, counted, list_values, option_error
from rankmeter.metrics import METRICS, Metric
from rankmeter.metrics import metric as metric_of


@answers_calls
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
    names = [metrics] if isinstance(metrics, Metric) else list_values("metrics", "metrics", metrics)
    _check_metrics_and_options(names, options)
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
            raise option_error(
                "prediction", "predictions and label ids, as of a trainer", prediction
            )
        scores, labels = pair[:2]
        scores = scores[0] if isinstance(scores, tuple) else scores  # logits come first
        result = evaluate_scores(scores, labels, self.metrics, **self.options)
        return {name.replace("@", "_at_"): float(row.mean) for name, row in result.items()}


def _check_metrics_and_options(metrics: list[str | Metric], options: Mapping[str, Any]) -> None:
    """Check metrics and options now, not after an epoch."""
    parameters = inspect.signature(evaluate_scores).parameters.keys() - active_choices(
        CHOICES, "scores"
    )
    choices = {n: value for n, value in options.items() if n not in parameters}
    users = choices.pop("users", None)
    resolve_plan_of_data(
        metrics, options.get("like"), users_from_option(users, choices)[1], "scores"
    )


@answers_calls
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
        raise UsageError(f"scorer takes one metric, got {brief(metric)}")
    _check_metrics_and_options([metric], options)
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
            raise option_error("estimator", f"an object with {' or '.join(ways)}", estimator)
        scores, target = _score_matrix(getattr(estimator, way)(X), way), asarray(y, "y")
        if target.ndim == 1 and hasattr(estimator, "classes_"):
            target = _class_columns(target, np.asarray(estimator.classes_))
        (mean,) = evaluate_scores(scores, target, self.metric, **self.options).values()
        return self.sign * float(mean.mean)


def _score_matrix(scores: Any, way: str) -> Any:
    """Convert scores of any estimator to a matrix with a column for each class or label."""
    if way == "predict_proba" and isinstance(scores, list):  # each label is false or true
        return np.column_stack([np.asarray(part)[:, -1] for part in scores])
    if way == "decision_function" and np.ndim(scores) == 1:  # the score of the second of two
        return np.column_stack([-scores, scores])
    return scores


def _class_columns(target: Any, classes: Any) -> Any:
    """Column index of the true class of each row."""
    order = np.argsort(classes)
    try:
        position = np.minimum(np.searchsorted(classes, target, sorter=order), classes.size - 1)
    except TypeError:
        raise option_error("y", "the true class of each row", target.tolist()) from None
    column = order[position]
    wrong = np.flatnonzero(classes[column] != target)
    if wrong.size:
        raise DataError(
            f"the class {brief(target[wrong[0]].item())} of row {wrong[0]} is not one of the "
            f"{counted(classes.size, 'class', 'classes')} of the estimator"
        )
    return column


@answers_calls
def grouped(
    scores: Any, labels: Any, group: Any = None, *, qid: Any = None
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Make rankings and ground truth from rows in groups, as trainers of rankers take them.

    Parameters
    ----------
    scores : array of shape (n,)
        The score of each row, such as what ``predict`` of a ranker returns.
    labels : array of shape (n,)
        The grade of each row.
    group : array, optional
        The number of rows of each group, one group after the other: ``group`` of LightGBM and
        XGBoost.
    qid : array of shape (n,), optional
        The group of each row: ``qid`` of XGBoost, ``group_id`` of CatBoost.

    Returns
    -------
    rankings, truth : DataFrame
        For `rankmeter.evaluate` and all others that take rankings. A user is a group, by its number
        from 0 or its id, and an item is the number of a row.

    Raises
    ------
    UsageError
        If not exactly one of `group` and `qid` is given.
    DataError
        If lengths do not fit.

    Examples
    --------
    Two groups of three and two rows. The first has its relevant row at rank 2, the second none,
    which counts as 1 in LightGBM: (1/log2 3 + 1) / 2.

    >>> import rankmeter as rm
    >>> rankings, truth = rm.grouped([0.3, 0.2, 0.1, 0.5, 0.4], [0, 1, 0, 0, 0], group=[3, 2])
    >>> round(rm.evaluate(rankings, truth, "ndcg@3", like="lightgbm")["ndcg@3"].mean, 4)
    0.8155
    """
    if (group is None) == (qid is None):
        raise UsageError("name the groups by their sizes (group=) or by an id of each row (qid=)")
    values, grades = asarray(scores, "scores"), asarray(labels, "labels")
    if values.ndim != 1 or values.shape != grades.shape:
        raise DataError(
            f"scores and labels must be one number for each row, got the shapes {values.shape} "
            f"and {grades.shape}"
        )
    if qid is None:
        sizes = asarray(group, "group")
        if sizes.dtype.kind not in "iu" or (sizes < 0).any() or sizes.sum() != values.size:
            raise DataError(
                f"group must be the number of rows of each group, {values.size:,} together, got "
                f"{brief(sizes.tolist())}"
            )
        users = np.repeat(np.arange(sizes.size), sizes)
    elif (users := asarray(qid, "qid")).shape != values.shape:
        raise DataError(f"qid must have one id for each of {values.size:,} rows, got {users.shape}")
    rows = {"user": users, "item": np.arange(values.size)}
    return pl.DataFrame({**rows, "score": values}), pl.DataFrame({**rows, "gain": grades})


@answers_calls
def group_metric(
    metric: str | Metric, *, groups: Sequence[Any] = (), **options: Any
) -> _GroupMetric:
    """Make a metric for the training of a ranker, computed from the groups of its data.

    Parameters
    ----------
    metric : str or Metric
    groups : sequence of arrays, optional
        Only for CatBoost, which does not give its metrics the groups: the group sizes of each data
        set, training data included. A data set is recognized by its number of rows.
    **options
        Those of `rankmeter.evaluate`, such as ``like="lightgbm"``.

    Returns
    -------
    callable
        ``feval`` of ``lightgbm.train``, ``eval_metric`` of ``LGBMRanker.fit``, ``custom_metric`` of
        ``xgboost.train``, ``eval_metric`` of CatBoost. XGBoost prints six decimals of it.

    Raises
    ------
    UsageError
        If there is no such metric; when it is called, if the data have weights, if it does
        not get the groups, as from ``XGBRanker``, or `groups` has not exactly one data set of that
        size.

    Examples
    --------
    What LightGBM calls with labels, scores, weights and groups:

    >>> import rankmeter as rm
    >>> metric = rm.group_metric("ndcg@3", like="lightgbm")
    >>> name, value, higher_is_better = metric([0, 1, 0], [0.3, 0.2, 0.1], None, [3])
    >>> name, round(value, 4), higher_is_better
    ('ndcg@3', 0.6309, True)
    """
    data_sets = list_values("groups", "the group sizes of each data set", groups)
    sizes = tuple(asarray(group_sizes, "groups") for group_sizes in data_sets)
    metrics = translate_metrics(metric, options.get("like") or "rankmeter")
    if len(metrics) != 1:
        raise UsageError(f"group_metric takes one metric, got {brief(metric)}")
    return _GroupMetric(metrics[0], sizes, options)


@dataclass  # CatBoost sets attributes of it
class _GroupMetric:
    """The callable that `group_metric` returns; trainers read its parameters and its name."""

    metric: Metric
    groups: tuple[IntArray, ...]
    options: dict[str, Any]

    @property
    def __name__(self) -> str:
        return self.metric.label or str(self.metric)

    def __repr__(self) -> str:
        return f"group_metric({self.__name__})"

    def __call__(self, first: Any, second: Any, weight: Any = None, group: Any = None) -> Any:
        if not hasattr(second, "get_label"):
            if group is None:
                raise UsageError(
                    "XGBRanker calls a metric group by group and weights its values by the sizes "
                    "of the groups, which gives another number: use custom_metric= of xgboost.train"
                )
            value = self._mean_over_groups(second, first, group, weight)
            return self.__name__, value, self.is_max_optimal()
        is_xgboost = hasattr(second, "get_uint_info")
        sizes = np.diff(second.get_uint_info("group_ptr")) if is_xgboost else second.get_group()
        value = self._mean_over_groups(first, second.get_label(), sizes, second.get_weight())
        return (self.__name__, value, *([] if is_xgboost else [self.is_max_optimal()]))

    def is_max_optimal(self) -> bool:
        """Whether larger values are better; part of the CatBoost interface."""
        return self.metric.spec.increasing

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """Return (value, weight); part of the CatBoost interface."""
        n = len(approxes[0])
        fitting = [sizes for sizes in self.groups if sizes.sum() == n]
        if len(fitting) != 1:
            raise UsageError(
                f"{len(fitting)} of the data sets in `groups` have {n:,} rows: pass the sizes of "
                "the groups of each data set, which must differ in their number of rows"
            )
        return self._mean_over_groups(approxes[0], target, fitting[0], weight), 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        """Divide the result of `evaluate` by its weight; part of the CatBoost interface."""
        return error / weight

    def _mean_over_groups(self, scores: Any, labels: Any, sizes: Any, weight: Any) -> float:
        values = asarray(scores, "scores")
        weights = np.ones(0) if weight is None else asarray(weight, "weight")
        if np.unique(weights).size > 1:
            raise UsageError(f"{self.__name__} has no weights of rows or groups: leave them out")
        rankings, truth = grouped(values, labels, sizes)
        (e,) = evaluate(rankings, truth, self.metric, **self.options).values()
        return float(e.mean)
