"""Damaged files: each is refused by an error of rankmeter's own, or read as the judge reads it."""

from __future__ import annotations

import gzip
import io
import json
import math
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import polars as pl

import rankmeter as rm
from fuzz import judge
from fuzz.harness import Failure
from rankmeter.errors import RankmeterError

FORMS = ("csv", "tsv", "jsonl", "json", "run", "qrels", "parquet", "csv.gz", "jsonl.gz", "run.gz")

LENIENT = {
    "gzip": "what follows a complete stream of gzip is not part of it",
    "a dict that names columns": "{'user': [...], 'item': [...]} is read as columns",
    "a user without a list": "{item: number} is the only user, user 0",
    "lines of qrels": "TREC files have any extension, .tsv among others",
    "another field": "a row may have fields that have no role, if they hold no numbers",
    "a hit with other fields": "a hit has other names of its item, and fields that have no role",
    "Parquet": "Polars reads some files whose unused parts PyArrow refuses",
}
"""What the judge refuses and rankmeter may accept, and why that is right."""


@dataclass(frozen=True)
class Case:
    """A file of one side, and the other side as a dictionary."""

    form: str
    side: str
    content: bytes
    other: dict[Any, Any]
    metrics: tuple[str, ...]
    damaged: bool


class Files:
    """The fuzzer of the files of one form."""

    def __init__(self, form: str) -> None:
        self.form = form
        shared = Path("/dev/shm")
        self.folder = shared if shared.is_dir() else Path(os.environ.get("TMPDIR", "/tmp"))
        self.path = self.folder / f"rankmeter-fuzz-{os.getpid()}.{form}"

    def make(self, draw: Random) -> Case:
        """A small data set, written in the form, and damaged up to four times."""
        plain = self.form.removesuffix(".gz")
        side = {"run": "rankings", "qrels": "truth"}.get(plain) or draw.choice(
            ["rankings", "truth"]
        )
        data = dataset(draw)
        if plain == "parquet":  # it says what is an integer; text follows the other side
            data = typed_all(data)
        content = WRITERS[plain](data[side], side, draw)
        zipped = self.form != plain
        times = draw.choice([0, 1, 1, 1, 2, 3, 4])
        before = draw.randint(0, times) if zipped else times
        content = damage(content, before, draw)
        if zipped:
            content = damage(gzip.compress(content, mtime=0), times - before, draw)
        other = data["truth" if side == "rankings" else "rankings"]
        metrics = tuple(draw.sample(judge.METRICS, 2))
        return Case(self.form, side, content, other, metrics, times > 0)

    def check(self, case: Case, stage: Callable[[int], None]) -> str:
        """Evaluate, and compare with the judge."""
        self.path.write_bytes(case.content)
        sides = {case.side: str(self.path)}
        try:
            sides |= {"truth" if case.side == "rankings" else "rankings": case.other}
            result, why = evaluated(sides["rankings"], sides["truth"], case.metrics)
        finally:
            self.path.unlink()
        stage(2)
        try:
            read = judge.read(case.content, case.form, case.side)
        except judge.Refused as error:
            return compared(None, str(error), result, why, case)
        other = {str(u): {str(i): n for i, n in items.items()} for u, items in case.other.items()}
        sides = {"rankings": other, "truth": other, case.side: read}
        return compared(judge.values(sides["rankings"], sides["truth"]), "", result, why, case)

    def show(self, case: Case) -> bytes:
        """The file."""
        return case.content

    def suffix(self, case: Case) -> str:
        """The extension of the file, with its side."""
        return f"-{case.side}.{case.form}"

    def smaller(self, case: Case) -> Iterator[Case]:
        """The same without a part of the file, larger parts first."""
        size = len(case.content) // 2
        while size:
            for start in range(0, len(case.content), size):
                rest = case.content[:start] + case.content[start + size :]
                yield replace(case, content=rest, damaged=True)
            size //= 2


def fuzzer(form: str) -> Files:
    """The fuzzer of a form."""
    return Files(form)


# -- the two answers --------------------------------------------------------------------------


def evaluated(rankings: Any, truth: Any, metrics: tuple[str, ...], **options: Any) -> Any:
    """The result and no reason, or none and the reason why rankmeter refuses."""
    return attempted(rm.evaluate, rankings, truth, list(metrics), **options)


