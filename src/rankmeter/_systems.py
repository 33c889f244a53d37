"""Several systems over one truth: plan → read → compare."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Unpack

from rankmeter._api import DEFAULT_METRICS
from rankmeter._choices import Choices, takes_choices
from rankmeter._compare import compare_tables
from rankmeter._engine import EngineName, reading
from rankmeter._estimates.settings import Common, Correction, Family, Settings, Test
from rankmeter._ingest import is_records
from rankmeter._plan import Plan
from rankmeter._question import Question, holds_lists, holds_systems
from rankmeter._results.comparison import Comparison
from rankmeter._side import Given
from rankmeter._words import speaking
from rankmeter.errors import UsageError
from rankmeter.metrics import Metric


@takes_choices
def compare(
    systems: Mapping[str, object],
    truth: object = None,
    metrics: str | Metric | Iterable[str | Metric] = DEFAULT_METRICS,
    *,
    baseline: str | None = None,
    test: Test = "auto",
    correction: Correction = "maxt",
    family: Family = "metric",
    common: Common = "all",
    alpha: float = 0.05,
    segments: object = None,
    gatekeeping: bool = False,
    n_resamples: int = 9_999,
    margin: float | str | Mapping[str, float | str] | None = None,
    like: str | None = None,
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
) -> Comparison:
    """Compare systems over one truth, user by user.

    Parameters
    ----------
    systems : mapping of str to object
        2 to 100 named rankings, each in any form that `evaluate` takes; or, for a system with
        several training runs (seeds), a list of them: ``{"A": [run1, run2, run3], "B": …}``.
        Users and runs then both vary, and differences are tested over both.
    truth : object
        As in `evaluate`.
    metrics : str, Metric or iterable of them
        As in `evaluate`.
    baseline : str, optional
        The system that all others are compared with; without a baseline, all pairs are compared.
    test : str
        ``auto`` and ``randomization``: Fisher's, by sign flips: exact with few users, else drawn;
        with more than 100,000 differing users, drawn from the normal limit. Also ``mid-p``, where
        flips that equal the observed difference count half: less conservative for hits and misses;
        ``t``, ``bootstrap``, ``tukey`` and ``randomized-tukey`` (all pairs at once, users as
        blocks); ``wilcoxon`` and ``sign``, which do not test means, with a warning.
    correction : str
        ``maxt`` (Westfall and Young's step-down test, on the flips that all comparisons share, each
        on the scale of its own flips; the intervals of a family then hold together; ``holm`` for
        tests that flip no signs), ``holm``,
        ``bonferroni``, ``benjamini-hochberg`` or ``none``, over a family.
    family : str
        Which comparisons are corrected together: those of each ``metric``, or ``all``. Those over
        all users are a family, and those within segments another one, over all metrics.
    common : str
        Means over the users that are averaged for ``all`` systems (the others are counted); or
        each system's mean over its own users and each difference over the users of the ``pair``.
    alpha : float
        Level at which a corrected p is called significant.
    segments : object, optional
        A label per user: ``{"ann": "new", …}``, pairs, a pandas Series, or a frame or file with
        the columns user and segment, as `by_activity` and `by_popularity` make. Every comparison
        is repeated within each, and these are corrected over segments, metrics and pairs.
    gatekeeping : bool
        Whether a difference within a segment is significant only if it is also significant over
        all users; the segments then share the alpha that remains after that step. It finds more
        where segments agree, and hides what harms one of them where they do not.
    n_resamples : int
        Number of sign flips, or bootstrap samples, that a test draws: more where a correction or a
        p-value close to alpha needs them.
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
    {choices}

    Returns
    -------
    Comparison

    Raises
    ------
    UsageError
        If a metric, an option or a value of an option does not exist, or options contradict.
    DataError
        If the data cannot be read with certainty, or lack what an option asks for, or values are
        above 1e100, whose differences overflow.

    Notes
    -----
    Every system sees the same users in the same order: the truth is aligned once. A difference is
    that of the other system minus the baseline. Why these defaults: Smucker, Allan and Carterette,
    CIKM 2007; Urbano, Lima and Hanjalic, SIGIR 2019.

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
    """
    if not isinstance(systems, Mapping) or holds_systems(truth):
        swapped = ": the systems come first, rm.compare(systems, truth)"
        wanted = "a mapping from name to rankings, such as {'A': …, 'B': …}"
        found = type(systems).__name__ + (swapped if isinstance(truth, Mapping) else "")
        raise UsageError(f"`systems` must be {wanted}, got {found}", option="systems")
    given = Given(train, items, catalogue, baseline_lists, propensity, collapse)
    how = reading(engine, memory)
    question = Question(truth, metrics, like, choices, given, columns, how, clusters)
    return compared(
        question, systems, segments,
        baseline=baseline, test=test, correction=correction, family=family, common=common,
        alpha=alpha, n_resamples=n_resamples, margin=margin, gatekeeping=gatekeeping,
    )  # fmt: skip


def compared(
    question: Question,
    systems: Mapping[str, object],
    segments: object,
    *,
    margin: float | str | Mapping[str, float | str] | None,
    **options: Any,
) -> Comparison:
    """The comparison of systems, or of their runs; see `Settings` for the options."""
    flat, runs = _separate_runs(systems)
    if isinstance(margin, Mapping):
        margin = _by_label(margin, question.plan(flat.values()))
    settings, by_clusters = Settings(margin=margin, **options), question.clusters is not None
    settings.check((*(runs or flat),), runs=runs is not None, clusters=by_clusters)
    plan, judged, tables, side = question.read(flat)
    with speaking(plan.words):
        return compare_tables(
            tables, judged, plan, settings, segments=segments, clusters=question.clusters,
            runs=runs, side=side,
        )  # fmt: skip


def _by_label(margins: Mapping[str, Any], plan: Plan) -> dict[str, Any]:
    """Margins by the labels of their metrics, which may be given by any name."""
    found: dict[str, Any] = {}
    for name, margin in margins.items():
        try:
            label = plan[name].label
        except KeyError as error:
            raise UsageError(f"margin for {name!r}: {error.args[0]}") from None
        if found.setdefault(label, margin) != margin:
            raise UsageError(f"`margin` has two values for {label}: {found[label]} and {margin}")
    return found


def _separate_runs(
    systems: Mapping[str, object],
) -> tuple[dict[str, object], dict[str, list[str]] | None]:
    """Every run under a name of its own, and the runs of each system if any has several."""
    flat: dict[str, object] = {}
    names: dict[str, list[str]] = {}
    for name, rankings in systems.items():
        several = isinstance(rankings, list | tuple) and rankings and not is_records(rankings)
        if not several or not all(map(_is_run, rankings)):  # type: ignore[call-overload]
            rankings = [rankings]  # noqa: PLW2901
        for number, one in enumerate(rankings, 1):  # type: ignore[arg-type, var-annotated]
            own = str(name) if len(rankings) == 1 else f"{name}, run {number}"  # type: ignore[arg-type]
            if own in flat:
                raise UsageError(f"two systems are called {own!r}")
            flat[own] = one
            names.setdefault(str(name), []).append(own)
    return flat, names if len(flat) > len(names) else None


def _is_run(data: object) -> bool:
    """Whether this is the rankings of several users: a mapping, a frame or a file."""
    if isinstance(data, str):
        return Path(data).exists()
    return not isinstance(data, list) and holds_lists(data)
