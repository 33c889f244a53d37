"""The report: one page that holds everything it needs, opens offline and can be read back."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from rankmeter._estimates.estimates import Estimate
from rankmeter._estimates.verdicts import Card, Headline
from rankmeter._estimates.wording import number, signed
from rankmeter._files import replacing
from rankmeter._report.charts import COLOURS, SHAPES
from rankmeter._report.table import Table
from rankmeter.errors import FileFormatError, MissingDependencyError

__all__ = ["Digest", "MeanCell", "read_page", "render", "require_packages", "write_page"]

MAX_ROWS = 200
"""Differences in the table of the page; the machine-readable result holds all of them."""
RESULT = "rankmeter-result"
"""Where in the page the machine-readable result is."""
SIGNS = dict(
    zip(("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right",
         "triangle-left"), "●■▲◆✚▼▶◀", strict=True)
)  # fmt: skip


@dataclass(frozen=True)
class MeanCell:
    """A mean in the table of means.

    Attributes
    ----------
    estimate : Estimate
    best : bool
        Whether no system has a better one.
    mark : str
        What is significant: ▲ or ▼, or letters of systems.
    beats : int or None
        How many systems are significantly worse, where letters would be too many.
    """

    estimate: Estimate
    best: bool
    mark: str = ""
    beats: int | None = None


@dataclass(frozen=True)
class Digest:
    """All that the page of a comparison shows.

    Attributes
    ----------
    version : str
        Of the package.
    systems, baseline, confidence, settings, dropped, plan
        As the comparison has them; the plan in words.
    n_users : int
    headline : Headline
    cards : sequence of Card
        One per metric, in its order.
    means, notes : sequences of rows and of str
        A row is a title of the system and a `MeanCell` per metric.
    differences, counts : Table
        All differences; what was read, dropped and merged for each system.
    shown : sequence of str
        The systems in charts.
    good_k : mapping of metric to mapping of system to int
        The smallest k that is good enough, of metrics that have a curve.
    extremes : mapping of metric to mapping of system to sequence of (user, value of a, value of b)
        The users that gain most from the system; empty if all users are equal.
    figures : mapping of kind to mapping of metric to sequence of charts
        A chart of several metrics is one object.
    segmented : bool
        Whether there are segments.
    result : mapping
        The machine-readable result.
    """

    version: str
    systems: Sequence[str]
    baseline: str
    confidence: float
    n_users: int
    headline: Headline
    cards: Sequence[Card]
    means: Sequence[Sequence[str | MeanCell]]
    notes: Sequence[str]
    differences: Table
    shown: Sequence[str]
    good_k: Mapping[str, Mapping[str, int]]
    extremes: Mapping[str, Mapping[str, Sequence[tuple[str, float, float]]]]
    figures: Mapping[str, Mapping[str, Sequence[Any]]]
    segmented: bool
    settings: Mapping[str, Any]
    dropped: Mapping[str, int]
    plan: str
    counts: Table
    result: Mapping[str, Any]


def write_page(digest: Digest, path: str | Path) -> None:
    """Write the report of a comparison.

    Parameters
    ----------
    digest : Digest
    path : str or Path

    Raises
    ------
    MissingDependencyError
        If a package of the extra ``report`` is not installed.
    OSError
        If the file cannot be written.
    """
    with replacing(path) as file:
        file.write(render(digest).encode())


def read_page(path: str | Path) -> dict[str, Any]:
    """The result inside a report: what `Comparison.to_dict` gave when it was written.

    Parameters
    ----------
    path : str or Path
        A file that `write_page` wrote.

    Raises
    ------
    FileFormatError
        If it is no such file.
    OSError
        If it cannot be read.
    """
    text = Path(path).read_bytes().decode("utf-8", errors="replace")
    found = re.search(
        rf'<script type="application/json" id="{RESULT}">(.*?)</script>', text, re.DOTALL
    )
    try:
        result: dict[str, Any] = json.loads(found[1] if found else "")
    except json.JSONDecodeError:
        raise FileFormatError(
            f"{path} holds no result: a report written by rankmeter compare --report was expected"
        ) from None
    return result


def render(digest: Digest) -> str:
    """The text of the page.

    Parameters
    ----------
    digest : Digest

    Raises
    ------
    MissingDependencyError
        If a package of the extra ``report`` is not installed.
    """
    require_packages()
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        loader=jinja2.PackageLoader("rankmeter", "_report"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    style, script = _own("page.css"), _own("page.js")
    library, packed_library = _vega()
    return environment.get_template("page.html.jinja").render(
        digest=digest,
        policy=_policy(style, (script, library)),
        style=_verbatim(style),
        script=_verbatim(script),
        library=packed_library,
        labels=[card.metric for card in digest.cards],
        max_rows=MAX_ROWS,
        user_rows=_user_rows,
        legend=list(zip(digest.shown, COLOURS, [SIGNS[shape] for shape in SHAPES], strict=False)),
        figures=_json(_figures(digest.figures)),
        result_id=RESULT,
        result=_json(digest.result),
    )


def require_packages() -> None:
    """See that all packages are there before any work is done.

    Raises
    ------
    MissingDependencyError
        If a package of the extra ``report`` is not installed.
    """
    for name in ("altair", "jinja2", "vl_convert"):
        try:
            __import__(name)
        except ImportError:
            raise MissingDependencyError(
                f"the report needs {name}: pip install 'rankmeter[report]'"
            ) from None


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


def _figures(figures: Mapping[str, Mapping[str, Sequence[Any]]]) -> dict[str, Any]:
    """The charts, each once, and which of them stand where for which metric."""
    specs: list[Any] = []
    found: dict[int, int] = {}

    def add(drawn: Any) -> int:
        if id(drawn) not in found:
            found[id(drawn)] = len(specs)
            spec = drawn.properties(width="container").to_dict()
            specs.append({n: v for n, v in spec.items() if n not in ("$schema", "config")})
        return found[id(drawn)]

    places = {
        kind: {label: [*map(add, drawn)] for label, drawn in by_metric.items()}
        for kind, by_metric in figures.items()
    }
    return {"places": places, "specs": specs}


def _json(value: Any) -> Any:
    """JSON that can stand in a script element: no character of markup is left in it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return _verbatim(text)


def _verbatim(text: str) -> Any:
    from markupsafe import Markup

    return Markup(text)  # noqa: S704 - our own files, or JSON without markup


def _own(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


@cache
def _vega() -> tuple[str, str]:
    """Vega, Vega-Lite and Vega-Embed, which draw the charts, as one script; plain and packed."""
    import altair as alt
    import vl_convert

    version = ".".join(alt.SCHEMA_VERSION.split(".")[:2])
    library: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", version)
    packed = gzip.compress(library.encode(), mtime=0)
    return library, base64.b64encode(packed).decode()


def _policy(style: str, scripts: tuple[str, ...]) -> str:
    """What the browser may run and load: our own scripts and style, and nothing from anywhere."""

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(digest, scripts))}",  # no eval: expressions are interpreted
            f"style-src {digest(style)}",
            "img-src data:",  # the empty icon, which saves asking a server for one
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
