"""Every law crossed with every tie rule, choice, own option of the metrics, cutoff and door.

A cell has one level of each factor. `trial` makes some users of random, heavily tied data for a
cell, asks many metrics of them in one call, and applies the law to the values by user. A call that
is refused is a legal outcome, and is counted. ``python -m product`` searches random cells.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import dataclasses
import functools
import itertools
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import polars as pl
from exceptions_to_laws import EXCEPTIONS
from product_worlds import DOORS, LEVELS_OF_GAINS, Door, World, make, repeated

from cases import BY_ROW, ORDERED, RULES, SHARED
from rankmeter._choices import CHOICES, Alignment
from rankmeter._engine import open_data
from rankmeter._engine.choose import parse_engine
from rankmeter._engine.side import Given
from rankmeter._evaluation.question import Question
from rankmeter._rankings.ground_truth import contributed_gains, gains_by_choice
from rankmeter.conventions._plan import resolve_plan
from rankmeter.errors import RankmeterError, RankmeterWarning, UsageError
from rankmeter.metrics import METRICS, Metric
from rankmeter.testing import variants
from rankmeter.testing._made_up import evidence_of_hits, evidence_of_lists, random_rankings

SLACK = 1e-9
EXACT = 1e-12


def bounds(form: Metric, cell: Cell) -> tuple[float, float]:
    """The range of a metric with its options, under the choices of a cell."""
    return _range_of(form, cell.ties, cell.choices)


@functools.cache
def _range_of(form: Metric, ties: str, choices: tuple[tuple[str, Any], ...]) -> tuple[float, float]:
    (entry,) = resolve_plan(form, choices={"ties": ties, **dict(choices)}).metrics
    return entry.range


# ---------------------------------------------------------------------------------------------
# Cells


OPTIONS: dict[str, tuple[Any, ...]] = {
    "relevant": (">=2", "any"),
    "gains": ("positive", "all", "above", "reached", "1:0.5 2:1 3:4"),
    "duplicates": ("best", "first", "each"),
    "judgements": ("max", "sum"),
    "scope": ("ranked", "appended"),
    "pool": ("judged",),
    "exclude": ("self",),
    "retrieved": ("positive",),
    "score_type": ("float32",),
    "depth": (1, 2, 4),
    "missing": ("skip",),
    "extra": ("zero",),
    "undefined": ("zero", "one"),
    "users": ("relevant", "hit", "ranked"),
    "empty": ("skip",),
    "empty_truth": ("skip",),
    "aggregate": ("geometric", "median", "sum", "micro"),
    "interval": ("bca",),
    "n_items": (40,),
}
"""Choices that are tried, and their values besides the default."""
AVERAGING = frozenset(
    name for name, choice in CHOICES.items() if choice.part.__name__ != "Alignment"
) - {"n_items"}
CUTOFFS = (None, 1, 2, 3, 5)
PARTS = 6
FAMILIES = tuple(f"{kind} {part}" for kind in ("hits", "lists") for part in range(PARTS))
"""Metrics of hits and of lists; each part has some of the own options of every metric."""
DATA = tuple(LEVELS_OF_GAINS)


@dataclass(frozen=True)
class Cell:
    """One level of each factor; `choices` are those that are not at their default."""

    law: str
    ties: str = "item"
    door: str = "dict"
    k: int | None = None
    family: str = "hits 0"
    data: str = "graded"
    choices: tuple[tuple[str, Any], ...] = ()

    @property
    def given(self) -> dict[str, Any]:
        return dict(self.choices)

    def levels(self) -> list[tuple[str, Any]]:
        """Pairs of factor and level."""
        fields = [(f.name, getattr(self, f.name)) for f in dataclasses.fields(self)]
        return [*fields[:-1], *self.choices]


def is_legal(levels: Mapping[str, Any]) -> bool:
    """Whether levels of factors can be together in a cell that has a value."""
    law, door, ties = (levels.get(name) for name in ("law", "door", "ties"))
    family, depth = levels.get("family", ""), levels.get("depth")
    chosen = levels.keys() & OPTIONS.keys()
    if door is not None:
        way = DOORS[door]
        if any(way.input not in CHOICES[name].inputs for name in chosen):
            return False
        if ties not in (None, "item") and way.input not in CHOICES["ties"].inputs:
            return False
        if family.startswith("lists") and not way.of_lists:
            return False
        if not way.repeats and chosen & {"duplicates", "judgements"}:
            return False
        if door in ("Ranks", "Sampled", "lists", "evaluate_scores", "values", "moments"):
            numbered = () if door in ("Ranks", "Sampled") else ("item", "item-descending")
            if ties in ORDERED and ties not in numbered:
                return False
            if "judgements" in chosen or (door == "evaluate_scores" and "users" in chosen):
                return False  # users= has the ids there
        if door in ("lists", "Grades") and levels.get("retrieved"):
            return False
        if (
            door == "Grades"
            and law != "doors_agree"
            and (levels.get("relevant") == "any" or levels.get("gains") == "all")
        ):
            return False  # every item of a list is judged there
        if door == "compare" and levels.get("aggregate") not in (None, "micro"):
            return False  # whose tests are of means
        if door == "moments" and levels.get("interval") == "bca":
            return False
        if door == "moments" and levels.get("aggregate") not in (None, "sum"):
            return False
    if depth is not None and ties == "expected":
        return False
    cuts_and_appends = depth is not None and levels.get("scope") == "appended"
    if cuts_and_appends and door is not None and DOORS[door].of_scores:
        return False
    if not can_share_ranks(levels):
        return False
    if levels.get("gains") == "above" and levels.get("relevant") == "any":
        return False
    if law is not None:
        facts = LAWS[law]
        if ties is not None and ties not in facts.ties:
            return False
        if door is not None and door not in facts.doors:
            return False
        if family.startswith("lists") and not facts.of_lists:
            return False
        if chosen & facts.ignores:
            return False
    return not (family.startswith("lists") and ties is not None and ties not in ORDERED)


def can_share_ranks(levels: Mapping[str, Any]) -> bool:
    """Whether metrics that need an order have values where tied items share a rank.

    All metrics with a cutoff do: they refuse two hits at one rank.
    """
    if levels.get("ties") not in SHARED:
        return True
    if levels.get("k") is None and levels.get("depth") is None:
        return True
    if levels.get("data", "single") not in ("single", "apart") or "duplicates" in levels:
        return False
    several = levels.get("relevant") == "any" or levels.get("gains") == "all"
    ties_all = levels.get("scope") == "appended" or levels.get("law") in SEVERAL_TIED
    if levels.get("data") == "single" and several:
        return False
    return not ties_all or (levels.get("data") != "apart" and not several)


SEVERAL_TIED = ("constant_scores_do_not_beat_chance",)
"""Laws in which all items of a user are tied."""


def factors() -> dict[str, tuple[Any, ...]]:
    return {
        "law": tuple(LAWS), "ties": CHOICES["ties"].words, "door": tuple(DOORS), "k": CUTOFFS,
        "family": FAMILIES, "data": DATA, **OPTIONS,
    }  # fmt: skip


MOST = 4  # choices of a cell that are not at their default


def all_pairs() -> set[frozenset[tuple[str, Any]]]:
    """Every two levels of different factors that can be together."""
    levels = [(name, level) for name, own in factors().items() for level in own]
    return {
        frozenset(pair)
        for pair in itertools.combinations(levels, 2)
        if pair[0][0] != pair[1][0] and is_legal(dict(pair))
    }


def pairs_of(cell: Cell) -> set[frozenset[tuple[str, Any]]]:
    return {frozenset(pair) for pair in itertools.combinations(cell.levels(), 2)}


def cell_of(levels: Mapping[str, Any]) -> Cell:
    chosen = tuple(sorted((n, v) for n, v in levels.items() if n in OPTIONS))
    return Cell(**{n: v for n, v in levels.items() if n not in OPTIONS}, choices=chosen)


@functools.cache
def design(seed: int = 0) -> tuple[Cell, ...]:
    """Cells in which every two levels that can be together are together at least once."""
    rng = np.random.default_rng(seed)
    every, open_pairs, cells = factors(), all_pairs(), []
    todo = sorted((sorted(pair, key=repr) for pair in open_pairs), key=repr)
    rng.shuffle(todo)  # type: ignore[arg-type]
    degree: dict[tuple[str, Any], set[tuple[str, Any]]] = collections.defaultdict(set)
    for pair in open_pairs:
        a, b = pair
        degree[a].add(b)
        degree[b].add(a)
    plain = [name for name in every if name not in OPTIONS]
    for pair in todo:
        if frozenset(pair) not in open_pairs:
            continue
        levels = dict(pair)
        for name in map(str, (*rng.permutation(plain), *rng.permutation([*OPTIONS]))):
            room = sum(n in OPTIONS for n in levels) < MOST
            if name in levels or (name in OPTIONS and not room):
                continue
            fitting = [v for v in every[name] if fits(levels, name, v)]
            if not fitting:
                if name in OPTIONS:
                    continue
                break
            gain = [sum((n, w) in degree[name, v] for n, w in levels.items()) for v in fitting]
            if name in OPTIONS and max(gain) == 0:
                continue
            tie = rng.random(len(gain))
            levels[name] = fitting[int(np.lexsort((tie, gain))[-1])]
        else:
            cell = cell_of(levels)
            cells.append(cell)
            for done in pairs_of(cell):
                open_pairs.discard(done)
                a, b = done
                degree[a].discard(b)
                degree[b].discard(a)
            continue
        raise LookupError(f"no cell has {dict(pair)}")
    return tuple(cells)


def fits(levels: Mapping[str, Any], name: str, value: Any) -> bool:
    """Whether a level can join others."""
    return is_legal({**levels, name: value})


def random_cell(rng: np.random.Generator) -> Cell:
    """A cell of random levels, with up to `MOST` choices."""
    every = factors()
    levels: dict[str, Any] = {"law": str(rng.choice([*LAWS]))}
    names = [name for name in every if name not in OPTIONS and name != "law"]
    chosen = rng.permutation([*OPTIONS])[: rng.integers(0, MOST + 1)]
    for name in map(str, (*rng.permutation(names), *chosen)):
        fitting = [v for v in every[name] if fits(levels, name, v)]
        if fitting:
            levels[name] = fitting[rng.integers(len(fitting))]
        elif name not in OPTIONS:
            return random_cell(rng)
    return cell_of(levels)


# ---------------------------------------------------------------------------------------------
# Metrics with options


def forms_of(cell: Cell, rng: np.random.Generator, most: int | None = None) -> tuple[Metric, ...]:
    """Every metric with its part of the combinations of its options, or with `most` of them."""
    kind, part = cell.family.split()
    found = []
    for name, spec in METRICS.items():
        if (kind == "lists") != spec.of_lists:
            continue
        own = legal_variants(name)
        chosen = own[int(part) :: PARTS] or [own[int(part) % len(own)]]
        for number in rng.permutation(len(chosen))[:most]:
            form = Metric(name)(**chosen[number])
            if "n_items" in cell.given and spec.needs == ("hits",) and spec.open_ties:
                found.append(at(form(adjusted=True), cell.k))
            found.append(at(form, cell.k))
    return tuple(dict.fromkeys(found))


def at(form: Metric, k: int | None) -> Metric:
    return form if k is None or not form.spec.cutoff or form.spec.at else form @ k


@functools.cache
def _evidence(of_lists: bool) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return evidence_of_lists(rng, 9) if of_lists else evidence_of_hits(random_rankings(rng, 9))


@functools.cache
def legal_variants(name: str) -> list[dict[str, Any]]:
    """The combinations of options that a metric takes together."""
    spec, legal = METRICS[name], []
    evidence = _evidence(spec.of_lists)
    arguments = [*(evidence[need] for need in spec.needs), *[None] * spec.cutoff]
    for options in variants(spec):
        with contextlib.suppress(UsageError):
            spec.function(*arguments, **options)
            legal.append(options)
    return legal


# ---------------------------------------------------------------------------------------------
# Answers


@dataclass(frozen=True)
class Answer:
    """Values by user and form, NaN where none is averaged, and the numbers over users."""

    forms: tuple[Metric, ...]
    values: np.ndarray  # (n_users, n_forms)
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n: np.ndarray
    undefined: np.ndarray
    by_user: np.ndarray  # (n_forms,) whether users have values

    @property
    def increasing(self) -> np.ndarray:
        """1 where larger is better, and -1 elsewhere."""
        rises = [dict(f.choices).get("adjusted") or f.spec.increasing for f in self.forms]
        return np.where(rises, 1.0, -1.0)

    def only(self, forms: Sequence[Metric]) -> Answer:
        at_form = {form: i for i, form in enumerate(self.forms)}
        columns = np.array([at_form[form] for form in forms], dtype=int)
        parts = (self.mean, self.low, self.high, self.n, self.undefined, self.by_user)
        return Answer(tuple(forms), self.values[:, columns], *(part[columns] for part in parts))


def answer_of(summary: Any, world: World, forms: Sequence[Metric], *, by_user: bool) -> Answer:
    values = np.full((len(world.users), len(forms)), np.nan)
    with_values = np.zeros(len(forms), dtype=bool)
    if by_user:
        frame = summary.values_by_user
        row_of = {world.name(int(user)): row for row, user in enumerate(world.users)}
        rows = np.array([row_of[user] for user in frame["user"].to_list()], dtype=int)
        for column, form in enumerate(forms):
            if str(form) in frame.columns and not form.spec.whole:
                values[rows, column] = (
                    frame[str(form)].cast(pl.Float64).fill_null(np.nan).to_numpy()
                )
                with_values[column] = True
    found = [summary[str(form)] for form in forms]
    numbers = [np.array([getattr(e, n) for e in found], dtype=float)
               for n in ("mean", "low", "high", "n", "undefined")]  # fmt: skip
    return Answer(tuple(forms), values, *numbers, with_values)


REFUSED: dict[tuple[Any, ...], set[Metric]] = collections.defaultdict(set)
"""What was refused before, by door and tie rule: whatever the data."""
WHATEVER_THE_DATA = ("ties", "tied", "paired tests", "which scores and ranks", "keep='values'")
"""Words of the reasons for that."""
BY_DATA = "needs an order of tied items"
"""Words of a reason that only data with several hits at one rank give."""


@dataclass
class Trial:
    """A cell with its data, and what came of it."""

    cell: Cell
    rng: np.random.Generator
    world: World
    forms: tuple[Metric, ...]
    refused: dict[Metric, str] = field(default_factory=dict)
    found: list[Violation] = field(default_factory=list)
    checked: int = 0
    computed: set[tuple[str, str]] = field(default_factory=set)

    @property
    def choices(self) -> dict[str, Any]:
        given = {"ties": self.cell.ties, **self.cell.given, "no_overlap": "allow"}
        kind = DOORS[self.cell.door].input
        return {n: v for n, v in given.items() if kind in CHOICES[n].inputs}

    def ask(self, world: World, *, door: str | None = None, **other: Any) -> Answer:
        """The answer of a door; forms that are refused are left out from now on."""
        name = door or self.cell.door
        way, choices = DOORS[name], {**self.choices, **other}
        choices = {n: v for n, v in choices.items() if v is not None}
        choices = {n: v for n, v in choices.items() if way.input in CHOICES[n].inputs}
        side = world.side() if self._needs_side() else {}
        known = REFUSED[name, choices.get("ties"), choices.get("depth") is None]
        for form in known.intersection(self.forms):
            self.refused.setdefault(form, "as before")
        self.forms = tuple(form for form in self.forms if form not in known)

        def call(forms: Sequence[Metric]) -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                warnings.simplefilter("ignore", RankmeterWarning)
                return way.call(world, [str(form) for form in forms], choices, side)

        self._refuse_plans(choices, way.input)
        parts = list(_settled(call, self.forms, self._reasons(world, choices, side, way)))
        for form, error in (
            one for _, forms, why in parts for one in zip(forms, why, strict=False)
        ):
            self.refused[form] = f"{type(error).__name__}: {error}"
            if not isinstance(error, RankmeterError):
                cell = replace(self.cell, ties=choices.get("ties", self.cell.ties))
                self.found.append(Violation(cell, form, "error", self.refused[form], world))
            elif BY_DATA not in str(error) and any(w in str(error) for w in WHATEVER_THE_DATA):
                known.add(form)
        self.forms = tuple(form for form in self.forms if form not in self.refused)
        answers = [
            answer_of(summary, world, forms, by_user=way.by_user)
            for summary, forms, _ in parts
            if summary is not None
        ]
        self.computed |= {(form.name, str(choices.get("ties"))) for form in self.forms}
        return _joined(answers, self.forms, len(world.users))

    def _needs_side(self) -> bool:
        return any(form.spec.of_lists or form.spec.needs_hit_items for form in self.forms)

    def _refuse_plans(self, choices: Mapping[str, Any], kind: Any) -> None:
        """Leave out forms that no plan has."""
        try:
            resolve_plan([str(form) for form in self.forms], choices=choices, data=kind)
        except UsageError:
            for form in self.forms:
                try:
                    resolve_plan(str(form), choices=choices, data=kind)
                except UsageError as error:
                    self.refused[form] = str(error)
        self.forms = tuple(form for form in self.forms if form not in self.refused)

    def _reasons(self, world: World, choices: Any, side: Any, way: Door) -> Callable[..., Any]:
        """A function from forms to the errors of those that the data refuse; for rankings."""

        def reasons(forms: Sequence[Metric]) -> dict[Metric, Exception]:
            if way.input != "rankings":
                return {}
            tables = world.frames() if world.again or world.twice else world.dicts()
            names = [str(form) for form in forms]
            question = Question(
                tables[1], names, None, choices, Given(**{**EMPTY, **side}), None,
                parse_engine("auto", None),
            )  # fmt: skip
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                plan, judged, systems, more = question.read({"A": tables[0]})
                errors = open_data(judged, systems, side=more).run(plan)["A"].errors
            return {form: errors[str(form)] for form in forms if str(form) in errors}

        return reasons

    def report(self, what: str, bad: np.ndarray, answer: Answer, text: Callable[[int, int], str],
               world: World | None = None) -> None:  # fmt: skip
        """Note what breaks the law: (n_users, n_forms), or (n_forms,) for numbers over users."""
        bad = np.atleast_2d(bad)
        self.checked += bad.size
        known = {violation.form for violation in self.found}
        for column in np.flatnonzero(bad.any(axis=0)):
            if answer.forms[column] in known:
                continue  # its mean and its interval follow
            row = int(np.flatnonzero(bad[:, column])[0])
            self.found.append(
                Violation(self.cell, answer.forms[column], what, text(row, int(column)),
                          world or self.world, row if bad.shape[0] > 1 else None)
            )  # fmt: skip


EMPTY = dict.fromkeys(("train", "items", "catalogue", "baseline_lists", "propensity", "collapse"))


def _settled(
    call: Callable[..., Any], forms: Sequence[Metric], reasons: Callable[..., Any]
) -> Iterator[tuple[Any, Sequence[Metric], Sequence[Exception]]]:
    """Results with their forms, and refused forms with the reasons."""
    if not forms:
        return
    try:
        yield call(forms), forms, ()
        return
    except RankmeterError as error:
        refused = {forms[0]: error} if len(forms) == 1 else reasons(forms)
    except Exception as error:  # noqa: BLE001 - which is what is looked for
        refused = {forms[0]: error} if len(forms) == 1 else {}
    if refused:
        yield None, [*refused], [*refused.values()]
        yield from _settled(call, [f for f in forms if f not in refused], lambda _: {})
        return
    half = len(forms) // 2
    yield from _settled(call, forms[:half], lambda _: {})
    yield from _settled(call, forms[half:], lambda _: {})


def _joined(answers: Sequence[Answer], forms: tuple[Metric, ...], n_users: int) -> Answer:
    if not answers:
        nothing = np.zeros(0)
        return Answer((), np.zeros((n_users, 0)), *[nothing] * 5, nothing.astype(bool))
    names = tuple(form for answer in answers for form in answer.forms)
    parts = [np.concatenate([getattr(a, n) for a in answers])
             for n in ("mean", "low", "high", "n", "undefined", "by_user")]  # fmt: skip
    whole = Answer(names, np.hstack([a.values for a in answers]), *parts)
    return whole.only([form for form in forms if form in set(names)])


def paired(*answers: Answer) -> list[Answer]:
    """The same answers with the forms that all of them have."""
    shared = set(answers[0].forms).intersection(*(set(a.forms) for a in answers))
    forms = [form for form in answers[0].forms if form in shared]
    return [answer.only(forms) for answer in answers]


# ---------------------------------------------------------------------------------------------
# What is worth something under the choices


def worth(world: World, choices: Mapping[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Whether each judged item is relevant, and what it gains, as the choices say."""
    own = {n: choices[n] for n in ("relevant", "gains") if n in choices}
    alignment = Alignment(**own)
    user = np.repeat(np.arange(len(world.users)), world.gains.shape[1])
    given = np.nan_to_num(world.gains, nan=-1e9).ravel()
    gains = gains_by_choice(user, given, len(world.users), alignment).reshape(world.gains.shape)
    judged = ~np.isnan(world.gains) & world.asked[:, None]
    relevant = judged & alignment.is_relevant(gains)
    return relevant, np.where(relevant, contributed_gains(gains, alignment), 0.0)


