"""One metric of a comparison."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Self

from rankmeter._results.differences import Difference
from rankmeter._results.estimates import Estimate
from rankmeter._results.verdicts import Headline

if TYPE_CHECKING:
    from rankmeter._results.tables import TextTable


class OnMetric(tuple[Difference, ...]):  # noqa: SLOT001 - a tuple with more to say
    """What a comparison found on one metric: its differences over all users, as a tuple.

    Attributes
    ----------
    metric : str
    means : mapping of str to Estimate
        By system.
    headline : Headline
        The answer on this metric.

    Examples
    --------
    >>> import rankmeter as rm
    >>> found = rm.compare_values({"old": [0.0, 0.5, 0.5], "new": [0.5, 1.0, 0.7]})["value"]
    >>> found.means["new"].mean > found.means["old"].mean, len(found), found[0].wins
    (True, 1, 0)
    """

    metric: str
    means: Mapping[str, Estimate]
    headline: Headline
    _tables: tuple[TextTable, ...]

    def __new__(
        cls,
        differences: Iterable[Difference],
        metric: str,
        means: Mapping[str, Estimate],
        headline: Headline,
        tables: tuple[TextTable, ...],
    ) -> Self:
        """Make the tuple with what it has besides."""
        made = super().__new__(cls, differences)
        made.metric, made.means, made.headline, made._tables = metric, means, headline, tables
        return made

    def __getattr__(self, name: str) -> Any:
        """Say what it has instead."""
        if name.startswith("__"):
            raise AttributeError(name)
        system = next(iter(self.means), "")
        raise AttributeError(
            f"{self.metric} of a comparison has no {name}: it has means, one for each system "
            f"(.means[{system!r}].mean), a headline, and differences ([0].difference, [0].p)"
        )

    def __getnewargs__(self) -> tuple[Any, ...]:
        """What a copy is made of."""
        return (tuple(self), self.metric, self.means, self.headline, self._tables)

    def __repr__(self) -> str:
        return "\n\n".join([self.headline.title, *(table.to_text() for table in self._tables)])

    def _repr_html_(self) -> str:
        tables = "".join(table.to_html() for table in self._tables)
        return f"{self.headline.to_html()}{tables}"
