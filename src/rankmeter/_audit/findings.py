"""What an audit can find, how grave it is, what it does to the number, and what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

from rankmeter.errors import to_one_line

Severity = Literal["high", "medium", "low"]
"""``high``: the ranking could have seen the answer, or what came after it. ``medium``: chance, or
the way in which candidates were chosen, has a part in the number. ``low``: nothing is wrong, but a
reader must know it."""

SEVERITIES: tuple[Severity, ...] = ("high", "medium", "low")


class Check(NamedTuple):
    """One kind of finding, in words."""

    severity: Severity
    subject: str
    effect: str
    remedy: str


_SPLIT_BY_TIME = "cut at one moment for all users, as rankmeter.splits.temporal does"
_SAME_CANDIDATES = "rank the same candidates with every system"

CHECKS = {
    "shared-pairs": Check(
        "high",
        "test pairs that are in train",
        "a ranking that repeats train finds them, so the number is too high; one that leaves out "
        "what was seen can never find them",
        "leave them out of one part; if people repeat, as with plays, give both parts their times",
    ),
    "later-own": Check(
        "high",
        "test rows older than training rows of the user",
        "the ranking could have learnt from what the user did next, so the number is too high",
        _SPLIT_BY_TIME,
    ),
    "later-train": Check(
        "high",
        "test rows older than some training row",
        "the ranking could have learnt from the future: trends, new items and what others did next",
        _SPLIT_BY_TIME,
    ),
    "unborn-items": Check(
        "high",
        "test rows with an item that train has only later",
        "the ranking knows these items from the future alone: at that moment it could not have "
        "recommended them",
        _SPLIT_BY_TIME,
    ),
    "unborn-recommended": Check(
        "high",
        "recommended items that train has only later",
        "they did not exist for the ranking at the last moment of the user's test rows",
        _SPLIT_BY_TIME,
    ),
    "ties-at-cut": Check(
        "medium",
        "test rows at the time of the user's last in train",
        "a coin, or the order of the file, decided what is train and what is test",
        "keep equal times together, as rankmeter.splits.temporal does, or say how they were cut",
    ),
    "sampled-candidates": Check(
        "medium",
        "lists of candidates that have all the answers",
        "the number is of few candidates, and must not be compared with numbers of all items",
        "rank all items",
    ),
    "unequal-candidates": Check(
        "medium",
        "users whose candidates differ",
        "systems had different choices, so a difference is not of their rankings alone",
        _SAME_CANDIDATES,
    ),
    "unequal-lengths": Check(
        "low",
        "users with lists of different lengths",
        "a metric that looks below the end of the shorter list favours the longer one",
        "use cutoffs that all lists reach, or make lists of one length",
    ),
    "missing-lists": Check(
        "low",
        "test users without a list",
        "they count as 0, or are left out: missing= decides",
        "recommend to all test users, if only popular items",
    ),
    "repeats": Check(
        "low",
        "test pairs that train has earlier",
        "a ranking that leaves out what was seen can never find them",
        "recommend seen items, too, or leave the repeats out of test",
    ),
    "cold-items": Check(
        "low",
        "test rows with an item that train lacks",
        "a ranking that learns from train alone can never find them, and cannot reach 1",
        "say so with the number, or leave them out, cold_items='drop' of a split",
    ),
    "cold-users": Check(
        "low",
        "test users without training rows",
        "what is known of them is nothing, so the number is partly that of a default list",
        "give means by segment, rankmeter.by_activity, or leave them out, cold_users='drop'",
    ),
    "seen-recommended": Check(
        "low",
        "recommended items that the user has in train",
        "no seen pair is in test, so these places are lost",
        "leave out what was seen: exclude_seen of the baselines, exclude= of scores",
    ),
    "unknown-recommended": Check(
        "low",
        "recommended items in neither part",
        "they are never relevant here",
        "check the ids of items",
    ),
}
"""Every finding by its name, which ``--fail-if`` takes, the gravest first."""


@dataclass(frozen=True)
class Finding:
    """Something that a reader must know of an experiment.

    Attributes
    ----------
    check : str
        Its name, such as ``unborn-items``.
    severity : {"high", "medium", "low"}
        ``high`` if the ranking could have seen the answer, or what came after it.
    subject : str
        What was counted.
    count, of : int
        How many, of how many.
    examples : tuple of str
        Up to three.
    effect : str
        What it does to the number.
    remedy : str
        What to do.
    system : str
        The system that it is about; empty for the split, or if there is one only.
    """

    check: str
    severity: Severity
    subject: str
    count: int
    of: int
    examples: tuple[str, ...]
    effect: str
    remedy: str
    system: str = ""

    @property
    def share(self) -> float:
        """The count as a share."""
        return self.count / self.of

    @property
    def title(self) -> str:
        """What was counted, with the system."""
        return f"{self.subject} ({self.system})" if self.system else self.subject

    def share_text(self) -> str:
        """The share in percent, never 0 or 100 where that is not all of the truth."""
        if self.count == self.of:
            return "100 %"
        tenth = min(max(round(1000 * self.share), 1), 999)
        return f"{tenth / 10:.1f} %"

    def explanation(self) -> str:
        """What it does to the number, with examples."""
        some = f" Such as {'; '.join(self.examples)}." if self.examples else ""
        where = f" ({self.system})" if self.system else ""
        return to_one_line(f"{self.check}{where}: {self.effect}.{some}")

    def sentence(self) -> str:
        """All of it in plain words: how many, the effect on the number, examples, what to do."""
        how_many = f"{self.severity}: {self.count:,} of {self.of:,} {self.title}"
        remedy = f"{self.remedy[0].upper()}{self.remedy[1:]}"
        return to_one_line(f"{how_many}. {self.explanation()} {remedy}.")


def make_finding(
    check: str, count: int, of: int, examples: tuple[str, ...] = (), *, system: str = "",
    also: str = "",
) -> Finding:  # fmt: skip
    """Make a finding of a kind; `also` is said after its effect."""
    severity, subject, effect, remedy = CHECKS[check]
    if also:
        effect += f" ({also})"
    return Finding(check, severity, subject, count, of, examples, effect, remedy, system)
