"""What bounds say about a comparison, and whether unjudged items could decide a winner."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import polars as pl

from rankmeter._evidence.hits import BoolArray, FloatArray, IntArray
from rankmeter._judge.bounds import Holes
from rankmeter._reading.by_user import to_series
from rankmeter._reading.table import Table
from rankmeter._results.comparison import Comparison
from rankmeter._results.estimates import Estimate
from rankmeter._results.evaluated import bound_cells
from rankmeter._results.tables import TextTable
from rankmeter._results.wording import number_text
from rankmeter.conventions._plan import MetricPlan
from rankmeter.errors import UsageError
from rankmeter.errors._caution import warn
from rankmeter.errors._checks import counted, words_in_use


def with_bounds_of_systems(
    found: Comparison, truth: Table | None = None, systems: Mapping[str, Table] | None = None
) -> Comparison:
    """Add the bounds of the results of the systems, and cautions where they could decide.

    Raises
    ------
    UsageError
        If a system has several runs, or the systems are not averaged over the same users.
    """
    estimates: dict[tuple[str, str], Estimate] = {}
    for (label, name), e in found.estimates.items():
        alone = found.summaries[name].estimates[label]
        if not found.settings["runs"] and not alone.bounds():
            raise UsageError(
                f"unjudged='bounds': the result of {name} has no bounds: evaluate it with "
                "unjudged='bounds', too",
                option="unjudged",
            )
        if found.settings["runs"] or alone.n != e.n:
            reason = "several runs" if found.settings["runs"] else "users that others lack"
            raise UsageError(
                f"unjudged='bounds': {name} has {reason}, so that its bounds are not those of the "
                "mean in the comparison: compare one run of each system, over the same users",
                option="unjudged",
            )
        bounds = {key: getattr(alone, key) for key in ("lowest", "highest", "unjudged")}
        estimates[label, name] = replace(e, **bounds)
    found = replace(found, estimates=estimates)
    holes = () if truth is None or systems is None else (*_cautions(found, truth, systems),)
    warn(*holes)
    return replace(found, holes=holes)


def _cautions(found: Comparison, truth: Table, systems: Mapping[str, Table]) -> Iterator[str]:
    """A sentence for each metric on which a labelling makes a significant winner the loser."""
    for entry in found.plan.metrics:
        label, up = entry.label, entry.spec.increasing
        labelled: dict[str, Holes] = {}
        for d in found.differences:
            if d.metric != label or d.segment or not d.significant or not d.better:
                continue
            winner, loser = d.better, d.b if d.better == d.a else d.a
            best, other = found.estimates[label, winner], found.estimates[label, loser]
            if (other.highest < best.lowest) if up else (other.lowest > best.highest):
                continue
            for name in (winner, loser):
                if name not in labelled:
                    scores = found.summaries[name].scores
                    labelled[name] = Holes.of(entry.alignment, scores, truth, systems[name])
            turned = _turn(entry, labelled[winner], labelled[loser])
            if turned is not None:
                n, mean_of_winner, mean_of_loser = turned
                items = counted(n, f"unjudged {words_in_use().item}")
                yield (
                    f"unjudged items could decide {label}: {winner} has {number_text(best.mean)} "
                    f"and {loser} {number_text(other.mean)}, but if {items} in the lists of "
                    f"{loser} were relevant, {loser} would have {number_text(mean_of_loser)} and "
                    f"{winner} {number_text(mean_of_winner)}"
                )
                break


def _turn(entry: MetricPlan, winner: Holes, loser: Holes) -> tuple[int, float, float] | None:
    """Labels under which the loser is better: their number and both means; None if none is found.

    For each user the best of a few labellings is taken: none of the items that the loser ranks
    higher is relevant, all of them are, or the first one alone.
    """
    favoured = _favoured(entry.metric.k, winner, loser)
    sign = 1.0 if entry.spec.increasing else -1.0
    n_users = winner.scores.n_users
    choices: list[tuple[FloatArray, FloatArray, IntArray]] = []
    nothing = favoured.clear()
    for labels in (nothing, favoured, favoured.unique("code", keep="first", maintain_order=True)):
        values = []
        for side in (winner, loser):
            averaged = side.values(entry, side.align(_mask(side, labels)))
            column = np.full(n_users, np.nan)
            column[averaged.users] = averaged.values
            values.append(column)
        n = np.bincount(labels["code"].to_numpy(), minlength=n_users)
        choices.append((values[0], values[1], n.astype(np.int64)))
    gain = np.array([np.nan_to_num(sign * (theirs - own)) for own, theirs, _ in choices])
    best = gain.argmax(axis=0)
    users = np.arange(n_users)
    own, theirs, n = (np.array(column)[best, users] for column in zip(*choices, strict=True))
    both = np.isfinite(own) & np.isfinite(theirs)
    if not both.any():
        return None
    means = float(own[both].mean()), float(theirs[both].mean())
    if sign * (means[1] - means[0]) <= 1e-12:
        return None
    return int(n[both].sum()), *means


def _favoured(k: int | None, winner: Holes, loser: Holes) -> pl.DataFrame:
    """The unjudged items in the top k of the loser that the winner ranks lower, or not there."""
    own, theirs = (_unjudged(side, k) for side in (winner, loser))
    return (
        theirs.join(own, on=["code", "item"], how="left", maintain_order="left")
        .filter(pl.col("rank_right").is_null() | (pl.col("rank") < pl.col("rank_right")))
        .select("code", "item")
    )


def _unjudged(side: Holes, k: int | None) -> pl.DataFrame:
    """User, item and rank of the unjudged items in the top k."""
    frame = pl.DataFrame(
        {
            "code": to_series(side.counts.user),
            "item": side.items,
            "rank": to_series(side.rank),
        }
    ).filter(to_series(side.is_unjudged))
    return frame if k is None else frame.filter(pl.col("rank") <= k)


def _mask(side: Holes, labels: pl.DataFrame) -> BoolArray:
    """Which of the ranked items have a label."""
    frame = pl.DataFrame({"code": to_series(side.counts.user), "item": side.items})
    found = frame.with_row_index().join(labels, on=["code", "item"], how="semi")
    mask = np.zeros(side.is_unjudged.size, dtype=bool)
    mask[found["index"].to_numpy()] = True
    return mask


def bounds_table(found: Comparison) -> TextTable:
    """The bounds of each mean of a comparison, and the share of unjudged items."""
    rows = [
        (name, label, number_text(e.mean), *bound_cells(e))
        for (label, name), e in found.estimates.items()
    ]
    columns = ("system", "metric", "mean", "lowest", "highest", "unjudged")
    remarks = dict.fromkeys(r for s in found.summaries.values() for r in s.remarks)
    return TextTable(columns, rows, (*remarks,), left=2)