# ---------------------------------------------------------------------------------------------
# Laws


@dataclass(frozen=True)
class Law:
    """A law, the levels on which it says something, and the choices that it leaves out."""

    check: Callable[[Trial], None]
    ties: tuple[str, ...]
    doors: tuple[str, ...]
    of_lists: bool
    ignores: frozenset[str]
    few: bool


LAWS: dict[str, Law] = {}
ALL_TIES = CHOICES["ties"].words
RANKED_DOORS = tuple(DOORS)


def law(
    ties: tuple[str, ...] = ALL_TIES, doors: tuple[str, ...] = RANKED_DOORS, *,
    of_lists: bool = False, ignores: Iterable[str] = (), few: bool = False,
) -> Callable[[Callable[[Trial], None]], Callable[[Trial], None]]:  # fmt: skip
    """Declare a law by the name of its function."""

    def declare(check: Callable[[Trial], None]) -> Callable[[Trial], None]:
        LAWS[check.__name__] = Law(check, ties, doors, of_lists, frozenset(ignores), few)
        return check

    return declare


def close(a: np.ndarray, b: np.ndarray, slack: float = EXACT) -> np.ndarray:
    size = np.maximum(1.0, np.maximum(np.abs(a), np.abs(b)))
    with np.errstate(invalid="ignore"):
        near = np.abs(a - b) <= slack * size
    return near | (a == b) | (np.isnan(a) & np.isnan(b))


