"""A question that is bound once and asked of any rankings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Unpack

from rankmeter._annexes import annex
from rankmeter._choices import Choices, takes_aliases, takes_choices
from rankmeter._engine.choose import EngineName, Reading, parse_engine
from rankmeter._engine.side import Given
from rankmeter._evaluation.batches import Batches, Keep
from rankmeter._evaluation.compare import compare_question
from rankmeter._evaluation.curve import curve_of_question
from rankmeter._evaluation.evaluate import evaluate_question
from rankmeter._evaluation.question import DEFAULT_METRICS, Question
from rankmeter._results.comparison import Comparison
from rankmeter._results.curves import Curve
from rankmeter._results.explanation import Explanation
from rankmeter._results.settings import Correction, Family, Settings, Test
from rankmeter._results.summary import Summary
from rankmeter._typed import Like
from rankmeter.conventions._plan import Plan
from rankmeter.errors import ShownAsText, UsageError
from rankmeter.metrics import Metric


@takes_choices
class Evaluator(ShownAsText):
    """Ground truth, metrics, conventions and side data, read once for any number of rankings.

    The functions `evaluate`, `compare`, `curve` and `explain` ask the same question of one ranking
    or one set of systems. An evaluator is for many of them, such as the checkpoints of a training
    run: wrong options and unreadable ground truth are errors when it is made.

    Parameters
    ----------
    truth : object
        As in `evaluate`. It may be left out for `accumulator`, for rankings that are records of
        both, and if all metrics are list metrics, which need no ground truth.
    metrics : str, Metric or iterable of them
        As in `evaluate`.
    like, columns, clusters, train, items, catalogue, baseline_lists, propensity, collapse
        As in `evaluate`.
    engine, memory
        As in `evaluate`.
    {choices}

    Attributes
    ----------
    plan : Plan
        The metrics with the value of every choice.

    Raises
    ------
    UsageError
        If a metric, an option or a value of an option does not exist, or options contradict.
    DataError
        If ground truth or side data cannot be read with certainty.

    Examples
    --------
    The relevant item is at rank 2, then at rank 1.

    >>> import rankmeter as rm
    >>> evaluator = rm.Evaluator({"ann": {"a"}}, "rr")
    >>> evaluator.evaluate({"ann": ["b", "a"]})["rr"].mean
    0.5
    >>> evaluator.evaluate({"ann": ["a", "b"]})["rr"].mean
    1.0
    """

    def __init__(
        self,
        truth: object = None,
        metrics: str | Metric | Iterable[str | Metric] = DEFAULT_METRICS,
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
        engine: EngineName = "auto",
        memory: str | int | None = None,
        **choices: Unpack[Choices],
    ) -> None:
        side_data = Given(train, items, catalogue, baseline_lists, propensity, collapse)
        reading = parse_engine(engine, memory)
        question = Question(truth, metrics, like, choices, side_data, columns, reading, clusters)
        self._plan = question.plan()
        self._question = question.with_data_read()

    def __repr__(self) -> str:
        return f"Evaluator({', '.join(entry.label for entry in self.plan.metrics)})"

    @property
    def plan(self) -> Plan:
        """The metrics with the value of every choice."""
        return self._plan

    def evaluate(self, rankings: object) -> Summary:
        """Measure rankings.

        Parameters
        ----------
        rankings : object
            As in `rankmeter.evaluate`.

        Returns
        -------
        Summary

        Raises
        ------
        DataError
            If the rankings cannot be read with certainty, or their ids cannot match the truth.

        Examples
        --------
        >>> import rankmeter as rm
        >>> evaluator = rm.Evaluator({"ann": {"a"}}, "hr@1,2")
        >>> result = evaluator.evaluate({"ann": ["b", "a"]})
        >>> result["hr@1"].mean, result["hr@2"].mean
        (0.0, 1.0)
        """
        return evaluate_question(self._question, rankings)

    @takes_aliases
    def compare(
        self,
        systems: Mapping[str, object],
        *,
        baseline: str | None = None,
        test: Test = "auto",
        correction: Correction = "maxt",
        family: Family = "metric",
        segments: object = None,
        n_permutations: int = 9_999,
        margin: float | str | Mapping[str, float | str] | None = None,
    ) -> Comparison:
        """Compare systems, user by user.

        Parameters
        ----------
        systems : mapping of str to object
            As in `rankmeter.compare`, like all that follows.
        baseline, test, correction, family, segments, n_permutations, margin

        Returns
        -------
        Comparison

        Raises
        ------
        UsageError
            If options contradict.
        DataError
            If the rankings cannot be read with certainty, or their ids cannot match the truth.

        Examples
        --------
        >>> import rankmeter as rm
        >>> evaluator = rm.Evaluator({"ann": {"a"}, "bob": {"b"}}, "rr")
        >>> old, new = {"ann": ["x", "a"], "bob": ["x", "b"]}, {"ann": ["a"], "bob": ["b"]}
        >>> evaluator.compare({"old": old, "new": new}, baseline="old")["rr"][0].difference
        0.5
        """
        settings = Settings(
            baseline=baseline, test=test, correction=correction, family=family,
            n_resamples=n_permutations, margin=margin, segments=segments,
            clusters=self._question.clusters,
        )  # fmt: skip
        return compare_question(self._question, systems, settings)

    def curve(self, rankings: object, max_k: int, metric: str | Metric | None = None) -> Curve:
        """Measure one metric at every cutoff from 1 to `max_k`.

        Parameters
        ----------
        rankings : object
            As in `rankmeter.curve`: rankings, or a mapping from name to rankings.
        max_k : int
            The largest cutoff, up to 10,000.
        metric : str or Metric, optional
            One of the metrics of the evaluator; not needed if it is the only one.

        Returns
        -------
        Curve

        Raises
        ------
        UsageError
            If the metric has no cutoff, or is not one of the evaluator's.

        Examples
        --------
        >>> import rankmeter as rm
        >>> evaluator = rm.Evaluator([{"a"}], "precision")
        >>> evaluator.curve([["x", "a", "y"]], 3).best_k()
        {'rankings': 2}
        """
        return curve_of_question(
            replace(self._question, metrics=self._choose_metric(metric)), rankings, max_k
        )

    def explain(
        self,
        rankings: object,
        metric: str | Metric | None = None,
        *,
        between: tuple[str, str] | None = None,
        target: float | str | None = None,
    ) -> Explanation:
        """Find the options that make two tools differ, or that give a number.

        Parameters
        ----------
        rankings : object
            As in `rankmeter.evaluate`.
        metric : str or Metric, optional
            One of the metrics of the evaluator; not needed if it is the only one.
        between : pair of str, optional
            Two conventions; that of the evaluator then does not matter.
        target : float or str, optional
            A published number.

        Returns
        -------
        Explanation

        Raises
        ------
        UsageError
            Unless exactly one of `between` and `target` is given.

        Examples
        --------
        >>> import rankmeter as rm
        >>> evaluator = rm.Evaluator({"u": {"a", "b"}}, "ap@5")
        >>> evaluator.explain({"u": ["x", "a"]}, target=0.25).matches[0].convention
        'rankmeter'
        """
        like = None if between is not None else self._question.like
        question = replace(self._question, like=like)
        explanation: Explanation = annex("_explain.explain").explain_question(
            question, rankings, self._choose_metric(metric), between, target
        )
        return explanation

    def accumulator(self, *, keep: Keep = "values") -> Batches:
        """Start an evaluation that gets rankings and targets batch by batch.

        Parameters
        ----------
        keep : {"values", "moments"}
            As in `rankmeter.accumulator`.

        Returns
        -------
        Accumulator

        Raises
        ------
        UsageError
            If the evaluator has ground truth or side data, which batches bring themselves.

        Examples
        --------
        >>> import rankmeter as rm
        >>> accumulator = rm.Evaluator(metrics="rr").accumulator()
        >>> accumulator.update(scores=[[0.9, 0.1, 0.5]], target=[2])
        >>> accumulator.compute()["rr"].mean
        0.5
        """
        question = self._question
        data = {name: getattr(question, name) for name in ("truth", "columns", "clusters")}
        data |= question.side_data.arguments()
        data |= {"engine or memory": None if question.reading == Reading() else question.reading}
        names = [name for name, value in data.items() if value is not None]
        if names:
            raise UsageError(
                f"an accumulator takes targets with each batch and cannot use {', '.join(names)}: "
                f"make an Evaluator without"
            )
        started: Batches = annex("_training.accumulator").accumulator(
            question.metrics, keep=keep, like=question.like, **question.choices
        )
        return started

    def _choose_metric(self, metric: str | Metric | None) -> Metric:
        """Return the metric named by the caller; raise an error if it was not evaluated."""
        if metric is None and len(self.plan.metrics) != 1:
            labels = ", ".join(entry.label for entry in self.plan.metrics)
            raise UsageError(f"one metric is needed: pass metric=, one of {labels}")
        entry = self.plan.metrics[0] if metric is None else self.plan[str(metric)]
        return entry.requested or entry.metric
