"""Several systems over one truth: plan → read → compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

from rankmeter._annexes import annex
from rankmeter._choices import Choices, Setting, takes_aliases, takes_choices
from rankmeter._engine.choose import EngineName, parse_engine
from rankmeter._engine.side import Given
from rankmeter._evaluation.by_user import compare_results, compare_tables
from rankmeter._evaluation.question import (
    DEFAULT_METRICS,
    Question,
    equalize_metric_names,
    holds_lists,
    holds_systems,
    read_stored_results,
    results_by_name,
    shared_plan,
)
from rankmeter._files import is_existing_path
from rankmeter._results.comparison import Comparison
from rankmeter._results.result import Result
from rankmeter._results.settings import Correction, Family, Settings, Test
from rankmeter._results.summary import Summary
from rankmeter._typed import Like
from rankmeter.conventions._plan import Plan
from rankmeter.errors import UsageError
from rankmeter.errors._checks import option_error, use_words
from rankmeter.metrics import Metric


@takes_choices
@takes_aliases
def compare(
    systems: Mapping[str, object],
    truth: object = None,
    metrics: str | Metric | Iterable[str | Metric] = DEFAULT_METRICS,
    *,
    baseline: str | None = None,
    test: Test = "auto",
    correction: Correction = "maxt",
    family: Family = "metric",
    segments: object = None,
    n_permutations: int = 9_999,
    margin: float | str | Mapping[str, float | str] | None = None,
    like: Like | None = None,
    columns: Mapping[str, Any] | None = None,
    clusters: object = None,
    train: object = None,
    items: object = None,
    catalogue: object = None,
    baseline_lists: object = None,
    propensity: object = None,
    collapse: object = None,
    judge: object = None,
    judged: object = None,
    engine: EngineName = "auto",
    memory: str | int | None = None,
    **choices: Unpack[Choices],
) -> Comparison:
    """Compare systems over one truth, user by user.

    Parameters
    ----------
    systems : mapping of str to object
        2 to 100 named rankings, each in any form that `evaluate` takes; or, for a system with
        several training runs (seeds), a list of them: ``{"A": [run1, run2, run3], "B": …}``.
        Users and runs then both vary, and differences are tested over both. Or, without `truth`,
        results of `evaluate`, `evaluate_scores`, `evaluate_ranks` or an accumulator, files of
        results (``"prod.result"``), and stored values of users: the ``per_user`` of results, as
        frames or files. Rankings next to a result need the `truth`: they are evaluated first.
    truth : object
        As in `evaluate`. Results have theirs; with rankings next to them it must be the same.
    metrics : str, Metric or iterable of them
        As in `evaluate`; with results, those to compare, which are all by default.
    baseline : str, optional
        The system that all others are compared with; without a baseline, all pairs are compared.
    test : str
        ``auto`` and ``randomization``: Fisher's, by sign flips: exact with few users, else drawn;
        with more than 100,000 differing users, drawn from the normal limit; for hits and misses
        exact with any number of users, as McNemar's mid-p, where flips that equal the observed
        difference count half. Also ``t``; and ``wilcoxon``, which does not test means, with a
        warning.
    correction : str
        ``maxt`` (Westfall and Young's step-down test, on the flips that all comparisons share, each
        on the scale of its own flips; the intervals of a family then hold together; ``holm`` for
        tests that flip no signs), ``holm`` or ``none``, over a family.
    family : str
        Which comparisons are corrected together: those of each ``metric``, or ``all``. Those over
        all users are a family, and those within segments another one, over all metrics.
    segments : object, optional
        A label per user: ``{"ann": "new", …}``, pairs, a pandas Series, or a frame or file with
        the columns user and segment, as `by_activity` and `by_popularity` make. Every comparison
        is repeated within each, and these are corrected over segments, metrics and pairs.
    n_permutations : int
        Number of sign flips that a test draws: more where a correction or a p-value close to the
        level needs them. ``n_resamples`` is the same option.
    margin : float, str or mapping, optional
        The largest difference that does not matter, ``0.005``, or as a share of the other mean,
        ``"1%"``; or by metric, ``{"ndcg@10": 0.005, "hr@10": "1%"}``. Then it is also tested
        whether systems are equivalent within the margin, and whether one is not worse than the
        other by the margin or more.
    like, columns
        As in `evaluate`.
    clusters : object, optional
        As in `evaluate`; tests then compare clusters, not users.
    train, items, catalogue, baseline_lists, propensity, collapse, engine, memory
        As in `evaluate`.
    judge, judged
        As in `evaluate`, of rankings: differences, tests and margins are those of corrected means.
    {choices}

    Returns
    -------
    Comparison
        Of stored values, a `ValueComparison`, which has no curves, lists or page.

    Raises
    ------
    UsageError
        If a metric, an option or a value of an option does not exist, or options contradict; if
        results do not answer the same question: other metrics or options, or other users, or
        numbers of their relevant items, in the ground truth.
    DataError
        If the data cannot be read with certainty, or lack what an option asks for, or values are
        above 1e100, whose differences overflow.

    Notes
    -----
    Every system sees the same users in the same order: the truth is aligned once. A difference is
    that of the other system minus the baseline. A comparison of results is that of their rankings:
    values are those of the results, and curves and lists read the rankings again. Why these
    defaults: Smucker, Allan and Carterette, CIKM 2007; Urbano, Lima and Hanjalic, SIGIR 2019.

    Examples
    --------
    Two users are too few for any conclusion, and the comparison says so.

    >>> import rankmeter as rm
    >>> truth = {"ann": {"a"}, "bob": {"b"}}
    >>> old, new = {"ann": ["x", "a"], "bob": ["x", "b"]}, {"ann": ["a"], "bob": ["b"]}
    >>> systems = {"old": old, "new": new}
    >>> difference = rm.compare(systems, truth, "rr", baseline="old")["rr"][0]
    >>> difference.difference, difference.p, difference.significant
    (0.5, 0.5, False)

    Results of evaluations are systems, too.

    >>> results = {name: rm.evaluate(lists, truth, "rr") for name, lists in systems.items()}
    >>> rm.compare(results, baseline="old")["rr"][0].difference
    0.5
    """
    _check_argument_order(systems, truth)
    settings = Settings(
        baseline=baseline, test=test, correction=correction, family=family,
        n_resamples=n_permutations, margin=margin, segments=segments, clusters=clusters,
    )  # fmt: skip
    side_data = Given(train, items, catalogue, baseline_lists, propensity, collapse)
    reading = parse_engine(engine, memory)
    question = Question(truth, metrics, like, choices, side_data, columns, reading, clusters)
    if judge is not None or judged is not None:
        corrected: Comparison = annex("_judge.judged").compare_judged(
            question, systems, settings, judge, judged
        )
        return corrected
    systems = read_stored_results(systems)
    stored = truth is None and any(map(_holds_stored_values, systems.values()))
    systems = equalize_metric_names(systems)
    requested = None if metrics is DEFAULT_METRICS else question.metrics
    if results_by_name(systems) and truth is not None:
        evaluated = annex("_stored.systems").evaluate_others(question, systems)
        if evaluated is not None:
            return _compare_values(evaluated, results_by_name(evaluated), requested, settings)
    if (results := results_by_name(systems)) or stored:
        _refuse_rankings(systems, results)
        before, after = {"truth": truth, "like": like, "columns": columns}, {"memory": memory}
        after["engine"] = None if engine == "auto" else engine
        _refuse_ranking_options({**before, **side_data.arguments(), **after, **choices})
        return _compare_values(systems, results, requested, settings)
    return compare_question(question, systems, settings)


def _refuse_ranking_options(options: Mapping[str, Any]) -> None:
    """Refuse options that act on rankings, if results are compared."""
    for name, value in options.items():
        if value is not None:
            raise UsageError(
                f"`{name}` acts on rankings, and results have their own: leave it out, or compare "
                "the rankings"
            )


def _check_argument_order(systems: object, truth: object) -> None:
    """Refuse systems that are not a mapping, such as ground truth passed first."""
    if not isinstance(systems, Mapping) or isinstance(systems, Result) or holds_systems(truth):
        swapped = ": the systems come first, rm.compare(systems, truth)"
        expected = "a mapping from name to rankings, such as {'A': …, 'B': …}"
        got = type(systems).__name__ + (swapped if isinstance(truth, Mapping) else "")
        raise UsageError(f"`systems` must be {expected}, got {got}", option="systems")


def compare_question(
    question: Question, systems: Mapping[str, object], settings: Settings
) -> Comparison:
    """Compare rankings, or the runs of systems."""
    flat, runs = _separate_runs(systems, question.columns)
    question, settled = question.settle(flat)
    settings = _with_margins_by_label(settings, question.plan(settled.values()))
    settings.check_systems((*(runs or flat),), runs=runs is not None)
    plan, judged, tables, side = question.read(settled)
    with use_words(plan.words):
        return compare_tables(tables, judged, plan, settings, runs=runs, side=side)


def list_runs(system: object) -> list[object]:
    """Return the runs of a system as a list, of length 1 for a single run."""
    return [*system] if isinstance(system, list | tuple) else [system]


def _holds_stored_values(data: object) -> bool:
    from rankmeter._evaluation.values import is_per_user_table

    return is_per_user_table(data)


def _refuse_rankings(systems: Mapping[str, object], results: Mapping[str, Summary]) -> None:
    """Refuse rankings next to results or stored values."""
    for name, system in systems.items():
        if not all(
            isinstance(run, Summary) or _holds_stored_values(run) for run in list_runs(system)
        ):
            other = next(iter(results), "another system")
            raise UsageError(
                f"{name} is rankings, and {other} is a result: evaluate {name}, too, or compare "
                "the rankings of all systems, rm.compare({…}, truth)"
            )


def _compare_values(
    systems: Mapping[str, object],
    results: Mapping[str, Summary],
    metrics: str | Metric | Iterable[str | Metric] | None,
    settings: Settings,
) -> Comparison:
    """Compare results of evaluations, and stored values of users; `results` are by run."""
    runs = {str(name): list_runs(system) for name, system in systems.items()}
    evaluated = {name: [r for r in rs if isinstance(r, Summary)] for name, rs in runs.items()}
    plan = shared_plan(results, metrics) if results else None
    if plan is not None and evaluated == runs:
        with use_words(plan.words):
            return compare_results(evaluated, plan, _with_margins_by_label(settings, plan))
    if metrics is not None:
        raise UsageError("`metrics` acts on rankings and results, and stored values are read whole")
    from rankmeter._evaluation.values import compare_stored_values

    return compare_stored_values(
        systems, Setting() if plan is None else plan, settings, is_complete=True
    )


def _with_margins_by_label(settings: Settings, plan: Plan) -> Settings:
    """Key the margins by metric label; the caller may use other names of a metric."""
    if not isinstance(settings.margin, Mapping):
        return settings
    by_label: dict[str, Any] = {}
    for name, size in settings.margin.items():
        try:
            label = plan[name].label
        except KeyError as error:
            raise UsageError(f"margin for {name!r}: {error.args[0]}") from None
        if by_label.setdefault(label, size) != size:
            raise UsageError(f"`margin` has two values for {label}: {by_label[label]} and {size}")
    return replace(settings, margin=by_label)


def _separate_runs(
    systems: Mapping[str, object], columns: Mapping[str, Any] | None = None
) -> tuple[dict[str, object], dict[str, list[str]] | None]:
    """Name each run, and list the runs of each system, None if every system has one run."""
    if not isinstance(systems, Mapping):
        raise option_error("systems", "a mapping from name to rankings, such as {'A': …}", systems)
    flat: dict[str, object] = {}
    names: dict[str, list[str]] = {}
    columns = columns if isinstance(columns, Mapping) else None  # else refused where it is read
    for name, rankings in systems.items():
        runs = split_runs(rankings, columns)
        for number, run in enumerate(runs, 1):
            run_name = str(name) if len(runs) == 1 else f"{name}, run {number}"
            if run_name in flat:
                raise UsageError(f"two systems are called {run_name!r}")
            flat[run_name] = run
            names.setdefault(str(name), []).append(run_name)
    return flat, names if len(flat) > len(names) else None


def split_runs(data: object, columns: Mapping[str, Any] | None) -> Sequence[object]:
    """The runs of a system: those in a list, unless it is a table; else the rankings alone."""
    if not isinstance(data, list | tuple):
        return [data]
    from rankmeter._reading.records import is_table

    return [data] if is_table(data, columns) or not all(map(_are_rankings, data)) else data


def _are_rankings(data: object) -> bool:
    """Whether the data are rankings of several users: a mapping, a frame or a file."""
    if isinstance(data, str):
        return is_existing_path(data)
    return not isinstance(data, list) and holds_lists(data)
