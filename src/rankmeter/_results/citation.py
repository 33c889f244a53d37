"""How a paper says by what, and under which convention, its numbers were computed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from rankmeter._choices import RELEVANCE, format_value
from rankmeter._results.estimates import Estimate
from rankmeter._results.tables import escape_latex
from rankmeter._results.wording import level_text
from rankmeter._version import __version__
from rankmeter.conventions._plan import Plan
from rankmeter.errors._checks import check_choice, count_users, counted, words_in_use

CitationForm: TypeAlias = Literal["text", "latex", "bibtex"]
FORMS: tuple[CitationForm, ...] = ("text", "latex", "bibtex")
KEY = "rankmeter"
"""The key of the entry in a list of references."""
SOFTWARE = f"rankmeter {__version__}"
TITLE = "rankmeter: measures of rankings under any convention, with their uncertainty"
MOST_NAMES = 8
"""The most metrics that a sentence names."""


def bibtex() -> str:
    """The entry of this version for a list of references."""
    name, _, rest = TITLE.partition(":")
    return "\n".join(
        [
            f"@misc{{{KEY},",
            "  author = {{rankmeter developers}},",
            f"  title = {{{{{name}}}:{rest}}},",
            f"  note = {{Version {__version__}}},",
            "}",
        ]
    )


def in_form(sentence: str, form: CitationForm) -> str:
    """A sentence as plain text or in LaTeX, where it cites the entry that ``bibtex`` gives."""
    check_choice("form", form, FORMS)
    if form == "bibtex":
        return bibtex()
    if form == "text":
        return sentence
    cited = rf"{escape_latex(SOFTWARE)}~\cite{{{KEY}}}"
    return escape_latex(sentence).replace(escape_latex(SOFTWARE), cited, 1)


def plain_sentence() -> str:
    """The sentence without any result."""
    return f"All numbers were computed with {SOFTWARE}."


def sentence_on_means(
    labels: Sequence[str], means: Iterable[Estimate], confidence: float, conventions: Sequence[str]
) -> str:
    """``ndcg@10 was computed with rankmeter 1.0.0 (convention …) over 40 users, with …``."""
    verb = "was" if len(labels) == 1 else "were"
    said = f" ({'; '.join(conventions)})" if conventions else ""
    done = "computed" if conventions else "averaged"
    start = f"{_names(labels)} {verb} {done} with {SOFTWARE}{said}"
    return f"{start} over {_users(means)}, with {level_text(confidence)} intervals."


def sentence_on_comparison(found: Any, how: str) -> str:
    """``… The 2 systems were compared in pairs (randomization, holm over …).``."""
    n, baseline, runs = len(found.systems), found.baseline, found.settings["runs"]
    text = f"The {counted(n, 'system')} were compared in pairs"
    if baseline:
        text = f"{counted(n - 1, 'system')} {'was' if n == 2 else 'were'} compared with {baseline}"
    trained = f"; {runs_text(runs)}" if runs else ""
    means = found.estimates.values()
    first = sentence_on_means(found.labels, means, found.confidence, found.conventions())
    return f"{first} {text} on the same {words_in_use().users} ({how}{trained})."


def runs_text(runs: Mapping[str, int]) -> str:
    """``3 training runs of each system``, or ``3 training runs of A, B; 1 training run of C``."""
    by_number: dict[int, list[str]] = {}
    for name, n in runs.items():
        by_number.setdefault(n, []).append(name)
    if len(by_number) == 1 and len(runs) > 1:
        return f"{counted(next(iter(by_number)), 'training run')} of each system"
    return "; ".join(
        f"{counted(n, 'training run')} of {', '.join(names)}" for n, names in by_number.items()
    )


def conventions_of(plan: object, summaries: Iterable[Any]) -> list[str]:
    """What a paper must say of the convention; empty for values from elsewhere."""
    if not isinstance(plan, Plan):
        return []
    relevant = next(iter(summaries)).facts()["relevant"]
    return [_convention_text(plan, relevant), *plan.notes]


def _convention_text(plan: Plan, relevant: str) -> str:
    """The convention, the options that differ from it, and what is relevant.

    ``convention ranx with ties=expected: items with a gain of at least 1 are relevant``
    """
    options = plan.options()
    if options is None:
        changed = " with options that differ between metrics"
    else:
        kept = {n: v for n, v in options.items() if n not in ("like", *RELEVANCE)}
        named = ", ".join(f"{name}={format_value(value)}" for name, value in kept.items())
        changed = f" with {named}" if named else ""
    return f"convention {plan.convention_and_version}{changed}: {relevant}"


def _names(labels: Sequence[str]) -> str:
    if len(labels) > MOST_NAMES:
        return f"{', '.join(labels[: MOST_NAMES - 1])} and {len(labels) - MOST_NAMES + 1} others"
    *first, last = labels
    return f"{', '.join(first)} and {last}" if first else last


def _users(means: Iterable[Estimate]) -> str:
    numbers = {e.n for e in means}
    least, most = min(numbers), max(numbers)
    users = count_users(most)
    return users if least == most else f"{least:,} to {users}"
