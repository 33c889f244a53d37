"""The report: a page of its own, with charts as SVG."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

from rankmeter._files import open_replacement
from rankmeter._report.charts import (
    BETTER,
    BLUES,
    COLORS,
    MARK,
    NEITHER,
    WORSE,
    clean_spec_texts,
    describe_marks,
    render_svg,
)
from rankmeter._report.desk import pack_desk
from rankmeter._report.sections import sections_of_page
from rankmeter._results.counts import count_in_words
from rankmeter._results.tables import TextTable
from rankmeter._results.wording import level_text, number_text, signed_text
from rankmeter._show.tables import item_with_title
from rankmeter._version import __version__
from rankmeter.errors import FileFormatError, MissingDependencyError, spell_out_hidden_characters
from rankmeter.errors._checks import count_users, counted, words_in_use

WIDTH = 320
"""Pixels: a column of the page, or a phone."""
CONFIG = {
    "background": None,
    "font": "Arial, Liberation Sans, sans-serif",
    "autosize": {"type": "fit-x", "contains": "padding"},
    "padding": 2,
    "view": {"stroke": None},
    "legend": {"disable": True},
    "axis": {
        "labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": "normal",
        "labelOverlap": True, "labelSeparation": 8, "titleLimit": 260, "titlePadding": 8,
    },
    # Names get the room of a wider font than the one that they are measured in.
    "axisY": {"labelFontSize": 13.5, "labelLimit": 0.42 * WIDTH},
}  # fmt: skip
CLASSES = {
    **{color: f"p{i}" for i, color in enumerate(BLUES)},
    **{color: str(i) for i, color in enumerate(COLORS)},
    "white": "paper",
    WORSE: "w",
    NEITHER: "n",
    BETTER: "0",
}
"""The name of each color in the classes of the page, where it suits light and dark paper."""
_DROPPED = (
    "aria-hidden", "aria-label", "aria-roledescription", "font-family", "font-size",
    "pointer-events", "role", "stroke-miterlimit", "xmlns",
)  # fmt: skip
_ROUND = ("d", "transform", "x", "y", "x2", "y2", "width", "height")


@dataclass(frozen=True)
class Drawing:
    """A chart with its caption."""

    title: str
    subtitle: str
    svg: str
    pick: str = ""
    """The users of each mark, as JSON; the marks have the numbers."""


def draw_chart(chart: Any, *, pickable: bool = False) -> Drawing:
    """Draw a chart of `charts` as SVG, with title and subtitle."""
    spec = clean_spec_texts(chart.properties(width=WIDTH).to_dict(validate=False))
    title = spec.pop("title", "")
    heading = title if isinstance(title, dict) else {"text": title}
    pick = spec.pop("usermeta", {}) if pickable else {}
    spec.pop("usermeta", None)
    describe_marks(spec, [], pick.pop("fields", ()))
    svg = _clean_svg(render_svg({**spec, "config": CONFIG}), spec["description"])
    text = json.dumps(pick, ensure_ascii=False) if pick else ""
    return Drawing(heading["text"], heading.get("subtitle", ""), svg, text)


def _clean_svg(text: str, description: str) -> str:
    """Reduce an SVG drawing of Vega to the marks and labels that the page uses."""
    root = ET.fromstring(text)  # noqa: S314 - of our own making
    for parent in [*root.iter()]:
        for element in [*parent]:
            unseen = element.get("opacity") == "0" and not element.get("aria-label")
            if unseen or element.get("class") in ("background", "foreground"):
                parent.remove(element)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        _simplify_svg_element(element)
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "width": root.attrib["width"],
        "height": root.attrib["height"],
        "role": "img",
        "aria-label": description,
    }
    return ET.tostring(root, encoding="unicode")


def _simplify_svg_element(element: ET.Element) -> None:
    """Simplify an SVG element in place: classes for colors, a title, rounded coordinates."""
    label = element.get("aria-label")
    if label and element.tag not in ("g", "svg"):
        text, _, at = label.partition(MARK)
        ET.SubElement(element, "title").text = text
        if at:
            element.set("data-at", at)
    for name in _DROPPED:
        element.attrib.pop(name, None)
    if element.get("opacity") == "1":
        del element.attrib["opacity"]
    classes = [c for c in element.get("class", "").split() if c.startswith("role-axis")]
    colored = [paint for paint in ("fill", "stroke") if element.get(paint) in CLASSES]
    classes += [f"{paint}-{CLASSES[element.attrib.pop(paint)]}" for paint in colored]
    element.attrib.pop("class", None)
    if classes:
        element.set("class", " ".join(classes))
    for name in _ROUND:
        if name in element.attrib:
            element.set(name, re.sub(r"-?\d+\.\d{2,}", _round_decimal, element.attrib[name]))


def _round_decimal(digits: re.Match[str]) -> str:
    return f"{float(digits[0]):.1f}".removesuffix(".0")


MAX_ROWS = 200
"""Differences in the table of the page; the machine-readable result holds all of them."""
RESULT = "rankmeter-result"
"""The id of the machine-readable result in the page."""
DESK = "rankmeter-desk"
"""The id of the values and lists of users, which the script shows."""
ROWS_ON_PAPER = 60
"""Differences that are printed; the style sheet hides the others."""
MAX_PRINTED = 3
"""Users whose lists are printed; the others are only on the screen."""
SIGNS = "●■▲◆✚▼▶◀●■"
"""`SHAPES` of the charts as text."""


def read_page(path: str | Path) -> dict[str, Any]:
    """The result inside a report: the dictionary of `Comparison.to_dict` or `Summary.to_dict`.

    Raises
    ------
    FileFormatError
        If the file is not a report of rankmeter.
    """
    text = Path(path).read_bytes().decode("utf-8", errors="replace")
    script = re.search(
        rf'<script type="application/json" id="{RESULT}">(.*?)</script>', text, re.DOTALL
    )
    try:
        result: dict[str, Any] = json.loads(script[1] if script else "")
        is_result = _is_comparison(result) if "systems" in result else _is_evaluation(result)
    except (ValueError, RecursionError, TypeError, KeyError, AttributeError):
        is_result = False
    if not is_result:
        raise FileFormatError(
            f"{path} holds no result: expected a report from rankmeter compare --report or "
            "rankmeter evaluate --report"
        )
    return result


def _is_comparison(result: Any) -> bool:
    """Whether `result` has the fields of a comparison that readers of the page need.

    Data of a different form may also raise TypeError, KeyError or AttributeError.
    """
    means = [
        by_system[name] for by_system in result["metrics"].values() for name in result["systems"]
    ]
    sentences = (difference["sentence"] for difference in result["differences"])
    are_texts = _are_all_instances([*result["systems"], *sentences], str)
    return (
        _has_valid_means(result, means) and are_texts and isinstance(result["baseline"], str | None)
    )


def _is_evaluation(result: Any) -> bool:
    """Whether `result` is of one evaluation; may raise the errors of `_is_comparison`."""
    means = [*result["metrics"].values()]
    notes, users = result["notes"], [mean["n_users"] for mean in means]
    are_texts = isinstance(notes, list) and _are_all_instances(notes, str)
    return _has_valid_means(result, means) and are_texts and _are_all_instances(users, int)


def _has_valid_means(result: Any, means: Sequence[Any]) -> bool:
    """Whether `means` have intervals, and the result has metrics, a convention and schema 1."""
    figures = [mean[figure] for mean in means for figure in ("mean", "low", "high")]
    are_texts = _are_all_instances((*result["metrics"], result["plan"]["convention"]), str)
    is_readable = bool(means) and result["schema"] == 1
    return is_readable and are_texts and _are_all_instances(figures, int | float | None)


def _are_all_instances(values: Iterable[Any], kind: Any) -> bool:
    return all(isinstance(value, kind) for value in values)


def write_page(
    path: str | Path,
    template: str,
    content: Callable[[], Mapping[str, Any]],
    result: Callable[[], Mapping[str, Any]],
) -> None:
    """Write a page; the content is computed only if all packages are installed.

    Each page has a `headline`, ``labels`` of metrics, ``n_users``, ``counts`` by system,
    ``figures``: the charts by kind and metric, ``hits``: the ranks of the first hits,
    ``popularity``: a cutoff and how popular the items above it are, ``lists`` by metric, user and
    system, ``call``: the call in Python that gives the same, and a `Desk` or None; the template
    names the others.
    `SECTIONS` says which sections it has. The `result` is machine-readable, and the page uses it
    where it can.
    """
    require_packages()
    with open_replacement(path) as file:
        file.write(render_page(template, content(), result()).encode())


def render_page(template: str, content: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    """Render the text of a page; `write_page` describes the content."""
    desk = None if content["desk"] is None else pack_desk(content["desk"])
    style, scripts = _read_packaged_text("page.css"), [_read_packaged_text("page.js")]
    if desk is not None:
        style += _read_packaged_text("desk.css")
        scripts += map(_read_packaged_text, ("marks.js", "desk.js"))
    popular, systems = content["popularity"], content.get("shown", ())
    drawings = {
        kind: _draw_charts(charts, pickable=desk is not None)
        for kind, charts in content["figures"].items()
    }
    page = _jinja_environment().get_template(f"{template}.html.jinja")
    return str(
        page.render(
            sections=sections_of_page(content, drawings, words_in_use()),
            digest=content,
            found=result,
            labels=[*result["metrics"]],
            n_users=content["n_users"],
            counts=_count_table(content["counts"]),
            level=level_text(result["plan"]["confidence"]),
            version=__version__,
            policy=_content_security_policy(style, scripts),
            style=style,
            scripts=scripts,
            desk=desk,
            desk_id=DESK,
            named=item_with_title,
            counted=counted,
            count_users=count_users,
            words=words_in_use(),
            max_printed=MAX_PRINTED,
            max_rows=MAX_ROWS,
            rows_on_paper=ROWS_ON_PAPER,
            systems=[(f"{i}", SIGNS[i], name) for i, name in enumerate(systems)],
            classes=[(f"p{i}", "■", kind) for i, kind in enumerate(popular[1].classes)]
            if popular
            else [],
            drawings=drawings,
            result_id=RESULT,
            result=_json_for_script(result),
        )
    )


def render_template(template: str, **content: Any) -> str:
    """Render a page that is not of a result, with the style and the script of all pages."""
    style, script = _read_packaged_text("page.css"), _read_packaged_text("page.js")
    page = _jinja_environment().get_template(f"{template}.html.jinja")
    return str(
        page.render(
            version=__version__,
            policy=_content_security_policy(style, script),
            style=style,
            script=script,
            **content,
        )
    )


def _jinja_environment() -> Any:
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        loader=jinja2.PackageLoader("rankmeter", "_report"),
        undefined=jinja2.StrictUndefined,
        finalize=_spell_out_unless_markup,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        breakable=_mark_line_breaks,
        exact=_format_all_digits,
        number=number_text,
        signed=signed_text,
    )
    return environment


def _mark_line_breaks(name: str) -> Any:
    """Mark line breaks in the name of a metric: at signs, not within a word."""
    from markupsafe import Markup, escape

    pieces = re.split(r"(?<=[_,])|(?=[@(])", spell_out_hidden_characters(name))
    return Markup("<wbr>").join(escape(part) for part in pieces)


def _format_all_digits(value: float) -> str:
    """Format a number with all digits; an empty string for NaN."""
    return "" if math.isnan(value) else repr(value)


def _spell_out_unless_markup(value: Any) -> Any:
    """Spell out hidden characters of a text; rankmeter's own markup stays unchanged."""
    return (
        spell_out_hidden_characters(value)
        if isinstance(value, str) and not hasattr(value, "__html__")
        else value
    )


