"""Exceptions to the laws of `product`, each with its reason; no other metric may break a law.

A reason is stated where `said` is found: in the docstring of each metric, or on a page.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from cases import SHARED


@dataclass(frozen=True)
class Exemption:
    """Metrics that may break some laws under some levels, and why.

    `when` has the permitted levels by factor; ``own.NAME`` is an option of the metric, and `what`
    is what breaks the law: the value of a user, or a number over users.
    """

    laws: str
    metrics: str  # "*" for all of them
    reason: str
    when: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    said: str = ""
    page: str = ""  # of docs/; the docstrings of the metrics without it

    def holds_for(self, violation: Any) -> bool:
        """Whether a violation is one of these."""
        form, cell = violation.form, violation.cell
        if cell.law not in self.laws.split() or violation.what == "error":
            return False
        if self.metrics != "*" and form.name not in self.metrics.split():
            return False
        known = {**dict(cell.levels()), "what": violation.what}
        known |= {f"own.{name}": value for name, value in form.options}
        known["cut"] = form.k is not None or bool(form.spec.at) or "depth" in cell.given
        defaults = {f"own.{o.name}": o.default for o in form.spec.options.values()}
        known = {**defaults, **known}
        return all(known.get(name) in levels for name, levels in self.when.items())


LOSES = "losing_a_hit_is_never_better"
ENDS = "a_miss_at_the_end_is_never_better"
RISES = "a_hit_that_moves_up_is_never_worse"
IDEAL = "nothing_beats_the_ideal_ranking"
ORDERS = "lies_between_the_orders"
CHANCE = "constant_scores_do_not_beat_chance"
RANGE = "lies_in_its_range"

BY_CHANCE = "adjusted_hits amr amri amrr zhits zmr zmrr"
OF_FOUND = "mean_rank last_rank median_rank gmr hmr relevance_position"
PAIRS = "auc gauc lauc opa pauc percentile_rank"
WEIGHTED = "ips snips stratum_recall"
FACTS = "judged unjudged n_nonrelevant n_ranked n_hits rbp_residual "
FACTS += "utility_residual"

EXCEPTIONS = (
    # -- who is averaged, and what can be found --------------------------------------------
    Exemption(
        f"{LOSES} {RISES} {ENDS}",
        "*",
        "only users with a hit are averaged: one who loses all hits no longer counts",
        {"users": ("hit",), "what": ("mean",)},
        "only those with a ``hit``",
        "choices",
    ),
    Exemption(
        LOSES,
        "*",
        "a user whose list has become empty is not averaged",
        {"empty": ("skip",), "what": ("mean",)},
        "A user whose ranking is an empty list: ``score`` it or ``skip`` it",
        "choices",
    ),
    Exemption(
        LOSES,
        "*",
        "a user whose last row is lost has no ranking, and is not averaged",
        {"missing": ("skip",), "what": ("mean",), "door": ("frame", "disk")},
        "A user with ground truth but no ranking",
        "choices",
    ),
    Exemption(
        LOSES,
        "*",
        "a user whose last row is lost has no ranking, and is not averaged",
        {"users": ("ranked",), "what": ("mean",), "door": ("frame", "disk")},
        "those with a ranking (``ranked``)",
        "choices",
    ),
    Exemption(
        LOSES,
        "*",
        "judged items that are not ranked do not count: a hit that is lost is no longer missed",
        {"scope": ("ranked",)},
        "only those ``ranked``",
        "choices",
    ),
    Exemption(
        ENDS,
        "bpref lauc",
        "every item of Grades is judged, so one more is one more that is not relevant",
        {"door": ("Grades",)},
    ),
    # -- one rank for tied items ---------------------------------------------------------
    Exemption(
        CHANCE,
        "*",
        "the mean rank can be within a cutoff that chance often misses",
        {"ties": ("realistic", "rounded"), "cut": (True,)},
        "The metric at the mean rank is not the mean of the metric",
        "guide/ties.md",
    ),
    Exemption(
        CHANCE,
        "dcg ndcg",
        "the first ranks have the same discount, and the mean rank can be one of them",
        {"ties": ("realistic", "rounded"), "own.discount": ("jarvelin",)},
        "The metric at the mean rank is not the mean of the metric",
        "guide/ties.md",
    ),
    Exemption(
        CHANCE,
        "r_precision rndcg",
        "the number of relevant items is a cutoff, and the mean rank can be within it",
        {"ties": ("realistic", "rounded")},
        "The metric at the mean rank is not the mean of the metric",
        "guide/ties.md",
    ),
    Exemption(
        LOSES,
        "rr rr_all",
        "tied hits share the mean rank of their tie: without one of them the others rise",
        {"ties": SHARED, "cut": (False,)},
        "can assign ranks that no actual order produces",
        "guide/ties.md",
    ),
    Exemption(
        LOSES,
        "ap yaap",
        "a hit that is lost is found together with all that are appended, at the end",
        {"ties": ("together",), "scope": ("appended",)},
        "can assign ranks that no actual order produces",
        "guide/ties.md",
    ),
    Exemption(
        f"{ORDERS} {CHANCE}",
        "*",
        "an item of negative gain is relevant with gains=all: it is first where it is worst",
        {"ties": ("optimistic", "pessimistic"), "data": ("negative",), "gains": ("all",)},
        "items of negative gain",
        "guide/ties.md",
    ),
    Exemption(
        f"{ORDERS} {CHANCE}",
        "*",
        "an item of negative gain is relevant with any gain: it is first where it is worst",
        {"ties": ("optimistic", "pessimistic"), "data": ("negative",), "relevant": ("any",)},
        "items of negative gain",
        "guide/ties.md",
    ),
    Exemption(
        f"{IDEAL} {LOSES}",
        "*",
        "what the depth cuts is appended in the order of items, where a hit can be above others",
        {"depth": (1, 2, 4), "scope": ("appended",)},
        "appends some",
        "choices",
    ),
    # -- conditional on what was found -----------------------------------------------------
    Exemption(
        ENDS,
        "bpref",
        "one more item that is judged as not relevant is ranked, and so counts",
        {"scope": ("ranked",)},
        "only those ``ranked``",
        "choices",
    ),
    Exemption(
        f"{LOSES} {RISES} {IDEAL} {ORDERS}",
        OF_FOUND,
        "only relevant items that were found have a rank: those that are lost do not count",
        said="found|without a hit|(first|last) relevant",
    ),
    Exemption(
        ENDS,
        "mean_rank",
        "an item more pushes an appended hit below the cutoff, where it is not found",
        {"scope": ("appended",), "k": (1, 2, 3, 5)},
        "found|without a hit|(first|last) relevant",
    ),
    Exemption(
        f"{LOSES} {RISES} {IDEAL} {ORDERS}",
        BY_CHANCE,
        "chance depends on how many relevant items were found",
    ),
    Exemption(
        f"{RISES} {LOSES} {IDEAL}",
        "ndcg",
        "the ideal has only what was retrieved",
        {"own.ideal": ("retrieved", "ranked")},
        "retrieved",
    ),
    Exemption(
        f"{RISES} {LOSES} {IDEAL} {ENDS} {ORDERS}",
        "ap",
        "a mean over the hits that were found",
        {"own.denominator": ("hits",)},
        "hits",
    ),
    Exemption(
        f"{RISES} {LOSES} {IDEAL} {ORDERS}",
        "lauc",
        "without the size of the catalogue the items of the top are the candidates",
        {"own.n_items": (None,)},
        "can raise it",
    ),
    Exemption(
        f"{IDEAL} {LOSES}",
        "ndcg",
        "its ideal has one item for each that is ranked: a shorter list has a smaller one",
        {"own.ideal": ("ones",), "k": (None,)},
        "one item per ranked item",
    ),
    Exemption(
        IDEAL,
        "rbp",
        "divided by the weights of the list, which are fewer in a shorter list",
        {"own.normalize": (True,)},
        "fewer ranks",
    ),
    # -- the length of the list, and the candidates ----------------------------------------
    Exemption(
        ENDS,
        BY_CHANCE,
        "a random order of a longer list has worse ranks",
        said="random",
    ),
    Exemption(
        f"{RISES}",
        PAIRS,
        "items below the depth are not candidates",
        {"depth": (1, 2, 4)},
    ),
    Exemption(
        IDEAL,
        "pauc",
        "if all items to the depth are relevant, there are no pairs, and the value is undefined",
        {"depth": (1, 2, 4), "undefined": ("zero",)},
    ),
    Exemption(
        f"{RISES} {ORDERS} {CHANCE}",
        "fallout",
        "items below the depth are not candidates",
        {"depth": (1, 2, 4), "own.n_items": (None,)},
        "candidates",
    ),
    Exemption(
        f"{ENDS} {LOSES}",
        PAIRS,
        "an item that is not relevant is one more to be compared with",
    ),
    Exemption(
        f"{ENDS} {LOSES} {IDEAL}",
        "fallout",
        "without the size of the catalogue the ranked items are its candidates",
        {"own.n_items": (None,)},
        "candidates",
    ),
    Exemption(
        f"{ENDS} {LOSES}",
        "compatibility",
        "the overlap is summed down to the end of the longer list",
        said="end of the longer",
    ),
    Exemption(
        f"{ENDS} {LOSES}",
        "rndcg",
        "one of its ranks is the end of the ranking",
        said="the end of the",
    ),
    Exemption(
        RISES,
        "rndcg",
        "an item that is cut is appended, and the end of the ranking is one of its ranks",
        {"depth": (1, 2, 4), "scope": ("appended",)},
        "the end of the",
    ),
    Exemption(
        f"{ENDS} {LOSES}",
        "mar",
        "without a cutoff it is a mean over the ranks of the list",
        {"own.over": ("ranks",)},
        "k is the length of the ranking",
    ),
    Exemption(
        f"{ENDS} {LOSES}",
        "ap",
        "a mean over the ranks of the list",
        {"own.denominator": ("all",)},
        "precision",
    ),
    # -- other quantities ------------------------------------------------------------------
    Exemption(
        f"{LOSES} {IDEAL} {ORDERS} {CHANCE}",
        WEIGHTED,
        "another hit at the same rank is worth more or less: its item has another weight",
    ),
    Exemption(
        f"{LOSES} {ENDS} {RISES} {IDEAL} {ORDERS} {CHANCE}",
        FACTS,
        "a fact about the list or its judgments, not how good it is",
    ),
    Exemption(
        f"{RISES} {LOSES} {ORDERS} {ENDS}",
        "infap",
        "an estimate: the judged items above a hit decide what unjudged ones are worth",
        {"data": ("negative",)},
        "can lower",
    ),
    Exemption(
        CHANCE,
        "expected_depth",
        "a reader who finds small gains first can stop earlier than by other orders",
        {
            "data": ("negative",),
            "ties": ("pessimistic",),
            "gains": ("1:0.5 2:1 3:4",),
            "own.model": ("bpm",),
        },
    ),
    Exemption(
        f"{RISES} {ORDERS}",
        "ndcg_rel",
        "a hit that moves up past one of larger gain is compared with another ideal",
        said="can lower",
    ),
    Exemption(
        f"{LOSES} {RISES} {IDEAL}",
        "utility_rate",
        "a gain per item that is read: a reader who finds less reads on",
        {"own.model": ("bpm",)},
        "reads on",
    ),
    Exemption(
        f"{LOSES} {ORDERS} {RISES} {CHANCE}",
        "g",
        "a hit changes how much the ideal ranking had gained at the next",
        {"data": ("graded", "negative", "apart")},
        "can raise",
    ),
    Exemption(
        IDEAL,
        "g",
        "an ideal item counts as a gain of 1 at least, so smaller gains do not reach 1",
        {"gains": ("1:0.5 2:1 3:4",), "what": ("best",)},
        "at least 1 per item",
    ),
)
