"""What each known tool means by its metrics: one TOML file per tool, checked against the registry.

A file states, with its sources, only what differs from the convention ``rankmeter``:

.. code-block:: toml

    name = "lenskit"
    title = "LensKit"
    version = "2025.8.1"
    golden = "lenskit"            # tests/conformance/goldens/lenskit.json
    takes = "lists"               # lists in order; else "mappings", "scores", "triples"
    sources = ["…"]
    notes = ["…"]

    [all]                         # choices that hold for every metric
    missing = "skip"

    [metrics.ndcg]                # options and choices of one metric
    discount = "jarvelin"
    [metrics."rr@"]               # … of the metric with a cutoff, where that is another
    ties = "item"

    [names]                       # the spelling of the tool → the same metric here
    "NDCG" = "ndcg"
    "NDCG[gain=rating]" = "ndcg(gain=linear)"
    "gm_map" = "ap with aggregate=geometric"
    "get_bpref" = "bpref with depth=k"         # its cutoff cuts the ranking

    [options]                     # an option of the tool → choices here, whatever the metric
    "missing=skip" = { missing = "skip" }

    [[bugs]]                      # outright bugs, followed only on demand
    why = "divides by one too many"
    metrics = ["auc"]
    choices = { denominator = "k" }

    [[deviations]]                # where the profile stays with the documented meaning
    why = "…"
    names = ["NDCG*"]             # patterns of the tool's spelling
    cases = ["ties"]              # the shared inputs on which it shows
    values = ["per_user"]         # where only these, or only the "mean", differ
    decimals = 4                  # where it only rounds
    absent = 0                    # where it only names no user of this value
"""

from __future__ import annotations

import difflib
import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from rankmeter.errors import UsageError

__all__ = ["Convention", "convention_names", "load_convention"]


ALIASES = {"scikit_learn": "sklearn", "tensorflow_ranking": "tf_ranking", "pyspark": "spark"}
"""Other names under which people know a tool."""


@dataclass(frozen=True)
class Convention:
    """The choices of one tool.

    Attributes
    ----------
    name, title, version : str
    sources : tuple of str
        Where the facts come from.
    notes : tuple of str
        What a reader of the tool's numbers should know.
    switches : mapping
        Choices of alignment and averaging for every metric.
    metrics : mapping of str to mapping
        Options and choices by canonical metric name; ``name@`` holds those of the metric with a
        cutoff.
    golden : str
        Name of the recording of the tool's answers that the profile is held against; may be empty.
    takes : str
        What the tool is given: rows with ``scores``, in which an item may stand twice;
        ``mappings`` from item to score; ``lists`` in order; or ``triples``, each with the scores
        of its candidates: every true item is a user of its own.
    names : mapping of str to str
        Metric by the tool's own spelling of it, and after ``with`` the choices that go along.
    options : mapping of str to mapping
        Choices of alignment and averaging by the option of the tool that makes them.
    bugs : tuple of mapping
        Outright bugs of the tool: ``why``, ``metrics``, ``choices``.
    deviations : tuple of mapping
        Where the profile does not follow the tool: ``why``, ``names``, ``cases``,
        ``values``, ``decimals``, ``absent``.
    """

    name: str
    title: str
    version: str = ""
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    switches: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    golden: str = ""
    takes: str = "scores"
    names: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bugs: tuple[Mapping[str, Any], ...] = ()
    deviations: tuple[Mapping[str, Any], ...] = ()

    def choices(self, metric: str, k: int | None, *, bugs: bool = False) -> dict[str, Any]:
        """Options and choices of one metric, the more special ones winning.

        Parameters
        ----------
        metric : str
            Canonical name.
        k : int or None
            Its cutoff.
        bugs : bool
            Whether to follow the tool's bugs too.
        """
        chosen = {**self.switches, **self.metrics.get(metric, {})}
        if k is not None:
            chosen |= self.metrics.get(f"{metric}@", {})
        for bug in self.bugs if bugs else ():
            if metric in bug["metrics"]:
                chosen |= bug["choices"]
        return chosen


def convention_names() -> tuple[str, ...]:
    """Names of all conventions, sorted."""
    folder = resources.files(__package__)
    return tuple(
        sorted(
            file.name.removesuffix(".toml")
            for file in folder.iterdir()
            if file.name.endswith(".toml")
        )
    )


@functools.cache
def load_convention(name: str) -> Convention:
    """Read one convention.

    Parameters
    ----------
    name : str
        As in `convention_names`; case, ``-`` and ``_`` do not matter.

    Raises
    ------
    UsageError
        If there is none of that name; the message offers the nearest ones.
    """
    names = convention_names()
    if not isinstance(name, str):
        raise UsageError(f"a convention goes by its name, such as 'trec_eval', got {name!r}")
    wanted = name.strip().lower().replace("-", "_")
    wanted = ALIASES.get(wanted, wanted)
    if wanted not in names:
        near = difflib.get_close_matches(wanted, names, n=3, cutoff=0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known: {', '.join(names)}"
        raise UsageError(f"unknown convention {name!r}: {hint}")
    text = resources.files(__package__).joinpath(f"{wanted}.toml").read_text("utf-8")
    data = tomllib.loads(text)
    return Convention(
        name=data["name"],
        title=data["title"],
        version=data.get("version", ""),
        sources=tuple(data.get("sources", ())),
        notes=tuple(data.get("notes", ())),
        switches=data.get("all", {}),
        metrics=data.get("metrics", {}),
        golden=data.get("golden", ""),
        takes=data.get("takes", "scores"),
        names=data.get("names", {}),
        options=data.get("options", {}),
        bugs=tuple(data.get("bugs", ())),
        deviations=tuple(data.get("deviations", ())),
    )
