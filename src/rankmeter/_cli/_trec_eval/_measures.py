"""The measures of trec_eval: from which reading of the judgments each of them is computed.

Which metric a measure is, its options and how it is averaged is in ``conventions/trec_eval.toml``.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rankmeter._cli._trec_eval._prefs import COUNTS, RATIOS, Preferences
from rankmeter._cli._trec_eval._topics import JudgedGroups, TopicReading, Topics
from rankmeter._evidence.hits import FloatArray, Hits, IntArray, ratio
from rankmeter.conventions import load_convention, translate_name
from rankmeter.errors import UsageError
from rankmeter.errors._caution import warn
from rankmeter.errors._checks import unknown_word_error
from rankmeter.metrics import Metric

# ---------------------------------------------------------------------------------------------
# Parameters. A reader gives the end of the printed name and the value, for each line to print.

Parameters = list[tuple[str, Any]]


def _parse_cutoffs(text: str) -> Parameters:
    """Parse cutoffs such as ``5,10``: an output line for each rank, in order."""
    ranks = sorted(_parse_integer(part) for part in text.split(","))
    if ranks[0] < 1 or len(set(ranks)) < len(ranks):
        raise UsageError(f"cutoffs must be integers ≥ 1, each once, got {text!r}")
    return [(f"_{rank}", rank) for rank in ranks]


def _parse_integer(text: str) -> int:
    # trec_eval takes 23.4 for 23.
    match = re.fullmatch(r"\s*([+-]?\d+)(\.\d*)?\s*", text)
    if match is None:
        raise UsageError(f"expected an integer, got {text!r}")
    return int(match[1])


def _parse_levels(text: str) -> Parameters:
    """Parse levels such as ``0,.5,1`` into parameters in ascending order, one for each line."""
    levels = sorted(_parse_number(part) for part in text.split(","))
    if len(set(levels)) < len(levels):
        raise UsageError(f"levels must differ from each other, got {text!r}")
    return [(f"_{level:3.2f}", level) for level in levels]


def _parse_number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"expected a number, got {text!r}") from None


def _parse_numbers(text: str) -> Parameters:
    """Parse numbers such as ``1,-1,0,0``: one output line."""
    return [(f"_{text}", [_parse_number(part) for part in text.split(",")])]


def _parse_pairs(text: str) -> Parameters:
    """Parse pairs such as ``1=3,2=9`` or ``p=0.8``: one output line."""
    values: dict[str, float] = {}
    for part in text.split(",") if text else []:
        name, equals, value = part.partition("=")
        if not equals or name in values:
            raise UsageError(f"expected grade=gain for some grades, each once, got {text!r}")
        values[name] = _parse_number(value)
    return [(f"_{text}", values)]


def _gains_by_grade(values: dict[str, float]) -> dict[int, float]:
    invalid = [name for name in values if not name.isdigit()]
    if invalid:
        raise UsageError(f"{invalid[0]!r} is not a grade: write grade=gain with grades ≥ 0")
    return {int(name): gain for name, gain in values.items()}


def _persistence_and_gains(values: dict[str, float]) -> tuple[float, dict[int, float]]:
    grade_gains = dict(values)
    p = grade_gains.pop("p", dict(_metric_of_measure("rbp")[0].options)["p"])
    return p, _gains_by_grade(grade_gains)


# ---------------------------------------------------------------------------------------------
# Which metric a measure is


@functools.cache
def _metric_of_measure(name: str) -> tuple[Metric, str]:
    """Metric of a measure with the options of the profile, and the aggregate of its values."""
    (metric,) = translate_name(name, "trec_eval")
    profile = load_convention("trec_eval").choices(metric.name, metric.k)
    options = {o: value for o, value in profile.items() if o in metric.spec.options}
    aggregate = {**profile, **dict(metric.choices)}.get("aggregate", "mean")
    return metric(**{**options, **dict(metric.options)}), aggregate


def _values_at(reading: TopicReading, name: str, point: float | None = None) -> FloatArray:
    """Values by topic of a measure's metric, at a cutoff or level."""
    metric, _ = _metric_of_measure(name)
    metric = metric if point is None else metric @ point
    return reading(metric.name, metric.k, **dict(metric.options))


def _binary_values(topics: Topics, name: str, point: float | None = None) -> FloatArray:
    return _values_at(topics.binary_reading, name, point)


def _pooled_values(topics: Topics, name: str) -> FloatArray:
    return _values_at(topics.pooled_reading, name)