def require_packages() -> None:
    """Check that all packages of the extra ``report`` are installed before any work is done."""
    for name in ("altair", "jinja2", "vl_convert"):
        try:
            __import__(name)
        except ImportError:
            raise MissingDependencyError(
                f"the report needs {name}: pip install 'rankmeter[report]'"
            ) from None


def _count_table(counts: Mapping[str, Mapping[str, int]]) -> TextTable:
    """Table of the counts of rows read, dropped and merged, by system."""
    names = list(dict.fromkeys(name for by_name in counts.values() for name in by_name))
    rows = [(s, *(f"{by_name.get(name, 0):,}" for name in names)) for s, by_name in counts.items()]
    return TextTable(("system", *map(count_in_words, names)), rows)


def _draw_charts(
    charts: Mapping[str, Sequence[Any]], *, pickable: bool
) -> dict[str, list[Drawing]]:
    """Draw the charts of one kind, by metric; a chart object of several metrics is drawn once."""
    drawn_ids: set[int] = set()
    drawings = {}
    for label, panels in charts.items():
        fresh = [panel for panel in panels if id(panel) not in drawn_ids]
        drawn_ids.update(map(id, fresh))
        drawings[label] = [draw_chart(panel, pickable=pickable) for panel in fresh]
    return drawings if any(drawings.values()) else {}


def _json_for_script(value: Any) -> str:
    """Encode a value as JSON for a script element, with markup characters escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _read_packaged_text(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")


def _content_security_policy(style: str, scripts: Sequence[str]) -> str:
    """Content security policy: only the page's own scripts and style, and data URLs for images."""

    def digest(text: str) -> str:
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(map(digest, scripts))}",
            f"style-src {digest(style)}",
            "img-src data:",  # the empty icon, so that browsers do not request one from a server
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
