"""Values in standard deviations from the mean of reference runs (``-Z``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from rankmeter._hits import FloatArray
from rankmeter.errors import DuplicateError, FileFormatError

References = dict[tuple[str, str], tuple[float, float]]
"""Mean and standard deviation of the reference runs, by topic and measure as it is printed."""

UNKNOWN = -1_000_000.0
"""What trec_eval prints without a reference, or if a reference without deviation is missed."""


def read_references(path: str) -> References:
    """Read lines of ``topic measure mean deviation``."""
    references: References = {}
    text = Path(path).read_bytes().decode("utf-8", "surrogateescape")
    for number, line in enumerate(text.split("\n"), start=1):
        fields = line.split()
        if not fields:
            continue
        try:
            topic, measure, mean, deviation = fields[:4]
            values = float(mean), float(deviation)
        except ValueError:
            raise FileFormatError(
                f"{path}, line {number}: expected topic, measure, mean and standard deviation, "
                f"got {line.strip()[:60]!r}"
            ) from None
        if (topic, measure) in references:
            raise DuplicateError(f"{path}, line {number}: {measure} of topic {topic} occurs twice")
        references[topic, measure] = values
    return references


def to_zscores(
    values: FloatArray, label: str, topics: Sequence[str], references: References
) -> FloatArray:
    """The values of a measure, one for each topic, as z-scores."""
    by_topic = [references.get((topic, label), (np.nan, 0.0)) for topic in topics]
    mean, deviation = np.array(by_topic).reshape(-1, 2).T
    flat = np.where(values == mean, 0.0, UNKNOWN)
    spread = np.where(deviation == 0, 1.0, deviation)
    return np.where(deviation == 0, flat, (values - mean) / spread)
