"""A result in a file: values by user, plan, fingerprints. A zip of JSON and numbers, no code."""

from __future__ import annotations

import json
import warnings
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import polars as pl

from rankmeter._choices import SETTINGS, Alignment, Averaging, check_choice
from rankmeter._engine.memory import Tables
from rankmeter._engine.scores import UserValues
from rankmeter._evidence.hits import FloatArray, IntArray
from rankmeter._files import RESULT, is_result_name, is_stored_result, open_replacement
from rankmeter._rankings.align import Facts
from rankmeter._rankings.pairs import Refused
from rankmeter._reading.by_user import IdSeries
from rankmeter._reading.memory import check_memory
from rankmeter._reading.table import Table, translate_file_errors
from rankmeter._results.evaluated import Fingerprints
from rankmeter._results.reread import reopen_source
from rankmeter._results.summary import Summary, average_scores
from rankmeter._version import __version__
from rankmeter.conventions._plan import MetricPlan, Plan, build_choices
from rankmeter.errors import (
    FileFormatError,
    NotEnoughMemoryError,
    RankmeterError,
    RankmeterWarning,
    UnknownMetricError,
    UsageError,
)
from rankmeter.errors._checks import Words, option_error
from rankmeter.metrics import METRICS, Metric, Ratio, State, Weighted
from rankmeter.metrics.states import Defined, Standardized

FORM, VERSION = "rankmeter result", 1
_CONTENT = "result.json"
_TYPES = {"f": "<f8", "i": "<i8", "b": "|u1"}
"""How numbers are written, by the kind of their array."""
_USERS = ("Int64", "UInt64", "String")
_SHARES = {kind.__name__: kind for kind in (Ratio, Defined, Weighted, Standardized)}
_ROWS = 2**20

Arrays = dict[str, np.ndarray[Any, Any]]


@dataclass(frozen=True, eq=False)
class Known:
    """The number of an aggregate metric, and the parts of the users: lists are not in the file."""

    rows: IntArray
    number: float
    parts: FloatArray
    alone: bool
    label: str

    def __add__(self, other: Known) -> Known:
        self._refuse()

    def take(self, rows: IntArray) -> Known:
        """The same for the users of the result; others need the lists."""
        return self if np.array_equal(rows, self.rows) else self._refuse()

    def _refuse(self) -> NoReturn:
        raise UsageError(
            f"{self.label} of other users than all needs the rankings, which a stored result does "
            "not have: evaluate them again"
        )

    def per_user(self) -> FloatArray:
        """The parts of the users."""
        return self.parts

    def value(self) -> float:
        """The number for all users together."""
        return self.number

    def influence(self, _: FloatArray | None = None) -> FloatArray:
        """The parts of the users, with the number as their mean."""
        return self.parts


def save_result(result: Summary, path: str | PathLike[str]) -> None:
    """Write a result to a file; equal results make equal files."""
    scores = result.scores
    if not is_result_name(path):
        raise option_error("path", f"the path of a file whose name ends in {RESULT}", path)
    if not scores.n_users:
        raise UsageError(
            "the result has no values of users, so it cannot be stored: accumulate with "
            "keep='values'"
        )
    arrays: Arrays = {
        name: getattr(scores, name) for name in ("matrix", "in_truth", "in_rankings", "has_truth")
    }
    for n, facts in enumerate(scores.facts.values()):
        arrays |= {f"n_relevant.{n}": facts.n_relevant, f"n_ranked.{n}": facts.n_ranked}
    if result.clusters is not None:
        arrays["clusters"] = result.clusters
    states = {
        entry.label: _write_state(scores, entry, f"state.{n}", arrays)
        for n, entry in enumerate(result.plan.metrics)
        if entry.label in scores.states
    }
    users = None if scores.ids is None else scores.users
    groups = result.groups
    content = {
        "form": FORM,
        "version": VERSION,
        "rankmeter": __version__,
        "plan": _plan_content(result.plan),
        "users": None if users is None else {str(users.dtype): users.to_list()},
        "textual": scores.textual,
        "labels": scores.labels,
        "facts": [*map(_facts_content, scores.facts, scores.facts.values())],
        "states": states,
        "ends": scores.ends,
        "read": result.read,
        "cautions": result.cautions,
        "remarks": result.remarks,
        "random": result.random,
        "perfect": result.perfect,
        "groups": None if groups is None else {s.name: s.to_list() for s in groups},
        "fingerprints": (find_fingerprints(result) or Fingerprints())._asdict(),
        "arrays": {
            name: {"type": _TYPES[array.dtype.kind], "shape": array.shape}
            for name, array in arrays.items()
        },
    }
    text = json.dumps(content, ensure_ascii=False, default=_plain)
    members = {_CONTENT: text.encode()} | {
        name: array.astype(_TYPES[array.dtype.kind]).tobytes() for name, array in arrays.items()
    }
    with open_replacement(Path(path)) as file, zipfile.ZipFile(file, "w") as archive:
        for name, data in members.items():
            member = zipfile.ZipInfo(name)  # without the time
            archive.writestr(member, data, zipfile.ZIP_DEFLATED)


