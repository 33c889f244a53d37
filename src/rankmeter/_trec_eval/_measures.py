"""The measures of trec_eval: which metric on which reading of the judgements each of them is."""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from rankmeter._hits import FloatArray, Hits, IntArray, ratio
from rankmeter._trec_eval._topics import Topics
from rankmeter.errors import RankmeterWarning, UsageError

__all__ = ["MEASURES", "NICKNAMES", "Measure", "choose"]

# ---------------------------------------------------------------------------------------------
# Parameters. A reader gives the end of the printed name and the value, for each line to print.

Parameters = list[tuple[str, Any]]


def _cutoffs(text: str) -> Parameters:
    """``5,10``: a line for each rank, in order."""
    ranks = sorted(_whole(part) for part in text.split(","))
    if ranks[0] < 1 or len(set(ranks)) < len(ranks):
        raise UsageError(f"cutoffs must be ranks from 1 up, each once: {text}")
    return [(f"_{rank}", rank) for rank in ranks]


def _whole(text: str) -> int:
    # trec_eval takes 23.4 for 23.
    found = re.fullmatch(r"\s*([+-]?\d+)(\.\d*)?\s*", text)
    if found is None:
        raise UsageError(f"expected a whole number, got {text!r}")
    return int(found[1])


def _levels(text: str) -> Parameters:
    """``0,.5,1``: a line for each level, in order."""
    levels = sorted(_number(part) for part in text.split(","))
    if len(set(levels)) < len(levels):
        raise UsageError(f"levels must differ from each other: {text}")
    return [(f"_{level:3.2f}", level) for level in levels]


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"expected a number, got {text!r}") from None


def _numbers(text: str) -> Parameters:
    """``1,-1,0,0``: one line."""
    return [(f"_{text}", [_number(part) for part in text.split(",")])]


def _pairs(text: str) -> Parameters:
    """``1=3,2=9`` or ``p=0.8``: one line."""
    values: dict[str, float] = {}
    for part in text.split(",") if text else []:
        name, equals, value = part.partition("=")
        if not equals or name in values:
            raise UsageError(f"expected grade=gain for some grades, each once: {text}")
        values[name] = _number(value)
    return [(f"_{text}", values)]


def _gains(values: dict[str, float]) -> dict[int, float]:
    odd = [name for name in values if not name.isdigit()]
    if odd:
        raise UsageError(f"{odd[0]!r} is no grade: write grade=gain with grades from 0 up")
    return {int(name): gain for name, gain in values.items()}


def _persistence(values: dict[str, float]) -> tuple[float, dict[int, float]]:
    rest = dict(values)
    p = rest.pop("p", 0.9)
    return p, _gains(rest)


# ---------------------------------------------------------------------------------------------
# What the tables of measures cannot say in a line


def _iprec(topics: Topics, level: float) -> FloatArray:
    value = topics.binary("iprec", recall=level, rounding="nearest")
    # Without any result it divides 0 by 0, where the level needs no hit.
    nothing = topics.binary("n_ranked") == 0
    needed = np.floor(level * topics.binary("n_relevant") + 0.5)
    return np.where(nothing & (needed == 0), np.nan, value)


def _average_iprec(topics: Topics, levels: Sequence[float]) -> FloatArray:
    total = np.zeros(len(topics.names))
    for level in reversed(levels):
        total += _iprec(topics, level)
    return total / len(levels)


def _utility(topics: Topics, prices: Sequence[float]) -> FloatArray:
    if len(prices) != 4:
        raise UsageError(f"utility needs four numbers, such as utility.1,-1,0,0; got {len(prices)}")
    options: dict[str, Any] = dict(zip(("found", "wrong", "missed", "spared"), prices, strict=True))
    return topics.binary("utility", n_items=topics.n_items, **options)


def _set_f(topics: Topics, parameters: Sequence[float]) -> FloatArray:
    # Its parameter is the square of the usual beta; and its last digit is that of this formula.
    x = parameters[0]
    p, r = topics.binary("precision"), topics.binary("recall")
    return ratio((x + 1.0) * p * r, x * p + r)


def _relstring(topics: Topics, parameters: Sequence[float]) -> list[str]:
    """The first grades of a ranking, ``-`` without judgement, ``.`` if one was to be made."""
    hits = topics.named.hits
    wanted = np.minimum(hits.n_ranked, max(int(parameters[0]), 0))
    strings = [["-"] * n for n in wanted.tolist()]
    shown = hits.rank <= wanted[hits.user]
    for user, rank, grade in zip(
        hits.user[shown].tolist(), hits.rank[shown].tolist(), hits.gain[shown].tolist(), strict=True
    ):
        mark = "." if grade < 0 else ">" if grade > 9 else f"{grade:.0f}"
        strings[user][int(rank) - 1] = mark
    return ["".join(string) for string in strings]


