"""Notes on means: users and hits that count by a rule, and changes to the data.

One evaluation, several systems and two conventions use the same words.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from rankmeter._engine.scores import UserValues
from rankmeter._evidence.hits import BoolArray, IntArray
from rankmeter._rankings.align import Facts as AlignmentFacts
from rankmeter._reading.table import Table
from rankmeter._results.estimates import Estimate
from rankmeter._results.wording import group_by_key, number_text
from rankmeter._statistics.intervals import effective_clusters, is_skewed
from rankmeter.conventions._plan import MetricPlan, Plan
from rankmeter.conventions._profiles import load_convention
from rankmeter.errors._checks import count_items, counted, words_in_use

Facts = Mapping[str, str]
"""Facts by subject: ``{"users without a ranking": "1 (zero)"}``."""

NEGATIVE = "negative_gains"
"""The count of gains below 0, where a tool takes them otherwise."""
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
_TIED = "hits tied in score"
_LONG = 15
"""The most items that a sort by insertion keeps in order, as that of NumPy and Numba."""
AGGREGATES = {
    "geometric": "geometric mean",
    "median": "median",
    "sum": "sum",
    "micro": "pooled share",
}
"""What is not a mean."""
UNUSED_LABELS = {
    "users_without_segment": "{users} without a segment",
    "segments_of_other_users": "segment labels of other {users}",
    "users_without_cluster": "{users} without a cluster, each counted as one cluster",
    "clusters_of_other_users": "cluster labels of other {users}",
}
"""Notes about the labels of users, in which the word for users is left open."""
FEW_CLUSTERS = 30
"""Below this number the variance between clusters is itself uncertain."""
SKEWED = "so skewed that the interval is too short (use interval=bca, gmr or a median)"
"""A note on values or differences without an upper limit."""
SKEWED_DIFFERENCES = "so skewed that p can be too small: a few {users} weigh as much as all others"
"""A note on differences with limits, whose interval counts large changes that are not seen.

