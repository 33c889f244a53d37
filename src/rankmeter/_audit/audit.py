"""Can this experiment answer its question? Train, test and rankings, before any number."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from rankmeter._audit.checks import Parts, check_split, check_system, check_systems, sampled_finding
from rankmeter._audit.findings import CHECKS, SEVERITIES, Finding
from rankmeter._engine.choose import Reading
from rankmeter._evaluation.question import holds_systems
from rankmeter._rankings.kind import RankingKind, resolve_plan_of_systems
from rankmeter._reading.by_user import InFrame
from rankmeter._reading.read import Interactions
from rankmeter._reading.table import Origin, Table, unify_all_id_types
from rankmeter._results.result import Result
from rankmeter._results.tables import TextTable
from rankmeter._results.wording import group_by_key, number_text
from rankmeter._scores.kinds import Sampled
from rankmeter._statistics.power import detectable_share_of_many, minimum_detectable_effect
from rankmeter.errors import InvalidValueError, UsageError
from rankmeter.errors._calls import answers_calls
from rankmeter.errors._checks import counted, no_rows_error
from rankmeter.splits._clock import Clock

_WIDTH = 80
DIFFERING = 0.1
"""The share of users with a hit of one system alone for which a difference is named."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Audit(Result):
    """Findings on an experiment: a reader must know them before its numbers.

    Attributes
    ----------
    findings : tuple of Finding
        The gravest first; empty if nothing was found.
    train_interactions, test_interactions, test_users : int
    systems : tuple of str
    timed : bool
        Whether both parts have times; without, nothing is known of the future.
    detectable_d : float
        The smallest true difference of two systems that is found in 4 of 5 studies with as many
        users, in standard deviations of the differences of users. NaN for one user.
    detectable_hits : float
        The same for hits and misses, if a tenth of the users have a hit of one system alone. NaN
        if no difference is found so often.
    """

    findings: tuple[Finding, ...]
    train_interactions: int
    test_interactions: int
    test_users: int
    systems: tuple[str, ...]
    timed: bool
    detectable_d: float
    detectable_hits: float

    @property
    def worst(self) -> str:
        """The severity of the gravest finding: ``high``, ``medium``, ``low`` or ``none``."""
        return self.findings[0].severity if self.findings else "none"

    @property
    def leaks(self) -> tuple[Finding, ...]:
        """The findings by which the ranking could have seen the answer, or what came after it."""
        return tuple(finding for finding in self.findings if finding.severity == "high")

    def headline(self) -> str:
        """The answer in one sentence."""
        if leaks := self.leaks:
            return f"The ranking could have seen the answer: {leaks[0].title}."
        if not self.timed:
            return "Train and test have no times, so a look into the future would not be seen."
        if self.findings:
            return "Nothing shows that the ranking could have seen the answer."
        return "Nothing was found."

    def sentences(self) -> tuple[str, ...]:
        """One text per finding: how many, examples, the effect on the number, what to do."""
        return tuple(finding.sentence() for finding in self.findings)

    def power_sentence(self) -> str:
        """How small a difference this many users can show."""
        users = counted(self.test_users, "test user")
        if math.isnan(self.detectable_d):
            return f"{users}: too few to compare systems."
        text = (
            f"{users}: 4 of 5 comparisons of two systems would find a true difference of "
            f"{number_text(self.detectable_d, 2)} standard deviations of the users' differences"
        )
        if not math.isnan(self.detectable_hits):
            text += (
                f", or of {number_text(self.detectable_hits, 3)} in the hit rate, if a tenth of "
                "the users have a hit of one system alone"
            )
        return f"{text}."

    def table(self) -> TextTable:
        """One row per finding: what, how grave, how many."""
        rows = [
            (finding.title, finding.severity, f"{finding.count:,}", finding.share_text())
            for finding in self.findings
        ]
        return TextTable(("finding", "severity", "count", "share"), rows, left=2)

    def to_polars(self) -> pl.DataFrame:
        """One row per finding."""
        schema: dict[str, Any] = {
            "check": pl.String, "severity": pl.String, "system": pl.String, "subject": pl.String,
            "count": pl.Int64, "of": pl.Int64, "share": pl.Float64,
            "examples": pl.List(pl.String), "effect": pl.String, "remedy": pl.String,
        }  # fmt: skip
        rows = [{**asdict(f), "share": f.share} for f in self.findings]
        return pl.DataFrame(rows, schema=schema)

    def to_csv(self) -> str:
        """`to_polars` as CSV text, without the examples."""
        return self.to_polars().drop("examples").write_csv()

    def _dict_content(self) -> dict[str, Any]:
        content = {name: value for name, value in vars(self).items() if name != "findings"}
        findings = [{**asdict(f), "share": f.share} for f in self.findings]
        return {**content, "worst": self.worst, "findings": findings}

    def lines(self) -> list[str]:
        """Texts around the table: the answer, each finding, what to do, the power."""
        remedies = group_by_key((f.remedy, f.check) for f in self.findings)
        to_do = [
            f"To do ({', '.join(dict.fromkeys(checks))}): {remedy}."
            for remedy, checks in remedies.items()
        ]
        texts = [finding.explanation() for finding in self.findings]
        return [self.headline(), *texts, *to_do, self.power_sentence()]

    def __repr__(self) -> str:
        first, *others = (
            textwrap.fill(line, _WIDTH, subsequent_indent="  ", break_on_hyphens=False)
            for line in self.lines()
        )
        table = [f"{self.table().to_text()}\n"] if self.findings else []
        return "\n".join([f"{first}\n", *table, *others])

    def _repr_html_(self) -> str:
        import html

        first, *others = (f"<p>{html.escape(line)}</p>" for line in self.lines())
        table = self.table().to_html() if self.findings else ""
        return "".join([first, table, *others])


