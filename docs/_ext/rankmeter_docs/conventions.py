"""The conventions: a page for each, the tools that were run, and their agreement.

The agreement matrix is made from ``tests/conformance/agreement.json`` and is not shown without
that file. Its form, by convention and by the tool's own name of a metric::

    {"lenskit": {"NDCG[gain=rating]": {"metric": "ndcg(gain=linear)", "compared": 2179,
                                       "largest": 4.4e-16, "differs": 0, "excused": ["…"]}}}

``compared`` is the number of values, of which ``differs`` disagree; the others differ by at most
``largest``. ``excused`` gives the reasons why some cases were left out.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rankmeter.conventions import (
    Convention,
    convention_names,
    load_convention,
    translate_name,
)
from rankmeter.metrics import METRICS, Metric, metric
from rankmeter_docs.rst import code, escape, facts, heading, paragraphs, plain, raw_html, table

CONFORMANCE = Path(__file__).parents[3] / "tests" / "conformance"
MATRIX = CONFORMANCE / "agreement.json"


def all_conventions() -> list[Convention]:
    """Every convention, the default one first."""
    found = [load_convention(name) for name in convention_names()]
    return sorted(found, key=lambda one: (one.name != "rankmeter", one.title.lower()))


def link(name: str) -> str:
    """A reference to the page of a convention."""
    return f":doc:`{name} </conventions/{name}>`"


# -- the pages --------------------------------------------------------------------------------


def pages() -> dict[str, str]:
    """A page for each convention."""
    return {one.name: _page(one) for one in all_conventions()}


def _page(one: Convention) -> str:
    rows = [("In Python", code(f'like="{one.name}"')), ("In a shell", code(f"--like {one.name}"))]
    return paragraphs(
        heading(_title(one), "="),
        facts(rows),
        "\n".join(f"* {plain(note)}" for note in one.notes),
        heading("Options", "-"),
        _choices(one),
        *_names(one),
        *_reasons("Bugs of the tool, reproduced on request", one.bugs,
                  "Only ``bugs=True`` (``--bugs``) reproduces these, to trace published numbers."),
        *_reasons("Known deviations from the tool", one.deviations, ""),
        heading("Sources", "-") if one.sources else "",
        "\n".join(f"* {plain(source)}" for source in one.sources),
    )  # fmt: skip


def _choices(one: Convention) -> str:
    said = {"every metric": one.switches} if one.switches else {}
    for name, choices in one.metrics.items():
        plain = name.removesuffix("@")
        shown = f":doc:`{plain} </metrics/{plain}>`" + (" with a cutoff" if plain != name else "")
        said[shown] = choices
    if not said:
        return "All options have their defaults: see :doc:`/guide/plan`."
    rows = [(name, _said(choices)) for name, choices in said.items()]
    lead = "Options that are not listed have their defaults: see :doc:`/guide/plan`."
    return paragraphs(lead, table(["metric", "options"], rows, widths=[30, 70]))


def _said(choices: Mapping[str, Any]) -> str:
    """Options as they are written in Python."""
    return ", ".join(code(f"{name}={json.dumps(value)}") for name, value in choices.items())


def _names(one: Convention) -> list[str]:
    if not one.names:
        return []
    rows = []
    for name, target in one.names.items():
        (meant,) = translate_name(name, one.name)
        rows.append((code(name), f":doc:`{target} </metrics/{meant.name}>`"))
    lead = (
        "The metric names of the tool and their meaning in rankmeter. Use them with "
        f'``like="{one.name}"``, with their cutoffs and with the options below.'
    )
    parts = [heading("Names", "-"), lead, table([one.title, "rankmeter"], rows, widths=[45, 55])]
    options = [(code(name), _said(choices) or "nothing") for name, choices in one.options.items()]
    if options:
        lead = "Options of the tool that apply to every metric, and the rankmeter options they set."
        parts += [lead, table([one.title, "rankmeter"], options, widths=[45, 55])]
    return parts


def _reasons(title: str, entries: tuple[Mapping[str, Any], ...], lead: str) -> list[str]:
    if not entries:
        return []
    said = []
    for entry in entries:
        about = ", ".join(map(code, entry.get("metrics", entry.get("names", ()))))
        said.append(f"* {about}: {plain(entry['why'])}" if about else f"* {plain(entry['why'])}")
    return [heading(title, "-"), lead, "\n".join(said)]


# -- which conventions choose what, for the metric pages ---------------------------------------


def choosers(name: str, option: str) -> dict[Any, list[str]]:
    """Links to the conventions that use each value of an option of a metric."""
    found: dict[Any, dict[str, list[str]]] = defaultdict(dict)
    for one in all_conventions():
        for spelled, wanted in _spellings(one, name).items():
            chosen = {**one.choices(name, wanted.k), **dict(wanted.options)}
            standard = METRICS[name].options[option]
            if option in chosen or not standard.required:
                value = chosen.get(option, standard.default)
                found[value].setdefault(one.name, []).append(spelled)
    return {
        value: [_chooser(name, spelled, sure=len(_all(found, name)) == 1)
                for name, spelled in by_name.items()]
        for value, by_name in found.items()
    }  # fmt: skip


def _spellings(one: Convention, name: str) -> dict[str, Metric]:
    """The variants of a metric in a tool, by the tool's spelling."""
    if one.name == "rankmeter":
        return {name: Metric(name)}
    read = {spelled: translate_name(spelled, one.name)[0] for spelled in one.names}
    return {spelled: wanted for spelled, wanted in read.items() if wanted.name == name}