The word for users is left open.
"""
FEW_WEIGHTS = 0.1
"""Below this share of the relevant items their effective number is small."""
MAX_GROUPS = 10
"""Groups of systems with different facts that a note shows; the result counts all of them."""


def counts_of_tables(rankings: Table, truth: Table) -> dict[str, int]:
    """Counts of rows read, dropped or converted; counts of the truth are called ``truth_…``.

    Only the truth has gains, so ``assumed_gains`` and ``rounded_gains`` keep their names.
    """
    judged = {
        name if name.endswith("_gains") else f"truth_{name}": count
        for name, count in truth.counts.items()
    }
    return {**rankings.counts, **judged}


def count_in_words(name: str) -> str:
    """Name of a count in the words in use: ``float_user_ids`` is ``float query ids``."""
    words = asdict(words_in_use())
    return " ".join(words.get(part, part) for part in name.split("_"))


def evaluation_facts(plan: Plan, scores: UserValues, counts: Mapping[str, int]) -> Facts:
    """Facts about one evaluation by subject; facts that vary between metrics name the metrics.

    `counts` are the counts of the data from `counts_of_tables`.
    """
    facts = {
        "relevant": facts_text({entry.label: _relevance_rule(entry) for entry in plan.metrics})
    }
    special = {entry.label: _special_cases(entry, scores) for entry in plan.metrics}
    for subject in dict.fromkeys(subject for cases in special.values() for subject in cases):
        by_metric = {label: cases.get(subject, (0, "")) for label, cases in special.items()}
        numbers = {count for count, _ in by_metric.values()}
        if len(numbers) > 1:
            by_label = {
                label: _count_with_rule(f"{n:,}", r) for label, (n, r) in by_metric.items() if n
            }
            facts[subject] = _facts_after_names(by_label)
        elif any(numbers):
            rule = facts_text({label: rule for label, (_, rule) in by_metric.items()})
            facts[subject] = _count_with_rule(f"{numbers.pop():,}", rule)
    ranked = [entry for entry in plan.metrics if entry.spec.of_hits or not entry.spec.of_lists]
    if none := [entry.label for entry in ranked if _has_no_hits(scores.facts[entry.alignment])]:
        suffix = f" ({', '.join(none)})" if len(none) < len(ranked) else ""
        facts[f"relevant {words_in_use().items} that were ranked"] = f"none{suffix}"
    if labels := [entry.label for entry in plan.metrics if _is_skewed(plan, entry, scores)]:
        facts[SKEWED] = ", ".join(labels)
    if _TIED in facts and (differ := counts.get("ranks_of_tied_scores")):
        facts[_TIED] += f"; rows tied in score whose ranks differ: {differ:,}"
    if unlike := _deviations(plan, scores, counts):
        facts[f"unlike {load_convention(plan.tool).title}"] = unlike
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
            facts[subject] = f"{count:,}" + (part if count_name == "scores_against_ranks" else "")
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
    return {fact: ", ".join(labels)} if labels else {}


def uneven_weight_cautions(plan: Plan, scores: UserValues) -> list[str]:
    """Caution for each metric with an effective sample size below a tenth of the relevant items."""
    sizes = {entry.label: scores.effective_size(entry) for entry in plan.metrics}
    return [
        f"{label}: {count_items(size[1], 'relevant')} with these weights vary as much as "
        f"{number_text(size[0])} of equal weight, so a few rare items decide: choose `clip`, or a "
        "smaller `gamma`"
        for label, size in sizes.items()
        if size is not None and size[0] < FEW_WEIGHTS * size[1]
    ]


def notes_on_means(plan: Plan, facts: Mapping[str, Facts]) -> list[str]:
    """Notes on the convention and on facts; a fact about some systems names these systems.

    ``users without a ranking (svd, knn): 40 (zero)``
    """
    relevant = next(iter(facts.values()))["relevant"]
    convention = f"convention {plan.convention}, relevant {relevant}"
    wholes = [entry.label for entry in plan.metrics if entry.spec.whole]
    together = ["computed over all lists at once: " + ", ".join(wholes)] if wholes else []
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
    notes = []
    for subject in dict.fromkeys(itertools.chain(*by_system.values())):
        if subject in left_out:
            continue
        groups = _names_by_fact(
            {s: facts[subject] for s, facts in by_system.items() if subject in facts}
        )
        if [*groups.values()] == [[*by_system]]:
            notes.append(f"{subject}: {next(iter(groups))}")
            continue
        groups_shown = [*groups.items()][:MAX_GROUPS]
        notes += [f"{subject} ({', '.join(names)}): {fact}" for fact, names in groups_shown]
        if n_left := sum(map(len, groups.values())) - sum(len(names) for _, names in groups_shown):
            notes.append(f"{subject}: also in {counted(n_left, 'other system')}")
    return notes


def missing_user_sentences(missing: Mapping[str, int], rule: str) -> list[str]:
    """Sentence for each distinct number of users without a ranking.

    `missing` is by system, and `rule` says what such a user counts as.
    """
    singular = {"zero": "counts as an empty ranking", "skip": "is skipped"}.get(rule, rule)
    many = {"zero": "count as empty rankings", "skip": "are skipped"}.get(rule, rule)
    words = words_in_use()
    lacks = f"{words.user} without a ranking {singular}", f"{words.users} without a ranking {many}"
    groups = _names_by_fact({name: counted(n, *lacks) for name, n in missing.items() if n})
    return [
        f"{'All systems' if len(names) == len(missing) else ', '.join(names)}: {n}."
        for n, names in [*groups.items()][:MAX_GROUPS]
    ]


def unused_label_notes(counts: Mapping[str, Any]) -> list[str]:
    """Note for each count of missing labels, or of labels without a user of the result."""
    return [
        f"{text.format(users=words_in_use().users)}: {counts[name]:,}"
        for name, text in UNUSED_LABELS.items()
        if counts.get(name)
    ]


def count_clusters(clusters: IntArray) -> dict[str, int]:
    """Number of clusters, and the effective number of clusters of equal size, rounded."""
    sizes = np.unique(clusters, return_counts=True)[1]
    return {"clusters": sizes.size, "effective_clusters": round(effective_clusters(sizes))}


def cluster_counts_by_metric(clusters: IntArray, users: Mapping[str, BoolArray]) -> dict[str, Any]:
    """Numbers of clusters among the users of any metric, and among each metric's own users."""
    return {
        **count_clusters(clusters[np.any([*users.values()], axis=0)]),
        "clusters_by_metric": {
            label: count_clusters(clusters[mask]) for label, mask in users.items()
        },
    }


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
        note if len(labels) == len(by_metric) else f"{', '.join(labels)}: {note}"
        for note, labels in notes.items()
    ]