def attempted(function: Callable[..., Any], *words: Any, **options: Any) -> tuple[Any, str]:
    """What a function of rankmeter returns and no reason, or none and the reason of its error."""
    try:
        return function(*words, **options), ""
    except RankmeterError as error:
        if len(str(error)) > 5000:
            raise Failure("a message without an end", str(error)[:200]) from error
        return None, f"{type(error).__name__}: {error}"
    except BaseException as error:  # a panic in Rust is a BaseException
        if isinstance(error, KeyboardInterrupt):
            raise
        raise Failure(f"foreign {type(error).__name__}", str(error)[:300]) from error


def refused(case: Any, why: str, expected: Any) -> str:
    """The outcome of an input that rankmeter refuses."""
    if not case.damaged:
        raise Failure("a plain input is refused", why)
    return f"refused, {'as by' if expected is None else 'not by'} the judge"


def lenient(refusal: str, seen: Any) -> str:
    """The outcome of an input that only the judge refuses."""
    if refusal in LENIENT:
        return f"accepted, where the judge sees {refusal}"
    raise Failure(f"accepted, where the judge sees {refusal}", repr(seen)[:200])


def compared(expected: Any, refusal: str, result: Any, why: str, case: Any) -> str:
    """The outcome of two answers; a `Failure` where rankmeter accepts what the judge does not."""
    if result is None:
        return refused(case, why, expected)
    if expected is None:
        return lenient(refusal, result.to_dict())
    found = {
        str(row["user"]): {name: row[name] for name in case.metrics}
        for row in result.values_by_user.iter_rows(named=True)
    }
    if found.keys() != expected.keys():
        raise Failure("other users", f"{sorted(found)}, by the judge {sorted(expected)}")
    for user, wanted in expected.items():
        for name in case.metrics:
            if not same(found[user][name], wanted[name]):
                seen = f"{name} of {user!r} is {found[user][name]}, by the judge {wanted[name]}"
                raise Failure("another value", seen)
    for name in case.metrics:
        of_all = [wanted[name] for wanted in expected.values()]
        mean = math.fsum(of_all) / len(of_all) if of_all else math.nan
        if not same(result[name].mean, mean):
            raise Failure("another mean", f"{name}: {result[name].mean}, by the judge {mean}")
    return "accepted, with the values of the judge"


def same(found: float, wanted: float) -> bool:
    """Whether two values agree, up to the order of summation."""
    if math.isnan(wanted):
        return math.isnan(found)
    return math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-12)


# -- plain data and plain files ---------------------------------------------------------------


def dataset(draw: Random) -> dict[str, dict[str, dict[str, float]]]:
    """Rankings with scores and a ground truth with gains, their ids text."""
    users = ids(draw, draw.randint(1, 4))
    items = ids(draw, draw.randint(2, 7))
    kind = draw.choice(["tied", "whole", "real"])
    score = {
        "tied": lambda: float(draw.randint(0, 2)),
        "whole": lambda: float(draw.randint(-50, 50)),
        "real": lambda: round(draw.uniform(-2, 2), 3),
    }[kind]
    truth = {
        user: {item: float(draw.randint(0, 3)) for item in draw.sample(items, draw.randint(1, 3))}
        if len(items) > 2
        else {items[0]: 1.0}
        for user in users
    }
    # The first user and its first item are on both sides, so that they meet.
    first = next(iter(truth[users[0]]))
    rankings = {}
    for user in users:
        chosen = draw.sample(items, draw.randint(1, len(items)))
        if user == users[0] and first not in chosen:
            chosen.append(first)
        rankings[user] = {item: score() for item in chosen}
    return {"rankings": rankings, "truth": truth}


def ids(draw: Random, n: int) -> list[str]:
    """Some ids: integers, names, or both."""
    kind = draw.choice(["integers", "names", "both"])
    found = {
        "integers": [str(i) for i in (1, 2, 9, 10, 100, -3, 7)],
        "names": ["a", "b", "B", "é", "x-y", "007", "item"],
        "both": ["1", "10", "9", "a", "01", "-2", "b"],
    }[kind]
    return draw.sample(found, n)