def _dcg(topics: Topics, values: dict[str, float]) -> FloatArray:
    return topics.graded(_gains(values))("dcg")


def _ideal_dcg(topics: Topics, values: dict[str, float]) -> FloatArray:
    return topics.graded(_gains(values), ideal=True)("ideal_dcg")


def _ndcg(topics: Topics, values: dict[str, float]) -> FloatArray:
    return ratio(_dcg(topics, values), _ideal_dcg(topics, values))


def _rndcg(topics: Topics, values: dict[str, float]) -> FloatArray:
    value = topics.graded(_gains(values))("rndcg")
    # It asks the level, which it otherwise ignores, whether there is anything to do, and divides
    # 0 by 0 where nothing has a gain.
    value[_ideal_dcg(topics, values) == 0] = np.nan
    value[topics.binary("n_relevant") == 0] = 0.0
    return value


# Both are computed in the order in which trec_eval computes them: where few documents make short
# decimals, the last digit that it prints depends on it.


def _rbp(topics: Topics, values: dict[str, float]) -> FloatArray:
    p, gains = _persistence(values)
    hits = topics.scaled(gains).hits
    return (1.0 - p) * hits.sum(hits.gain * _powers(p, hits.rank.max(initial=0.0))[_place(hits)])


def _rbp_resid(topics: Topics, values: dict[str, float]) -> FloatArray:
    p, _ = _persistence(values)
    hits = topics.judged.hits
    length = hits.n_ranked
    powers = _powers(p, length.max(initial=0))
    unknown = np.arange(powers.size)[:-1] < length[:, None]
    unknown[hits.user, _place(hits)] = False
    user, place = np.nonzero(unknown)
    total = powers[length] + (1.0 - p) * hits.sum(powers[place], user)
    return np.where(unknown.any(axis=1), total, 0.0)


def _powers(p: float, n: float) -> FloatArray:
    """1, p, p², … up to the power n."""
    return np.multiply.accumulate(np.append(1.0, np.full(int(n), p)))


def _place(hits: Hits) -> IntArray:
    """Ranks from 0 up."""
    return hits.rank.astype(np.int64) - 1


# ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Measure:
    """A measure, with all its cutoffs or levels.

    Attributes
    ----------
    compute : callable
        ``(topics)`` or ``(topics, parameter)`` → one value per topic; relstring: one text.
    read : callable, optional
        Reads the parameters, if it takes any.
    default : str
        Parameters if none are given.
    aggregate : {"mean", "sum", "geometric", "none"}
        What becomes of the values of all topics. Sums are printed as whole numbers, geometric
        means for all topics only.
    """

    compute: Callable[..., FloatArray | list[str]]
    read: Callable[[str], Parameters] | None = None
    default: str = ""
    aggregate: Literal["mean", "sum", "geometric", "none"] = "mean"

    def values(
        self, name: str, given: str | None, topics: Topics
    ) -> Iterable[tuple[str, FloatArray | list[str]]]:
        """Every line to print: its name, and the values of all topics."""
        if self.read is None:
            yield name, self.compute(topics)
            return
        for suffix, value in self.read(self.default if given is None else given):
            shown = given is not None or self.read in (_cutoffs, _levels)
            yield name + suffix * shown, self.compute(topics, value)


_RANKS = "5,10,15,20,30,100,200,500,1000"
_RECALLS = "0,.1,.2,.3,.4,.5,.6,.7,.8,.9,1"


def _ap(topics: Topics, k: int | None = None) -> FloatArray:
    return topics.binary("ap", k, denominator="relevant")


def _relative_precision(topics: Topics, k: int | None = None) -> FloatArray:
    return topics.binary("precision", k, denominator="relevant")


def _unjudged(topics: Topics, k: int) -> FloatArray:
    return topics.binary("unjudged", k)


