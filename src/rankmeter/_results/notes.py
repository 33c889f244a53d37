"""Notes on means: users and hits that count by a rule, and changes to the data.

One evaluation, several systems and two conventions use the same sentences. A note that can change
what a reader decides is a text, and one that only explains how numbers were made is a `Detail`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import numpy as np

from rankmeter._choices import CHOICES, Setting
from rankmeter._engine.scores import UserValues
from rankmeter._rankings.align import Facts as AlignmentFacts
from rankmeter._rankings.ties import TIE_RULES
from rankmeter._results.counts import NEGATIVE, SKEWED, UNUSED_LABELS, count_in_words
from rankmeter._results.estimates import Estimate
from rankmeter._results.wording import group_by_key, number_text
from rankmeter._statistics.intervals import is_skewed
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.conventions._profiles import load_convention
from rankmeter.errors._checks import counted, words_in_use


class Detail(str):
    """A note that only explains how numbers were made."""

    __slots__ = ()


Facts = Mapping[str, str]
"""Sentences by subject: ``{"users without a ranking": "1 user has no ranking and …"}``."""

COUNTED = {
    "zero": ("counts as 0", "count as 0"),
    "one": ("counts as 1", "count as 1"),
    "empty": ("counts as an empty ranking", "count as empty rankings"),
    "skip": ("is left out", "are left out"),
    "ignore": ("is left out", "are left out"),
    "nan": ("leaves no mean", "leave no mean"),
}
"""What is done with a user of a special case, and with several."""

ORDINARY = frozenset(
    {
        "rows",
        "columns",
        "excluded_cells",
        "rows_with_several_targets",
        "assumed_gains",
        "float_user_ids",
        "float_item_ids",
        "scores_beside_ranks",
        "rows_compared_with_ranks",
        "ranks_of_tied_scores",
        NEGATIVE,
    }
)
"""Counts of the input that change no number and so give no note."""
WORDS = {
    "labels_not_judged": "labels of -1, which are not judged",
    "scores_of_minus_infinity": "scores of -inf, which are not candidates",
    "scores_against_ranks": "scores against the ranks, which decide",
    "tied_scores_beside_ranks": "scores that tie where the ranks, which decide, differ",
    "ranks_against_scores": "ranks against the scores, which decide",
}
"""Notes of counts whose names do not say what happened."""
TIES = frozenset({"tied_hits", "users_with_tied_hits"})
"""Counts of an alignment that are about ties."""
TIED = "hits tied in score"
_EFFECTIVE = "effective sample size"
EXPLAINED = frozenset({TIED, _EFFECTIVE})
"""Facts that explain numbers and change none."""
_LONG = 15
"""The most items that a sort by insertion keeps in order, as that of NumPy and Numba."""
AGGREGATES = {
    "geometric": "geometric mean",
    "median": "median",
    "sum": "sum",
    "micro": "pooled share",
}
"""What is not a mean."""
FEW_CLUSTERS = 30
"""Below this number the variance between clusters is itself uncertain."""
MAX_GROUPS = 10
"""Groups of systems with different facts that a note shows; the result counts all of them."""


def evaluation_facts(plan: Plan, scores: UserValues, counts: Mapping[str, int]) -> Facts:
    """Facts about one evaluation by subject; facts that vary between metrics name the metrics.

    `counts` are the counts of the data from `counts_of_tables`.
    """
    facts = {
        "relevant": _on_metrics({entry.label: _relevance_rule(entry) for entry in plan.metrics})
    }
    special = {entry.label: _special_cases(entry, scores) for entry in plan.metrics}
    for subject in dict.fromkeys(subject for cases in special.values() for subject in cases):
        if said := _on_metrics({label: cases.get(subject, "") for label, cases in special.items()}):
            facts[subject] = Detail(said) if subject in EXPLAINED else said
    ranked = [entry for entry in plan.metrics if entry.spec.of_hits or not entry.spec.of_lists]
    if none := [entry.label for entry in ranked if _has_no_hits(scores.facts[entry.alignment])]:
        suffix = f" for {', '.join(none)}" if len(none) < len(ranked) else ""
        what = f"relevant {words_in_use().item} was ranked"
        facts[what] = f"no {what}{suffix}"
    if labels := [entry.label for entry in plan.metrics if _is_skewed(plan, entry, scores)]:
        facts[SKEWED] = f"{SKEWED}: {', '.join(labels)}"
    if TIED in facts and (differ := counts.get("ranks_of_tied_scores")):
        facts[TIED] = Detail(f"{facts[TIED]}; rows tied in score whose ranks differ: {differ:,}")
    if unlike := _deviations(plan, scores, counts):
        subject = f"unlike {load_convention(plan.tool).title}"
        facts[subject] = f"{subject}: {unlike}"
    for name, count in counts.items():
        count_name = name.removeprefix("truth_")
        if count_name == "tied_scores_beside_ranks" and count < 0.8 * counts["rows"]:
            continue  # ranks exist to settle a few ties
        if count and count_name not in ORDINARY:
            side = " of the ground truth" if count_name != name else ""
            subject = WORDS.get(count_name) or count_in_words(count_name)
            subject += side
            compared = counts.get("rows_compared_with_ranks")
            part = f" (in {compared:,} of {counts['rows']:,} rows)" if compared else ""
            part = part if count_name == "scores_against_ranks" else ""
            facts[subject] = f"{subject}: {count:,}{part}"
    return facts


def _deviations(plan: Plan, scores: UserValues, counts: Mapping[str, int]) -> str:
    """Where a tool knowingly differs from its convention here, on these data."""
    convention = load_convention(plan.tool)
    metrics = {entry.metric.name for entry in plan.metrics}
    tied = {
        entry.metric.name
        for entry in plan.metrics
        if (facts := scores.facts[entry.alignment]).counts.get("tied_hits")
        and facts.n_ranked.max(initial=0) > _LONG
    }
    said = convention.deviations_on("long ties", tied)
    if counts.get(NEGATIVE):
        said += convention.deviations_on("negative gains", metrics)
    return "; ".join(f"{why[0].lower()}{why[1:]}".removesuffix(".") for why in said)


def uninformative_intervals(estimates: Iterable[Estimate]) -> Facts:
    """Fact that lists the metrics with an interval of zero width; empty without such metrics."""
    labels = [e.label for e in estimates if e.n > 1 and e.low == e.high]
    fact = f"identical for all {words_in_use().users}, so the interval is not informative"
    return {fact: f"{fact}: {', '.join(labels)}"} if labels else {}


def notes_on_means(plan: Plan, facts: Mapping[str, Facts]) -> list[str]:
    """Notes on the convention and on facts; a fact about some systems names these systems.

    ``svd, knn: 40 users have no ranking and count as empty rankings``
    """
    relevant = next(iter(facts.values()))["relevant"]
    convention = f"convention {plan.convention_and_version}: {relevant}"
    wholes = [entry.label for entry in plan.metrics if entry.spec.whole]
    together = [Detail("computed over all lists at once: " + ", ".join(wholes))] if wholes else []
    metrics_by_note = _names_by_fact(
        {
            entry.label: f"{AGGREGATES[entry.averaging.aggregate]} instead of the mean"
            for entry in plan.metrics
            if entry.averaging.aggregate in AGGREGATES and not entry.spec.whole
        }
    )
    aggregates = [f"{', '.join(labels)}: {note}" for note, labels in metrics_by_note.items()]
    return [convention, *plan.notes, *fact_notes(facts, {"relevant"}), *together, *aggregates]


def fact_notes(by_system: Mapping[str, Facts], left_out: Collection[str] = ()) -> list[str]:
    """Format facts by system, or by convention, as notes, without the subjects in `left_out`."""
    notes: list[str] = []
    for subject in dict.fromkeys(itertools.chain(*by_system.values())):
        if subject in left_out:
            continue
        groups = _names_by_fact(
            {s: facts[subject] for s, facts in by_system.items() if subject in facts}
        )
        if [*groups.values()] == [[*by_system]]:
            notes.append(next(iter(groups)))
            continue
        groups_shown = [*groups.items()][:MAX_GROUPS]
        notes += [type(fact)(f"{', '.join(names)}: {fact}") for fact, names in groups_shown]
        if n_left := sum(map(len, groups.values())) - sum(len(names) for _, names in groups_shown):
            notes.append(f"{subject}: also in {counted(n_left, 'other system')}")
    return notes


def unused_label_notes(counts: Mapping[str, Any]) -> list[str]:
    """Note for each count of missing labels, or of labels without a user of the result."""
    return [
        Detail(f"{text.format(users=words_in_use().users)}: {counts[name]:,}")
        for name, text in UNUSED_LABELS.items()
        if counts.get(name)
    ]


def chance_notes(random: Mapping[str, float], plan: Plan) -> list[str]:
    """A note on the means of random rankings, if the number of candidates is known."""
    if not random:
        return []
    means = ", ".join(f"{label} {number_text(value)}" for label, value in random.items())
    return [f"random: {means} ({counted(plan.n_items or 0, 'candidate')})"]


def cluster_notes(by_metric: Mapping[str, Mapping[str, int]], noun: str) -> list[str]:
    """Notes on the numbers of clusters by metric, and on metrics with few clusters."""
    notes = group_by_key(
        (note, label)
        for label, counts in by_metric.items()
        for note in _notes_on_cluster_counts(counts, noun)
    )
    return [
        note if len(labels) == len(by_metric) else type(note)(f"{', '.join(labels)}: {note}")
        for note, labels in notes.items()
    ]


def _notes_on_cluster_counts(counts: Mapping[str, int], noun: str) -> list[str]:
    n = counts["clusters"]
    if not n:
        return []
    equal = counts["effective_clusters"]
    effect = "" if equal == n else f", which count as {equal:,} of equal size"
    notes: list[str] = [Detail(f"{noun} by {counted(n, 'cluster')}{effect}")]
    if equal < FEW_CLUSTERS:
        notes.append(f"fewer than {FEW_CLUSTERS} clusters of equal size: {noun} are rough")
    return notes


def bootstrap_notes(plan: Setting) -> list[str]:
    """A note on the samples of bootstrap intervals, or on a number of samples without effect."""
    if plan.uses_bootstrap:
        draws = f"{plan.resamples:,} samples, seed {plan.seed}"
        return [Detail(f"intervals by {plan.interval} bootstrap, {draws}")]
    if plan.resamples == CHOICES["resamples"].default:
        return []
    draws = f"resamples={plan.resamples:,} has no effect on interval={plan.interval}"
    return [f"{draws}: choose bca"]


def _on_metrics(facts: Mapping[str, str]) -> str:
    """Join the facts of metrics: one alone if common to all, else each with its metrics.

    ``1 user has nothing relevant and counts as 0 on ndcg@2; … and is left out on precision@2``
    """
    groups = _names_by_fact(facts)
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{fact} on {', '.join(names)}" for fact, names in groups.items() if fact)


def _names_by_fact(facts: Mapping[str, str]) -> dict[str, list[str]]:
    return group_by_key((fact, name) for name, fact in facts.items())


def _is_skewed(plan: Plan, entry: MetricPlan, scores: UserValues) -> bool:
    """Whether a mean has a t interval and values too skewed for it."""
    is_limited = entry.candidates is None and math.isfinite(entry.range[1])
    if is_limited or plan.uses_bootstrap or entry.averaging.aggregate != "mean":
        return False
    averaged = scores.averaged(entry)
    if math.isfinite(averaged.scale(entry)[1]):
        return False
    return averaged.state is None and is_skewed(averaged.values)


def _has_no_hits(facts: AlignmentFacts) -> bool:
    """Whether users have relevant items but no ranking has a hit."""
    return facts.n_hits == 0 and bool(facts.n_relevant.any())


def _special_cases(entry: MetricPlan, scores: UserValues) -> dict[str, str]:
    """Sentences on users and hits that are special cases of one metric; empty without any."""
    averaging, facts = entry.averaging, scores.facts[entry.alignment]
    who = words_in_use().users
    if averaging.users == "ranked":
        lost = scores.in_rankings & np.isnan(scores.values[entry.label])
        n = int(np.count_nonzero(lost))
        return {
            f"{who} without a value": _users_sentence(n, "no value", averaging.undefined),
            **_cases_from_counts(facts.counts.items()),
        }
    judged, ranked = scores.in_truth, scores.in_rankings
    irrelevant = judged & (facts.n_relevant == 0)
    averaged = judged & ranked if averaging.missing == "skip" else judged
    lost = averaged & ~irrelevant & np.isnan(scores.values[entry.label])
    empty = "empty" if averaging.missing == "zero" else averaging.missing
    valueless = f"relevant {words_in_use().items} but no value"
    users = {
        f"{who} without a ranking": (judged & ~ranked, "no ranking", empty),
        f"{who} without truth": (ranked & ~judged, "no ground truth", averaging.extra),
        f"{who} with nothing relevant": (irrelevant, "nothing relevant", averaging.undefined),
        f"{who} with {valueless}": (lost, valueless, averaging.undefined),
    }
    tied = facts.counts["tied_hits"]
    rule = TIE_RULES[entry.alignment.ties]
    return {
        **{
            subject: _users_sentence(int(np.count_nonzero(mask)), lack, rule)
            for subject, (mask, lack, rule) in users.items()
        },
        TIED: f"{counted(tied, 'hit is', 'hits are')} tied in score: {rule}" if tied else "",
        **_effective_size_case(entry, scores),
        **_cases_from_counts(facts.counts.items()),
    }


def _users_sentence(n: int, has: str, rule: str) -> str:
    """Sentence on the users that have, or lack, something; empty without such users."""
    words, done = words_in_use(), COUNTED.get(rule, (rule, rule))[n != 1]
    return f"{counted(n, f'{words.user} has', f'{words.users} have')} {has} and {done}" if n else ""


def _effective_size_case(entry: MetricPlan, scores: UserValues) -> dict[str, str]:
    size = scores.effective_size(entry)
    if size is None:
        return {}
    return {_EFFECTIVE: f"{_EFFECTIVE}: {round(size[0]):,} of {size[1]:,} relevant items"}


def _cases_from_counts(counts: Iterable[tuple[str, int]]) -> dict[str, str]:
    by_name = {count_in_words(name): n for name, n in counts if name not in TIES}
    return {name: f"{name}: {n:,}" if n else "" for name, n in by_name.items()}


def _relevance_rule(entry: MetricPlan) -> str:
    """The rule by which judged items are relevant to a metric, in words."""
    alignment, words = entry.alignment, words_in_use()
    if alignment.gains == "all" or (alignment.gains == "relevant" and alignment.relevant == "any"):
        return f"every judged {words.item} is relevant"
    positive = f"{words.items} with a gain above 0 are relevant"
    if alignment.gains == "positive":
        return positive
    wanted = alignment.relevant
    reached = f"a gain {_in_words(wanted)}" if wanted != "any" else f"a judged {words.item}"
    if alignment.gains == "reached":
        return f"{positive}, for {words.users} with {reached}"
    table = f", gains {alignment.gains}" if alignment.gain_table else ""
    above = ", and count by how far they are above" if alignment.gains == "above" else ""
    relevant = f"judged {words.items}" if wanted == "any" else f"{words.items} with {reached}"
    return f"{relevant} are relevant{above}{table}"


def _in_words(condition: str) -> str:
    """A condition on gains in words: ``>=4`` is ``of at least 4``."""
    least = condition.startswith(">=")
    return f"{'of at least' if least else 'above'} {condition.lstrip('>=')}"
