"""Charts of a page as drawings: SVG that needs no script, and takes its colours from the page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree as ET

from rankmeter._report.charts import BETTER, BLUES, COLOURS, NEITHER, WORSE, as_svg
from rankmeter._report.table import visible

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
    **{colour: f"p{i}" for i, colour in enumerate(BLUES)},
    **{colour: str(i) for i, colour in enumerate(COLOURS)},
    "white": "paper",
    WORSE: "w",
    NEITHER: "n",
    BETTER: "0",
}
"""The name of each colour in the classes of the page, where it suits light and dark paper."""
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


def drawing(chart: Any) -> Drawing:
    """Draw a chart of `charts`."""
    spec = _legible(chart.properties(width=WIDTH).to_dict())
    title = spec.pop("title", "")
    said = title if isinstance(title, dict) else {"text": title}
    _describe(spec, [])
    svg = _clean(as_svg({**spec, "config": CONFIG}), spec["description"])
    return Drawing(said["text"], said.get("subtitle", ""), svg)


def _describe(spec: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Let each mark say what its tooltip says, as data: no name is read as an expression."""
    rows = spec.get("data", {}).get("values", rows)
    for one in spec.get("layer", ()):
        _describe(one, rows)
    if "mark" not in spec:
        return
    shown = spec["encoding"].pop("tooltip", [])
    spec["mark"]["aria"] = bool(shown)
    if shown:
        field = f"said by {spec['mark']['type']}"
        for row in rows:
            row[field] = ", ".join(_shown_value(row[one["field"]], one) for one in shown)
        spec["encoding"]["description"] = {"field": field, "type": "nominal"}


def _shown_value(value: Any, shown: Mapping[str, Any]) -> str:
    """A value of a tooltip behind its title."""
    form = shown.get("format", "").replace("d", ",")
    text = str(value) if value is None or not form else format(value, form)
    return f"{shown['title']} {text}"


def _legible(value: Any) -> Any:
    """The specification of a chart, with all texts as the page shows them."""
    if isinstance(value, dict):
        return {_legible(name): _legible(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_legible(one) for one in value]
    return visible(value) if isinstance(value, str) else value


def _clean(text: str, description: str) -> str:
    """The marks and the labels of a drawing of Vega, without what the page does not use."""
    root = ET.fromstring(text)  # noqa: S314 - of our own making
    for parent in [*root.iter()]:
        for one in [*parent]:
            unseen = one.get("opacity") == "0" and not one.get("aria-label")
            if unseen or one.get("class") in ("background", "foreground"):
                parent.remove(one)
    for one in root.iter():
        one.tag = one.tag.rpartition("}")[2]
        _plain(one)
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "width": root.attrib["width"],
        "height": root.attrib["height"],
        "role": "img",
        "aria-label": description,
    }
    return ET.tostring(root, encoding="unicode")


def _plain(one: ET.Element) -> None:
    """Shorten an element: classes in place of colours, what it says on hovering as its title."""
    said = one.get("aria-label")
    if said and one.tag not in ("g", "svg"):
        ET.SubElement(one, "title").text = said
    for name in _DROPPED:
        one.attrib.pop(name, None)
    if one.get("opacity") == "1":
        del one.attrib["opacity"]
    kinds = [k for k in one.get("class", "").split() if k.startswith("role-axis")]
    inked = [paint for paint in ("fill", "stroke") if one.get(paint) in CLASSES]
    kinds += [f"{paint}-{CLASSES[one.attrib.pop(paint)]}" for paint in inked]
    one.attrib.pop("class", None)
    if kinds:
        one.set("class", " ".join(kinds))
    for name in _ROUND:
        if name in one.attrib:
            one.set(name, re.sub(r"-?\d+\.\d{2,}", _rounded, one.attrib[name]))


def _rounded(found: re.Match[str]) -> str:
    return f"{float(found[0]):.1f}".removesuffix(".0")
