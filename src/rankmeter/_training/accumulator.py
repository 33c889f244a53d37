"""Evaluate batch by batch: in a training loop, in several processes, in constant memory."""

from __future__ import annotations

import copy
import io
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from rankmeter._choices import takes_choices_of
from rankmeter._engine.counted import refuse_unknown_candidates
from rankmeter._engine.scores import passed_size, size_error
from rankmeter._evaluation.batches import Keep
from rankmeter._evidence.hits import IntArray
from rankmeter._rankings.kind import resolve_plan_of_data
from rankmeter._rankings.queries import Queries
from rankmeter._reading.frames import is_sparse
from rankmeter._results.summary import Summary
from rankmeter._scores.array_files import row_ids
from rankmeter._scores.arrays import asarray, to_numpy, type_name
from rankmeter._scores.cells import can_hold_several
from rankmeter._scores.known_ranks import count_lists, count_samples, read_ranks
from rankmeter._scores.labels import align_all, read_labels
from rankmeter._scores.scored import (
    count_request,
    users_from_option,
)
from rankmeter._scores.scores import CountRequest, count_scores
from rankmeter._training.kept import AT_ONCE, KeptQueries, KeptSums, join_parts
from rankmeter._typed import Like
from rankmeter.conventions._plan import Plan
from rankmeter.errors import (
    DataError,
    MissingDependencyError,
    RankmeterError,
    ShownAsText,
    UsageError,
)
from rankmeter.errors._checks import brief, check_choice, check_flag, counted
from rankmeter.metrics import Metric

SIZES = 2 ** np.arange(17)
"""Numbers of candidates with which a metric is tried: one of them is just below every cutoff."""