def _notes_on_cluster_counts(counts: Mapping[str, int], noun: str) -> list[str]:
    n = counts["clusters"]
    if not n:
        return []
    equal = counts["effective_clusters"]
    effect = "" if equal == n else f", which count as {equal:,} of equal size"
    notes = [f"{noun} by {counted(n, 'cluster')}{effect}"]
    if equal < FEW_CLUSTERS:
        notes.append(f"fewer than {FEW_CLUSTERS} clusters of equal size: {noun} are rough")
    return notes


def facts_text(facts: Mapping[str, str]) -> str:
    """Format facts: a fact alone if common to all names, else each fact after its names.

    ``ndcg@2 zero; precision@2, recall@2 skip``
    """
    groups = _names_by_fact(facts)
    return next(iter(groups)) if len(groups) == 1 else _facts_after_names(facts)


def _facts_after_names(facts: Mapping[str, str]) -> str:
    return "; ".join(f"{', '.join(names)} {fact}" for fact, names in _names_by_fact(facts).items())


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


def _count_with_rule(count: str, rule: str) -> str:
    return f"{count} ({rule})" if rule else count


def _special_cases(entry: MetricPlan, scores: UserValues) -> dict[str, tuple[int, str]]:
    """Counts of users and hits that are special cases of one metric, and the rules applied."""
    averaging, facts = entry.averaging, scores.facts[entry.alignment]
    who = words_in_use().users
    if averaging.users == "ranked":
        lost = scores.in_rankings & np.isnan(scores.values[entry.label])
        n = int(np.count_nonzero(lost))
        return {
            f"{who} without a value": (n, averaging.undefined),
            **_cases_from_counts(facts.counts.items()),
        }
    judged, ranked = scores.in_truth, scores.in_rankings
    irrelevant = judged & (facts.n_relevant == 0)
    averaged = judged & ranked if averaging.missing == "skip" else judged
    lost = averaged & ~irrelevant & np.isnan(scores.values[entry.label])
    users = {
        f"{who} without a ranking": (judged & ~ranked, averaging.missing),
        f"{who} without truth": (ranked & ~judged, averaging.extra),
        f"{who} with nothing relevant": (irrelevant, averaging.undefined),
        f"{who} with relevant {words_in_use().items} but no value": (lost, averaging.undefined),
    }
    return {
        **{subject: (int(np.count_nonzero(mask)), rule) for subject, (mask, rule) in users.items()},
        _TIED: (facts.counts["tied_hits"], entry.alignment.ties),
        **_effective_size_case(entry, scores),
        **_cases_from_counts(facts.counts.items()),
    }


def _effective_size_case(entry: MetricPlan, scores: UserValues) -> dict[str, tuple[int, str]]:
    size = scores.effective_size(entry)
    if size is None:
        return {}
    return {"effective sample size": (round(size[0]), f"of {size[1]:,} relevant items")}


def _cases_from_counts(counts: Iterable[tuple[str, int]]) -> dict[str, tuple[int, str]]:
    return {count_in_words(name): (n, "") for name, n in counts if name not in TIES}


def _relevance_rule(entry: MetricPlan) -> str:
    """The rule by which judged items are hits of a metric."""
    alignment = entry.alignment
    rules = {
        "positive": ">0",
        "all": "any",
        "reached": f">0 of {words_in_use().users} with {alignment.relevant}",
    }
    table = f", gains {alignment.gains}" if alignment.gain_table else ""
    return rules.get(alignment.gains, f"{alignment.relevant}{table}")
