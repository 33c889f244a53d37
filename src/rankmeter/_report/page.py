"""The report: one self-contained page that opens offline and can be read back."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from rankmeter._checks import counted
from rankmeter._engine import Place
from rankmeter._estimates.estimates import Estimate
from rankmeter._estimates.shares import Shares
from rankmeter._estimates.verdicts import Headline, Verdict
from rankmeter._estimates.wording import level, number, signed
from rankmeter._files import replacing
from rankmeter._report.drawn import Drawing, drawing
from rankmeter._report.table import Table, visible
from rankmeter._report.walks import named
from rankmeter._version import __version__
from rankmeter._words import in_words
from rankmeter.errors import FileFormatError, MissingDependencyError

MAX_ROWS = 200
"""Differences in the table of the page; the machine-readable result holds all of them."""
RESULT = "rankmeter-result"
"""The id of the machine-readable result in the page."""
ROWS_ON_PAPER = 60
"""Differences that are printed; the style sheet hides the others."""
MAX_PRINTED = 3
"""Users whose lists are printed; the others are only on the screen."""
SIGNS = "●■▲◆✚▼▶◀●■"
"""`SHAPES` of the charts as text."""


@dataclass(frozen=True)
class MeanCell:
    """A mean in the table of means.

    `place` is 1 if no system has a better one, 2 if it is the second, else 0. `mark` is the
    significance marker, ▲ or ▼ or letters of systems; with too many letters, `beats` counts the
    systems that are worse.
    """

    estimate: Estimate
    place: int = 0
    mark: str = ""
    beats: int | None = None


@dataclass(frozen=True)
class Digest:
    """The content of the page of a comparison.

    `result` is the machine-readable result, which the page uses where it can. Everything else is
    ready to be shown: a row of `means` is the title of a system and a cell per metric, of
    `segments`, by metric, that of a segment and a cell per system. `shown` are the systems in
    charts. `good_k` has the smallest good k of each system, `hits` the ranks of the first hits,
    `popularity` a cutoff and how popular the items above it are, `extremes` the users that gain
    most from a system, with the values of both, `lists` the tops of their lists by metric, user
    and system, where they are in memory, `figures` the charts by kind and metric,
    `call` the call in Python that gives the same, or nothing.
    """

    headline: Headline
    verdicts: Sequence[Verdict]
    means: Sequence[Sequence[str | MeanCell]]
    notes: Sequence[str]
    differences: Table
    shown: Sequence[str]
    good_k: Table
    hits: Shares | None
    popularity: tuple[int, Shares] | None
    segments: Mapping[str, Sequence[Sequence[str | MeanCell]]]
    heterogeneity: Table
    extremes: Mapping[str, Mapping[str, Sequence[tuple[str, float, float]]]]
    lists: Mapping[str, Mapping[str, Mapping[str, Sequence[Place]]]]
    figures: Mapping[str, Mapping[str, Sequence[Any]]]
    plan: str
    call: str
    result: Mapping[str, Any]


@dataclass(frozen=True)
class Portrait:
    """The content of the page of one evaluation.

    `spread` has quantiles of the users' values, `parts` for each way to divide the users a row for
    each part with a cell per metric, `extremes` the users with the worst and the best values,
    `lists` the tops of their lists by metric and user; the others are those of `Digest`.
    """

    headline: Headline
    estimates: Mapping[str, Estimate]
    notes: Sequence[str]
    spread: Table
    hits: Shares | None
    popularity: tuple[int, Shares] | None
    parts: Mapping[str, Sequence[Sequence[str | MeanCell]]]
    extremes: Mapping[str, Mapping[str, Sequence[tuple[str, float]]]]
    lists: Mapping[str, Mapping[str, Sequence[Place]]]
    figures: Mapping[str, Mapping[str, Sequence[Any]]]
    plan: str
    call: str
    result: Mapping[str, Any]


def read_page(path: str | Path) -> dict[str, Any]:
    """The result inside a report: that of `Comparison.to_dict` or of `Summary.to_dict`.

    Raises
    ------
    FileFormatError
        If the file is not such a page.
    """
    text = Path(path).read_bytes().decode("utf-8", errors="replace")
    found = re.search(
        rf'<script type="application/json" id="{RESULT}">(.*?)</script>', text, re.DOTALL
    )
    try:
        result: dict[str, Any] = json.loads(found[1] if found else "")
        whole = _is_comparison(result) if "systems" in result else _is_evaluation(result)
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        whole = False
    if not whole:
        raise FileFormatError(
            f"{path} holds no result: expected a report from rankmeter compare --report or "
            "rankmeter evaluate --report"
        )
    return result


def _is_comparison(result: Any) -> bool:
    """Whether this is the result of a comparison, as far as readers of the page need it.

    Data of a different form may also raise TypeError, KeyError or AttributeError.
    """
    means = [one[name] for one in result["metrics"].values() for name in result["systems"]]
    sentences = [one["sentence"] for one in result["differences"]]
    texts = [*result["systems"], *sentences]
    return (
        _are_means(result, means)
        and all(isinstance(text, str) for text in texts)
        and isinstance(result["baseline"], str | None)
    )


def _is_evaluation(result: Any) -> bool:
    """Whether this is the result of one evaluation; may raise what `_is_comparison` raises."""
    means = [*result["metrics"].values()]
    notes, users = result["notes"], [one["n_users"] for one in means]
    return (
        _are_means(result, means)
        and isinstance(notes, list)
        and all(isinstance(text, str) for text in notes)
        and all(isinstance(n, int) for n in users)
    )


def _are_means(result: Any, means: Sequence[Any]) -> bool:
    """Whether these are means with intervals, by name of the metric and with a convention."""
    figures = [one[figure] for one in means for figure in ("mean", "low", "high")]
    return (
        bool(means)
        and result["schema"] == 1
        and all(
            isinstance(text, str) for text in (*result["metrics"], result["plan"]["convention"])
        )
        and all(one is None or isinstance(one, int | float) for one in figures)
    )


def render(digest: Digest) -> str:
    """The text of the page."""
    require_packages()
    found = digest.result
    return _rendered(
        "comparison",
        digest,
        found=found,
        n_users=max(one["n_users"] for by in found["metrics"].values() for one in by.values()),
        counts=_count_table(found["users"]),
        labels=list(found["metrics"]),
        max_rows=MAX_ROWS,
        rows_on_paper=ROWS_ON_PAPER,
        user_rows=_user_rows,
        systems=[(f"{i}", SIGNS[i], name) for i, name in enumerate(digest.shown)],
    )


def render_one(digest: Portrait) -> str:
    """The text of the page of one evaluation."""
    require_packages()
    estimates = digest.estimates
    return _rendered(
        "summary",
        digest,
        n_users=max(e.n for e in estimates.values()),
        counts=_count_table({"rankings": digest.result["users"]}),
        labels=list(estimates),
        mean_rows=_mean_rows,
        value_rows=_value_rows,
        lists_of={
            label: {user: {"": places} for user, places in by.items()}
            for label, by in digest.lists.items()
        },
    )


def _rendered(template: str, digest: Digest | Portrait, **more: Any) -> str:
    found = _environment().get_template(f"{template}.html.jinja")
    return str(found.render(**_frame(digest), **more))


def _frame(digest: Digest | Portrait) -> dict[str, Any]:
    """What the pages of all results need."""
    style, script = _own("page.css"), _own("page.js")
    found = digest.result
    kinds = digest.popularity[1].classes if digest.popularity else ()
    return {
        "digest": digest,
        "level": level(found["plan"]["confidence"]),
        "version": __version__,
        "policy": _policy(style, script),
        "style": style,
        "script": script,
        "named": named,
        "counted": counted,
        "max_printed": MAX_PRINTED,
        "share_rows": _share_rows,
        "classes": [(f"p{i}", "■", kind) for i, kind in enumerate(kinds)],
        "drawings": {kind: _drawn(by) for kind, by in digest.figures.items()},
        "result_id": RESULT,
        "result": _json(found),
    }


def _environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        loader=jinja2.PackageLoader("rankmeter", "_report"),
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        breakable=_breakable, exact=_exact, number=number, words=in_words, signed=signed
    )
    return environment


def _breakable(name: str) -> Any:
    """The name of a metric, which a narrow card breaks at its signs and not within a word."""
    from markupsafe import Markup, escape

    parts = re.split(r"(?<=[_,])|(?=[@(])", visible(name))
    return Markup("<wbr>").join(escape(part) for part in parts)


def _exact(value: float) -> str:
    """All digits of a number; nothing for NaN."""
    return "" if math.isnan(value) else repr(value)


def _shown(value: Any) -> Any:
    """A text of the page without hidden characters; our own markup unchanged."""
    return visible(value) if isinstance(value, str) and not hasattr(value, "__html__") else value


def require_packages() -> None:
    """Check that all packages of the extra ``report`` are installed before any work is done."""
    for name in ("altair", "jinja2", "vl_convert"):
        try:
            __import__(name)
        except ImportError:
            raise MissingDependencyError(
                f"the report needs {name}: pip install 'rankmeter[report]'"
            ) from None


def write(path: str | Path, page: Callable[[], str]) -> None:
    """Write a page, which is made only if all packages are installed."""
    require_packages()
    with replacing(path) as file:
        file.write(page().encode())


def _count_table(counts: Mapping[str, Mapping[str, int]]) -> Table:
    """The counts of rows read, dropped and merged, for each system."""
    names = list(dict.fromkeys(name for one in counts.values() for name in one))
    rows = [(s, *(f"{one.get(name, 0):,}" for name in names)) for s, one in counts.items()]
    return Table(("system", *(in_words(name.replace("_", " ")) for name in names)), rows)


def _user_rows(
    sides: Mapping[str, Sequence[tuple[str, float, float]]],
) -> dict[str, list[tuple[str, ...]]]:
    """The rows of users under the system that is better for them."""
    return {
        f"{name} is better for them": [
            (user, f"{x:.4f}", f"{y:.4f}", signed(x - y)) for user, x, y in side
        ]
        for name, side in sides.items()
        if side
    }


def _mean_rows(estimates: Mapping[str, Estimate]) -> list[tuple[str | MeanCell, ...]]:
    return [(label, MeanCell(e), f"{e.n:,}", f"{e.undefined:,}") for label, e in estimates.items()]


def _value_rows(
    sides: Mapping[str, Sequence[tuple[str, float]]],
) -> dict[str, list[tuple[str, ...]]]:
    return {name: [(user, number(value)) for user, value in side] for name, side in sides.items()}


def _share_rows(found: Shares) -> list[tuple[str, ...]]:
    return [(name, *(f"{share:.1%}" for share in of)) for name, of in found.of.items()]


def _drawn(charts: Mapping[str, Sequence[Any]]) -> dict[str, list[Drawing]]:
    """The charts of one kind by metric, each once: a chart of several metrics is one object."""
    seen: set[int] = set()
    found = {}
    for label, some in charts.items():
        fresh = [one for one in some if id(one) not in seen]
        seen.update(map(id, fresh))
        found[label] = [drawing(one) for one in fresh]
    return found if any(found.values()) else {}


def _json(value: Any) -> str:
    """JSON for a script element, without characters of markup."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _policy(style: str, script: str) -> str:
    """What the browser may run and load: our own script and style, and nothing from anywhere."""

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {digest(script)}",
            f"style-src {digest(style)}",
            "img-src data:",  # the empty icon, so that browsers do not request one from a server
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