class Accumulator(ShownAsText):
    """An evaluation in parts; `accumulator` makes one.

    Counts of ranks are kept (``keep="values"``), or compensated sums of the values
    (``keep="moments"``); never scores.
    """

    def __init__(
        self,
        metrics: str | Metric | Iterable[str | Metric],
        *,
        keep: Keep,
        like: str | None,
        choices: Mapping[str, Any],
        tolerance: tuple[float, float] | None = None,
    ) -> None:
        self.keep = cast("Keep", check_choice("keep", keep, Keep))
        self._plan = resolve_plan_of_data(metrics, like, choices, "batches")
        self._several: bool | None = None
        self._asked = count_request(self._plan, tolerance=tolerance, like=like)
        named_choices = {name: value for name, value in choices.items() if value is not None}
        names = [entry.label for entry in self._plan.metrics]
        self._settings = {
            "metrics": names, "keep": keep, "like": like, "choices": named_choices,
            "tolerance": None if tolerance is None else list(tolerance),
        }  # fmt: skip
        self._sizes_unused = False  # no metric needs the number of candidates: known once asked
        for entry in self._plan.metrics:
            if entry.spec.of_lists:
                raise UsageError(
                    f"{entry.label} needs the items that were shown, which an accumulator does not "
                    "keep: pass all lists to evaluate"
                )
        self.reset()

    def __repr__(self) -> str:
        names = ", ".join(entry.label for entry in self.plan.metrics)
        return f"Accumulator of {names} (keep={self.keep!r})"

    def reset(self) -> None:
        """Forget everything that was counted."""
        self._reduced = False
        self._several = None  # whether rows can have several true items: known with the first batch
        self._different: list[IntArray] = []  # the items in lists, if their number was passed
        plan, close = self._plan, self._asked.tolerance
        self._counted: Any = KeptQueries(plan, close) if self.keep == "values" else KeptSums(plan)

    @property
    def plan(self) -> Plan:
        """Every choice that was made; the first batch decides the tie rule if no option does."""
        plan: Plan = self._counted.plan
        return plan

    def _settle_tie_rule(self, *, several: bool) -> None:
        """Choose the tie rule of rows with one or several true items; refuse to mix them."""
        if self._several is None:
            self._several, self._counted.plan = several, self._plan_of_rows(several=several)
        elif several != self._several and self.plan != self._plan_of_rows(several=several):
            raise UsageError(
                "some batches have one true item for each row and others have lists of them, for "
                "which tied items are ranked in another way: pass the same form in every update, "
                "or ties= to accumulator",
                option="ties",
            )

    def _plan_of_rows(self, *, several: bool) -> Plan:
        if not several or self._plan.each:
            return self._plan
        given: dict[str, Any] = dict(self._settings)
        metrics, like, choices = given["metrics"], given["like"], given["choices"]
        return resolve_plan_of_data(metrics, like, choices, "batches", several=True)

    def update(
        self,
        *batch: Any,
        scores: Any = None,
        items: Any = None,
        positive: Any = None,
        negatives: Any = None,
        ranks: Any = None,
        target: Any = None,
        exclude: Any = None,
        candidates: Any = None,
        target_ids: bool = False,
        users: Any = None,
    ) -> None:
        """Count a batch of queries, in one of four forms.

        Parameters
        ----------
        *batch
            `scores` and `target` without their names, unless `scores` are integers, which could
            be `items`.
        scores : array of shape (n, n_items), optional
            With `target`, and optionally `exclude` and `candidates`: see
            `rankmeter.evaluate_scores`.
        items : array of shape (n, k), optional
            Ids of items, best first, padded with -1; with `target`.
        positive, negatives : arrays of shapes (n,) and (n, m) or (m,), optional
            Scores of positives and of their negatives.
        ranks : array of shape (n,), optional
            1-based ranks; with `candidates`, their number, if a metric depends on it.
        target, exclude, candidates, target_ids : optional
            As in `rankmeter.evaluate_scores`.
        users : array or list, optional
            An id for each row. A user that comes again, as a distributed sampler repeats rows to
            fill its last batch, is counted once.

        Raises
        ------
        UsageError
            If not exactly one form is given, or an argument does not belong to it.
        DataError
            As `rankmeter.evaluate_scores`.
        """
        if batch:
            scores, target = _scores_and_target(batch, scores, target)
        forms = {"scores": scores, "items": items, "positive": positive, "ranks": ranks}
        named_forms = [name for name, value in forms.items() if value is not None]
        if len(named_forms) != 1:
            names = " and ".join(named_forms) or "none of them"
            raise UsageError(f"update takes one of scores, items, positive, ranks; got {names}")
        allowed = {
            "scores": ("target", "exclude", "candidates", "target_ids"),
            "items": ("target", "target_ids"),
            "positive": ("negatives",),
            "ranks": ("candidates",),
        }[named_forms[0]]
        side_args = {
            "target": target, "exclude": exclude, "candidates": candidates, "negatives": negatives,
            "target_ids": target_ids or None,
        }  # fmt: skip
        for name, value in side_args.items():
            if value is not None and name not in allowed:
                raise UsageError(f"`{name}` does not belong to `{named_forms[0]}`", option=name)
        request = replace(self._asked, target_ids=check_flag("target_ids", target_ids))
        queries = self._count_batch(named_forms[0], forms[named_forms[0]], side_args, request)
        if items is None:  # lists have no ties
            self._settle_tie_rule(several=can_hold_several(side_args["target"]))
        ids: list[pl.Series] = []
        if users is not None:
            counts: Counter[str] = Counter()
            ids = [row_ids(users, queries.facts["rows"], counts).gather(queries.row)]
            queries = replace(queries, facts={**queries.facts, **counts})
        self._counted.add(queries, ids)
        if items is not None and any(passed_size(self.plan, e) for e in self.plan.metrics):
            listed = to_numpy(asarray(items, "items"))
            self._different += [listed[listed >= 0], cast("IntArray", queries.column)]
            if sum(part.size for part in self._different[1:]) > self._different[0].size + AT_ONCE:
                self._different_items()

    def _count_batch(
        self, form: str, data: Any, side_args: Mapping[str, Any], request: CountRequest
    ) -> Queries:
        if form in ("scores", "items"):
            sides = {name: side_args[name] for name in ("target", "exclude", "candidates")}
            labelled, sides = align_all(data, sides)
            data, target = labelled.values, sides.pop("target")
        if form == "scores":
            return count_scores(data, target, request, **sides)
        if form == "items":
            if target is None:
                raise UsageError("target is missing: pass the true items of each row")
            if labels := [entry.label for entry in self.plan.metrics if entry.candidates == 0]:
                raise UsageError(
                    f"{labels[0]} needs the number of candidates, which lists do not have: pass "
                    "n_items= to accumulator",
                    option="n_items",
                )
            return count_lists(data, target, each=self.plan.each)
        if form == "positive":
            if side_args["negatives"] is None:
                raise UsageError("negatives is missing: pass the scores of the negatives")
            return count_samples(data, side_args["negatives"], request)
        if side_args["candidates"] is None and not self._sizes_unused:
            tried = [read_ranks(np.full(SIZES.size, rank), None, rank * SIZES) for rank in (1, 2)]
            refuse_unknown_candidates(self.plan, Queries.concat(tried))
            self._sizes_unused = True
        return read_ranks(data, None, side_args["candidates"])

    def compute(self) -> Summary:
        """The result of all batches so far; it can be followed by further updates.

        Raises
        ------
        DuplicateError
            If a user came twice with different values.
        DataError
            If nothing was counted.
        """
        n_items = self._different_items()
        for entry in self.plan.metrics:
            if error := size_error(self.plan, entry, None, lambda: n_items):
                raise error
        summary: Summary = self._counted.summary(reduced=self._reduced)
        return summary

    def _different_items(self) -> int:
        """Number of different items in all lists; each of them is kept once."""
        if not self._different:
            return 0
        return join_parts(self._different, lambda parts: np.unique(np.concatenate(parts))).size

    # -- parts of one evaluation --------------------------------------------------------------

    def merge(self, other: Accumulator) -> Accumulator:
        """Add what another accumulator of the same settings has counted; returns itself.

        Raises
        ------
        UsageError
            If its metrics or options are different ones.
        """
        if not isinstance(other, Accumulator):
            raise UsageError(f"expected an accumulator to merge, got {brief(other)}")
        if self._settings != other._settings:
            raise UsageError("only accumulators with the same metrics and options can be merged")
        if other._several is not None:
            self._settle_tie_rule(several=other._several)
        self._counted.merge(other._counted)
        self._different += other._different
        return self

    def __add__(self, other: Accumulator) -> Accumulator:
        if not isinstance(other, Accumulator):
            return NotImplemented
        total = copy.copy(self)
        total.reset()
        return total.merge(self).merge(other)

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Everything counted so far as arrays, for `from_state`: no objects, no scores."""
        facts, arrays = self._counted.state()
        if self._different:
            arrays["items"] = np.unique(np.concatenate(self._different))
        facts |= {
            "settings": self._settings, "reduced": self._reduced, "several": self._several,
        }  # fmt: skip
        facts["arrays"] = {name: array.size for name, array in arrays.items()}
        text = json.dumps(facts).encode()
        return {"about": np.frombuffer(text, dtype=np.uint8).copy(), **arrays}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Accumulator:
        """An accumulator with what `state` gave.

        Parameters
        ----------
        state : mapping of str to array

        Raises
        ------
        UsageError
            If this is not such a state.
        DataError
            If it is damaged.
        """
        if not isinstance(state, Mapping) or "about" not in state:
            raise UsageError(
                "expected a state of an accumulator, a mapping with 'about' that state() made, got "
                f"{brief(state)}"
            )
        try:
            return cls._restore_state(state)
        except RankmeterError:
            raise
        except Exception as error:
            raise _damaged_state_error(error) from error

    @classmethod
    def _restore_state(cls, state: Mapping[str, Any]) -> Accumulator:
        facts = json.loads(bytes(np.asarray(state["about"], dtype=np.uint8)))
        arrays = {name: np.asarray(state[name]) for name in facts["arrays"]}
        for name, size in facts["arrays"].items():
            if arrays[name].shape != (size,):
                raise ValueError(f"{name} has shape {arrays[name].shape}, not ({size},)")
        settings = facts["settings"]
        restored = cls(**settings)
        restored._settings = settings
        restored._reduced = facts["reduced"]
        if facts["several"] is not None:
            restored._settle_tie_rule(several=facts["several"])
        restored._counted.restore(facts, arrays)
        restored._different = [arrays["items"]] if "items" in arrays else []
        return restored

    def to_bytes(self) -> bytes:
        """The state as the bytes of an ``.npz`` file."""
        file = io.BytesIO()
        np.savez(file, **cast("dict[str, Any]", self.state()))
        return file.getvalue()

    @classmethod
    def from_bytes(cls, data: bytes) -> Accumulator:
        """An accumulator from `to_bytes`."""
        try:
            with np.load(io.BytesIO(data), allow_pickle=False) as file:
                state = dict(file)
        except Exception as error:
            raise _damaged_state_error(error) from error
        return cls.from_state(state)

    def all_reduce(self, group: Any = None) -> Accumulator:
        """Add what the other processes of ``torch.distributed`` have counted; returns itself.

        Every process must call it, also one that counted nothing. Outside of a process group it
        does nothing.

        Parameters
        ----------
        group : process group, optional

        Raises
        ------
        UsageError
            If it was called already since the last `reset`.
        """
        try:
            import torch.distributed as dist
        except ImportError:
            raise MissingDependencyError("all_reduce() needs PyTorch: pip install torch") from None
        if not (dist.is_available() and dist.is_initialized()):
            return self
        if self._reduced:
            raise UsageError("all_reduce() was called already: reset() comes before another round")
        states: list[Any] = [None] * dist.get_world_size(group)
        dist.all_gather_object(states, self.to_bytes(), group=group)
        self.reset()
        for part in states:
            self.merge(Accumulator.from_bytes(part))
        self._reduced = True
        return self


@takes_choices_of("batches")
def accumulator(
    metrics: str | Metric | Iterable[str | Metric],
    *,
    keep: Keep = "values",
    tolerance: tuple[float, float] | None = None,
    like: Like | None = None,
    users: str | None = None,
    **choices: Any,
) -> Accumulator:
    """Start an evaluation that gets its data batch by batch.

    Parameters
    ----------
    metrics : str, Metric or iterable of them
        As in `rankmeter.evaluate`.
    keep : {"values", "moments"}
        ``values`` keeps a few integers for each query, so that the result has values by user and
        everything that `rankmeter.evaluate_scores` gives. ``moments`` keeps compensated sums in
        constant memory: means and their t intervals, equal to those of the values to 1e-12.
    tolerance : tuple of two floats, optional
        How close scores are tied, as in `rankmeter.evaluate_scores`.
    like : str, optional
        The tool whose conventions to follow.
    users : str, optional
        Users to average, an option of `rankmeter.evaluate`; ids of users belong to
        `Accumulator.update`.
    {choices}

    Returns
    -------
    Accumulator
        Call its ``update`` for each batch and ``compute`` at the end.

    Raises
    ------
    UsageError
        If a metric, an option or a value of an option does not exist, or an option cannot act on
        what `Accumulator.update` takes; with ``moments`` also if an aggregate or an interval needs
        the values.

    Notes
    -----
    Ties are ``expected`` by default where the targets of a row can be several, and ``realistic``
    where they are one, as in `rankmeter.evaluate_scores`; all batches must have one form. The
    result does not depend on the order of the batches. With ``moments`` means and
    standard deviations are those of the exact sums to 1e-12, whatever the order and the cut.

    Examples
    --------
    >>> import rankmeter as rm
    >>> acc = rm.accumulator(["mrr", "recall@1"])
    >>> acc.update(scores=[[0.9, 0.1, 0.5]], target=[2], users=["ann"])
    >>> acc.update(items=[[4, 7]], target=[[4, 6]], users=["bob"])
    >>> result = acc.compute()
    >>> result["mrr"].mean, result["recall@1"].mean
    (0.75, 0.25)
    """
    _, options = users_from_option(users, choices)
    return Accumulator(metrics, keep=keep, like=like, choices=options, tolerance=tolerance)


accumulator.from_state = Accumulator.from_state  # type: ignore[attr-defined]


def _scores_and_target(batch: tuple[Any, ...], scores: Any, target: Any) -> tuple[Any, Any]:
    """The arguments of `update` that were passed without names."""
    if len(batch) != 2 or scores is not None or target is not None:
        raise UsageError(
            "update takes scores and target without names, and nothing else: update(scores, "
            f"target); got {counted(len(batch), 'such argument')}"
        )
    values = read_labels(batch[0], "scores").values
    is_array = not (is_sparse(values) or callable(values) or isinstance(values, tuple))
    if is_array and "int" in type_name(asarray(values, "scores")):
        raise UsageError(
            "integers without a name may be scores or the ids of items: pass "
            "update(scores=..., target=...) or update(items=..., target=...)",
            option="items",
        )
    return batch


def _damaged_state_error(error: Exception) -> DataError:
    return DataError(
        f"the state of the accumulator is damaged ({type(error).__name__}: {error}): load an "
        "earlier one, or count the batches again"
    )
