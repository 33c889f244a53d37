"""What others call the values of options: a wrong word that is known gets the right one."""

from __future__ import annotations

from collections.abc import Mapping

from rankmeter.errors._removed import removed_word_hint

_SKIP, _ERROR = "ignore drop omit exclude", "raise"
SYNONYMS: Mapping[str, Mapping[str, str]] = {
    "aggregate": {
        "mean": "macro macro-average average avg",
        "geometric": "gmean gmap geometric-mean",
        "micro": "micro-average pooled",
        "sum": "total",
    },
    "ties": {
        "input": "stable first ordinal rows",
        "expected": "random expectation",
        "optimistic": "best",
        "pessimistic": "worst",
        "realistic": "average mean",
    },
    "duplicates": {"error": _ERROR, "best": "max"},
    "judgements": {"error": _ERROR, "max": "maximum", "sum": "total"},
    "missing": {"zero": "0", "skip": _SKIP, "raise": "error"},
    "extra": {"zero": "0", "ignore": "skip drop omit exclude", "raise": "error"},
    "undefined": {"zero": "0", "one": "1", "skip": _SKIP, "nan": "null none", "raise": "error"},
    "bad_scores": {"error": _ERROR, "drop": "skip ignore omit"},
    "no_overlap": {"error": _ERROR, "allow": "ignore"},
    "interval": {"bca": "bootstrap"},
    "test": {"t": "ttest t-test ttest_rel student", "randomization": "permutation"},
    "correction": {"holm": "holm-bonferroni"},
}
"""By option and value, other words for the value."""


def word_hint(option: str, word: object) -> str:
    """A hint on a word that was removed or that others use, after a semicolon; empty for others."""
    is_word = isinstance(word, str | float | None) or (isinstance(word, int) and word in (0, 1))
    said = str(word).lower() if is_word else ""
    words = SYNONYMS.get(option, {}).items()
    meant = next((value for value, others in words if said in (value, *others.split())), None)
    return removed_word_hint(option, word) or (f"; did you mean {meant!r}?" if meant else "")