def _graded_values(topics: Topics, name: str, values: dict[str, float]) -> FloatArray:
    return _values_at(topics.graded_reading(_gains_by_grade(values)), name)


def _values_per_group(groups: JudgedGroups, name: str, point: float | None = None) -> FloatArray:
    """Values of a binary measure for each group of judgments, averaged over a topic's groups."""
    return groups.average_by_topic(_binary_values(groups.sets, name.removesuffix("_avgjg"), point))


def _preference_values(preferences: Preferences, name: str) -> FloatArray:
    return preferences.values[name.removeprefix("prefs_")]


def _graded_values_at(topics: Topics, name: str, k: int) -> FloatArray:
    return _values_at(topics.graded_reading({}), name, k)


# ---------------------------------------------------------------------------------------------
# Separate formulas, each for the stated reason: the output of trec_eval depends on them


def _iprec(topics: Topics, name: str, level: float) -> FloatArray:
    value = _binary_values(topics, name, level)
    # Without any result it divides 0 by 0, where the level needs no hit.
    no_results = topics.binary_reading("n_ranked") == 0
    needed = np.floor(level * topics.binary_reading("n_relevant") + 0.5)
    return np.where(no_results & (needed == 0), np.nan, value)


def _average_iprec(topics: Topics, _: str, levels: Sequence[float]) -> FloatArray:
    # The levels are a parameter, and its last digit is that of adding them from the highest down.
    total = np.zeros(len(topics.names))
    for level in reversed(levels):
        total += _iprec(topics, "iprec_at_recall", level)
    return total / len(levels)


def _utility(topics: Topics, name: str, prices: Sequence[float]) -> FloatArray:
    if len(prices) != 4:
        raise UsageError(f"utility needs four numbers, such as utility.1,-1,0,0; got {len(prices)}")
    found, wrong, missed, spared = prices
    metric = _metric_of_measure(name)[0].name
    value = topics.binary_reading(metric, found=found, wrong=wrong, missed=missed)
    # The size of the collection is not checked: without -N it is 0.
    n_hits, n_ranked, n_relevant = map(topics.binary_reading, ("n_hits", "n_ranked", "n_relevant"))
    return value + spared * (topics.n_items + n_hits - n_ranked - n_relevant)


def _set_f(topics: Topics, _: str, parameters: Sequence[float]) -> FloatArray:
    # Its parameter is the square of the usual beta; and its last digit is that of this formula.
    x = parameters[0]
    p, r = _binary_values(topics, "set_P"), _binary_values(topics, "set_recall")
    return ratio((x + 1.0) * p * r, x * p + r)


def _relstring(topics: Topics, _: str, parameters: Sequence[float]) -> list[str]:
    """First grades of each ranking as text: ``-`` not judged, ``.`` pooled but not judged."""
    hits = topics.judged_or_pooled_reading.hits
    lengths = np.minimum(hits.n_ranked, max(int(parameters[0]), 0))
    strings = [["-"] * n for n in lengths.tolist()]
    top = hits.rank <= lengths[hits.user]
    for user, rank, grade in zip(
        hits.user[top].tolist(), hits.rank[top].tolist(), hits.gain[top].tolist(), strict=True
    ):
        mark = "." if grade < 0 else ">" if grade > 9 else f"{grade:.0f}"
        strings[user][int(rank) - 1] = mark
    return ["".join(string) for string in strings]


def _ideal_dcg(topics: Topics, name: str, values: dict[str, float]) -> FloatArray:
    # Gains below 0 count in a ranking and never in the ideal one.
    return _values_at(topics.graded_reading(_gains_by_grade(values), ideal=True), name)


def _ndcg(topics: Topics, _: str, values: dict[str, float]) -> FloatArray:
    return ratio(_graded_values(topics, "dcg", values), _ideal_dcg(topics, "ideal_dcg", values))


def _rndcg(topics: Topics, name: str, values: dict[str, float]) -> FloatArray:
    value = _graded_values(topics, name, values)
    # The level, otherwise ignored, decides whether there is anything to compute; 0 is divided by
    # 0 where nothing has a gain.
    value[_ideal_dcg(topics, "ideal_dcg", values) == 0] = np.nan
    value[topics.binary_reading("n_relevant") == 0] = 0.0
    return value


# Both are computed in the order in which trec_eval computes them: where few documents make short
# decimals, the last digit that it prints depends on it.