@answers_calls
def audit(
    train: Any, test: Any, rankings: Any = None, *, columns: dict[str, str] | None = None
) -> Audit:
    """Say whether an experiment can answer its question, before any number.

    Parameters
    ----------
    train, test : table or path
        Interactions of both parts: user, item and, if there is any, time.
    rankings : object, optional
        Rankings in any form that `evaluate` takes, or a mapping from name to rankings.
    columns : dict of str to str, optional
        Names of the columns of both parts: ``{"user": "uid", "time": "ts"}``.

    Returns
    -------
    Audit
        Findings, each with its severity, a count, up to three examples, its effect on the number,
        and what to do; and the difference that so many users can show.

    Raises
    ------
    DataError
        If data cannot be read with certainty, a part is empty, or ids of the two parts cannot
        match.
    UsageError
        If rankings have no items, such as ranks.

    Notes
    -----
    A finding is *high* if the ranking could have seen the answer, or what came after it: a test
    pair is in train, though not earlier; there are training rows after a test row, of all users
    or of this one; train has an item only after the test row. Without times only the first of
    these can be seen, and the audit says so. *Medium* is what leaves the number to chance or to
    the way in which candidates were chosen, *low* what a reader must know: the share of cold users
    and items, repeats, lists that are missing or of different lengths.

    Nothing is corrected. In particular a metric among sampled candidates does not show what it
    would be among all items; the audit says what was measured instead. Sources: Ji, Sun, Zhang and
    Li, ACM TOIS 41 (2023), on training rows that are later; Hidasi and Czapp, RecSys 2023, on
    equal times and sampled candidates; Krichene and Rendle, KDD 2020, on sampled metrics.

    Examples
    --------
    Ben's test row is at 15. Train has a row at 20, and item z only then.

    >>> import rankmeter as rm
    >>> train = [("ann", "x", 10), ("ann", "z", 20), ("ben", "x", 12)]
    >>> test = [("ann", "y", 30), ("ben", "z", 15)]
    >>> names = ["user", "item", "time"]
    >>> parts = [pl.DataFrame(rows, schema=names, orient="row") for rows in (train, test)]
    >>> for finding in rm.audit(*parts).findings:
    ...     print(finding.severity, finding.check, finding.count, finding.examples)
    high later-train 1 ("user 'ben', item 'z', time 15",)
    high unborn-items 1 ("user 'ben', item 'z', time 15",)
    low cold-items 1 ("user 'ann', item 'y', time 30",)
    """
    read = [Interactions.read(part, columns=columns) for part in (train, test)]
    for part, name in zip(read, ("train", "test"), strict=True):
        if part.frame.is_empty():
            raise no_rows_error(name)
    clock, frames = _with_ticks(*(part.frame for part in read))
    systems = _systems(rankings)
    plan = resolve_plan_of_systems("hr@10", None, {}, systems.values())
    sampled = {name: data for name, data in systems.items() if isinstance(data, Sampled)}
    tables = {
        name: Reading(engine="memory").read_rankings(data, None, plan)
        for name, data in systems.items()
        if name not in sampled
    }
    trained, tested = (
        Table(InFrame(frame), "list", origin=Origin(part.source, part.textual))
        for frame, part in zip(frames, read, strict=True)
    )
    names = [("train", trained), *tables.items()]
    tested, unified = unify_all_id_types(
        tested, {str(n): table for n, (_, table) in enumerate(names)}
    )
    parts = Parts(unified["0"].frame, tested.frame, clock)
    lists = {name: unified[str(n)].frame for n, (name, _) in enumerate(names) if n}
    found = [*check_split(parts)]
    for name, ranked in lists.items():
        found += check_system(parts, ranked, name if len(systems) > 1 else "")
    found += check_systems(parts, lists)
    for name, data in sampled.items():
        negatives = int(data.queries.counts.n_ranked.max(initial=1)) - 1
        said = name if len(systems) > 1 else ""
        found.append(sampled_finding(negatives, data.queries.n, parts.n_items, said))
    order = [*CHECKS]
    found.sort(key=lambda f: (SEVERITIES.index(f.severity), order.index(f.check)))
    n = len(parts.users)
    return Audit(
        findings=tuple(found),
        train_interactions=parts.train.height,
        test_interactions=parts.test.height,
        test_users=n,
        systems=tuple(systems),
        timed=clock is not None,
        detectable_d=minimum_detectable_effect(n),
        detectable_hits=detectable_share_of_many(n, DIFFERING),
    )


