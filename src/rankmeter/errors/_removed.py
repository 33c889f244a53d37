"""Options and words that no longer exist, and what to use in place of each."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from rankmeter.errors import UsageError

REMOVED_OPTIONS: Mapping[str, str] = {
    "alpha": "intervals and tests have one level, `confidence`: an alpha of 0.01 is "
    "a confidence of 0.99",
    "gatekeeping": "comparisons within segments are a family of their own, whatever the comparison "
    "over all users says; leave it out",
    "common": "means and differences are over the users with a value under every system; leave it "
    "out, and compare two systems at a time for the users that these two share",
}
"""By option, what to use instead."""
_ALL_PAIRS = "test='randomization' with correction='maxt', which tests all pairs together"
_STEADY = "leave `interval` out, which uses Student's t where the scale has no bounds"
REMOVED_WORDS: Mapping[tuple[str, str], str] = {
    ("test", "tukey"): f"use {_ALL_PAIRS}",
    ("test", "randomized-tukey"): f"use {_ALL_PAIRS}",
    ("test", "bootstrap"): "use test='randomization', or test='t' for 100 users or more",
    ("test", "sign"): "use test='randomization', which tests means; wins and losses are counted "
    "with every difference",
    (
        "test",
        "mid-p",
    ): "leave `test` out: hits and misses, which have few possible sums, are tested by "
    "mid-p without it",
    ("correction", "bonferroni"): "use correction='holm', which never finds less",
    ("correction", "benjamini-hochberg"): "use correction='maxt' or 'holm', which bound the "
    "probability of any false claim",
    ("interval", "t"): _STEADY,
    ("interval", "percentile"): "use interval='bca', the bootstrap corrected for bias and skew",
}
"""By option and word, what to use instead."""

REMOVED_NUMBERS: Mapping[str, str] = {
    "hedges_g": "d_z * (1 - 3 / (4 * n - 5))",
    "superiority": "(wins + ties / 2) / n",
}
"""By number of a difference, its formula."""


def removed_number_message(name: str) -> str:
    """The message about a number that a difference no longer has; empty for other names."""
    formula = REMOVED_NUMBERS.get(name)
    return f"a difference no longer has `{name}`, which is {formula}" if formula else ""


def refuse_removed_options(names: Iterable[str], known: Collection[str] = ()) -> None:
    """Raise an error that names the replacement if an option no longer exists."""
    for name in names:
        if name in REMOVED_OPTIONS and name not in known:
            raise UsageError(removed_option_message(name), option=name)


def removed_option_message(name: str) -> str:
    """The message about an option that no longer exists."""
    return f"`{name}` is no longer an option: {REMOVED_OPTIONS[name]}"


def removed_word_hint(option: str, word: object) -> str:
    """A hint on a word that an option no longer takes, after a semicolon; empty for others."""
    hint = REMOVED_WORDS.get((option, word)) if isinstance(word, str) else None
    return f"; it was removed: {hint}" if hint else ""