def _rbp(topics: Topics, _: str, values: dict[str, float]) -> FloatArray:
    p, gains = _persistence_and_gains(values)
    hits = topics.scaled_reading(gains).hits
    return (1.0 - p) * hits.sum(
        hits.gain * _powers_of_persistence(p, hits.rank.max(initial=0.0))[_ranks_from_zero(hits)]
    )


def _rbp_resid(topics: Topics, _: str, values: dict[str, float]) -> FloatArray:
    p = _persistence_and_gains(values)[0]
    hits = topics.judged_reading.hits
    length = hits.n_ranked
    powers = _powers_of_persistence(p, length.max(initial=0))
    unknown = np.arange(powers.size)[:-1] < length[:, None]
    unknown[hits.user, _ranks_from_zero(hits)] = False
    user, index = np.nonzero(unknown)
    total = powers[length] + (1.0 - p) * hits.sum(powers[index], user)
    return np.where(unknown.any(axis=1), total, 0.0)


def _powers_of_persistence(p: float, n: float) -> FloatArray:
    """Powers of p with the exponents 0 to n."""
    return np.multiply.accumulate(np.append(1.0, np.full(int(n), p)))


def _ranks_from_zero(hits: Hits) -> IntArray:
    """Ranks of the hits, counted from 0."""
    return hits.rank.astype(np.int64) - 1


# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measure:
    """A measure, with all its cutoffs or levels.

    ``compute`` takes topics, the name of the measure and a parameter if ``read`` parses any, and
    returns one value per topic (one text for relstring). ``default`` is parsed if none is given.
    ``how`` says how the values of all topics are combined, if no metric says it.
    """

    compute: Callable[..., FloatArray | list[str]] = _binary_values
    read: Callable[[str], Parameters] | None = None
    default: str = ""
    how: str | None = None

    def aggregate_name(self, name: str) -> str:
        """Name of the aggregate over all topics: ``mean``, ``sum``, ``geometric``, ``none``.

        Sums are printed as integers, geometric means for all topics only.
        """
        return self.how or _metric_of_measure(name)[1]

    def values_by_line(
        self, name: str, parameters: str | None, topics: Topics | JudgedGroups | Preferences
    ) -> Iterable[tuple[str, FloatArray | list[str]]]:
        """Yield the name of each output line, and the values of all topics."""
        if self.read is None:
            yield name, self.compute(topics, name)
            return
        for suffix, value in self.read(self.default if parameters is None else parameters):
            in_name = parameters is not None or self.read in (_parse_cutoffs, _parse_levels)
            yield name + suffix * in_name, self.compute(topics, name, value)


_RANKS = "5,10,15,20,30,100,200,500,1000"
_RECALLS = "0,.1,.2,.3,.4,.5,.6,.7,.8,.9,1"

_MULTIPLES = ".2,.4,.6,.8,1,1.2,1.4,1.6,1.8,2"

_Table = dict[str, Measure | None]

