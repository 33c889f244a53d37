"""The report: one page that holds everything it needs, opens offline and can be read back."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankmeter._report.charts import COLOURS, SHAPES, curve_panels, distinct_curves, panels
from rankmeter._report.excerpt import systems_shown, verdict
from rankmeter._report.headline import headline, summary_of
from rankmeter._report.page_tables import (
    MAX_ROWS,
    count_table,
    difference_table,
    means_table,
    user_table,
)
from rankmeter.errors import FileFormatError, MissingDependencyError

if TYPE_CHECKING:
    from rankmeter._comparison import Comparison
    from rankmeter._curves import Curve

__all__ = ["read_page", "render", "write_page"]

RESULT = "rankmeter-result"
"""Where in the page the machine-readable result is."""
SIGNS = dict(
    zip(("circle", "square", "triangle-up", "diamond", "cross", "triangle-down", "triangle-right",
         "triangle-left"), "●■▲◆✚▼▶◀", strict=True)
)  # fmt: skip


def write_page(comparison: Comparison, path: str | Path) -> None:
    """Write the report of a comparison.

    Parameters
    ----------
    comparison : Comparison
    path : str or Path

    Raises
    ------
    MissingDependencyError
        If a package of the extra ``report`` is not installed.
    OSError
        If the file cannot be written.
    """
    Path(path).write_bytes(render(comparison).encode())


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


def render(comparison: Comparison) -> str:
    """The text of the page.

    Parameters
    ----------
    comparison : Comparison

    Raises
    ------
    MissingDependencyError
        If a package of the extra ``report`` is not installed.
    """
    _require()
    import jinja2

    from rankmeter import __version__

    environment = jinja2.Environment(
        autoescape=True,
        loader=jinja2.PackageLoader("rankmeter", "_report"),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    labels = [entry.label for entry in comparison.plan.metrics]
    first_of = distinct_curves(comparison)
    firsts = [comparison.plan[label] for label in dict.fromkeys(first_of.values())]
    curves = comparison.curves(firsts) if firsts else {}
    verdicts = {label: verdict(comparison, label) for label in labels}
    style, script = _own("page.css"), _own("page.js")
    library, packed_library = _vega()
    means, notes = means_table(comparison)
    differences, n_differences = difference_table(comparison)
    shown = systems_shown(comparison)
    return environment.get_template("page.html.jinja").render(
        version=__version__,
        policy=_policy(style, (script, library)),
        style=_verbatim(style),
        script=_verbatim(script),
        library=packed_library,
        comparison=comparison,
        labels=labels,
        n_users=max(e.n for e in comparison.estimates.values()),
        headline=headline(verdicts[labels[0]], comparison),
        cards=[summary_of(verdicts[label], comparison) for label in labels],
        means=means,
        notes=notes,
        differences=differences,
        n_differences=n_differences,
        max_rows=MAX_ROWS,
        users={
            label: user_table(comparison, verdicts[label], number)
            for number, label in enumerate(labels)
        },
        counts=count_table({name: s.counts for name, s in comparison.summaries.items()}),
        legend=list(zip(shown, COLOURS, [SIGNS[shape] for shape in SHAPES], strict=False)),
        good_k={label: _good_k(curves[first], shown) for label, first in first_of.items()},
        figures=_json(_figures(comparison, labels, curves, first_of)),
        result_id=RESULT,
        result=_json(comparison.to_dict()),
    )


def _require() -> None:
    """See that all packages are there before any work is done."""
    for name in ("altair", "great_tables", "jinja2", "vl_convert"):
        try:
            __import__(name)
        except ImportError:
            raise MissingDependencyError(
                f"the report needs {name}: pip install 'rankmeter[report]'"
            ) from None


def _good_k(curve: Curve, shown: Sequence[str]) -> str:
    found = curve.smallest_good_k()
    return ", ".join(f"{name} {found[name]}" for name in shown)


def _figures(
    comparison: Comparison,
    labels: Sequence[str],
    curves: Mapping[str, Curve],
    first_of: Mapping[str, str],
) -> dict[str, Any]:
    """The charts, each once, and which of them stand where for which metric."""
    specs: list[Any] = []

    def add(drawn: Sequence[Any]) -> list[int]:
        for one in drawn:
            spec = one.properties(width="container").to_dict()
            specs.append({n: v for n, v in spec.items() if n not in ("$schema", "config")})
        return list(range(len(specs) - len(drawn), len(specs)))

    drawn = {label: add(curve_panels(comparison, label, curve)) for label, curve in curves.items()}
    places: dict[str, dict[str, list[int]]] = {
        kind: {label: add(panels(comparison, kind, label)) for label in labels}
        for kind in ("forest", "differences", "segments")
    }
    places["curve"] = {label: drawn[first] for label, first in first_of.items()}
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