def typed(keys: Iterable[str]) -> dict[str, Any]:
    """What to write for some ids: integers, if all of them are."""
    keys = list(keys)
    whole = all(judge.order(key)[0] == 0 for key in keys)
    return {key: int(key) if whole else key for key in keys}


def typed_all(data: dict[str, dict[str, dict[str, float]]]) -> Any:
    """Both sides with integers for ids, if all ids of a kind are."""
    users = typed(user for side in data.values() for user in side)
    items = typed(item for side in data.values() for one in side.values() for item in one)
    return {
        side: {users[user]: {items[i]: n for i, n in one.items()} for user, one in found.items()}
        for side, found in data.items()
    }


def _rows(data: Any, draw: Random) -> list[tuple[str, str, float]]:
    rows = [(user, item, n) for user, items in data.items() for item, n in items.items()]
    draw.shuffle(rows)
    return rows


def _delimited(separator: str) -> Callable[..., bytes]:
    def write(data: Any, side: str, draw: Random) -> bytes:
        head = ["user", "item", "score" if side == "rankings" else "gain"]
        lines = [[user, item, f"{number:g}"] for user, item, number in _rows(data, draw)]
        if draw.random() < 0.3:
            quote = [[f'"{cell}"' for cell in line] for line in lines]
            lines = quote
        if draw.random() < 0.3:  # another column, before, between or behind
            at = draw.randint(0, 3)
            head.insert(at, "note")
            for line in lines:
                line.insert(at, draw.choice(["", "x", "good"]))
        end = draw.choice(["\n", "\n", "\r\n"])
        text = end.join(separator.join(line) for line in [head, *lines])
        return (text + end * draw.randint(0, 1)).encode()

    return write


def _jsonl(data: Any, side: str, draw: Random) -> bytes:
    name = "score" if side == "rankings" else "gain"
    form = draw.random()
    if form < 0.4:
        rows = [{"user": u, "item": i, name: n} for u, i, n in _rows(data, draw)]
    elif form < 0.6 and side == "rankings":  # search hits
        rows = [
            {"query_id": u, "results": [{"corpus_id": i, "score": n} for i, n in items.items()]}
            for u, items in data.items()
        ]
    else:
        rows = [
            {"user": u, "items": list(items), f"{name}s": list(items.values())}
            for u, items in data.items()
        ]
    return "\n".join(json.dumps(row, ensure_ascii=draw.random() < 0.5) for row in rows).encode()


def _json(data: Any, side: str, draw: Random) -> bytes:
    return json.dumps(data, indent=draw.choice([None, 1]), ensure_ascii=False).encode()


def _run(data: Any, side: str, draw: Random) -> bytes:
    lines = [f"{u} Q0 {i} {n} {s:g} tag" for n, (u, i, s) in enumerate(_rows(data, draw), 1)]
    return ("\n".join(lines) + "\n").encode()


def _qrels(data: Any, side: str, draw: Random) -> bytes:
    gap, subtopics = draw.choice([" ", "\t", "  "]), draw.choice(["0", "0", "123"])
    rows = [(u, draw.choice(subtopics), i, f"{n:g}") for u, i, n in _rows(data, draw)]
    return "".join(gap.join(map(str, row)) + "\n" for row in rows).encode()


def _parquet(data: Any, side: str, draw: Random) -> bytes:
    rows = _rows(data, draw)
    columns: dict[str, list[Any]] = {
        "user": [row[0] for row in rows],
        "item": [row[1] for row in rows],
    }
    columns["score" if side == "rankings" else "gain"] = [row[2] for row in rows]
    if draw.random() < 0.3:  # lists, a row for each user
        columns = {
            "user": [*data],
            "items": [[*items] for items in data.values()],
            "scores" if side == "rankings" else "gains": [[*one.values()] for one in data.values()],
        }
    file = io.BytesIO()
    how = draw.choice(["uncompressed", "zstd", "snappy"])
    pl.DataFrame(columns).write_parquet(file, compression=how, statistics=draw.random() < 0.5)
    return file.getvalue()


WRITERS: dict[str, Callable[[Any, str, Random], bytes]] = {
    "csv": _delimited(","),
    "tsv": _delimited("\t"),
    "jsonl": _jsonl,
    "json": _json,
    "run": _run,
    "qrels": _qrels,
    "parquet": _parquet,
}

