"""Systems on several data sets: what holds for these, and for others like them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from rankmeter._across.random_effects import FEWEST, RandomEffects, random_effects
from rankmeter._choices import check_choice, level_of_tests
from rankmeter._evaluation.compare import compare
from rankmeter._evidence.hits import FloatArray, IntArray
from rankmeter._files import is_stored_result
from rankmeter._reading.per_user import read_per_user
from rankmeter._reading.table import format_few
from rankmeter._results.answer import Answer
from rankmeter._results.compared import Compared
from rankmeter._results.differences import RankSet, rank_sets
from rankmeter._results.result import Result
from rankmeter._results.tables import TextTable
from rankmeter._results.wording import (
    interval_of_change,
    level_text,
    number_text,
    p_value_text,
    signed_text,
)
from rankmeter._statistics.intervals import (
    UNKNOWN,
    Interval,
    pseudo_unit_change,
    spread_of_mean,
    stratified_spread,
    student_interval,
)
from rankmeter._statistics.step_down import Hypotheses, adjust_p_values, step_down_test
from rankmeter.conventions._plan import Plan
from rankmeter.errors import DataError, UsageError
from rankmeter.errors._checks import check_choice as check_word
from rankmeter.errors._checks import check_flag, check_number, counted

TABLE = "value"
"""The metric of a table of means."""


@dataclass(frozen=True)
class AcrossDifference:
    """One system against another on one metric, over several data sets.

    Attributes
    ----------
    metric, a, b : str
        Differences are a minus b.
    n : int
        Data sets.
    difference, low, high : float
        The mean of the differences of these data sets, each with the same weight, and its interval
        over other users of them. The intervals of a metric hold together. NaN without users.
    p, p_adjusted : float
        Of these data sets, by flips of the users' signs: before and after the step-down correction.
        NaN without users.
    predicted_low, predicted_high : float
        What another data set like these, with as many users, would show: its difference lies here
        with the confidence of the result. NaN for fewer than three data sets, and where data sets
        share users.
    new_mean, new_low, new_high, new_p : float
        The mean over all data sets like these, its interval, and p by Holm's method over pairs.
    between : float
        Standard deviation of the true differences between data sets.
    by_dataset : mapping of str to float
        The difference on each data set.
    p_adjusted_is_bound : bool
        Whether none of the flips that were drawn reaches the difference: p is at most this number.
    """

    metric: str
    a: str
    b: str
    n: int
    difference: float
    low: float
    high: float
    p: float
    p_adjusted: float
    predicted_low: float
    predicted_high: float
    new_mean: float
    new_low: float
    new_high: float
    new_p: float
    between: float
    by_dataset: Mapping[str, float]
    p_adjusted_is_bound: bool = False

    def p_text(self) -> str:
        """The adjusted p, for tables."""
        return p_value_text(self.p_adjusted, at_most=self.p_adjusted_is_bound)

    def sentence(self, confidence: float) -> str:
        """The difference in plain words: another data set first, then these."""
        level, subject = level_text(confidence), f"{self.a} − {self.b} on {self.metric}"
        texts = []
        if not math.isnan(self.predicted_low):
            predicted = interval_of_change(0.0, self.predicted_low, self.predicted_high)
            mean = interval_of_change(self.new_mean, self.new_low, self.new_high)
            texts.append(
                f"{subject}, on another data set like these: within {predicted} (a {level} "
                f"prediction interval); on average over such data sets "
                f"{signed_text(self.new_mean)}, {level} interval {mean}."
            )
        if not math.isnan(self.difference):
            texts.append(
                f"{subject}, on these {self.n} data sets: {signed_text(self.difference)}, {level} "
                f"interval {interval_of_change(self.difference, self.low, self.high)}, adjusted p "
                f"{self.p_text()}."
            )
        return " ".join(texts) or f"{subject}: too few data sets to say more than their means."


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Across(Result):
    """Systems on several data sets: their means, ranks and differences.

    Attributes
    ----------
    systems, datasets : tuple of str
    baseline : str
        The system that all others are compared with; empty if all pairs are compared.
    confidence : float
        Level of all intervals.
    means : mapping of (str, str, str) to float
        By metric, system and data set.
    differences : tuple of AcrossDifference
    rank_sets : mapping of str to mapping
        By metric and system: the ranks by the mean over these data sets, and those that the users
        allow, all of them together; empty without users.
    notes : tuple of str
    """

    systems: tuple[str, ...]
    datasets: tuple[str, ...]
    baseline: str
    confidence: float
    means: Mapping[tuple[str, str, str], float]
    differences: tuple[AcrossDifference, ...]
    rank_sets: Mapping[str, Mapping[str, RankSet]]
    notes: tuple[str, ...]

    def headline(self) -> str:
        """Who leads on the first metric, or that the data do not decide, in one line."""
        if not self.rank_sets:
            shown = sum(d.new_p <= 1 - self.confidence for d in self.differences)
            text = f"{shown} of {counted(len(self.differences), 'difference')}"
            return f"{text if shown else 'No difference'} is shown on other data sets like these"
        metric, ranks = next(iter(self.rank_sets.items()))
        first = [name for name, places in ranks.items() if places.could_be_first]
        named = " or ".join(first) if len(first) <= 2 else f"Any of {len(first)} systems"
        lead = "leads" if len(first) == 1 else "could be first"
        return f"{named} {lead} on {metric} over these {len(self.datasets)} data sets"

    def sentences(self) -> tuple[str, ...]:
        """One sentence per difference: on another data set first, then on these."""
        return tuple(d.sentence(self.confidence) for d in self.differences)

    def table(self) -> TextTable:
        """Systems × data sets: means, with their mean and the ranks that the data allow."""
        rows = []
        for metric, system in dict.fromkeys(key[:2] for key in self.means):
            means = [self.means[metric, system, name] for name in self.datasets]
            ranks = self.rank_sets.get(metric, {})
            texts = map(number_text, [float(np.mean(means)), *means])
            rows.append((system, metric, str(ranks[system]) if ranks else "–", *texts))
        return TextTable(("system", "metric", "rank", "mean", *self.datasets), rows, left=2)

    def difference_table(self) -> TextTable:
        """Every difference: on another data set, on average over such ones, on these."""
        rows = [
            (
                f"{d.a} − {d.b}",
                d.metric,
                _ends(d.predicted_low, d.predicted_high),
                _ends(d.new_low, d.new_high),
                "–" if math.isnan(d.difference) else signed_text(d.difference),
                _ends(d.low, d.high),
                d.p_text(),
            )
            for d in self.differences
        ]
        about_others = ("another data set", "mean of others")
        notes = (f"all intervals {level_text(self.confidence)}", *self.notes)
        about_these = ("mean of these", "its interval", "adjusted p")
        columns = ("difference", "metric", *about_others, *about_these)
        return TextTable(columns, rows, notes, left=2)

    def _tables(self) -> list[TextTable]:
        return [self.table(), self.difference_table()]

    def _answer(self) -> Answer:
        return Answer(self.headline(), self.table(), (), [self.difference_table()])

    def to_markdown(self) -> str:
        """The headline and the tables in Markdown."""
        return self._answer().to_markdown()

    def __repr__(self) -> str:
        return self._answer().to_text()

    def _repr_html_(self) -> str:
        return self._answer().to_html()

    def to_polars(self) -> pl.DataFrame:
        """One row per difference, a column per attribute, and one for each data set."""
        rows = []
        for d in self.differences:
            row = asdict(d)
            rows.append({**row, **row.pop("by_dataset")})
        return pl.DataFrame(rows).drop("by_dataset")

    def _dict_content(self) -> dict[str, Any]:
        metrics: dict[str, dict[str, dict[str, float]]] = {}
        for (metric, system, name), mean in self.means.items():
            metrics.setdefault(metric, {}).setdefault(system, {})[name] = mean
        return {
            "systems": list(self.systems),
            "datasets": list(self.datasets),
            "baseline": self.baseline or None,
            "confidence": self.confidence,
            "means": metrics,
            "ranks": {
                metric: {name: ranks.to_dict() for name, ranks in sets.items()}
                for metric, sets in self.rank_sets.items()
            },
            "differences": [
                asdict(d) | {"sentence": d.sentence(self.confidence)} for d in self.differences
            ],
            "notes": list(self.notes),
        }


def _ends(low: float, high: float) -> str:
    return "–" if math.isnan(low) else interval_of_change(0.0, low, high)


def across(
    results: object,
    *,
    baseline: str | None = None,
    same_users: bool = True,
    confidence: float | None = None,
) -> Across:
    """Compare the same systems on several data sets: these ones, and others like them.

    Parameters
    ----------
    results : object
        A mapping from data set to its comparison, all of the same systems, or to the results of
        evaluations by system, as objects or files, ``{"ml": {"A": "a.result", …}, …}``. Or
        means without users: a mapping from data set to the mean of each system, or a table with the
        column ``system`` and a column for each data set.
    baseline : str, optional
        The system that all others are compared with; without a baseline, all pairs are compared.
    same_users : bool
        Whether an id that is in two data sets is the same user there. Such users count once, and
        nothing is said about other data sets. With False they are different users.
    confidence : float, optional
        Default: that of the comparisons, or 0.95 for means.

    Returns
    -------
    Across
        ``found.differences``, ``found.sentences()``, ``found.table()``, ``found.to_dict()``.

    Raises
    ------
    UsageError
        If there are fewer than two data sets, their systems, options or levels differ, they have
        no metric in common, or a comparison has clusters or several training runs.
    DataError
        If a mean is missing.

    Notes
    -----
    *These data sets*: the mean of their differences, each with the same weight, over other samples
    of their users. The variance is the sum of those of the data sets, p is from flips of the signs
    of users within data sets, and ranks and intervals hold together, as in `compare`.

    *Other data sets*, from three on: a random-effects mean with the variance between data sets of
    Paule and Mandel and the interval of Hartung and Knapp. Its prediction interval says what the
    next data set would show; it is as wide as the data sets are unlike, however many users they
    have. It assumes that these data sets are a sample of those that matter. Mean ranks over data
    sets, and tests of them, depend on which other systems take part, and are left out.

    Examples
    --------
    Three data sets with differences of 0.1, 0.2 and 0.3, of which the mean is 0.2 and the standard
    deviation 0.1. Student's t with two degrees of freedom is 4.30: the interval of the mean is
    0.2 ± 4.30 · 0.1 / √3, and that of the next data set 0.2 ± 4.30 · 0.1 · √(1 + 1/3).

    >>> import rankmeter as rm
    >>> means = {"x": {"A": 0.6, "B": 0.5}, "y": {"A": 0.6, "B": 0.4}, "z": {"A": 0.6, "B": 0.3}}
    >>> (d,) = rm.across(means).differences
    >>> round(d.new_mean, 4), round(d.new_low, 4), round(d.new_high, 4)
    (0.2, -0.0484, 0.4484)
    >>> round(d.predicted_low, 4), round(d.predicted_high, 4)
    (-0.2968, 0.6968)
    """
    same_users = check_flag("same_users", same_users)
    if confidence is not None:
        confidence = check_choice("confidence", confidence)
    if isinstance(results, Mapping):
        results = {name: _compare_results_of(value) for name, value in results.items()}
    if isinstance(results, Mapping) and any(isinstance(v, Result) for v in results.values()):
        return _across_comparisons(results, baseline, confidence, same_users=same_users)
    return _across_means(_read_means(results), baseline, confidence or 0.95)


def _across_comparisons(
    results: Mapping[Any, Any], baseline: str | None, confidence: float | None, *, same_users: bool
) -> Across:
    found = {str(name): result for name, result in results.items()}
    for name, result in found.items():
        if not isinstance(result, Compared):
            raise _not_a_comparison(name, result)
        if hasattr(result, "judge_table"):
            raise UsageError(f"{name} is corrected by a judge, query by query: leave judge= out")
    first_name, first = next(iter(found.items()))
    _refuse_different_comparisons(first_name, first, found)
    systems, labels = first.systems, _common_metrics(found)
    pairs = _pairs_to_compare(systems, baseline)
    level = first.confidence if confidence is None else confidence
    differences: list[AcrossDifference] = []
    means: dict[tuple[str, str, str], float] = {}
    ranks, n_shared = {}, 0
    for label in labels:
        data = _Data.of_comparisons(label, systems, found, same_users=same_users)
        means |= data.means_by_key()
        new, sets = _compare_metric(data, pairs, level, first.settings)
        differences += new
        ranks[label] = sets
        n_shared = max(n_shared, data.n_shared)
    notes = _notes(len(found), n_shared)
    return Across(
        systems=systems, datasets=(*found,), baseline=baseline or "", confidence=level,
        means=means, differences=(*differences,), rank_sets=ranks, notes=notes,
    )  # fmt: skip


def _compare_results_of(systems: object) -> object:
    """Compare the results of the systems on one data set; any other value is unchanged."""
    if not isinstance(systems, Mapping) or isinstance(systems, Result):
        return systems
    if not any(isinstance(one, Result) or is_stored_result(one) for one in systems.values()):
        return systems
    return compare(systems)


def _not_a_comparison(name: object, value: object) -> UsageError:
    return UsageError(
        f"{name} is a {type(value).__name__}, not a comparison: compare the systems on each data "
        "set first, rm.across({'ml': rm.compare({'A': …, 'B': …}, …), …})"
    )


def _across_means(
    table: Mapping[str, Mapping[str, float]], baseline: str | None, confidence: float
) -> Across:
    """Data sets without users: only what they say of others."""
    first = next(iter(table))
    systems = tuple(table[first])
    _refuse_different_systems({name: [*row] for name, row in table.items()})
    pairs = _pairs_to_compare(systems, baseline)
    by_pair = [
        {name: row[systems[i]] - row[systems[j]] for name, row in table.items()} for i, j in pairs
    ]
    answers = [_about_others([*d.values()], [0.0] * len(d), confidence) for d in by_pair]
    corrected = adjust_p_values([answer.p for answer in answers])
    nothing = (math.nan,) * 5
    return Across(
        systems=systems,
        datasets=(*table,),
        baseline=baseline or "",
        confidence=confidence,
        means={(TABLE, system, name): table[name][system] for system in systems for name in table},
        differences=tuple(
            AcrossDifference(
                TABLE, systems[i], systems[j], len(table), *nothing, *answer.prediction,
                answer.mean, *answer.interval, float(p), answer.between, by_dataset,
            )
            for (i, j), by_dataset, answer, p in zip(
                pairs, by_pair, answers, corrected, strict=True
            )
        ),
        rank_sets={},
        notes=("means without users say nothing about these data sets alone", *_notes(len(table))),
    )  # fmt: skip


def _read_means(results: object) -> dict[str, dict[str, float]]:
    """Read means by data set and system."""
    if isinstance(results, Mapping):
        for name, row in results.items():
            if not isinstance(row, Mapping):
                raise _not_a_comparison(name, row)
        table = {
            str(name): {
                str(system): check_number(f"results[{name}][{system}]", mean)
                for system, mean in row.items()
            }
            for name, row in results.items()
        }
    else:
        frame = read_per_user({"table": results}, columns={"user": "system"}).frame
        table = {}
        for system, name, mean in frame.select("user", "metric", "value").iter_rows():
            table.setdefault(name, {})[str(system)] = mean
    if not table or not all(table.values()):
        raise DataError("there are no means: expected those of each system on each data set")
    return table


def _refuse_different_systems(by_dataset: Mapping[str, Sequence[str]]) -> None:
    """Refuse fewer than two data sets, and systems that are not in all of them."""
    if len(by_dataset) < 2:
        raise UsageError(f"several data sets are needed, got {len(by_dataset)}")
    (name, first), *others = by_dataset.items()
    for other, systems in others:
        if {*systems} != {*first}:
            raise UsageError(
                f"all data sets need the same systems: {name} has {format_few(first)}, and "
                f"{other} has {format_few(systems)}"
            )


def _refuse_different_comparisons(
    name: str, first: Compared, found: Mapping[str, Compared]
) -> None:
    """Refuse comparisons that cannot be put together, and say what differs."""
    _refuse_different_systems({other: result.systems for other, result in found.items()})
    for other, result in found.items():
        if result.confidence != first.confidence:
            raise UsageError(
                f"{name} has confidence={first.confidence}, and {other} {result.confidence}"
            )
        for what, given in (("clusters", result.clusters), ("runs", result.settings["runs"])):
            if given is not None:
                raise UsageError(f"{other} has {what}, which cannot be combined: leave them out")


def _common_metrics(found: Mapping[str, Compared]) -> list[str]:
    """Metrics of all comparisons; those of one name must be computed in the same way."""
    first_name, first = next(iter(found.items()))
    labels = [m for m in first.labels if all(m in result.labels for result in found.values())]
    if not labels:
        raise UsageError("the comparisons have no metric in common")
    for (name, result), label in itertools.product(found.items(), labels):
        same = result.by_metric[label].increasing == first.by_metric[label].increasing
        if isinstance(first.plan, Plan) and isinstance(result.plan, Plan):
            same &= str(result.plan[label]) == str(first.plan[label])
        if not same:
            raise UsageError(
                f"{label} is not the same in {first_name} and {name}: compare with the same options"
            )
    return labels


def _pairs_to_compare(systems: Sequence[str], baseline: str | None) -> list[tuple[int, int]]:
    if len(systems) < 2:
        raise UsageError(f"compare at least 2 systems, got {len(systems)}")
    if baseline is None:
        return list(itertools.combinations(range(len(systems)), 2))
    check_word("baseline", baseline, systems)
    place = systems.index(baseline)
    return [(i, place) for i in range(len(systems)) if i != place]


@dataclass(frozen=True, eq=False)
class _Data:
    """The values of one metric by data set: a table of users × systems, and the unit of each row.

    `units` are numbers over all data sets; a user of several data sets is one unit.
    """

    label: str
    systems: Sequence[str]
    tables: Mapping[str, FloatArray]
    units: Sequence[IntArray]
    n_shared: int
    increasing: bool
    span: float

    @classmethod
    def of_comparisons(
        cls, label: str, systems: Sequence[str], found: Mapping[str, Compared], *, same_users: bool
    ) -> _Data:
        """Take the values of all comparisons."""
        tables, ids = {}, []
        for name, result in found.items():
            values = result.by_metric[label]
            users = np.flatnonzero(values.compared_mask)
            table = values.values_of_users(users)
            if len(users) < 2 or np.isnan(table).any():
                raise UsageError(f"{name} has fewer than two users with a value of {label}")
            tables[name] = table[:, [result.systems.index(system) for system in systems]]
            kept = result.users[users].to_frame("user")
            ids.append(
                kept.select(pl.col("user").cast(pl.String), text=kept["user"].dtype == pl.String)
            )
        rows = pl.concat([part.with_columns(place=pl.lit(n)) for n, part in enumerate(ids)])
        key = ["user", "text"] if same_users else ["user", "text", "place"]
        rows = rows.with_columns(unit=pl.struct(key).rank("dense").cast(pl.Int64) - 1)
        several = rows.group_by("unit").agg(pl.col("place").n_unique())["place"] > 1
        units = [rows.filter(place=n)["unit"].to_numpy() for n in range(len(ids))]
        values = next(iter(found.values())).by_metric[label]
        return cls(
            label, systems, tables, units, int(several.sum()), values.increasing, values.span
        )

    def means_by_key(self) -> dict[tuple[str, str, str], float]:
        """Means by metric, system and data set."""
        return {
            (self.label, system, name): float(table[:, column].mean())
            for column, system in enumerate(self.systems)
            for name, table in self.tables.items()
        }

    def table_of_units(self) -> FloatArray:
        """A row per unit, whose sum is the mean over data sets of the mean over users."""
        k = len(self.tables)
        scores = np.zeros((1 + max(int(units.max()) for units in self.units), len(self.systems)))
        for table, units in zip(self.tables.values(), self.units, strict=True):
            np.add.at(scores, units, table / (len(table) * k))
        return scores


def _compare_metric(
    data: _Data, pairs: Sequence[tuple[int, int]], level: float, settings: Mapping[str, Any]
) -> tuple[list[AcrossDifference], dict[str, RankSet]]:
    """Compare systems on one metric: these data sets, and others."""
    names, alpha, scores = data.systems, level_of_tests(level), data.table_of_units()
    everything = itertools.combinations(range(len(names)), 2)
    reported = {*pairs, *(pair[::-1] for pair in pairs)}
    others = [pair for pair in everything if pair not in reported]
    tested = step_down_test(
        [Hypotheses(scores, [*pairs, *others], len(pairs))],
        level=alpha, n_resamples=settings["n_resamples"], seed=settings["seed"],
    )  # fmt: skip
    means = scores.sum(axis=0) * (1.0 if data.increasing else -1.0)
    shown = [pair for pair, p in zip([*pairs, *others], tested.single, strict=True) if p <= alpha]
    sets = rank_sets(names, means, shown)
    answers, rows = [], []
    for (i, j), p, adjusted in zip(pairs, tested.p, tested.adjusted, strict=False):
        groups = [table[:, i] - table[:, j] for table in data.tables.values()]
        spreads = [spread_of_mean(group) for group in groups]
        by_dataset = {n: s.mean for n, s in zip(data.tables, spreads, strict=True)}
        new = _about_others(
            [s.mean for s in spreads], [s.se**2 for s in spreads], level, shared=data.n_shared > 0
        )
        answers.append(new)
        ends = _interval_of_these(data, groups, scores[:, i] - scores[:, j], 1.0 - tested.level)
        mean = float(np.mean([*by_dataset.values()]))
        rows.append((names[i], names[j], mean, *ends, float(p), float(adjusted), by_dataset))
    corrected = adjust_p_values([answer.p for answer in answers])
    found = [
        AcrossDifference(
            data.label, a, b, len(data.tables), mean, low, high, p, adjusted, *new.prediction,
            new.mean, *new.interval, float(new_p), new.between, by_dataset,
            tested.n_resamples > 0 and adjusted <= (1.0 + 1e-9) / (1.0 + tested.n_resamples),
        )
        for (a, b, mean, low, high, p, adjusted, by_dataset), new, new_p in zip(
            rows, answers, corrected, strict=True
        )
    ]  # fmt: skip
    return found, sets


def _interval_of_these(
    data: _Data, groups: Sequence[FloatArray], changes: FloatArray, level: float
) -> Interval:
    """The interval over other users of these data sets; rare differences count, as in `compare`."""
    shared = data.units if data.n_shared else None
    spread, n = stratified_spread(groups, shared), len(changes)
    span = data.span if math.isfinite(data.span) else max(float(np.ptp(g)) for g in groups)
    largest = span * n / (len(groups) * min(len(group) for group in groups))
    change = pseudo_unit_change(changes * n, largest)
    se = math.sqrt(spread.se**2 + change * change / (n * (n - 1)))
    return student_interval(spread._replace(se=se), level) if se > 0.0 else UNKNOWN


def _about_others(
    values: Sequence[float], variances: Sequence[float], level: float, *, shared: bool = False
) -> RandomEffects:
    """What the data sets say of others; nothing if they are few or share users."""
    if len(values) < FEWEST or shared:
        return RandomEffects(math.nan, UNKNOWN, math.nan, UNKNOWN, math.nan)
    return random_effects(np.array(values), np.array(variances), level)


def _notes(n: int, n_shared: int = 0) -> tuple[str, ...]:
    if n < FEWEST:
        return (f"other data sets: nothing is said with fewer than {FEWEST} data sets",)
    if n_shared:
        users = counted(n_shared, "user")
        note = (
            f"{users} in several data sets, who count once: nothing is said about other data sets"
        )
        return (f"{note} (same_users=False if equal ids are different users)",)
    return (
        "another data set: what the next one would show, if these are a sample of such data sets",
    )
