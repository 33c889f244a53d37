"""What a result says: a headline, tables, the notes that change a decision, and the rest.

Terminal, notebook, Markdown and page draw these parts in this order, in the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rankmeter._results.notes import Detail
from rankmeter._results.tables import TextTable, escape_markdown
from rankmeter.errors import spell_out_hidden_characters, to_one_line
from rankmeter.errors._checks import counted

Part = TextTable | Sequence[str]
"""A table, or sentences."""


@dataclass(frozen=True, repr=False)
class Answer:
    """The parts of what a result says.

    Attributes
    ----------
    title : str
        The headline: at most twelve words, if systems and segments have names of one.
    table : TextTable
        The means, without notes.
    said : sequence of str
        All notes. Those that are a `Detail` only explain how numbers were made.
    tables : sequence of TextTable
        Further tables that were asked for, such as segments.
    rest : callable
        Makes what is shown on request: tables, and sentences.
    folds : str
        What the tables that are shown on request have, in words.
    is_whole : bool
        Whether it is requested.
    """

    title: str
    table: TextTable
    said: Sequence[str]
    tables: Sequence[TextTable] = ()
    rest: Callable[[], Sequence[Part]] = tuple
    folds: str = ""
    is_whole: bool = False

    @property
    def notes(self) -> list[str]:
        """The notes that can change what a reader decides."""
        return [to_one_line(note) for note in self.said if not isinstance(note, Detail)]

    @property
    def details(self) -> list[str]:
        """The notes that explain how numbers were made."""
        return [to_one_line(note) for note in self.said if isinstance(note, Detail)]

    def whole(self) -> Answer:
        """The same with all that it has."""
        return replace(self, is_whole=True)

    def shown(self) -> list[Part]:
        """Tables and sentences in order, without the title."""
        parts: list[Part] = [replace(self.table, notes=self.notes), *self.tables]
        return [*parts, *self.folded()] if self.is_whole else parts

    def folded(self) -> list[Part]:
        """What is shown on request."""
        return [part for part in (*self.rest(), self.details) if not isinstance(part, list) or part]

    def more(self, request: str) -> str:
        """A line that says what `request` shows besides; empty if there is nothing else."""
        if self.is_whole:
            return ""
        counts = [self.folds] * bool(self.folds)
        counts += [counted(len(self.details), "more note")] * bool(self.details)
        return f"{' and '.join(counts)}: {request}" if counts else ""

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self, request: str = "") -> str:
        """Render as text; the last line says what the `request` shows."""
        parts = [
            part.to_text() if isinstance(part, TextTable) else "\n".join(part)
            for part in self.shown()
        ]
        text = "\n\n".join(filter(None, [to_one_line(self.title), *parts]))
        more = self.more(request) if request else ""
        return f"{text}\n{more}" if more else text

    def to_markdown(self, means: str = "") -> str:
        """Render as Markdown; `means` is the first table if it is another one."""
        title = [f"**{escape_markdown(self.title)}**"] if self.title else []
        first, *others = self.shown()
        assert isinstance(first, TextTable)
        if means:
            means = "\n".join([means, *first.markdown_notes()])
        return "\n\n".join([*title, means or first.to_markdown(), *map(_markdown_part, others)])

    def fold_in_markdown(self) -> str:
        """What is shown on request as Markdown in a fold of HTML; empty if there is nothing."""
        folded = "\n\n".join(map(_markdown_part, self.folded()))
        opening = "<details><summary>details</summary>"
        return f"{opening}\n\n{folded}\n\n</details>" if folded else ""

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self, last: str = "") -> str:
        """Render as HTML, with what is shown on request in a fold, and `last` after it."""
        import html

        title = html.escape(spell_out_hidden_characters(self.title))
        heading = f"<p><strong>{title}</strong></p>" if title else ""
        shown = "".join(map(_html_part, replace(self, is_whole=False).shown()))
        folded = "".join(map(_html_part, self.folded())) + last
        opened = " open" if self.is_whole else ""
        fold = f"<details{opened}><summary>details</summary>{folded}</details>" if folded else ""
        return f"{heading}{shown}{fold}"


def _markdown_part(part: Part) -> str:
    if isinstance(part, TextTable):
        return part.to_markdown()
    return "\n".join(f"- {escape_markdown(sentence)}" for sentence in part)


def _html_part(part: Part) -> str:
    import html

    if isinstance(part, TextTable):
        return part.to_html()
    items = (html.escape(spell_out_hidden_characters(sentence)) for sentence in part)
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"
