"""Checks over all data, after the blocks are merged."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from rankmeter._align import Facts
from rankmeter._checks import counted, shown
from rankmeter._choices import Alignment
from rankmeter._engine.scores import Scores
from rankmeter._ingest import Table
from rankmeter._plan import Plan
from rankmeter._words import RETRIEVAL
from rankmeter.errors import DuplicateError, NoOverlapError, RankmeterError


def check_whole(plan: Plan, scores: Scores, truth: Table, rankings: Table) -> Scores:
    """Add the errors that concern all users to their scores.

    The messages name the tables, which are read again only if nothing matches at all.
    """
    errors: dict[str, RankmeterError] = {}
    for entry in plan.metrics:
        facts = scores.facts[entry.alignment]
        error = _refusal(facts, truth, rankings)
        overlaps = entry.averaging.users != "ranked" or bool(scores.has_truth.any())
        if error is None and plan.no_overlap == "error" and overlaps:
            error = _no_overlap(scores, facts, entry.alignment, truth, rankings)
        error = error or scores.errors.get(entry.label)
        if error is not None:
            errors[entry.label] = error
    return replace(scores, errors=errors)


def _refusal(facts: Facts, truth: Table, rankings: Table) -> RankmeterError | None:
    if facts.contradictions.n:
        return DuplicateError(
            f"{counted(facts.contradictions.n, 'item has', 'items have')} contradicting "
            f"judgments ({truth.source}), for example {facts.contradictions}. Keep one of "
            "each, or choose judgements='max', 'last' or 'sum'"
        )
    if facts.repeated_items.n:
        return DuplicateError(
            f"{counted(facts.repeated_items.n, 'repeated item')} in the rankings "
            f"({rankings.source}), for example {facts.repeated_items}. Remove them, or choose "
            "duplicates='best' (keep the best rank) or 'each' (count every occurrence). If a "
            "filler id marks empty places, drop those rows" + _chunks_hint(rankings)
        )
    return None


def _chunks_hint(rankings: Table) -> str:
    """A hint about documents that are repeated because their chunks are ranked."""
    if rankings.origin.words != RETRIEVAL:
        return ""
    return (
        ". If the rankings are of chunks, write the id of each chunk, and name its document with "
        "collapse="
    )


def _no_overlap(
    scores: Scores, facts: Facts, choices: Alignment, truth: Table, rankings: Table
) -> RankmeterError | None:
    if not (scores.in_truth & scores.in_rankings).any():
        if not rankings.height and not len(rankings.empty_users):
            return None
        return NoOverlapError(_no_common_ids("user", rankings, truth))
    if facts.n_found or choices.pool == "judged" or not rankings.height or not truth.height:
        return None
    if rankings.frame.join(truth.frame, on="item", how="semi").is_empty():
        return NoOverlapError(_no_common_ids("item", rankings, truth))
    return None


def _no_common_ids(column: str, rankings: Table, truth: Table) -> str:
    def show(values: pl.Series) -> str:
        return f"{', '.join(map(shown, values.unique().sort().head(3).to_list()))} ({values.dtype})"

    mark = _chunk_mark(rankings, truth) if column == "item" else ""
    chunks = f" If these are chunks of documents, pass collapse='before:{mark}'." if mark else ""
    return (
        f"rankings and truth have no {column} in common: {rankings.source} has "
        f"{show(rankings.frame[column])}, {truth.source} has {show(truth.frame[column])}.{chunks} "
        f"Check that both use the same ids and that the {column} columns are the right ones "
        "(columns=), or choose no_overlap='allow'"
    )


def _chunk_mark(rankings: Table, truth: Table) -> str:
    """The sign between a document and the number of a chunk, if ids look like ``doc#3``."""
    items, documents = rankings.frame["item"], {*truth.frame["item"].cast(pl.String).unique()}
    if items.dtype != pl.String:
        return ""
    for mark in ("#", "::", ":", "/", "__", "_", "-", "."):
        if not documents.isdisjoint(item.rpartition(mark)[0] for item in items.head(1000)):
            return mark
    return ""