# -- damage -----------------------------------------------------------------------------------

NUMBERS = [
    "nan",
    "inf",
    "-inf",
    "NaN",
    "null",
    "None",
    "true",
    "1e308",
    "1e309",
    "-1e400",
    "1e19",
    "9223372036854775807",
    "-1",
    "1.0",
    "9223372036854775808",
    "18446744073709551616",
    "9007199254740993",
    "16777217",
    "0",
    "-0",
    "007",
    "+7",
    "1_000",
    "1,5",
    "0x10",
    "1e-400",
    "4.9e-324",
    "١٢",
    "½",
    "1.",
    ".5",
    "1e5",
    "00",
    "--1",
    "1/2",
    "1e",
    "1.0.0",
] + ["", " 1", "1 ", "1" * 400]
PIECES = [one.encode() for one in NUMBERS] + [
    b'"', b'""', b"'", b"\n", b"\r", b"\r\n", b"\n\n", b"\x00", b"\xff", b"\xc3", b"\xef\xbb\xbf",
    b",", b"\t", b";", b" ", b"\x0b", b"\x1f", b"{", b"}", b"[", b"]", b":", b"\\", b"\\u0000",
    b"\\ud800", "\u00a0".encode(), "\u2028".encode(), "\u0301".encode(), "７".encode(), b"=", b"#",
    b"=1+1", "\u202e".encode(), b"user", b"item", b"score", b"gain", b"rank", b"[" * 50,
]  # fmt: skip


def damage(content: bytes, times: int, draw: Random) -> bytes:
    """Content after some random changes."""
    for _ in range(times):
        content = draw.choice(MUTATORS)(content, draw)
    return content


def _flip(content: bytes, draw: Random) -> bytes:
    if not content:
        return b"\x01"
    at = draw.randrange(len(content))
    return content[:at] + bytes([content[at] ^ 1 << draw.randrange(8)]) + content[at + 1 :]


def _insert(content: bytes, draw: Random) -> bytes:
    at = draw.randint(0, len(content))
    return content[:at] + draw.choice(PIECES) + content[at:]


def _delete(content: bytes, draw: Random) -> bytes:
    at = draw.randint(0, len(content))
    return content[:at] + content[at + draw.choice([1, 1, 2, 5, 20]) :]


def _splice(content: bytes, draw: Random) -> bytes:
    a, b = sorted(draw.randint(0, len(content)) for _ in range(2))
    at = draw.randint(0, len(content))
    return content[:at] + content[a : min(b, a + 60)] + content[at:]


def _cut(content: bytes, draw: Random) -> bytes:
    return content[: draw.randint(0, len(content))]


def _lines(content: bytes, draw: Random) -> bytes:
    """A line twice, gone, elsewhere, or blank."""
    lines = content.split(b"\n")
    at, to = draw.randrange(len(lines)), draw.randint(0, len(lines))
    line = lines[at]
    how = draw.randrange(4)
    if how in (1, 2):
        del lines[at]
    if how != 1:
        lines.insert(to, b"" if how == 3 else line)
    return b"\n".join(lines)


def _field(content: bytes, draw: Random) -> bytes:
    """A field twice, gone, or another value."""
    separator = draw.choice([b",", b"\t", b" ", b":"])
    fields = content.split(separator)
    at = draw.randrange(len(fields))
    how = draw.randrange(3)
    if how == 0:
        fields.insert(at, fields[at])
    elif how == 1:
        del fields[at]
    else:
        fields[at] = draw.choice(PIECES) + (b"\n" if fields[at].endswith(b"\n") else b"")
    return separator.join(fields)


def _token(content: bytes, draw: Random) -> bytes:
    """A number, or a name, that is another one."""
    text = content.decode("latin-1")
    places = [at for at in range(len(text)) if text[at].isalnum()]
    if not places:
        return _insert(content, draw)
    start = end = draw.choice(places)
    while start and (text[start - 1].isalnum() or text[start - 1] in ".-"):
        start -= 1
    while end < len(text) and (text[end].isalnum() or text[end] in ".-"):
        end += 1
    return content[:start] + draw.choice(NUMBERS).encode() + content[end:]


MUTATORS = [_flip, _insert, _delete, _splice, _cut, _lines, _field, _token, _token, _token]
