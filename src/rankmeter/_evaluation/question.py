"""What rankings are asked, and whether results answer the same question."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from os import PathLike
from typing import Any

import numpy as np
import polars as pl

from rankmeter._annexes import annex
from rankmeter._choices import CHOICES, RELEVANT_FORMS, active_choices, format_value
from rankmeter._engine.choose import Reading
from rankmeter._engine.side import Given, Side, read_side
from rankmeter._files import is_existing_path, is_stored_result
from rankmeter._rankings.kind import RankingKind, resolve_plan_of_systems, truth_of_systems
from rankmeter._reading.columns import SYNONYMS, SharedColumns
from rankmeter._reading.doubts import (
    are_gains,
    hints_without_ids,
    index_caution,
    label_caution,
    order_caution,
    refuse_two_readings,
    row_caution,
    swap_caution,
    threshold_caution,
)
from rankmeter._reading.fillers import filler_caution, filler_error
from rankmeter._reading.near_ids import near_caution
from rankmeter._reading.table import Table, make_empty_truth, unify_all_id_types
from rankmeter._results.counts import NEGATIVE
from rankmeter._results.result import Result
from rankmeter._results.summary import Summary, rename_metrics_as_in
from rankmeter.conventions import translate_metrics
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.errors import DataError, IdTypeError, RankmeterError, UsageError
from rankmeter.errors._caution import warn
from rankmeter.errors._checks import USERS, brief, counted, option_error
from rankmeter.metrics import Metric

DEFAULT_METRICS = ("ndcg@10", "map@10", "mrr@10", "precision@10", "recall@10", "hr@10")
"""The default metrics."""
REMEDY = "evaluate both with the same options, or compare the rankings: rm.compare({…}, truth)"


def read_stored_results(systems: Mapping[str, object]) -> Mapping[str, object]:
    """Read the files of results among systems and their runs."""
    read: dict[str, object] = {}
    for name, data in systems.items():
        runs = data if isinstance(data, list | tuple) else [data]
        is_text = len(runs) and isinstance(runs[0], str | PathLike)
        stored = is_text and any(map(is_stored_result, runs))
        read[name] = annex("_stored.file").load_runs(data) if stored else data
    return read


def equalize_metric_names(systems: Mapping[str, object]) -> Mapping[str, object]:
    """Give equal metrics equal names in all results, such as `mrr` where a result has `MRR`."""
    first = next(iter(results_by_name(systems).values()), None)
    if first is None:
        return systems

    def rename_metrics(data: object) -> object:
        return rename_metrics_as_in(first, data) if isinstance(data, Summary) else data

    return {
        name: [*map(rename_metrics, data)]
        if isinstance(data, list | tuple)
        else rename_metrics(data)
        for name, data in systems.items()
    }


def results_by_name(systems: Mapping[str, object]) -> dict[str, Summary]:
    """Results of evaluations among systems, by name; each run has its own name."""
    results = {}
    for system, data in systems.items():
        several = isinstance(data, list | tuple) and bool(data) and isinstance(data[0], Result)
        runs = list(data) if several else [data]  # type: ignore[call-overload]
        for number, run in enumerate(runs, 1):
            name = f"{system}, run {number}" if len(runs) > 1 else str(system)
            if type(run) is Summary:
                results[name] = run
            elif several or isinstance(run, Result):
                raise UsageError(
                    f"the values of {name} are a {type(run).__name__}, which is not the result of "
                    "one evaluation: pass that of rm.evaluate without judge=, "
                    "rm.evaluate_scores or rm.evaluate_ranks"
                )
    return results


def shared_plan(
    results: Mapping[str, Summary], metrics: str | Metric | Iterable[str | Metric] | None = None
) -> Plan:
    """Return the plan shared by results, with the `metrics` to compare; refuse different plans.

    Raises
    ------
    UsageError
        If a metric, an option or a user of the ground truth is not the same in all of them; or a
        result has no values of users.
    IdTypeError
        If the users of one are integers and those of another are text.
    """
    for name, run in results.items():
        if not run.scores.n_users:
            raise UsageError(f"{name} has no values of users: accumulate with keep='values'")
    (first, result), *remaining = results.items()
    entries = [*result.plan.metrics]
    if metrics is not None:
        requested = translate_metrics(metrics, result.plan.convention.partition(" ")[0])
        asked = [result.plan[str(metric)] for metric in requested]
        entries = [*{entry.label: entry for entry in asked}.values()]
    for name, other in remaining:
        labels = [e.label for e in (other.plan.metrics if metrics is None else entries)]
        entries_of_b = {label: other.plan[label] for label in labels if label in other}
        for differs in _question_differences(first, result, name, other, entries, entries_of_b):
            tools = [r.plan.convention for r in (result, other)]
            follow = f" ({first} follows {tools[0]}, {name} {tools[1]})" * (tools[0] != tools[1])
            raise UsageError(
                f"{first} and {name} do not answer the same question{follow}: {differs}"
            )
    return replace(result.plan, metrics=tuple(entries))


def refuse_different_options(results: Mapping[str, Summary]) -> None:
    """Refuse results with different options for a metric of the same name."""
    for (first, result), (name, other) in itertools.combinations(results.items(), 2):
        shared = {e.label: e for e in other.plan.metrics if e.label in result.estimates}
        entries = [result.plan[label] for label in shared]
        for differs in _option_differences(first, result.plan, name, other.plan, entries, shared):
            raise UsageError(f"{first} and {name} do not answer the same question: {differs}")


def _question_differences(
    a: str,
    result: Summary,
    b: str,
    other: Summary,
    entries: Sequence[MetricPlan],
    entries_of_b: Mapping[str, MetricPlan],
) -> Iterator[str]:
    """Yield the differences between the questions of two results with the names a and b."""
    labels = [entry.label for entry in entries]
    labels_of_b = [*entries_of_b]
    for has, lacks, present, compared in ((a, b, labels, labels_of_b), (b, a, labels_of_b, labels)):
        for label in present:
            if label not in compared:
                yield (
                    f"{has} has {label}, and {lacks} has not; name the metrics to compare, "
                    "metrics=[…]"
                )
    yield from _option_differences(a, result.plan, b, other.plan, entries, entries_of_b)
    if "samples" in (result.plan.data, other.plan.data):
        from rankmeter._evaluation.samples import different_candidates

        yield from different_candidates(a, result, b, other)
    first, second = (r.scores.users.filter(r.scores.in_truth) for r in (result, other))
    if first.dtype != second.dtype:
        raise IdTypeError("some systems have integers as users and others have text: convert them")
    for has, lacks, users, judged in ((a, b, first, second), (b, a, second, first)):
        alone = users.filter(~users.is_in(judged.implode()))
        if len(alone):
            yield (
                f"user {brief(alone[0])} is in the ground truth of {has}, and not in that of "
                f"{lacks} ({counted(len(alone), 'such user')} in all); {REMEDY}"
            )
    known = [r.fingerprints and r.fingerprints.truth for r in (result, other)]
    if all(known) and known[0] != known[1]:
        yield f"the ground truth of {a} has other items or gains than that of {b}; {REMEDY}"
    for entry in entries:
        if entry.alignment.scope == "all" and entry.alignment.exclude == "none":
            judged_by_a = _n_relevant_by_user(result, entry)
            judged_by_b = _n_relevant_by_user(other, entries_of_b[entry.label])
            for row in (judged_by_a["n"] != judged_by_b["n"]).arg_true().head(1):
                yield (
                    f"user {brief(judged_by_a['user'][row])} has {judged_by_a['n'][row]} relevant "
                    f"items in the ground truth of {a} and {judged_by_b['n'][row]} in that of {b}; "
                    f"{REMEDY}"
                )


def _n_relevant_by_user(result: Summary, entry: MetricPlan) -> pl.DataFrame:
    """The number of relevant items of each user in the ground truth, by user."""
    scores = result.scores
    n = pl.Series("n", scores.facts[entry.alignment].n_relevant)
    return pl.DataFrame([scores.users, n]).filter(scores.in_truth).sort("user")


def _option_differences(
    a: str,
    plan: Plan,
    b: str,
    other: Plan,
    entries: Sequence[MetricPlan],
    entries_of_b: Mapping[str, MetricPlan],
) -> Iterator[str]:
    """Yield the options with different values in two plans, for the metrics of both."""
    acts = active_choices(active_choices(CHOICES, plan.data), other.data)

    def options(entry: MetricPlan) -> dict[str, Any]:
        values = {"metric": entry.metric.name, "k": entry.metric.k, **entry.choices_by_name()}
        return {name: v for name, v in values.items() if name in acts or name not in CHOICES}

    pairs = [(f" of {e.label}", options(e), options(entries_of_b[e.label])) for e in entries]
    for suffix, first, second in (*pairs, ("", plan.settings(), other.settings())):
        for name, value in first.items():
            if name in second and second[name] != value:
                yield (
                    f"{name}{suffix} is {format_value(value)} in {a} and "
                    f"{format_value(second[name])} in {b}; {REMEDY}"
                )


_DOUBTS = (
    swap_caution,
    filler_caution,
    order_caution,
    row_caution,
    index_caution,
    near_caution,
)


def _with_doubts(table: Table, judged: Table) -> Table:
    """Add cautions; refuse fillers of rankings that were not read whole before."""
    if not table.rows.in_memory:
        asked: Table = annex("_large.parts").ask_parts([filler_error, *_DOUBTS], table, judged)
        return asked
    for doubt in _DOUBTS:
        table = table.with_caution(doubt(table, judged))
    return table


@dataclass(frozen=True, eq=False)
class Question:
    """Ground truth in any form, metrics, and side data, for rankings passed later."""

    truth: object
    metrics: str | Metric | Iterable[str | Metric]
    like: str | None
    choices: Mapping[str, Any]
    side_data: Given
    columns: Mapping[str, Any] | None = None
    reading: Reading = Reading()  # noqa: RUF009 - it never changes
    clusters: object = None
    relevant: str = ""  # a word of the ground truth, or "any"
    notes: tuple[str, ...] = ()  # how arguments were read

    def __post_init__(self) -> None:
        value = self.choices.get("relevant")
        if isinstance(value, str) and re.match(r"\s*[^\W\d]", value):
            others = {name: choice for name, choice in self.choices.items() if name != "relevant"}
            if value.strip().lower() != "any":
                object.__setattr__(self, "choices", others)
            object.__setattr__(self, "relevant", value.strip())
        if isinstance(self.metrics, Iterator):  # a plan is made of them more than once
            object.__setattr__(self, "metrics", [*self.metrics])

    def with_data_read(self) -> Question:
        """Read ground truth and side data now, so that they are read once for all rankings."""
        self._refuse_metrics_as_truth({})
        self.side_data.read_all()
        if self.truth is None:
            return self
        columns = _columns_by_side(self.columns)["truth"]
        truth = self.reading.read_truth(self.truth, columns, self.relevant)
        shared = columns if isinstance(columns, SharedColumns) else self.columns
        return replace(self, truth=truth, columns=shared)

    def plan(self, systems: Iterable[object] = ()) -> Plan:
        """The metrics with the value of every choice, for some rankings."""
        return resolve_plan_of_systems(self.metrics, self.like, self.choices, systems)

    def settle(self, systems: Mapping[str, object]) -> tuple[Question, Mapping[str, object]]:
        """Put metrics, gains in order and the judged item of one user where they belong.

        Names of metrics in the place of the truth, gains without ids, and an integer as truth have
        this one meaning where nothing else could be meant; all others stay as they are.
        """
        question, truth = self, self.truth
        if isinstance(truth, Integral) and not isinstance(truth, bool):
            if systems and all(map(_are_ids_of_one_user, systems.values())):
                note = f"the ground truth is one relevant item, {truth}"
                return replace(self, truth=[int(truth)], notes=(note,)), systems
            return self, systems
        if truth is not None:
            if self.metrics is not DEFAULT_METRICS or not self._truth_names_metrics(systems):
                return self, systems
            question = replace(self, truth=None, metrics=truth)  # type: ignore[arg-type]
        if systems and all(map(are_gains, systems.values())):
            if question.plan(systems.values()).needs_no_truth:
                return self, systems
            grades_of = annex("_scores.kinds").Grades
            note = "lists of small numbers that repeat are read as gains in order (rm.Grades)"
            grades = {name: grades_of(gains) for name, gains in systems.items()}
            return replace(question, notes=(note,)), grades
        return (question if self._holds_truth(systems) else self), systems

    def _holds_truth(self, systems: Mapping[str, object]) -> bool:
        """Whether the only rankings are records with a ground truth that can be read."""
        if len(systems) != 1:
            return False
        from rankmeter._reading.records import is_records

        if not is_records(data := next(iter(systems.values()))):
            return False
        try:
            self.reading.read_truth(data, _columns_by_side(self.columns)["truth"], self.relevant)
        except RankmeterError:
            return False
        return True

    def read(self, systems: Mapping[str, object]) -> tuple[Plan, Table, dict[str, Table], Side]:
        """Return the plan with notes, ground truth, rankings and side data; id types agree.

        Reasons to doubt that the data are as intended become warnings, and `cautions` of the
        tables.

        Parameters
        ----------
        systems : mapping of str to object
            Rankings by name, each in any form that `evaluate` takes. The truth may be left out if
            one system holds records of both.

        Raises
        ------
        UsageError
            If ground truth is missing, or two systems have one name.
        DataError
            If the data cannot be read with certainty, or lack what an option asks for.
        """
        settled, systems = self.settle(systems)
        return settled._read(systems)

    def _read(self, systems: Mapping[str, object]) -> tuple[Plan, Table, dict[str, Table], Side]:
        self._refuse_unsuitable_systems(systems)
        self._refuse_metrics_as_truth(systems)
        plan, truth = self.plan(systems.values()), truth_of_systems(systems, self.truth)
        for rankings in systems.values():
            if isinstance(rankings, RankingKind):
                rankings._check_plan(plan)
        by_side = _columns_by_side(self.columns)
        if truth is None and not plan.needs_no_truth:
            truth = self._records(systems)
        tables = self._read_rankings(systems, by_side["rankings"], plan)
        if truth is None:
            judged = make_empty_truth(next(iter(tables.values())))
        else:
            stays, columns = all(t.rows.in_cluster for t in tables.values()), by_side["truth"]
            judged = self.reading.read_truth(truth, columns, self.relevant, stays=stays)
        self._refuse_word_without_column(judged)
        if plan.convention != "rankmeter" and (judged.rows.each_number("gain") < 0).any():
            counts = {**judged.counts, NEGATIVE: int(np.count_nonzero(judged.gains < 0))}
            judged = replace(judged, origin=replace(judged.origin, counts=counts))
        for table in tables.values():
            refuse_two_readings(table, judged)
        columns = by_side["truth"]
        unused = columns.check_absent_columns() if isinstance(columns, SharedColumns) else ()
        judged, tables = unify_all_id_types(judged.with_caution(label_caution(judged)), tables)
        if plan.assumes_relevance:
            judged = judged.with_caution(threshold_caution(judged))
        if not all(table.rows.in_memory for table in tables.values()):
            tables = annex("_large.parts").cut_into_parts(tables, self.reading.disk_memory_limit)
        for name, rankings in systems.items():
            if (
                not isinstance(rankings, RankingKind) or rankings.data == "rankings"
            ):  # which has ids
                tables[str(name)] = _with_doubts(tables[str(name)], judged)
        for table in (judged, *tables.values()):
            warn(*table.origin.cautions)
        every = (*tables.values(), judged)
        typed = next((table for table in every if table.height), judged)  # has ids, if any has
        catalogue = any(map(_uses_catalogue, plan.metrics))
        side = read_side(self.side_data, typed, plan.n_items, needs_catalogue=catalogue)
        # The vocabulary of the ground truth, or of rankings, if it differs from the default one.
        vocabularies = (table.origin.words for table in (judged, *tables.values()))
        words = next((words for words in vocabularies if words != USERS), USERS)
        engine = self.reading.describe_engines(tables.values())
        grouped = dict.fromkeys(filter(None, (t.origin.collapsed for t in tables.values())))
        notes = (*self.notes, *side.notes, *grouped, *unused)
        asked = any(entry.alignment.history != "all" for entry in plan.metrics)
        if asked or side.train is not None:
            from rankmeter._rankings.history import mark_seen

            in_cluster = any(table.rows.in_cluster for table in tables.values())
            judged, seen = mark_seen(judged, side.train, asked=asked, in_cluster=in_cluster)
            notes += seen
        if judged.origin.chosen:
            notes += (f"relevant: the rows of {judged.source} with {judged.origin.chosen}",)
        if judged.has_subtopics and any(entry.spec.intent_aware for entry in plan.metrics):
            other = "" if side.items is None else ", not the categories of items="
            notes += (f"intent-aware metrics use the subtopics of {judged.source}{other}",)
        return replace(plan, engine=engine, side=notes, words=words), judged, tables, side

    def _records(self, systems: Mapping[str, object]) -> object:
        """Return the only rankings, if they are records with lists of both sides."""
        from rankmeter._reading.records import is_records, lists_of_records

        records = next(iter(systems.values()), None)
        lists = lists_of_records(records) if len(systems) == 1 else []
        named = is_records(records)
        if len(lists) > 1 and not named and self.columns is None:
            one, other = map(brief, lists[:2])
            raise UsageError(
                f"truth is missing, and the rows have the lists {one} and {other}: if they are "
                f"rankings and ground truth, pass columns={{'rankings': {{'item': {one}}}, "
                f"'truth': {{'item': {other}}}}}"
            )
        if len(systems) != 1 or not (named or len(lists) > 1):
            raise UsageError(
                "truth is missing: pass the judged items as the second argument, or records of "
                "the form {'predict_list': […], 'ground_truth': {…}} as the only argument"
                f"{_hint_without_ids(systems)}"
            )
        return records

    def _refuse_word_without_column(self, judged: Table) -> None:
        if self.relevant.lower() not in ("", "any") and not judged.origin.chosen:
            raise UsageError(
                f"{RELEVANT_FORMS}, got {brief(self.relevant)}; the ground truth has no column of "
                "words",
                option="relevant",
            )

    def _refuse_metrics_as_truth(self, systems: Mapping[str, object]) -> None:
        """Refuse names of metrics in the place of the ground truth."""
        if not self._truth_names_metrics(systems):
            return
        raise UsageError(
            f"the truth is {brief(self.truth)}, which names metrics: these are the third argument, "
            f"evaluate(rankings, truth, {brief(self.truth)}), or if the rankings are records with "
            f"their ground truth, evaluate(records, None, {brief(self.truth)})"
            f"{_hint_without_ids(systems)}",
            option="truth",
        )

    def _truth_names_metrics(self, systems: Mapping[str, object]) -> bool:
        """Whether the ground truth can only be names of metrics."""
        names = [self.truth] if isinstance(self.truth, str | Metric) else self.truth
        if not isinstance(names, list | tuple) or not names:
            return False
        if not all(isinstance(name, str | Metric) for name in names):
            return False
        certain = all(isinstance(name, Metric) or "@" in name for name in names)
        if not (certain or _hint_without_ids(systems) or self._holds_truth(systems)) and (
            isinstance(self.truth, str)
            or not systems
            or any(_could_name(data, names) for data in systems.values())
        ):
            return False
        if isinstance(self.truth, str) and (
            any(isinstance(data, str | PathLike) for data in systems.values())
            or is_existing_path(self.truth)
        ):
            return False
        try:
            translate_metrics(names, self.like or "rankmeter")
        except RankmeterError:
            return False
        return True

    def _refuse_unsuitable_systems(self, systems: Mapping[str, object]) -> None:
        """Refuse results, and options that cannot act on rankings without items."""
        side_args = {"columns": self.columns, **self.side_data.arguments()}
        for rankings in systems.values():
            if isinstance(rankings, Result) or is_stored_result(rankings):
                raise UsageError(
                    f"{_name_of_result(rankings)} is a result, not rankings: pass the rankings, or "
                    "compare results with rm.compare({'A': result_a, 'B': result_b})"
                )
            if isinstance(rankings, RankingKind) and rankings.data != "rankings":
                name = next((name for name, value in side_args.items() if value is not None), None)
                if name is not None:
                    raise UsageError(
                        f"`{name}` cannot act on {type(rankings).__name__}, which has no items: "
                        "leave it out",
                        option=name,
                    )

    def _read_rankings(
        self, systems: Mapping[str, object], columns: Mapping[str, str] | None, plan: Plan
    ) -> dict[str, Table]:
        collapsing = self.side_data.collapse_rule
        tables: dict[str, Table] = {}
        for name, rankings in systems.items():
            if str(name) in tables:
                raise UsageError(f"two systems are called {str(name)!r}")
            try:
                table = self.reading.read_rankings(rankings, columns, plan)
                tables[str(name)] = table if collapsing is None else collapsing(table)
            except DataError as error:
                if len(systems) == 1:
                    raise
                raise type(error)(f"System {str(name)!r}: {error}") from None
        return tables


def _name_of_result(result: object) -> str:
    return type(result).__name__ if isinstance(result, Result) else str(result)


def _columns_by_side(columns: Mapping[str, Any] | None) -> dict[str, Mapping[str, str] | None]:
    """Split column roles by side, from one mapping for both or one mapping for each."""
    if columns is None:
        return {"rankings": None, "truth": None}
    if not isinstance(columns, Mapping) or not all(isinstance(role, str) for role in columns):
        raise option_error("columns", "a mapping from role to column name", columns)
    if any(isinstance(value, Mapping) for value in columns.values()):
        unknown = set(columns) - {"rankings", "truth"}
        if unknown:
            raise UsageError(
                f"columns= takes one mapping each for rankings and truth, got "
                f"{brief(sorted(unknown))}"
            )
        return {"rankings": columns.get("rankings"), "truth": columns.get("truth")}
    if unknown := set(columns) - SYNONYMS.keys():
        expected = ", ".join(SYNONYMS)
        raise UsageError(f"the roles in columns= are {expected}, not {brief(sorted(unknown))}")
    shared = SharedColumns(columns)
    return {"rankings": shared, "truth": shared}


def _are_ids_of_one_user(data: object) -> bool:
    """Whether the data are a flat list of distinct integers."""
    ids = data.tolist() if isinstance(data, np.ndarray) and data.ndim == 1 else data
    return (
        isinstance(ids, list | tuple)
        and all(isinstance(one, Integral) and not isinstance(one, bool) for one in ids)
        and len({*ids}) == len(ids) > 0
    )


def _hint_without_ids(systems: Mapping[str, object]) -> str:
    """Sentences about the first rankings that could be gains or positions, after a sentence."""
    hints = (hints_without_ids(rankings) for rankings in systems.values())
    return "".join(f". {hint}" for hint in next(filter(None, hints), []))


def _uses_catalogue(entry: MetricPlan) -> bool:
    """Whether a metric, with its options, needs the items that could be shown."""
    options = dict(entry.metric.options)
    is_other = options.get("items") == "training" or options.get("form", "rank") != "rank"
    return "catalogue" in entry.spec.needs and not is_other


def _could_name(data: object, names: Sequence[object]) -> bool:
    """Whether some ids of rankings could be the names: those of a file or a frame always could."""
    if isinstance(data, Mapping):
        return any(_could_name(part, names) for part in (list(data), list(data.values())))
    if isinstance(data, list | tuple | set | frozenset):
        return any(_could_name(part, names) for part in data)
    return data in names if isinstance(data, str) else not isinstance(data, Real)


def holds_systems(data: object, columns: Mapping[str, Any] | None = None) -> bool:
    """Whether the data are a mapping from name to rankings, so not ground truth, nor rows."""
    if not isinstance(data, Mapping) or not data or not all(map(holds_lists, data.values())):
        return False
    first = next(iter(data.values()))
    if not isinstance(first, Mapping):
        return True
    from rankmeter._reading.objects import names_row

    is_row = any(isinstance(name, str) and name in first for name in (columns or {}).values())
    return not (is_row or names_row(first, whole=True))


def holds_lists(data: object) -> bool:
    """Whether the data are of several users, and not the judged items of one user."""
    if isinstance(data, Mapping | list):
        inner = data.values() if isinstance(data, Mapping) else data
        return any(isinstance(value, Mapping | list | set | frozenset) for value in inner)
    return isinstance(data, PathLike | RankingKind) or hasattr(data, "columns")