_RUN: _Table = {"runid": None, "num_q": None}
_GRADES: _Table = {
    **_RUN,
    "num_ret": Measure(),
    "num_rel": Measure(),
    "num_rel_ret": Measure(),
    "map": Measure(),
    "gm_map": Measure(),
    "Rprec": Measure(),
    "bpref": Measure(_pooled_values),
    "recip_rank": Measure(),
    "iprec_at_recall": Measure(_iprec, _parse_levels, _RECALLS),
    "P": Measure(_binary_values, _parse_cutoffs, _RANKS),
    "relstring": Measure(_relstring, _parse_numbers, "10", "none"),
    "recall": Measure(_binary_values, _parse_cutoffs, _RANKS),
    "infAP": Measure(_pooled_values),
    "gm_bpref": Measure(_pooled_values),
    "Rprec_mult": Measure(_binary_values, _parse_levels, _MULTIPLES),
    "utility": Measure(_utility, _parse_numbers, "1,-1,0,0"),
    "11pt_avg": Measure(_average_iprec, _parse_numbers, _RECALLS),
    "binG": Measure(),
    "G": Measure(_graded_values, _parse_pairs),
    "dcg": Measure(_graded_values, _parse_pairs),
    "ideal_dcg": Measure(_ideal_dcg, _parse_pairs),
    "ndcg": Measure(_ndcg, _parse_pairs),
    "ndcg_rel": Measure(_graded_values, _parse_pairs),
    "Rndcg": Measure(_rndcg, _parse_pairs),
    "ndcg_cut": Measure(_graded_values_at, _parse_cutoffs, _RANKS),
    "map_cut": Measure(_binary_values, _parse_cutoffs, _RANKS),
    "relative_P": Measure(_binary_values, _parse_cutoffs, _RANKS),
    "success": Measure(_binary_values, _parse_cutoffs, "1,5,10"),
    "set_P": Measure(),
    "set_relative_P": Measure(),
    "set_recall": Measure(),
    "set_map": Measure(),
    "set_F": Measure(_set_f, _parse_numbers, "1"),
    "num_nonrel_judged_ret": Measure(),
    "yaap": Measure(),
    "rbp": Measure(_rbp, _parse_pairs),
    "rbp_resid": Measure(_rbp_resid, _parse_pairs),
    "unj": Measure(_binary_values, _parse_cutoffs, "5,10,20"),
}
_GROUPS: _Table = {
    **_RUN,
    "map_avgjg": Measure(_values_per_group, how="mean"),
    "P_avgjg": Measure(_values_per_group, _parse_cutoffs, _RANKS, "mean"),
    "Rprec_mult_avgjg": Measure(_values_per_group, _parse_levels, _MULTIPLES, "mean"),
}
_PREFERENCES: _Table = {
    **_RUN,
    **{
        f"prefs_{name}": Measure(_preference_values, how="sum" if name in COUNTS else "mean")
        for name in (*COUNTS, *RATIOS)
    },
}

MEASURES: dict[str, _Table] = {
    "qrels": _GRADES,
    "qrels_jg": _GROUPS,
    "prefs": _PREFERENCES,
    "qrels_prefs": _PREFERENCES,
}
"""The measures by the format of the judgments and their names, in the order of printing.

None is for facts of the run.
"""

_SUMMARY = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret")

NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": tuple(list(_GRADES)[: list(_GRADES).index("P") + 1]),
    "set": (*_SUMMARY, "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
    "all_trec": tuple(name for name in _GRADES if name not in ("dcg", "ideal_dcg", "yaap")),
    "qrels_jg": tuple(_GROUPS),
    "prefs": tuple(list(_PREFERENCES)[: list(_PREFERENCES).index("prefs_avgjg") + 1]),
    "all_prefs": tuple(_PREFERENCES),
}
"""Names for several measures."""


def choose_measures(
    texts: Iterable[str], form: str = "qrels"
) -> dict[str, tuple[Measure | None, str | None]]:
    """Choose the requested measures, in order of printing, with parameters.

    Each text is such as ``map``, ``P.5,10`` or ``all_trec``; parameters that are None are the
    default ones. All must be measures of the format of the judgments.
    """
    measures = MEASURES[form]
    names: set[str] = set()
    by_name: dict[str, str] = {}
    for text in texts:
        name, dot, parameters = text.partition(".")
        meant = NICKNAMES.get(name, (name,))
        if not measures.keys() >= set(meant):
            raise _other_format_error(name, meant, form)
        measure = measures.get(name)
        if dot and (measure is None or measure.read is None):
            raise UsageError(f"{name} takes no parameters, got {text!r}")
        if dot and not parameters:
            raise UsageError(f"{text!r} ends before its parameters")
        names.update(meant)
        if dot and by_name.setdefault(name, parameters) != parameters:
            warn(
                f"as in trec_eval, only the first parameters of {name} count: {by_name[name]}, not "
                f"{parameters}; write all of them after one {name}",
            )
    return {name: (m, by_name.get(name)) for name, m in measures.items() if name in names}


def _other_format_error(name: str, meant: Sequence[str], form: str) -> UsageError:
    """Build the error for a name that is not a measure of a format of judgments."""
    forms = [f"-R {name}" for name, names in MEASURES.items() if names.keys() >= set(meant)]
    if not forms:
        all_names = dict.fromkeys(name for measures in MEASURES.values() for name in measures)
        return unknown_word_error("measure of trec_eval", name, [*all_names, *NICKNAMES])
    measures = MEASURES[form]
    nicknames = (nick for nick, names in NICKNAMES.items() if measures.keys() >= set(names))
    allowed = [*nicknames, *measures]
    return UsageError(
        f"{name} needs judgments of another format ({' or '.join(forms)}); -R {form} has "
        f"{', '.join(allowed)}",
        allowed=tuple(allowed),
        got=name,
    )