def _facts_content(alignment: Alignment, facts: Facts) -> dict[str, Any]:
    return {
        "alignment": vars_of(alignment),
        "counts": dict(facts.counts),
        "n_found": facts.n_found,
        "n_hits": facts.n_hits,
    }


def _plain(value: Any) -> Any:
    """Convert a number of NumPy, or a mapping, to a value of JSON."""
    return dict(value) if isinstance(value, Mapping) else value.item()


def vars_of(instance: Any) -> dict[str, Any]:
    """The fields of a dataclass by name."""
    return {field.name: getattr(instance, field.name) for field in fields(instance)}


def _plan_content(plan: Plan) -> dict[str, Any]:
    own = ("convention", "engine", "side", "data")
    return {
        **{name: getattr(plan, name) for name in (*own, *SETTINGS)},
        "words": vars_of(plan.words),
        "metrics": [
            {
                "label": entry.label,
                "metric": vars_of(entry.metric),
                "requested": None if entry.requested is None else vars_of(entry.requested),
                "alignment": vars_of(entry.alignment),
                "averaging": vars_of(entry.averaging),
                "choice_names": sorted(entry.choice_names),
                "candidates": entry.candidates,
                "has_ties_of_tool": entry.has_ties_of_tool,
            }
            for entry in plan.metrics
        ],
    }


def _write_state(
    scores: UserValues, entry: MetricPlan, name: str, arrays: Arrays
) -> dict[str, Any]:
    """Add the numbers of a state to the arrays; return what else it has."""
    state = scores.states[entry.label]
    kind = type(state).__name__
    if isinstance(state, Ratio) and _SHARES.get(kind) is type(state):
        parts = state.arrays()
        arrays |= {f"{name}.{part}": values for part, values in parts.items()}
        return {"kind": kind, "names": state.names, "parts": [*parts]}
    averaged = scores.averaged(entry)
    whole = state.take(averaged.users)
    arrays |= {f"{name}.rows": averaged.users, f"{name}.parts": averaged.parts}
    return {"kind": "Known", "number": whole.value(), "alone": state.alone}


def find_fingerprints(result: Summary) -> Fingerprints | None:
    """The fingerprints of a result; None where the rankings are not in memory or have changed."""
    if result.fingerprints is not None or result.source is None or not result.source.lists:
        return result.fingerprints
    source = reopen_source(result)
    data = None if source is None else source.open()
    if source is None or not isinstance(data, Tables):
        return None
    truth, lists = data.truth, data.systems[source.system]
    judged = _texts(truth.frame, "item").unique()
    shown = _texts(lists.frame, "item").unique()
    n_shown = int(judged.is_in(shown.implode()).sum())
    return Fingerprints(_digest(truth), _digest(lists), len(judged), n_shown)


def _texts(frame: pl.DataFrame, column: str) -> pl.Series:
    return frame[column].cast(pl.String)


