"""The profiles: one TOML file per tool, which states what the tool means by its metrics.

A file states, with its sources, only what differs from the convention ``rankmeter``:

.. code-block:: toml

    name = "lenskit"
    title = "LensKit"
    version = "2025.8.1"
    aliases = ["lkpy"]            # other names of the tool
    marks = "@_"                  # what may be between a name and its cutoff
    sources = ["…"]
    notes = ["…"]

    [all]                         # choices that hold for every metric
    missing = "skip"

    [metrics.ndcg]                # options and choices of one metric
    discount = "jarvelin"
    [metrics."rr@"]               # … of the metric with a cutoff, where that is another
    ties = "item"

    [names]                       # the name in the tool → the same metric here
    "NDCG" = "ndcg"
    "NDCG[gain=rating]" = "ndcg(gain=linear)"
    "gm_map" = "ap(aggregate=geometric)"
    "get_bpref" = "bpref(depth={k})"           # its cutoff cuts the ranking

    [differs]                     # a metric of this name that the tool has with another meaning
    mean_rank = "begins at 0"
    [elsewhere]                   # a number of the tool, not a metric here → how to compute it
    inverse_median_rank = "1 / median_rank"

    [options]                     # an option of the tool → choices here, whatever the metric
    "missing=skip" = { missing = "skip" }
    "max_rel={value}" = { max_gain = "{value}" }    # an option with any value

    [[bugs]]                      # outright bugs, followed only on demand
    why = "divides by one too many"
    metrics = ["auc"]
    choices = { denominator = "k" }

    [[deviations]]                # where the profile stays with the documented meaning
    why = "…"
    names = ["NDCG*"]             # patterns of the tool's names
    when = "negative gains"       # data whose result says so: these, or "long ties"

A new convention needs this profile and a recording of the tool's answers, which
``tests/conformance/recordings.py`` describes. A test checks that each has the other.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

from rankmeter.errors import UsageError
from rankmeter.errors._checks import unknown_word_error

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable


WIDELY_USED = (
    "sklearn", "lightgbm", "xgboost", "catboost", "torchmetrics", "mlflow", "elasticsearch",
    "spark", "opensearch", "trec_eval", "pytrec_eval", "mteb", "beir", "sentence_transformers",
    "ranx", "ir_measures", "tf_ranking", "recbole", "recommenders", "pyg", "pykeen",
)  # fmt: skip
"""Tools that have many users, by a rough estimate, most of them first; `explain` lists them so."""


@dataclass(frozen=True)
class Convention:
    """The choices of one tool: the sections of its file, described in the module docstring.

    `earlier` are versions whose recorded numbers were the same; `switches` is the section ``all``;
    `metrics` has the options and choices by canonical name, and by ``name@`` those of the metric
    with a cutoff. In `names`, ``{k}`` is a cutoff that belongs elsewhere than after ``@``.
    `differs` says by canonical name what is different about a metric of the tool that is not
    followed, and `elsewhere` how a number that is not a metric here comes from others. Scores in
    matrices that differ by no more than `tolerance`, absolute and relative, are tied.
    """

    name: str
    title: str
    version: str = ""
    earlier: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    switches: Mapping[str, Any] = field(default_factory=dict)
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    marks: str = "@_"
    tolerance: tuple[float, float] = (0.0, 0.0)
    names: Mapping[str, str] = field(default_factory=dict)
    differs: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Mapping[str, str] = field(default_factory=dict)
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bugs: tuple[Mapping[str, Any], ...] = ()
    deviations: tuple[Mapping[str, Any], ...] = ()

    def choices(self, metric: str, k: int | None, *, bugs: bool = False) -> dict[str, Any]:
        """Options and choices of one metric; specific ones win over general ones, bugs over all."""
        values = {**self.switches, **self.metrics.get(metric, {})}
        if k is not None:
            values |= self.metrics.get(f"{metric}@", {})
        for bug in self.bugs if bugs else ():
            if metric in bug["metrics"]:
                values |= bug["choices"]
        return values

    def deviations_on(self, condition: str, metrics: Collection[str]) -> tuple[str, ...]:
        """Deviations for data that meet a condition, of these metrics by canonical name."""
        theirs = [name for name, ours in self.names.items() if ours.partition("(")[0] in metrics]
        return tuple(
            deviation["why"]
            for deviation in self.deviations
            if deviation.get("when") == condition
            and any(fnmatchcase(n, p) for n in theirs for p in deviation.get("names", ["*"]))
        )


def convention_names() -> tuple[str, ...]:
    """Names of all conventions, sorted."""
    return tuple(sorted(_profile_files()))


def usage_rank(name: str) -> int:
    """Index of a convention in `WIDELY_USED`; all other conventions share the last index."""
    return WIDELY_USED.index(name) if name in WIDELY_USED else len(WIDELY_USED)


def load_convention(name: str) -> Convention:
    """Load the convention with a name or alias; case, ``-`` and ``_`` do not matter.

    A version can follow, as in ``rectools==0.19.0``; one that no profile follows is an error.
    """
    if not isinstance(name, str):
        raise unknown_word_error("convention", name, convention_names())
    tool, pinned, version = name.partition("==")
    file = tool.strip().lower().replace("-", "_")
    if file not in _profile_files():
        file = _names_by_alias().get(file, file)  # reads every file
    if file not in _profile_files():
        raise unknown_word_error("convention", tool if pinned else name, convention_names())
    return _load_profile(file) if not pinned else _load_version(file, version.strip())


def _load_version(file: str, version: str) -> Convention:
    """Load the profile of a version of a tool, or name the known versions."""
    names = [n for n in _profile_files() if n == file or n.startswith(f"{file}_")]
    profiles = [p for p in map(_load_profile, names) if p.version]
    for profile in profiles:
        if version in (profile.version, *profile.earlier):
            return profile
    known = " or ".join(f"{p.name}=={v}" for p in profiles for v in (p.version, *p.earlier))
    raise UsageError(
        f"{_load_profile(file).title} {version} was not recorded, so its numbers are not known"
        + (f"; known: {known}" if known else "; this convention has no versions")
        + f". Write {file!r} for the version that is known",
        option="like",
    )


@functools.cache
def _profile_files() -> Mapping[str, Traversable]:
    from importlib import resources

    files = resources.files(__package__).iterdir()
    return {f.name.removesuffix(".toml"): f for f in files if f.name.endswith(".toml")}


@functools.cache
def _names_by_alias() -> Mapping[str, str]:
    return {alias: name for name in _profile_files() for alias in _load_profile(name).aliases}


@functools.cache
def _load_profile(name: str) -> Convention:
    import tomllib

    data = tomllib.loads(_profile_files()[name].read_text("utf-8"))
    facts: dict[str, Any] = {"switches": data.pop("all", {})}
    facts |= {key: tuple(v) if isinstance(v, list) else v for key, v in data.items()}
    return Convention(**facts)
