"""One of several parts, by its name: a table of a file, a split, a subset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rankmeter._reading.table import format_few
from rankmeter.errors import DataError
from rankmeter.errors._checks import brief


def pick_part(names: Sequence[str], part: str, source: str, noun: str) -> str:
    """Return the named part, or the only part if no part is named."""
    if part in names or (not part and len(names) == 1):
        return part or names[0]
    listed = format_few(sorted(names), 12) if names else "none"
    if part:
        raise DataError(f"{source} has no {noun} {brief(part)}. It has: {listed}.")
    example = f" Name one, such as '{source}#{min(names)}'." if names else ""
    raise DataError(f"{source} has {len(names)} {noun}s: {listed}.{example}")


def is_mteb_predictions(data: object) -> bool:
    """Whether the data are predictions written by MTEB."""
    return isinstance(data, Mapping) and "mteb_model_meta" in data


def pick_mteb_predictions(data: Mapping[str, Any], part: str, source: str) -> Mapping[str, Any]:
    """Rankings of one subset and split of MTEB predictions: query → {document: score}."""
    by_part = {
        f"{subset}/{split}": rankings
        for subset, splits in data.items()
        if subset != "mteb_model_meta" and isinstance(splits, Mapping)
        for split, rankings in splits.items()
    }
    rankings = by_part[pick_part([*by_part], part, source, "subset and split")]
    if not isinstance(rankings, Mapping):
        raise DataError(f"{source} has {brief(rankings)} where {{query: {{document: score}}}} is.")
    return rankings
