"""The report: one self-contained page that opens offline and can be read back."""

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

from rankmeter._engine import Place
from rankmeter._estimates.estimates import Estimate
from rankmeter._estimates.verdicts import Headline, Verdict
from rankmeter._estimates.wording import number, signed
from rankmeter._report.charts import COLOURS
from rankmeter._report.table import Table, visible
from rankmeter._report.walks import named
from rankmeter._version import __version__
from rankmeter._words import in_words
from rankmeter.errors import FileFormatError, MissingDependencyError

__all__ = ["Digest", "MeanCell", "read_page", "render", "require_packages"]

MAX_ROWS = 200
"""Differences in the table of the page; the machine-readable result holds all of them."""
RESULT = "rankmeter-result"
"""The id of the machine-readable result in the page."""
SIGNS = "●■▲◆✚▼▶◀●■"
"""`SHAPES` of the charts as text."""


@dataclass(frozen=True)
class MeanCell:
    """A mean in the table of means.

    `best` if no system has a better one. `mark` is the significance marker, ▲ or ▼ or letters of
    systems; with too many letters, `beats` counts the systems that are worse.
    """

    estimate: Estimate
    best: bool
    mark: str = ""
    beats: int | None = None


@dataclass(frozen=True)
class Digest:
    """The content of the page of a comparison.

    `result` is the machine-readable result, which the page uses where it can. Everything else is
    ready to be shown: a row of `means` is the title of a system and a cell per metric. `shown` are
    the systems in charts. `good_k` has the smallest good k by metric and system, `extremes` the
    users that gain most from a system, with the values of both, `lists` the tops of their lists by
    metric, user and system, where they are in memory, `figures` the charts by kind and
    metric; a chart of several metrics is one object.
    """

    headline: Headline
    verdicts: Sequence[Verdict]
    means: Sequence[Sequence[str | MeanCell]]
    notes: Sequence[str]
    differences: Table
    shown: Sequence[str]
    good_k: Mapping[str, Mapping[str, int]]
    extremes: Mapping[str, Mapping[str, Sequence[tuple[str, float, float]]]]
    lists: Mapping[str, Mapping[str, Mapping[str, Sequence[Place]]]]
    figures: Mapping[str, Mapping[str, Sequence[Any]]]
    plan: str
    result: Mapping[str, Any]


def read_page(path: str | Path) -> dict[str, Any]:
    """The result inside a report of a comparison: that of `Comparison.to_dict`.

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
        whole = _is_result(result)
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        whole = False
    if not whole:
        raise FileFormatError(
            f"{path} holds no result: expected a report from rankmeter compare --report"
        )
    return result


def _is_result(result: Any) -> bool:
    """Whether this is the result of a comparison, as far as readers of the page need it.

    Data of a different form may also raise TypeError, KeyError or AttributeError.
    """
    means = [one[name] for one in result["metrics"].values() for name in result["systems"]]
    figures = [one[figure] for one in means for figure in ("mean", "low", "high")]
    sentences = [one["sentence"] for one in result["differences"]]
    texts = [*result["systems"], *result["metrics"], *sentences, result["plan"]["convention"]]
    return (
        bool(means)
        and result["schema"] == 1
        and all(isinstance(text, str) for text in texts)
        and isinstance(result["baseline"], str | None)
        and all(one is None or isinstance(one, int | float) for one in figures)
    )


def render(digest: Digest) -> str:
    """The text of the page."""
    require_packages()
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        loader=jinja2.PackageLoader("rankmeter", "_report"),
        undefined=jinja2.StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["number"] = number
    environment.filters["words"] = in_words
    style, script = _own("page.css"), _own("page.js")
    library, packed_library = _vega()
    found = digest.result
    return environment.get_template("page.html.jinja").render(
        digest=digest,
        found=found,
        n_users=max(one["n_users"] for by in found["metrics"].values() for one in by.values()),
        level=f"{100 * found['plan']['confidence']:g} %",
        counts=_count_table(found["users"]),
        version=__version__,
        policy=_policy(style, (script, library)),
        style=style,
        script=script,
        library=packed_library,
        labels=list(found["metrics"]),
        max_rows=MAX_ROWS,
        user_rows=_user_rows,
        named=named,
        legend=list(zip(digest.shown, COLOURS, SIGNS, strict=False)),
        figures=_json(_figures(digest.figures)),
        result_id=RESULT,
        result=_json(found),
    )


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


def _figures(figures: Mapping[str, Mapping[str, Sequence[Any]]]) -> dict[str, Any]:
    """The charts, each once, and which of them are where for which metric."""
    drawn = {id(one): one for by in figures.values() for found in by.values() for one in found}
    number_of = {key: number for number, key in enumerate(drawn)}
    places = {
        kind: {label: [number_of[id(one)] for one in found] for label, found in by.items()}
        for kind, by in figures.items()
    }
    specs = [one.properties(width="container").to_dict() for one in drawn.values()]
    for spec in specs:
        del spec["$schema"], spec["config"]
    return {"places": _legible(places), "specs": _legible(specs)}


def _legible(value: Any) -> Any:
    """The specification of a chart, with all texts as the page shows them."""
    if isinstance(value, dict):
        return {_legible(name): _legible(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_legible(one) for one in value]
    return visible(value) if isinstance(value, str) else value


def _json(value: Any) -> str:
    """JSON for a script element, without characters of markup."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


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
            "img-src data:",  # the empty icon, so that browsers do not request one from a server
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
