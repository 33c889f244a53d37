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
    heading = title if isinstance(title, dict) else {"text": title}
    _describe(spec, [])
    svg = _clean(as_svg({**spec, "config": CONFIG}), spec["description"])
    return Drawing(heading["text"], heading.get("subtitle", ""), svg)


def _describe(spec: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """Let each mark say what its tooltip says, as data: no name is read as an expression."""
    rows = spec.get("data", {}).get("values", rows)
    for layer in spec.get("layer", ()):
        _describe(layer, rows)
    if "mark" not in spec:
        return
    shown = spec["encoding"].pop("tooltip", [])
    spec["mark"]["aria"] = bool(shown)
    if shown:
        field = f"said by {spec['mark']['type']}"
        for row in rows:
            row[field] = ", ".join(_shown_value(row[tip["field"]], tip) for tip in shown)
        spec["encoding"]["description"] = {"field": field, "type": "nominal"}


def _shown_value(value: Any, shown: Mapping[str, Any]) -> str:
    """A value of a tooltip behind its title."""
    form = shown.get("format", "").replace("d", ",")
    text = str(value) if value is None or not form else format(value, form)
    return f"{shown['title']} {text}"


def _legible(value: Any) -> Any:
    """The specification of a chart, with all texts as the page shows them."""
    if isinstance(value, dict):
        return {_legible(name): _legible(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_legible(part) for part in value]
    return visible(value) if isinstance(value, str) else value


def _clean(text: str, description: str) -> str:
    """The marks and the labels of a drawing of Vega, without what the page does not use."""
    root = ET.fromstring(text)  # noqa: S314 - of our own making
    for parent in [*root.iter()]:
        for element in [*parent]:
            unseen = element.get("opacity") == "0" and not element.get("aria-label")
            if unseen or element.get("class") in ("background", "foreground"):
                parent.remove(element)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        _plain(element)
    root.attrib = {
        "viewBox": root.attrib["viewBox"],
        "width": root.attrib["width"],
        "height": root.attrib["height"],
        "role": "img",
        "aria-label": description,
    }
    return ET.tostring(root, encoding="unicode")


def _plain(element: ET.Element) -> None:
    """Shorten an element: classes in place of colours, what it says on hovering as its title."""
    label = element.get("aria-label")
    if label and element.tag not in ("g", "svg"):
        ET.SubElement(element, "title").text = label
    for name in _DROPPED:
        element.attrib.pop(name, None)
    if element.get("opacity") == "1":
        del element.attrib["opacity"]
    kinds = [k for k in element.get("class", "").split() if k.startswith("role-axis")]
    inked = [paint for paint in ("fill", "stroke") if element.get(paint) in CLASSES]
    kinds += [f"{paint}-{CLASSES[element.attrib.pop(paint)]}" for paint in inked]
    element.attrib.pop("class", None)
    if kinds:
        element.set("class", " ".join(kinds))
    for name in _ROUND:
        if name in element.attrib:
            element.set(name, re.sub(r"-?\d+\.\d{2,}", _rounded, element.attrib[name]))


def _rounded(digits: re.Match[str]) -> str:
    return f"{float(digits[0]):.1f}".removesuffix(".0")
