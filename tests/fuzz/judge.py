"""A naive evaluator and naive readers: what every accepted input is held against.

Nothing here is shared with the library. Ids are text; the conventions are the default ones.
A reader gives ``{user: {item: number}}``, or raises `Refused` with a reason
where it sees no plain meaning.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re

METRICS = ("precision@3", "recall@3", "rr", "ap", "ndcg@3")


class Refused(Exception):
    """What the judge does not read, and why."""


# -- the evaluator ----------------------------------------------------------------------------


def values(rankings, truth):
    """``{user: {metric: value}}`` for the users with something relevant."""
    truth = {
        user: {i: gain for i, gain in found.items() if gain > 0} for user, found in truth.items()
    }
    return {user: of_user(rankings.get(user, {}), gains) for user, gains in truth.items() if gains}


def of_user(scores, gains):
    ranked = sorted(scores, key=lambda item: (-scores[item], order(item)))
    hits = [rank for rank, item in enumerate(ranked, 1) if item in gains]
    top = [rank for rank in hits if rank <= 3]
    best = sorted(gains.values(), reverse=True)[:3]
    return {
        "precision@3": len(top) / 3,
        "recall@3": len(top) / len(gains),
        "rr": 1 / hits[0] if hits else 0.0,
        "ap": sum(n / rank for n, rank in enumerate(hits, 1)) / len(gains),
        "ndcg@3": sum(gains[ranked[rank - 1]] / math.log2(rank + 1) for rank in top)
        / sum(gain / math.log2(rank + 1) for rank, gain in enumerate(best, 1)),
    }


def order(item):
    """Integers by value, and then all other ids by their bytes."""
    whole = re.fullmatch(r"0|-?[1-9][0-9]*", item)
    return (0, int(item), b"") if whole else (1, 0, item.encode())


# -- one id, one number -----------------------------------------------------------------------


def ident(value):
    """An id as text, which a damaged schema of Parquet may call bytes."""
    if isinstance(value, bytes):
        try:
            value = value.decode()
        except UnicodeDecodeError:
            raise Refused("bytes that are not text") from None
    if isinstance(value, str):
        if re.search("[\ud800-\udfff]", value):
            raise Refused("half a character")
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refused(f"an id of type {type(value).__name__}")
    if isinstance(value, float) and not (value.is_integer() and abs(value) < 2**53):
        raise Refused("an id that is a fraction")
    return str(int(value))


def number(value, side):
    """A score, or a gain, which is finite."""
    if not is_number(value):
        raise Refused("not a number")
    try:
        found = float(value)
    except OverflowError:  # as 1e400 in text is
        found = math.inf if value > 0 else -math.inf
    if math.isnan(found) or (side == "truth" and math.isinf(found)):
        raise Refused("a number that is not finite")
    return found


def gather(rows, side):
    """Rows of user, item and number, where a ranking has each item once."""
    found = {}
    for user, item, value in rows:
        items = found.setdefault(user, {})
        if item in items and (side == "rankings" or items[item] != value):
            raise Refused("an item twice")
        items[item] = value
    if not found:
        raise Refused("nothing")
    return found


# -- the readers ------------------------------------------------------------------------------


def read(content, form, side):
    """The bytes of a file of a form: csv, tsv, jsonl, json, run, qrels or parquet, or those .gz."""
    if form.endswith(".gz"):
        try:
            content = gzip.decompress(content)
        except Exception as error:
            raise Refused("gzip") from error
        form = form.removesuffix(".gz")
    if form == "parquet":
        return of_parquet(parquet(content), side)
    try:
        text = content.decode("utf-8").lstrip("\ufeff")
    except UnicodeDecodeError:
        raise Refused("encoding") from None
    if "\n" not in text:
        text = text.replace("\r", "\n")
    if form == "tsv" and are_qrels(text):
        raise Refused("lines of qrels")
    if form in ("csv", "tsv"):
        return of_columns(table(text, "," if form == "csv" else "\t"), side)
    if form in ("run", "qrels"):
        return trec(text, side)
    try:
        if form == "json":
            return of_object(json.loads(text, object_pairs_hook=unique), side)
        lines = [line for line in text.split("\n") if line.strip()]
        return of_object([json.loads(one, object_pairs_hook=unique) for one in lines], side)
    except (ValueError, RecursionError):
        raise Refused("JSON") from None


def are_qrels(text):
    """Whether all lines are those of TREC judgments, with a number as the second field."""
    lines = [line.strip().split("\t") for line in text.splitlines() if line.strip()]
    return bool(lines) and all(
        len(fields) == 4 and fields[1].isdigit() and is_number(fields[3]) for fields in lines
    )


def unique(pairs):
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Refused("a key twice")
    return found


def plain(name):
    return re.sub(r"[_\-\s]", "", str(name).lower())


def table(text, separator):
    """A list of columns, each a name and its values."""
    reader = csv.reader(
        io.StringIO(text.lstrip("\r\n"), newline=""), delimiter=separator, strict=True
    )
    try:
        rows = [row for row in reader if row]
    except csv.Error:
        raise Refused("quotation") from None
    if any(len(row) != len(rows[0]) for row in rows):
        raise Refused("a row of another width")
    return [(column[0], list(column[1:])) for column in zip(*rows, strict=True)]


def parquet(content):
    import pyarrow as pa
    from pyarrow import parquet as pq

    try:
        file = pq.ParquetFile(pa.BufferReader(content))
        found = file.read()
        for group in range(file.num_row_groups):
            for at, column in enumerate(file.read_row_group(group).columns):
                if contradicts(file.metadata.row_group(group).column(at).statistics, column):
                    raise Refused("Parquet")  # a damaged schema, of which PyArrow sees nothing
        return [(n, c.to_pylist()) for n, c in zip(found.column_names, found.columns, strict=True)]
    except Exception as error:
        raise Refused("Parquet") from error


def contradicts(statistics, column):
    """Whether the least or largest number of a column is not what its statistics say."""
    numbers = [one for one in column.to_pylist() if isinstance(one, int | float) and one == one]
    if not (numbers and statistics and statistics.has_min_max):
        return False
    least, most = statistics.min, statistics.max
    return isinstance(least, int | float) and (min(numbers), max(numbers)) != (least, most)


def of_parquet(columns, side):
    """Columns of Parquet: a row for each item, or lists of items for each user."""
    if "items" in {plain(name) for name, _ in columns}:
        if len({plain(name) for name, _ in columns}) < len(columns):
            raise Refused("two columns of one name")
        names, values = zip(*columns, strict=True)
        return of_rows(
            [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)], side
        )
    return of_columns(columns, side, typed=True)


def of_columns(columns, side, *, typed=False):
    """Columns by their names: user, item, and score, rank or gain where there is one."""
    roles = {}
    for name, column in columns:
        roles.setdefault(plain(name), []).append(column)
    last = ("score", "rank") if side == "rankings" else ("gain",)
    chosen = {role: roles.pop(role, []) for role in ("user", "item", *last)}
    if any(len(found) > 1 for found in chosen.values()):
        raise Refused("two columns of one name")
    if not (chosen["user"] and chosen["item"]):
        raise Refused("a column that is missing")
    users, items = ([ident(one) for one in chosen[role][0]] for role in ("user", "item"))
    if not typed and "" in (*users, *items):
        raise Refused("an empty id")
    role = next((role for role in last if chosen[role]), None)
    if role is None:
        for column in (column for found in roles.values() for column in found):
            if 2 * sum(is_number(one) for one in column) > len(column):
                raise Refused("numbers under another name")
        numbers = range(0, -len(users), -1) if side == "rankings" else [1.0] * len(users)
    else:
        given = chosen[role][0]
        if role == "gain" and {str(one).strip().lower() for one in given} <= {"true", "false"}:
            given = [str(one).strip().lower() == "true" for one in given]
        numbers = [number(one, side) for one in given]
        if role == "rank":
            if any(not 1 <= one <= 2**53 for one in numbers):
                raise Refused("a rank out of range")
            numbers = [-one for one in numbers]
    return gather(zip(users, items, numbers, strict=True), side)


def is_number(value):
    if isinstance(value, str) and "_" in value:
        return False  # a number in Python alone
    try:
        return not math.isnan(float(value))  # a missing number
    except OverflowError:
        return True
    except (TypeError, ValueError):
        return False


def trec(text, side):
    rows = []
    at, width = (4, 6) if side == "rankings" else (3, 4)
    for line in text.split("\n"):
        fields = re.findall(r"[^ \t\r\x0b\x0c]+", line)
        if fields and len(fields) < width:
            raise Refused("too few fields")
        if side == "rankings" and len(fields) > width and not re.fullmatch("[0-9]+", fields[3]):
            raise Refused("a rank that is not an integer, in a line with more fields")
        if fields:
            rows.append((fields[0], fields[2], number(fields[at], side), fields[1]))
    if side == "rankings" or len({row[3] for row in rows}) < 2:
        return gather([row[:3] for row in rows], side)
    found = {}  # by subtopic, of which the largest gain counts
    for user, items in gather([(u, (i, s), n) for u, i, n, s in rows], side).items():
        for (item, _), value in items.items():
            largest = found.setdefault(user, {})
            largest[item] = max(value, largest.get(item, value))
    return found


def of_object(data, side):
    """A dict by user, a list of lists, or a list of rows that name their fields."""
    if isinstance(data, list) and are_rows(data):
        return of_rows(data, side)
    if isinstance(data, dict):
        if any(plain(key) == "user" for key in data):
            raise Refused("a dict that names columns")
        users = data.items()
    elif isinstance(data, list):
        users = list(enumerate(data))
    else:
        raise Refused("neither a dict nor a list")
    rows = []
    for user, found in users:
        if not isinstance(found, dict | list):
            raise Refused("a user without a list")
        rows += of_items(ident(user), found, side)
    return with_empty(rows, [ident(user) for user, _ in users], side)


def are_rows(data):
    """Whether these are dicts, and not each the {item: number} of a user."""
    if not data or not all(isinstance(one, dict) for one in data):
        return False
    named = "user" in {plain(key) for row in data for key in row}
    return named or not all(is_number(value) for row in data for value in row.values())


def of_items(user, found, side):
    if isinstance(found, dict):
        return [(user, ident(item), number(value, side)) for item, value in found.items()]
    value = (lambda place: -float(place)) if side == "rankings" else (lambda _: 1.0)
    return [(user, ident(item), value(place)) for place, item in enumerate(found)]


def with_empty(rows, users, side):
    if len(set(users)) < len(users):
        raise Refused("a user twice")
    found = gather(rows, side) if rows else {}
    if not users:
        raise Refused("nothing")
    return {**{user: {} for user in users}, **found}


def of_hits(data, side):
    """Search hits: a row for each query, with its hits as mappings of an item and a score."""
    rows, users = [], []
    for row in data:
        fields = {plain(name): value for name, value in row.items()}
        if fields.keys() != {"queryid", "results"} or len(row) > 2:
            raise Refused("another field")
        if not isinstance(fields["results"], list):
            raise Refused("a row without hits")
        users.append(ident(fields["queryid"]))
        for hit in fields["results"]:
            if not isinstance(hit, dict) or {*map(plain, hit)} != {"corpusid", "score"}:
                raise Refused("a hit with other fields")
            found = {plain(name): value for name, value in hit.items()}
            rows.append((users[-1], ident(found["corpusid"]), number(found["score"], side)))
    return with_empty(rows, users, side)


def of_rows(data, side):
    names = {name for row in data for name in row}
    if "results" in {plain(name) for name in names}:
        return of_hits(data, side)
    lists = all(isinstance(row.get("item"), list) for row in data)
    if lists and "items" not in names:
        data = [{"items" if name == "item" else name: row[name] for name in row} for row in data]
    elif "items" not in {plain(name) for name in names}:
        ordered = dict.fromkeys(name for row in data for name in row)
        return of_columns(
            [(name, [row.get(name) for row in data]) for name in ordered], side, typed=True
        )
    rows, users = [], []
    for row in data:
        if set(map(plain, row)) - {"user", "items", "scores", "gains"} or len(row) > 3:
            raise Refused("another field")
        fields = {plain(name): value for name, value in row.items()}
        items, numbers = fields.get("items"), fields.get("scores", fields.get("gains"))
        if "user" not in fields or not isinstance(items, list):
            raise Refused("a row without a user or items")
        user = ident(fields["user"])
        users.append(user)
        if numbers is None:
            rows += of_items(user, items, side)
        elif not isinstance(numbers, list) or len(numbers) != len(items):
            raise Refused("numbers that do not match")
        else:
            rows += [(user, ident(i), number(n, side)) for i, n in zip(items, numbers, strict=True)]
    return with_empty(rows, users, side)