def _digest(table: Table) -> str:
    """A fingerprint of rows, in whatever order and types of ids they came."""
    frame = table.frame
    ids = [pl.col(name).cast(pl.String) for name in ("user", "item")]
    others = [name for name in frame.columns if name in ("gain", "score", "rank", "subtopic")]
    if not others and table.order == "list":
        frame = frame.with_columns(rank=pl.int_range(pl.len()).over("user"))
        others = ["rank"]
    rows = frame.select(*ids, *others).sort("user", "item", *others)
    digest = sha256()
    for start in range(0, rows.height, _ROWS):
        digest.update(rows.slice(start, _ROWS).write_csv(include_header=False).encode())
    empty = table.empty_users.to_series().cast(pl.String).sort()
    digest.update(json.dumps(empty.to_list()).encode())
    return digest.hexdigest()


def load_result(path: str | PathLike[str]) -> Summary:
    """Read a result that `Summary.save` wrote.

    Nothing of the file is executed.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    Summary
        Equal to the one that was saved, without the rankings: what reads them once more (`show`,
        curves) raises an error, and so do aggregate metrics such as ``coverage@10`` within
        segments. Its frames are of Polars.

    Raises
    ------
    FileFormatError
        If the file is damaged, no stored result, or of a later version.
    UnknownMetricError
        If a metric is not registered here.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import rankmeter as rm
    >>> result = rm.evaluate({"ann": ["b", "a"]}, {"ann": {"a"}}, "rr")
    >>> with TemporaryDirectory() as folder:
    ...     result.save(Path(folder, "prod.result"))
    ...     again = rm.load_result(Path(folder, "prod.result"))
    >>> again["rr"].mean
    0.5
    """
    if not isinstance(path, str | PathLike):
        raise option_error("path", "the path of a file, as text", path)
    try:
        with translate_file_errors(Path(path)), zipfile.ZipFile(path) as archive:
            infos = {info.filename: info for info in archive.infolist()}
            check_memory(2 * sum(i.file_size for i in infos.values()), f"Reading {path}")
            content = json.loads(archive.read(_CONTENT))
            _check_version(content, path)
            arrays = {
                name: _read_array(archive.read(name), **form)
                for name, form in content["arrays"].items()
            }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RankmeterWarning)
            return _build_result(content, arrays)
    except (FileFormatError, NotEnoughMemoryError, UsageError):  # such as in a forked child
        raise
    except (
        zipfile.BadZipFile, zlib.error, RankmeterError, pl.exceptions.PolarsError, KeyError,
        ValueError, TypeError, AttributeError, IndexError, EOFError, OverflowError, MemoryError,
        RecursionError, NotImplementedError, RuntimeError,
    ) as error:  # fmt: skip
        raise FileFormatError(
            f"{path} is damaged, or is not a stored result: write it again, rankmeter "
            "evaluate … -o FILE.result or result.save(path)"
        ) from error


def load_runs(data: Any) -> Any:
    """Load the file of a result, or those among the runs of a system."""
    if isinstance(data, list | tuple):
        return [*map(load_runs, data)]
    return load_result(data) if is_stored_result(data) else data


def _check_version(content: Any, path: object) -> None:
    if content["form"] != FORM:
        raise ValueError("another form")
    version = content["version"]
    if not isinstance(version, int) or version < 1:
        raise ValueError("no version")
    if version > VERSION:
        made_by = str(content.get("rankmeter"))[:20]
        raise FileFormatError(
            f"{path} has version {version} of stored results, written by rankmeter {made_by}, and "
            f"this rankmeter ({__version__}) reads versions up to {VERSION}: update rankmeter"
        )


def _read_array(data: bytes, type: str, shape: list[int]) -> np.ndarray[Any, Any]:  # noqa: A002
    if type not in _TYPES.values():
        raise ValueError("another type")
    array = np.frombuffer(data, type).reshape(shape)
    return array != 0 if type == _TYPES["b"] else array.astype(type[1:])


