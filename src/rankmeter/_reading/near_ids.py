"""Find ids of both sides that match only in another spelling."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping

import numpy as np

from rankmeter._reading.by_user import Ids
from rankmeter._reading.lists import Lists
from rankmeter._reading.table import Table
from rankmeter.errors._checks import brief, counted

_SOME = 2000
"""So many ids of a side are looked at first, and all of them if two of these nearly match."""
_WRAPPED = re.compile(r"""b?(["'])(.*)\1""", re.DOTALL)
_ENDING = re.compile(
    r"(?<=\w)\.(?:txt|jpe?g|png|gif|pdf|html?|mp[34]|json|xml|wav|md|csv)$|(?<=^\d)\.0+$|"
    r"(?<=\d)\.0+$"
)


def near_caution(rankings: Table, truth: Table) -> str:
    """Warn of relevant items and users that are in the rankings only in another spelling.

    Where no id matches, there is an error that says so.
    """
    if not (rankings.rows.in_memory and truth.rows.in_memory) or rankings.rows.is_counted:
        return ""
    for role in ("item", "user"):
        if rankings.id_type(role) != "String" or truth.id_type(role) != "String":
            continue
        if not _near_ids({*_some_ids(rankings, role)}, {*_some_ids(truth, role)}):
            continue
        ranked, judged = {*_all_ids(rankings, role)}, {*_all_ids(truth, role)}
        if pairs := {} if ranked.isdisjoint(judged) else _near_ids(ranked, judged):
            one, other = min(pairs.items())
            are = "are" if len(pairs) > 1 else "is"
            return (
                f"{counted(len(pairs), f'{role} id')} of the ground truth ({truth.source}) {are} "
                f"in the rankings ({rankings.source}) only in another spelling, for example "
                f"{brief(one)} and {brief(other)}: they do not match. Write them alike if they "
                f"are the same {role}"
            )
    return ""


def _near_ids(ranked: set[str], judged: set[str]) -> Mapping[str, str]:
    """Judged ids that are not ranked → ranked ids that are not judged, with one normal form.

    Where two ids of a side have one normal form, spelling has a meaning, and nothing is near.
    """
    missing, others = judged - ranked, ranked - judged
    if not missing or not others:
        return {}
    by_form = _by_normal_form(ranked)
    if by_form is None or (forms := _by_normal_form(judged)) is None:
        return {}
    pairs = {
        forms[form]: by_form[form]
        for form in forms.keys() & by_form.keys()
        if forms[form] in missing and by_form[form] in others
    }
    return (
        pairs or _cut_ids(missing, others) or {j: r for r, j in _cut_ids(others, missing).items()}
    )


def _by_normal_form(ids: set[str]) -> dict[str, str] | None:
    by_form = {_normal_form(text): text for text in ids}
    return by_form if len(by_form) == len(ids) else None


def _normal_form(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).strip().casefold()
    if wrapped := _WRAPPED.fullmatch(plain):
        plain = wrapped[2].strip()
    plain = _ENDING.sub("", plain)
    return plain.lstrip("0") or plain if plain.isdecimal() else plain


def _cut_ids(cut: set[str], whole: set[str]) -> dict[str, str]:
    """Ids that begin those of the other side and all have the length at which they were cut."""
    longest = max(map(len, cut))
    begins: dict[str, list[str]] = {}
    for text in whole:
        if len(text) > longest >= _SHORTEST_CUT:
            begins.setdefault(text[:longest], []).append(text)
    found = {text: begins[text][0] for text in cut if text in begins}
    return found if len(found) > 1 else {}


_SHORTEST_CUT = 8


def _some_ids(table: Table, role: str) -> Iterable[str]:
    rows = table.rows
    if role == "item" and isinstance(rows, Lists):
        step = 1 + len(rows) // _SOME
        return (item for container in rows.containers[::step] for item in container)
    ids = _ids(table, role)
    step = 1 + len(ids) // _SOME
    return ids if step == 1 else ids.take(np.arange(0, len(ids), step))


def _all_ids(table: Table, role: str) -> Iterable[str]:
    if role == "user":
        return [*table.users, *table.empty_users]
    return _ids(table, role)


def _ids(table: Table, role: str) -> Ids:
    if role == "user":
        return table.users
    rows = table.rows
    return getattr(rows, "column_ids", None) or rows.items()
