"""The table of means of a comparison as papers print it: the best bold, the second underlined."""

from __future__ import annotations

import itertools
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rankmeter._estimates.estimates import Estimate
from rankmeter._estimates.verdicts import printed_places
from rankmeter._estimates.wording import number
from rankmeter._report.table import as_latex, as_markdown, floated

_SIGNS = {"▲": "+", "▼": "-"}


@dataclass(frozen=True)
class Means:
    """Means of systems × metrics.

    Attributes
    ----------
    titles : mapping of str to str
        What each system is called, in the order of the rows.
    estimates : mapping of (str, str) to Estimate
        By metric and system.
    increasing : mapping of str to bool
        By metric, whether larger is better, in the order of the columns.
    marks : mapping of (str, str) to str
        ▲ or ▼, or letters, of what is significant.
    meaning : str
        What the marks mean.
    notes : sequence of str
    digits : int
    intervals : bool
    """

    titles: Mapping[str, str]
    estimates: Mapping[tuple[str, str], Estimate]
    increasing: Mapping[str, bool]
    marks: Mapping[tuple[str, str], str]
    meaning: str
    notes: Sequence[str]
    digits: int = 4
    intervals: bool = False

    def to_latex(self, caption: str = "", label: str = "") -> str:
        """A ``tabular`` with booktabs rules, in a ``table`` if it has a caption or a label.

        Cutoffs of one metric are under one head. What the marks mean is below the last rule.
        """
        aligned = f"l{'r' * len(self.increasing)}"
        lines = [rf"\begin{{tabular}}{{{aligned}}}", r"\toprule", *self._heads(), r"\midrule"]
        lines += [
            " & ".join([as_latex(title), *self._cells(name, _latex_cell)]) + r" \\"
            for name, title in self.titles.items()
        ]
        lines += [r"\bottomrule", *self._below(), r"\end{tabular}"]
        return floated(lines, self.notes, caption, label)

    def _below(self) -> list[str]:
        """Rows that explain the marks, about as wide as the others."""
        if not any(self.marks.values()):
            return []
        rows = [[title, *self._cells(name, _plain_cell)] for name, title in self.titles.items()]
        columns = zip(*[["", *self.increasing], *rows], strict=True)
        width = sum(max(map(len, column)) + 2 for column in columns)
        lines = textwrap.wrap(self.meaning, max(40, width))
        escaped = (" ".join(map(as_latex, line.split())) for line in lines)
        all_columns = rf"\multicolumn{{{1 + len(self.increasing)}}}{{@{{}}l@{{}}}}"
        return [rf"{all_columns}{{\footnotesize {line}}} \\" for line in escaped]

    def _heads(self) -> list[str]:
        """The names of the metrics, in two lines if cutoffs of one metric follow each other."""
        runs = [(base, [*labels]) for base, labels in itertools.groupby(self.increasing, _base)]
        if all(len(labels) == 1 for _, labels in runs):
            return [" & ".join(["system", *map(as_latex, self.increasing)]) + r" \\"]
        upper, rules, lower, at = [""], "", ["system"], 2
        for base, labels in runs:
            n = len(labels)
            if n == 1:
                upper.append("")
                lower.append(as_latex(labels[0]))
            else:
                upper.append(rf"\multicolumn{{{n}}}{{c}}{{{as_latex(base)}}}")
                rules += rf"\cmidrule(lr){{{at}-{at + n - 1}}}"
                lower += [label.removeprefix(base) for label in labels]
            at += n
        return [" & ".join(upper) + r" \\", rules, " & ".join(lower) + r" \\"]

    def to_markdown(self) -> str:
        """A pipe table, with the notes as a line below."""
        lines = [
            " | ".join(["| system", *map(as_markdown, self.increasing)]) + " |",
            "|:--|" + "--:|" * len(self.increasing),
        ]
        lines += [
            " | ".join([f"| {as_markdown(title)}", *self._cells(name, _markdown_cell)]) + " |"
            for name, title in self.titles.items()
        ]
        return "\n".join([*lines, "", as_markdown(" · ".join(self.notes))])

    def _cells(self, name: str, cell: Callable[[str, str, str, int], str]) -> list[str]:
        """The cells of a system: the mean, the interval, the mark, and whether it is 1st or 2nd."""
        return [
            cell(
                self._number(self.estimates[label, name].mean),
                self._interval(self.estimates[label, name]),
                self.marks[label, name],
                self._place(label, name),
            )
            for label in self.increasing
        ]

    def _number(self, value: float) -> str:
        return number(value, self.digits)

    def _interval(self, e: Estimate) -> str:
        return f"[{self._number(e.low)}, {self._number(e.high)}]" if self.intervals else ""

    def _place(self, label: str, name: str) -> int:
        """1 for the best mean as it is printed, 2 for the second of at least three, else 0."""
        means = [self._number(self.estimates[label, system].mean) for system in self.titles]
        place = printed_places(means, increasing=self.increasing[label])
        return dict(zip(self.titles, place, strict=True))[name]


def _base(label: str) -> str:
    """The metric of a label without its cutoff."""
    name, at, k = label.rpartition("@")
    return name if at and k.isdigit() else label


def _latex_cell(mean: str, interval: str, mark: str, place: int) -> str:
    text = {1: rf"\textbf{{{mean}}}", 2: rf"\underline{{{mean}}}"}.get(place, as_latex(mean))
    letters = rf"\mathrm{{{mark}}}"
    raised = f"$^{{{_SIGNS.get(mark, letters)}}}$" if mark else ""
    return f"{text}{raised}" + (rf" {{\scriptsize {as_latex(interval)}}}" if interval else "")


def _plain_cell(mean: str, interval: str, mark: str, place: int) -> str:
    return f"{mean} {mark} {interval}"


def _markdown_cell(mean: str, interval: str, mark: str, place: int) -> str:
    text = {1: f"**{mean}**", 2: f"<ins>{mean}</ins>"}.get(place, mean)
    return " ".join(filter(None, [text, mark, interval]))