def _systems(rankings: object) -> dict[str, object]:
    """Rankings by name; those of one system are called ``rankings``."""
    if rankings is None:
        return {}
    named = isinstance(rankings, Mapping) and (
        holds_systems(rankings) or all(isinstance(v, RankingKind | str) for v in rankings.values())
    )
    systems = {str(k): v for k, v in rankings.items()} if named else {"rankings": rankings}  # type: ignore[attr-defined]
    for name, data in systems.items():
        if isinstance(data, RankingKind) and data.data not in ("rankings", "samples"):
            raise UsageError(
                f"{name} is {data!r}, which has no items: an audit needs lists of items"
            )
    return systems


def _with_ticks(
    train: pl.DataFrame, test: pl.DataFrame
) -> tuple[Clock | None, tuple[pl.DataFrame, pl.DataFrame]]:
    """User, item and, if both parts have times, ``tick``, the time as a number."""
    parts = train.select("user", "item"), test.select("user", "item")
    if not ("time" in train.columns and "time" in test.columns):
        return None, parts
    types = train["time"].dtype, test["time"].dtype
    if types[0] != types[1] and not all(dtype.is_numeric() for dtype in types):
        raise InvalidValueError(
            f"the times of train are {types[0]} and those of test {types[1]}: convert one of them"
        )
    times = pl.concat([train.select("time"), test.select("time")], how="vertical_relaxed")
    clock = Clock.of(times, needed_by="audit")
    ticks = pl.Series("tick", clock.ticks)
    first, second = parts
    return clock, (
        first.with_columns(ticks.head(len(first))),
        second.with_columns(ticks.tail(len(second))),
    )