def _all(found: Mapping[Any, Mapping[str, list[str]]], name: str) -> list[Any]:
    """The values of an option in the different variants of a tool."""
    return [value for value, by_name in found.items() if name in by_name]


def _chooser(name: str, spelled: list[str], *, sure: bool) -> str:
    """A link; a tool with several variants of a metric is shown with its spellings."""
    return link(name) if sure else f"{link(name)} ({', '.join(map(code, spelled))})"


# -- the overview -------------------------------------------------------------------------------


def overview() -> str:
    """All conventions with the tools that they describe."""
    rows = [
        (link(one.name), _title(one), plain(one.notes[0]) if one.notes else "")
        for one in all_conventions()
    ]
    names = "\n".join(f"   {_title(one)} <{one.name}>" for one in all_conventions())
    return paragraphs(
        table(["convention", "tool", "main difference"], rows, widths=[20, 25, 55]),
        f".. toctree::\n   :hidden:\n\n   Their number, our number <numbers>\n{names}",
    )


def _title(one: Convention) -> str:
    return f"{one.title} {one.version}".strip()


def recorded_tools() -> str:
    """The tools that were run on the shared inputs, with their versions."""
    rows = []
    for file in sorted((CONFORMANCE / "goldens").glob("*.json")):
        golden = json.loads(file.read_text("utf-8"))
        answers = sum(len(case.get("metrics", ())) for case in golden["cases"].values())
        name = load_convention(file.stem).name
        shown = f":doc:`{golden['tool']} </conventions/{name}>`"
        rows.append((shown, golden["version"], f"{answers:,}"))
    return table(["tool", "version", "recorded outputs"], rows, widths=[40, 35, 25])


def agreement(matrix: Mapping[str, Mapping[str, Any]] | None = None) -> str:
    """Metrics × tools: whether the convention reproduces the tool's numbers."""
    if matrix is None:
        if not MATRIX.is_file():
            return ""
        matrix = json.loads(MATRIX.read_text("utf-8"))
    cells: dict[str, dict[str, list[Any]]] = {tool: defaultdict(list) for tool in matrix}
    for tool, said in matrix.items():
        for name, cell in said.items():
            cells[tool][metric(cell["metric"]).name].append((name, cell))
    names = [name for name in METRICS if any(name in found for found in cells.values())]
    head = "".join(
        f'<th scope="col"><a href="{escape(tool)}.html">{escape(tool)}</a></th>' for tool in cells
    )
    rows = [
        f'<tr><th scope="row"><code>{escape(name)}</code></th>'
        + "".join(_cell(row[name]) if name in row else "<td></td>" for row in cells.values())
        + "</tr>"
        for name in names
    ]
    return paragraphs(
        heading("Agreement", "-"),
        "✓ the convention reproduces all recorded outputs of the tool · "
        "≈ all except the known deviations, which its page lists · "
        "≠ not all · empty: the tool does not have the metric. Hover over a cell for the counts.",
        raw_html(
            '<div class="rm-scroll" tabindex="0" role="region" aria-label="Agreement">'
            '<table class="rm-matrix"><thead><tr><td></td>'
            f"{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
        ),
    )


def _cell(found: list[tuple[str, Mapping[str, Any]]]) -> str:
    compared = sum(cell["compared"] for _, cell in found)
    differs = sum(cell["differs"] for _, cell in found)
    sign = "≠" if differs else "≈" if any(cell["excused"] for _, cell in found) else "✓"
    largest = max(cell["largest"] for _, cell in found)
    about = ", ".join(name for name, _ in found)
    title = f"{about}: {compared:,} values, {differs:,} differ, the others by at most {largest:.0e}"
    return f'<td class="rm-agree"><abbr title="{escape(title)}">{sign}</abbr></td>'