MEASURES: dict[str, Measure | None] = {
    "runid": None,
    "num_q": None,
    "num_ret": Measure(lambda t: t.binary("n_ranked"), aggregate="sum"),
    "num_rel": Measure(lambda t: t.binary("n_relevant"), aggregate="sum"),
    "num_rel_ret": Measure(lambda t: t.binary("n_hits"), aggregate="sum"),
    "map": Measure(_ap),
    "gm_map": Measure(_ap, aggregate="geometric"),
    "Rprec": Measure(lambda t: t.binary("r_precision")),
    "bpref": Measure(lambda t: t.pooled("bpref")),
    "recip_rank": Measure(lambda t: t.binary("rr")),
    "iprec_at_recall": Measure(_iprec, _levels, _RECALLS),
    "P": Measure(lambda t, k: t.binary("precision", k), _cutoffs, _RANKS),
    "relstring": Measure(_relstring, _numbers, "10", aggregate="none"),
    "recall": Measure(lambda t, k: t.binary("recall", k), _cutoffs, _RANKS),
    "infAP": Measure(lambda t: t.pooled("infap")),
    "gm_bpref": Measure(lambda t: t.pooled("bpref"), aggregate="geometric"),
    "Rprec_mult": Measure(
        lambda t, level: t.binary("rprec_mult", multiple=level),
        _levels,
        ".2,.4,.6,.8,1,1.2,1.4,1.6,1.8,2",
    ),
    "utility": Measure(_utility, _numbers, "1,-1,0,0"),
    "11pt_avg": Measure(_average_iprec, _numbers, _RECALLS),
    "binG": Measure(lambda t: t.binary("g", gain="binary")),
    "G": Measure(lambda t, values: t.graded(_gains(values))("g"), _pairs),
    "dcg": Measure(_dcg, _pairs),
    "ideal_dcg": Measure(_ideal_dcg, _pairs),
    "ndcg": Measure(_ndcg, _pairs),
    "ndcg_rel": Measure(lambda t, values: t.graded(_gains(values))("ndcg_rel"), _pairs),
    "Rndcg": Measure(_rndcg, _pairs),
    "ndcg_cut": Measure(lambda t, k: t.graded({})("ndcg", k), _cutoffs, _RANKS),
    "map_cut": Measure(_ap, _cutoffs, _RANKS),
    "relative_P": Measure(_relative_precision, _cutoffs, _RANKS),
    "success": Measure(lambda t, k: t.binary("hit_rate", k), _cutoffs, "1,5,10"),
    "set_P": Measure(lambda t: t.binary("precision")),
    "set_relative_P": Measure(_relative_precision),
    "set_recall": Measure(lambda t: t.binary("recall")),
    "set_map": Measure(lambda t: t.binary("set_ap")),
    "set_F": Measure(_set_f, _numbers, "1"),
    "num_nonrel_judged_ret": Measure(lambda t: t.binary("n_nonrelevant"), aggregate="sum"),
    "yaap": Measure(lambda t: t.binary("yaap")),
    "rbp": Measure(_rbp, _pairs),
    "rbp_resid": Measure(_rbp_resid, _pairs),
    "unj": Measure(_unjudged, _cutoffs, "5,10,20"),
}
"""Every measure by its name, in the order in which they are printed; None for facts of the run."""

_SUMMARY = ("runid", "num_q", "num_ret", "num_rel", "num_rel_ret")

NICKNAMES: dict[str, tuple[str, ...]] = {
    "official": tuple(list(MEASURES)[: list(MEASURES).index("P") + 1]),
    "set": (*_SUMMARY, "utility", "set_P", "set_recall", "set_relative_P", "set_map", "set_F"),
    "all_trec": tuple(name for name in MEASURES if name not in ("dcg", "ideal_dcg", "yaap")),
}
"""Names for several measures."""

_OTHER_FORMATS = re.compile(r"(all_)?prefs|prefs_\w+|qrels_jg|\w+_avgjg")


def choose(wanted: Iterable[str]) -> dict[str, str | None]:
    """The measures that are asked for, in order of printing, with their parameters.

    Parameters
    ----------
    wanted : iterable of str
        ``map``, ``P.5,10``, ``all_trec``.

    Returns
    -------
    dict of str to str or None
        Parameters by name of the measure; None for the default ones.

    Raises
    ------
    UsageError
        If there is no such measure, or it takes no parameters.
    """
    names: set[str] = set()
    given: dict[str, str] = {}
    for text in wanted:
        name, dot, parameters = text.partition(".")
        if name not in MEASURES and name not in NICKNAMES:
            raise _unknown(name)
        measure = MEASURES.get(name)
        if dot and (measure is None or measure.read is None):
            raise UsageError(f"{name} takes no parameters, got {text!r}")
        if dot and not parameters:
            raise UsageError(f"{text!r} ends before its parameters")
        names.update(NICKNAMES.get(name, (name,)))
        if dot and given.setdefault(name, parameters) != parameters:
            warnings.warn(
                f"like trec_eval, only the first parameters of {name} count: {given[name]}, not "
                f"{parameters}; write all after one {name}",
                RankmeterWarning,
                stacklevel=2,
            )
    return {name: given.get(name) for name in MEASURES if name in names}


def _unknown(name: str) -> UsageError:
    if _OTHER_FORMATS.fullmatch(name):
        return UsageError(
            f"{name} measures judgements of other formats (preferences, several judges), which "
            "rankmeter does not read: it has the measures of standard judgements"
        )
    near = difflib.get_close_matches(name, [*MEASURES, *NICKNAMES], n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(MEASURES)}"
    return UsageError(f"trec_eval has no measure {name!r}: {hint}")