def _build_result(content: Mapping[str, Any], arrays: Arrays) -> Summary:
    try:
        plan = _build_plan(content["plan"])
    except UnknownMetricError:
        raise
    except UsageError as error:
        raise ValueError("another plan") from error
    n = len(arrays["matrix"])
    labels = tuple(content["labels"])
    if arrays["matrix"].shape != (n, len(labels)) or not {e.label for e in plan.metrics} <= {
        *labels
    }:
        raise ValueError("other metrics")
    by_user = {name: a for name, a in arrays.items() if not name.endswith((".rows", ".parts"))}
    if any(len(array) != n for array in by_user.values()):
        raise ValueError("other users")
    facts = {
        build_choices(Alignment, one["alignment"]): Facts(
            arrays[f"n_relevant.{i}"], arrays[f"n_ranked.{i}"], dict(one["counts"]),
            one["n_found"], Refused(), Refused(), one["n_hits"],
        )
        for i, one in enumerate(content["facts"])
    }  # fmt: skip
    states = {
        entry.label: _read_state(content["states"][entry.label], entry.label, f"state.{i}", arrays)
        for i, entry in enumerate(plan.metrics)
        if entry.label in content["states"]
    }
    scores = UserValues(
        _read_users(content["users"], n), labels, arrays["matrix"], arrays["in_truth"],
        arrays["in_rankings"], arrays["has_truth"], facts, states, {}, content["textual"],
        {label: (low, high) for label, (low, high) in content["ends"].items()},
    )  # fmt: skip
    groups = content["groups"]
    attributes: dict[str, Any] = {
        "cautions": tuple(content["cautions"]),
        "remarks": tuple(content["remarks"]),
        "groups": None if groups is None else pl.DataFrame(groups),
        "random": content["random"],
        "perfect": content["perfect"],
        "fingerprints": Fingerprints(**content["fingerprints"]),
    }
    return average_scores(
        plan, scores, content["read"], clusters=arrays.get("clusters"), **attributes
    )


def _read_users(users: Mapping[str, list[Any]] | None, n: int) -> IdSeries | None:
    if users is None:
        return None
    ((dtype, ids),) = users.items()
    if dtype not in _USERS:
        raise ValueError("other users")
    series = pl.Series("user", ids, dtype=getattr(pl, dtype))
    if len(series) != n or series.null_count() or not series.is_sorted() or n != series.n_unique():
        raise ValueError("other users")
    return IdSeries(series)


def _read_state(made: Mapping[str, Any], label: str, name: str, arrays: Arrays) -> State:
    if made["kind"] == "Known":
        rows, parts = arrays[f"{name}.rows"], arrays[f"{name}.parts"]
        return Known(rows, made["number"], parts, made["alone"], label)
    values = {part: arrays[f"{name}.{part}"] for part in made["parts"]}
    names = made["names"]
    return _SHARES[made["kind"]](names=None if names is None else tuple(names), **values)


def _build_plan(content: Mapping[str, Any]) -> Plan:
    content = dict(content)
    settings = {name: check_choice(name, content.pop(name)) for name in SETTINGS}
    return Plan(
        convention=content["convention"],
        metrics=tuple(map(_build_entry, content["metrics"])),
        engine=content["engine"],
        side=tuple(content["side"]),
        words=Words(**content["words"]),
        data=content["data"],
        **settings,
    )


def _build_entry(content: Mapping[str, Any]) -> MetricPlan:
    requested = content["requested"]
    return MetricPlan(
        content["label"],
        _build_metric(content["metric"]),
        build_choices(Alignment, content["alignment"]),
        build_choices(Averaging, content["averaging"]),
        None if requested is None else _build_metric(requested),
        frozenset(content["choice_names"]),
        content["candidates"],
        content["has_ties_of_tool"],
    )


def _build_metric(content: Mapping[str, Any]) -> Metric:
    name = content["name"]
    if name not in METRICS:
        raise UnknownMetricError(
            f"the stored result has the metric {name!r}, which is not registered here: import the "
            "module that registers it"
        )
    chosen = dict(content["options"]) | dict(content["choices"])
    return replace(Metric(name, content["k"])(**chosen), label=content["label"])


def with_fingerprints(result: Summary) -> Summary:
    """A result that knows its fingerprints, where it can have some."""
    return replace(result, fingerprints=find_fingerprints(result))
