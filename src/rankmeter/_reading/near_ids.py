"""Find ids of both sides that match only in another spelling."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain

import numpy as np

from rankmeter._reading.by_user import Ids, containers_of
from rankmeter._reading.table import Table
from rankmeter.errors._checks import brief, counted

_SOME = 500
"""So many ids of a side are looked at first, and all of them if two of these nearly match."""
_QUOTED = re.compile(r"""(?m)^b?(["'])(.*)\1$""")
_ENDING = re.compile(
    r"(?m)(?<=\w)\.(?:txt|jpe?g|png|gif|pdf|html?|mp[34]|json|xml|wav|md|csv)$|(?<=\d)\.0+$"
)
_ZEROS = re.compile(r"(?m)^0+(?=\d+$)")


def near_caution(rankings: Table, truth: Table) -> str:
    """Warn of relevant items and users that are in the rankings only in another spelling.

    Where no id matches, there is an error that says so.
    """
    if not (rankings.rows.has_lists and truth.rows.in_memory):
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
    """Judged ids that are not ranked → ranked ids, with one normal form.

    Of two ids of a side with one form none is near, unless the forms differ by what never has a
    meaning; and where many ids differ by case alone, so may all.
    """
    missing, others = judged - ranked, ranked - judged
    if not missing:
        return {}
    if _have_one_spelling(ranked, missing):
        return _cut_on_a_side(missing, others)
    exact = dict(_normal_forms(ranked))
    pairs = {text: exact[form] for form, text in _normal_forms(missing) if form in exact}
    if not others:
        return pairs
    fold = all(len(set(map(str.casefold, ids))) >= _MOST * len(ids) for ids in (ranked, judged))
    unique = []
    for ids, wanted in ((judged, missing), (ranked, others)):
        forms = _normal_forms(ids, loose=True, fold=fold)
        times = Counter([form for form, _ in forms])
        unique.append(
            {form: text for form, text in forms if times.get(form) == 1 and text in wanted}
        )
    left, right = unique
    pairs = {**{left[form]: right[form] for form in left.keys() & right.keys()}, **pairs}
    return pairs or _cut_on_a_side(missing, others)


def _have_one_spelling(*sides: set[str]) -> bool:
    """Whether no id has anything that a normal form leaves out, so that all forms differ."""
    joined = "|".join(chain([""], *sides))
    return (
        joined.isascii()
        and joined.isprintable()
        and joined in (joined.lower(), joined.upper())
        and not any(mark in joined for mark in (" ", "'", '"', ".", "|0"))
    )


def _cut_on_a_side(missing: set[str], others: set[str]) -> dict[str, str]:
    if not others:
        return {}
    return _cut_ids(missing, others) or {j: r for r, j in _cut_ids(others, missing).items()}


def _normal_forms(
    ids: Iterable[str], *, loose: bool = False, fold: bool = False
) -> list[tuple[str, str]]:
    """Pairs of a normal form and its id; all ids at once, so that plain ones cost few calls.

    White space at the ends and quotes of Python never mean another id. If `loose`, an extension,
    .0 and zeros in front are left out, too, and with `fold` case.
    """
    texts = [text for text in ids if text and "\n" not in text]
    joined = "\n".join(map(str.strip, texts))
    if not joined.isascii():
        joined = unicodedata.normalize("NFKC", joined)
    if "'" in joined or '"' in joined:
        joined = _QUOTED.sub(r"\2", joined)
    if loose and "." in joined:
        joined = _ENDING.sub("", joined)
    if loose and "\n0" in f"\n{joined}":
        joined = _ZEROS.sub("", joined)
    forms = (joined.casefold() if fold else joined).split("\n")
    return [*zip(forms, texts, strict=True)] if len(forms) == len(texts) else []


def _cut_ids(cut: set[str], whole: set[str]) -> dict[str, str]:
    """Ids that begin those of the other side and all have the length at which they were cut."""
    longest = max(map(len, cut))
    begins: dict[str, list[str]] = {}
    for text in whole:
        if len(text) > longest >= _SHORTEST_CUT and not text[longest - 1 : longest + 1].isdigit():
            begins.setdefault(text[:longest], []).append(text)
    found = {text: begins[text][0] for text in cut if text in begins}
    return found if len(found) > 1 else {}


_SHORTEST_CUT = 8  # and not within a number, since item12 and item123 are two items
_MOST = 0.9


def _some_ids(table: Table, role: str) -> Iterable[str]:
    rows = table.rows
    if role == "item" and (containers := containers_of(rows)) is not None:
        step = 1 + len(rows) // _SOME
        return chain.from_iterable(containers[::step])
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