def above(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Whether a is above b by more than rounding; False where one of them is NaN."""
    with np.errstate(invalid="ignore"):
        return a > b + SLACK * np.maximum(1.0, np.abs(b))


@law(of_lists=True)
def lies_in_its_range(t: Trial) -> None:
    """A value, its mean and its interval lie in the range of the metric."""
    got = t.ask(t.world)
    ends = np.array([bounds(form, t.cell) for form in got.forms]).reshape(-1, 2)
    low, high = ends[:, 0], ends[:, 1]
    t.report("value", above(low, got.values) | above(got.values, high), got,
             lambda u, f: f"{got.values[u, f]:.6g} outside [{low[f]:g}, {high[f]:g}]")  # fmt: skip
    if t.cell.given.get("aggregate") == "sum":
        return
    t.report("mean", above(low, got.mean) | above(got.mean, high), got,
             lambda _, f: f"mean {got.mean[f]:.6g} outside [{low[f]:g}, {high[f]:g}]")  # fmt: skip
    if t.cell.given.get("interval") not in ("t", "bca"):
        out = above(low, got.low) | above(got.high, high)
        out |= above(got.low, got.mean) | above(got.mean, got.high)
        t.report("interval", out, got, lambda _, f: (
            f"[{got.low[f]:.6g}, {got.high[f]:.6g}] of {got.mean[f]:.6g} on "
            f"[{low[f]:g}, {high[f]:g}]"
        ))  # fmt: skip


def expanded(world: World, choices: Mapping[str, Any]) -> tuple[World, np.ndarray]:
    """Every order of the tied items as a user of its own, and the user that it comes from.

    With ``scope="appended"`` the rules are applied: of the pooled items, those to the depth are
    followed by the other judged items, in each of their orders.
    """
    appends, pool = choices.get("scope") == "appended", choices.get("pool") == "judged"
    depth = choices.get("depth") if appends else None
    owners, scores = [], []
    for row in range(len(world.users)):
        own, judged = world.scores[row], ~np.isnan(world.gains[row])
        if pool:
            judged &= world.gains[row] >= 0
        if appends and pool:
            own = np.where(judged, own, np.nan)
        for ranked in orders_of(own):
            kept = ranked[:depth]
            missed = [int(i) for i in np.flatnonzero(judged) if i not in kept]
            for tail in itertools.permutations(missed) if appends else [()]:
                new = np.full_like(own, np.nan)
                for at_rank, item in enumerate(kept):
                    new[item] = own[item] * 100.0 - at_rank * (0.1 if own[item] > 0 else 1.0)
                new[[*tail]] = -1_000.0 - np.arange(len(tail))
                owners.append(row)
                scores.append(new)
    owner = np.array(owners, dtype=int)
    big = world.take(owner, users=1_000 + np.arange(owner.size))
    return replace(big, scores=np.array(scores).reshape(-1, world.scores.shape[1])), owner


def orders_of(scores: np.ndarray) -> Iterator[tuple[int, ...]]:
    """Every order of the ranked items, which falling scores leave open."""
    ranked = [int(i) for i in np.argsort(-scores, kind="stable") if scores[i] == scores[i]]
    groups = [[*same] for _, same in itertools.groupby(ranked, key=lambda i: scores[i])]
    for order in itertools.product(*(itertools.permutations(group) for group in groups)):
        yield tuple(itertools.chain(*order))


def every_order(t: Trial, world: World) -> tuple[Answer, np.ndarray]:
    """The answer for every order of the tied items, and the user that it comes from."""
    appends = t.cell.given.get("scope") == "appended"
    applied = dict.fromkeys(("scope", "pool", "depth")) if appends else {}
    big, owner = expanded(world, t.choices)
    return t.ask(big, ties="item", door="dict", **applied), owner


def over_orders(values: np.ndarray, owner: np.ndarray, n: int) -> dict[str, np.ndarray]:
    """Least, mean and largest value of each user over orders that have one."""
    some = {name: np.full((n, values.shape[1]), np.nan) for name in ("low", "mean", "high")}
    for user in range(n):
        own = values[owner == user]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            some["low"][user] = np.nanmin(own, axis=0)
            some["mean"][user] = np.nanmean(own, axis=0)
            some["high"][user] = np.nanmax(own, axis=0)
    return some


BY_ORDER = frozenset({*AVERAGING, "exclude", "duplicates", "judgements", "score_type"})
"""Choices of which users count, which say nothing of orders, and those that need repeated rows."""
OF_ITEMS = ("dict", "frame", "Evaluator", "compare", "Scores", "disk")


@law(("expected", "pessimistic", *SHARED), OF_ITEMS, ignores=BY_ORDER, few=True)
def constant_scores_do_not_beat_chance(t: Trial) -> None:
    """If all scores are equal, no value is better than the mean over all orders."""
    same = np.where(np.isnan(t.world.scores), np.nan, 1.0)
    world = replace(t.world, scores=same, again=(), twice=())
    got = t.ask(world)
    every, owner = every_order(t, world)
    got, every = paired(got, every)
    chance = over_orders(every.values, owner, len(world.users))["mean"]
    sign = got.increasing
    t.report("value", above(sign * got.values, sign * chance), got,
             lambda u, f: f"{got.values[u, f]:.6g} beats {chance[u, f]:.6g}", world)  # fmt: skip


@law([rule for rule in RULES if rule not in SHARED], OF_ITEMS, ignores=BY_ORDER, few=True)
def lies_between_the_orders(t: Trial) -> None:
    """`expected` is the mean over all orders; bounds bound, and all other rules lie between."""
    world = replace(t.world, again=(), twice=())
    got = t.ask(world)
    every, owner = every_order(t, world)
    got, every = paired(got, every)
    some = over_orders(every.values, owner, len(world.users))
    best = np.where(got.increasing > 0, some["high"], some["low"])
    worst = np.where(got.increasing > 0, some["low"], some["high"])
    sign, rule = got.increasing, t.cell.ties
    if rule == "expected":
        bad = ~close(got.values, some["mean"], SLACK) & ~np.isnan(got.values)
    elif rule == "optimistic":
        bad = above(sign * best, sign * got.values)
    elif rule == "pessimistic":
        bad = above(sign * got.values, sign * worst)
    else:
        bad = above(some["low"], got.values) | above(got.values, some["high"])
    t.report("value", bad, got, lambda u, f: (
        f"{got.values[u, f]:.6g}, over orders {some['low'][u, f]:.6g} to "
        f"{some['high'][u, f]:.6g}, mean {some['mean'][u, f]:.6g}"
    ), world)  # fmt: skip


def directed(t: Trial, before: World, after: World, *, better: bool) -> None:
    """No value gets better, or with `better` none gets worse, from one world to another."""
    old, new = t.ask(before), None
    new = t.ask(after)
    old, new = paired(old, new)
    sign = old.increasing * (-1.0 if better else 1.0)
    t.report("value", above(sign * new.values, sign * old.values), old, lambda u, f: (
        f"{old.values[u, f]:.6g} becomes {new.values[u, f]:.6g}"
    ), after)  # fmt: skip
    t.report("mean", above(sign * new.mean, sign * old.mean), old, lambda _, f: (
        f"mean {old.mean[f]:.6g} of {old.n[f]:g} becomes {new.mean[f]:.6g} of {new.n[f]:g}"
    ))  # fmt: skip


def found(t: Trial) -> np.ndarray:
    """The items that can be hits under the choices: (n_users, n_items)."""
    world = t.world
    there = ~np.isnan(world.scores) & world.listed[:, None]
    if t.cell.given.get("exclude") == "self":
        there &= world.users[:, None] != world.items[None, :]
    if t.cell.given.get("retrieved") == "positive":
        there &= np.nan_to_num(world.scores) > 0
    return there


@law()
def losing_a_hit_is_never_better(t: Trial) -> None:
    """A hit of the largest gain leaves the list, or gives its place to another, or goes last."""
    relevant, gain = worth(t.world, t.choices)
    before = replace(t.world.wider(1), again=(), twice=())
    scores = before.scores.copy()
    can, appended = relevant & found(t) & (gain > 0), t.cell.given.get("scope") == "appended"
    way = np.zeros(len(scores)) if DOORS[t.cell.door].demotes else t.rng.integers(0, 3, len(scores))
    some = t.rng.random(len(scores)) < t.rng.choice([0.1, 0.7])
    for row in np.flatnonzero(can.any(axis=1) & some):
        largest = gain[row].max() if appended else gain[row][can[row]].max()
        most = np.flatnonzero(can[row] & (gain[row] == largest))
        if not most.size:
            continue
        hit = t.rng.choice(most)
        if way[row] == 1:
            scores[row, -1] = scores[row, hit]
        lowest = np.nanmin(scores[row]) - 1.0
        scores[row, hit] = lowest if way[row] == 0 else np.nan
    directed(t, before, replace(before, scores=scores), better=False)


@law()
def a_miss_at_the_end_is_never_better(t: Trial) -> None:
    """One more item that is not relevant, below all others."""
    before = replace(t.world.wider(1), again=(), twice=())
    scores = before.scores.copy()
    lowest = np.nanmin(np.column_stack([t.world.scores, np.zeros(len(scores))]), axis=1) - 1.0
    relevant, _ = worth(t.world, t.choices)
    free = np.isnan(t.world.scores) & ~np.isnan(t.world.gains) & ~relevant
    some = t.world.listed & ~np.isnan(t.world.scores).all(axis=1)
    for row in np.flatnonzero(some & (t.rng.random(len(scores)) < 0.8)):
        absent = np.flatnonzero(free[row])
        column = t.rng.choice(absent) if absent.size and t.rng.random() < 0.5 else -1
        scores[row, column] = lowest[row]
    directed(t, before, replace(before, scores=scores), better=False)


@law(doors=tuple(name for name, way in DOORS.items() if way.input != "ranks"))
def a_hit_that_moves_up_is_never_worse(t: Trial) -> None:
    """A hit and an item above it that is not relevant change their judgments."""
    relevant, gain = worth(t.world, t.choices)
    before = replace(t.world, again=(), twice=())
    gains, scores = before.gains.copy(), before.scores
    there = found(t)
    # Where only judged items have ranks, an item without a judgment is not above anything.
    others = (
        gains >= 0 if t.cell.given.get("pool") == "judged" else np.ones(gains.shape, dtype=bool)
    )
    for row in np.flatnonzero((there & relevant).any(axis=1) & (there & ~relevant).any(axis=1)):
        hits = np.flatnonzero(there[row] & relevant[row] & (gain[row] > 0))
        misses = np.flatnonzero(there[row] & ~relevant[row] & others[row])
        if t.cell.given.get("scope") == "appended" and (depth := t.cell.given.get("depth")):
            # Items below the depth are appended, and are tied, in the order of the judgments.
            misses = [m for m in misses if (scores[row] >= scores[row, m]).sum() <= depth]
        pairs = [(h, m) for h in hits for m in misses if scores[row, m] > scores[row, h]]
        if pairs:
            one, other = pairs[t.rng.integers(len(pairs))]
            gains[row, [one, other]] = gains[row, [other, one]]
    # Items have weights there, so another item is another hit.
    t.forms = tuple(form for form in t.forms if not form.spec.needs_hit_items)
    directed(t, before, replace(before, gains=gains), better=True)


@law(doors=("dict", "frame", "Evaluator", "compare", "Scores", "disk"), ignores={"exclude"})
def nothing_beats_the_ideal_ranking(t: Trial) -> None:
    """Relevant items first, by falling gain; alone they have the best value of the range."""
    relevant, gain = worth(t.world, t.choices)
    before = replace(t.world, again=(), twice=())
    there = ~np.isnan(before.scores)
    there &= t.world.listed[:, None]
    # No item is added to the misses: metrics of pairs count them.
    top = np.where(gain == gain, 1_000.0 + 10.0 * gain - 0.01 * np.arange(gain.shape[1]), 0.0)
    positive = relevant & (gain > 0)
    if t.cell.given.get("scope") == "ranked":
        positive &= there
    tail = np.where(there, before.scores / 100.0, np.nan)
    ideal = replace(
        before, scores=np.where(positive, top, tail), listed=before.listed | positive.any(axis=1)
    )
    got, best = paired(t.ask(before), t.ask(ideal))
    sign = got.increasing
    t.report("value", above(sign * got.values, sign * best.values), got, lambda u, f: (
        f"{got.values[u, f]:.6g} beats {best.values[u, f]:.6g} of the ideal ranking"
    ))  # fmt: skip
    free = {n: v for n, v in t.cell.given.items() if n in ("depth", "aggregate", "undefined")}
    if t.cell.given.get("relevant") == "any" or t.cell.given.get("gains") == "all":
        return  # items of gain 0 are relevant, too
    if t.cell.k is not None or free or not positive.any():
        return
    alone = replace(before, scores=np.where(positive, top, np.nan), listed=positive.any(axis=1))
    if t.cell.given.get("scope") == "appended":  # nothing that is not relevant
        alone = replace(alone, gains=np.where(positive, before.gains, np.nan))
    pure = t.ask(alone)
    fixed = [form for form in pure.forms if _reaches_its_best(form)]
    pure = pure.only(fixed)
    target = np.array([form.spec.best for form in fixed])
    has = positive.any(axis=1)[:, None]
    bad = has & ~np.isnan(pure.values) & ~close(pure.values, target, SLACK)
    t.report("best", bad, pure, lambda u, f: (
        f"{pure.values[u, f]:.6g} of the ideal ranking alone, not {target[f]:g}"
    ), alone)  # fmt: skip


def _reaches_its_best(form: Metric) -> bool:
    adjusted = dict(form.choices).get("adjusted")
    needed = form.spec.example
    return form.spec.best is not None and not adjusted and dict(form.options) == needed


@law(of_lists=True, doors=tuple(name for name in DOORS if name != "dict"))
def doors_agree(t: Trial) -> None:
    """All ways in give the same values, means, intervals and counts."""
    got, dicts = paired(t.ask(t.world), t.ask(t.world, door="dict"))
    if DOORS[t.cell.door].by_user:
        t.report("value", ~close(got.values, dicts.values), got, lambda u, f: (
            f"{got.values[u, f]!r} and {dicts.values[u, f]!r} from a dictionary"
        ))  # fmt: skip
    names = ("mean", "low", "high", "n", "undefined")
    for name in names:
        a, b = getattr(got, name), getattr(dicts, name)
        slack = 1e-9 if t.cell.door == "moments" else EXACT
        t.report(name, ~close(a, b, slack), got, lambda _, f, a=a, b=b, name=name: (
            f"{name} {a[f]!r} and {b[f]!r} from a dictionary"
        ))  # fmt: skip


def unchanged(t: Trial, after: World, rows: np.ndarray | None = None, **other: Any) -> None:
    """Another world has the same values, row by row."""
    if rows is not None:  # a number over all lists has no values by user, but their parts
        t.forms = tuple(form for form in t.forms if not form.spec.whole)
    old, new = paired(t.ask(t.world), t.ask(after, **other))
    was = old.values if rows is None else old.values[rows]
    t.report("value", ~close(was, new.values), old, lambda u, f: (
        f"{was[u, f]!r} becomes {new.values[u, f]!r}"
    ), after)  # fmt: skip
    if rows is None:
        for name in ("mean", "low", "high", "n"):
            a, b = getattr(old, name), getattr(new, name)
            t.report(name, ~close(a, b, SLACK), old, lambda _, f, a=a, b=b, name=name: (
                f"{name} {a[f]!r} becomes {b[f]!r}"
            ))  # fmt: skip


@law(of_lists=True, doors=("dict", "frame", "lists", "Evaluator", "compare", "disk"))
def names_do_not_matter(t: Trial) -> None:
    """Ids are renamed by a map that keeps their order and their type apart."""
    unchanged(t, replace(t.world, name=lambda number: f"z{number:05d}"))


@law(tuple(rule for rule in ALL_TIES if rule not in BY_ROW), of_lists=True,
     doors=("dict", "frame", "Evaluator", "compare", "disk"), ignores={"duplicates"})  # fmt: skip
def the_order_of_rows_does_not_matter(t: Trial) -> None:
    """Rows come in another order."""
    unchanged(t, replace(t.world, place=t.rng.random(t.world.place.shape)))


@law(of_lists=True, doors=("dict", "frame", "Evaluator", "compare", "Scores", "disk",
                           "evaluate_scores", "values", "moments", "Sampled"))  # fmt: skip
def the_scale_of_scores_does_not_matter(t: Trial) -> None:
    """All scores are multiplied by four."""
    again = tuple((row, column, 4.0 * score) for row, column, score in t.world.again)
    unchanged(t, replace(t.world, scores=4.0 * t.world.scores, again=again))


@law(of_lists=True, ignores={"n_items"} - {"n_items"})
def users_do_not_matter_to_each_other(t: Trial) -> None:
    """A block of the users has the values that these users have among all."""
    rows = np.flatnonzero(np.arange(len(t.world.users)) % 3 == 1)
    part = t.world.take(rows)
    if t.world.again or t.world.twice:
        back = {int(row): at_row for at_row, row in enumerate(rows)}
        moved = [tuple((back[r], c, x) for r, c, x in own if r in back)
                 for own in (t.world.again, t.world.twice)]  # fmt: skip
        part = replace(part, again=moved[0], twice=moved[1])
    unchanged(t, part, rows)


# ---------------------------------------------------------------------------------------------
# Trials


@dataclass(frozen=True)
class Violation:
    """A metric that breaks a law in a cell, with the first user whose value does."""

    cell: Cell
    form: Metric
    what: str
    text: str
    world: World = field(compare=False, repr=False)
    row: int | None = field(compare=False, default=None)

    @property
    def is_excepted(self) -> bool:
        return any(exception.holds_for(self) for exception in EXCEPTIONS)

    def __str__(self) -> str:
        cell = self.cell
        chosen = {"ties": cell.ties, "door": cell.door, "data": cell.data, **cell.given}
        where = " ".join(f"{name}={value}" for name, value in chosen.items())
        return f"{cell.law}: {self.form} {self.what} {self.text} [{where}]{self.again()}"

    def again(self) -> str:
        """A call that shows the value of the user."""
        if self.row is None:
            return ""
        world = self.world.take(np.array([self.row]))
        rankings, truth = world.dicts()
        given = {"ties": self.cell.ties, **self.cell.given}
        options = ", ".join(f"{name}={value!r}" for name, value in given.items())
        return f"\n    rm.evaluate({rankings}, {truth}, {str(self.form)!r}, {options})"


def trial(
    cell: Cell,
    seed: int = 0,
    n_users: int = 60,
    forms: Sequence[Metric] | None = None,
    most: int | None = None,
) -> Trial:
    """Make data for a cell and check its law."""
    rng = np.random.default_rng(seed)
    facts, way, given = LAWS[cell.law], DOORS[cell.door], cell.given
    world = make(rng, max(n_users // 4, 4) if facts.few else n_users, cell.data, few=facts.few)
    if way.repeats and ({"duplicates", "judgements"} & given.keys()) and not facts.few:
        world = repeated(rng, world, items="duplicates" in given, judgments="judgements" in given)
    world = way.project(world)
    if forms is None:
        forms = forms_of(cell, rng, most)
    found = Trial(cell, rng, world, tuple(forms))
    facts.check(found)
    return found


def main() -> int:
    """Search random cells; 1 if a law is broken."""
    parser = argparse.ArgumentParser(prog="python -m product", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--draws", type=int, default=1_000_000, help="checks of one value")
    parser.add_argument("--users", type=int, default=100)
    parser.add_argument("--law", default="")
    chosen = parser.parse_args()
    rng, checked, cells = np.random.default_rng(chosen.seed), 0, 0
    kinds: dict[tuple[str, str, str], tuple[int, Violation]] = {}
    refused: collections.Counter[str] = collections.Counter()
    begun = time.monotonic()
    while checked < chosen.draws:
        cell = random_cell(rng)
        if chosen.law and cell.law != chosen.law:
            continue
        one = trial(cell, int(rng.integers(2**31)), chosen.users)
        checked, cells = checked + one.checked, cells + 1
        refused.update(form.name for form in one.refused)
        for violation in one.found:
            if not violation.is_excepted:
                key = cell.law, violation.form.name, violation.what
                kinds[key] = kinds.get(key, (0, violation))[0] + 1, violation
    seconds = time.monotonic() - begun
    print(  # noqa: T201
        f"{checked:,} values in {cells:,} cells, {seconds:.0f} s; {len(kinds)} kinds of failures"
    )
    for (_, name, _), (n, violation) in sorted(kinds.items(), key=lambda kind: kind[0]):
        print(f"{n:5} {name}: {violation}")  # noqa: T201
    return int(bool(kinds))


if __name__ == "__main__":
    raise SystemExit(main())
