"""Rows in groups, as the trainers of rankers have them: LightGBM, XGBoost and CatBoost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from rankmeter._api import evaluate
from rankmeter._checks import several, shown
from rankmeter._hits import IntArray
from rankmeter._matrix._arrays import asarray
from rankmeter.conventions import translate_all
from rankmeter.errors import DataError, UsageError
from rankmeter.metrics import Metric


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
                f"{shown(sizes.tolist())}"
            )
        users = np.repeat(np.arange(sizes.size), sizes)
    elif (users := asarray(qid, "qid")).shape != values.shape:
        raise DataError(f"qid must have one id for each of {values.size:,} rows, got {users.shape}")
    rows = {"user": users, "item": np.arange(values.size)}
    return pl.DataFrame({**rows, "score": values}), pl.DataFrame({**rows, "gain": grades})


def group_metric(
    metric: str | Metric, *, groups: Sequence[Any] = (), **options: Any
) -> _GroupMetric:
    """Make a metric for the training of a ranker, computed from the groups of its data.

    Parameters
    ----------
    metric : str or Metric
    groups : sequence of arrays, optional
        Only for CatBoost, which does not give its metrics the groups: the group sizes of each data
        set, training data included. A data set is recognised by its number of rows.
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
    data_sets = several("groups", "the group sizes of each data set", groups)
    sizes = tuple(asarray(group_sizes, "groups") for group_sizes in data_sets)
    metrics = translate_all(metric, options.get("like") or "rankmeter")
    if len(metrics) != 1:
        raise UsageError(f"group_metric takes one metric, got {shown(metric)}")
    return _GroupMetric(metrics[0], sizes, options)


@dataclass  # CatBoost sets attributes of it
class _GroupMetric:
    """The callable that `group_metric` returns; trainers look at its parameters and at its name."""

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
            value = self._mean(second, first, group, weight)
            return self.__name__, value, self.is_max_optimal()
        is_xgboost = hasattr(second, "get_uint_info")
        sizes = np.diff(second.get_uint_info("group_ptr")) if is_xgboost else second.get_group()
        value = self._mean(first, second.get_label(), sizes, second.get_weight())
        return (self.__name__, value, *([] if is_xgboost else [self.is_max_optimal()]))

    def is_max_optimal(self) -> bool:
        """Whether more is better; CatBoost asks for it."""
        return self.metric.spec.increasing

    def evaluate(self, approxes: Any, target: Any, weight: Any) -> tuple[float, float]:
        """The value and its weight; CatBoost asks for them."""
        n = len(approxes[0])
        fitting = [sizes for sizes in self.groups if sizes.sum() == n]
        if len(fitting) != 1:
            raise UsageError(
                f"{len(fitting)} of the data sets in `groups` have {n:,} rows: pass the sizes of "
                "the groups of each data set, which must differ in their number of rows"
            )
        return self._mean(approxes[0], target, fitting[0], weight), 1.0

    def get_final_error(self, error: float, weight: float) -> float:
        """The value from what `evaluate` returned; CatBoost asks for it."""
        return error / weight

    def _mean(self, scores: Any, labels: Any, sizes: Any, weight: Any) -> float:
        values = asarray(scores, "scores")
        weights = np.ones(0) if weight is None else asarray(weight, "weight")
        if np.unique(weights).size > 1:
            raise UsageError(f"{self.__name__} has no weights of rows or groups: leave them out")
        rankings, truth = grouped(values, labels, sizes)
        (e,) = evaluate(rankings, truth, self.metric, **self.options).values()
        return float(e.mean)
