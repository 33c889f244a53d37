"""Blocks scored by the executors of Spark, with the code of the driver.

A part of a block is sent with all that it needs, and its scores come back. An executor answers only
if it would compute the same numbers, and the driver computes what is not answered. So errors are
raised on the driver, and the values do not depend on who computes them.
"""

from __future__ import annotations

import functools
import math
import pickle
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from rankmeter._engine.block import Block
from rankmeter._engine.scores import Scores
from rankmeter._ingest import POLARS, Query, Table
from rankmeter._plan import Plan
from rankmeter._version import __version__
from rankmeter.metrics import METRICS

_WORTH = 10.0
"""The least number of seconds that executors must save the driver."""
_PER_PART = 0.02
"""Seconds that the driver takes to send a part and to receive its values."""
_FEW = 16
"""So few parts are scored by the driver, without a look at the time that they take."""
_PART = 2**20
"""Bytes of a part, or of its values, if that is more."""
_SENT = 2**26
"""Bytes of the parts that are sent together, or of their values."""
_PER_ROW, _PER_USER = 60, 40  # bytes

_ABLE: WeakKeyDictionary[Any, dict[bytes, bool]] = WeakKeyDictionary()
"""By session, whether executors have what some metrics need."""
_SAID: dict[Any, int] = {}
"""The warnings of executors that were shown, so that each line warns once."""


def scored(
    blocks: Iterable[Block], plan: Plan, systems: Mapping[str, Table]
) -> Iterator[dict[str, Scores]]:
    """The scores of the blocks, or of their parts, by system."""
    executors = _Executors.of(plan, systems)
    for block in blocks:
        if executors is None or not executors.worth(block):
            yield block.score(plan)
        else:
            yield from executors.score(block)


class _Part(NamedTuple):
    """Some users of a block."""

    truth: Table
    systems: dict[str, Table]
    size: int  # bytes of its values

    def score(self, plan: Plan) -> dict[str, Scores]:
        return Block(self.truth, self.systems).score(plan)


class _Executors:
    """Executors that score parts of blocks, until one of them does not answer."""

    def __init__(self, query: Query, plan: Plan) -> None:
        self._query, self._plan = query, plan
        self._known = _pickled((_about(), _own_metrics(plan)))
        self._work = _work(__version__, self._known, pickle.dumps(plan))
        self._able: bool | None = None

    @classmethod
    def of(cls, plan: Plan, systems: Mapping[str, Table]) -> _Executors | None:
        """Executors for a plan, if all rankings are in Spark and it needs no more of them."""
        rests = [table.rest for table in systems.values()]
        queries = [rest.query for rest in rests if rest is not None and rest.query is not None]
        if len(queries) < len(systems) or not _counted_before(plan, systems):
            return None
        try:
            return cls(queries[0], plan)
        except Exception:  # noqa: BLE001 - a metric of the user may hold anything
            return None

    def worth(self, block: Block) -> bool:
        """Whether the executors are able and save time; decided by the first block."""
        if self._able is None:
            self._able = self._saved(block) > _WORTH and self._asked()
        return self._able

    def _saved(self, block: Block) -> float:
        """The seconds that the driver would save, from the time that it takes for one part."""
        n = _n_parts(block, self._plan)
        if n <= _FEW or not len(block.users):
            return -math.inf
        part = next(_parts(block, self._plan))
        return n * (min(self._seconds(part) for _ in range(2)) - _PER_PART)

    def _seconds(self, part: _Part) -> float:
        began = time.perf_counter()
        part.score(self._plan)
        return time.perf_counter() - began

    def _asked(self) -> bool:
        """Whether executors have what they need; asked once in a session."""
        known = _ABLE.setdefault(self._query.session, {})
        if self._known not in known:
            known[self._known] = self.sent([b""]) != [b""]
        return known[self._known]

    def sent(self, parts: list[bytes]) -> list[bytes]:
        """The answer to each part, empty if an executor has none."""
        try:
            return self._query.mapped(self._work, parts)
        except Exception:  # noqa: BLE001 - Python functions may be forbidden, or the cluster small
            return [b""] * len(parts)

    def score(self, block: Block) -> Iterator[dict[str, Scores]]:
        """The scores of the parts of a block, by system."""
        for some in _together(_parts(block, self._plan)):
            answers = [b""] * len(some)
            if self._able:
                answers = self.sent([sent for _, sent in some])
                self._able = all(answers)
            found = [
                _scores_in(answer) if answer else part.score(self._plan)
                for (part, _), answer in zip(some, answers, strict=True)
            ]
            yield {name: Scores.merge(one[name] for one in found) for name in block.systems}


def _counted_before(plan: Plan, systems: Mapping[str, Table]) -> bool:
    """Whether blocks need no more of their rankings than rows and what is counted already.

    Lists and facts about items need tables of all items. Appended items, and ranks that move up
    once the item of the user is gone, are counted anew.
    """
    ranked = any(table.order == "rank" for table in systems.values())
    usual = all(
        one.scope != "appended" and not (ranked and one.exclude == "self")
        for one in plan.alignments()
    )
    return usual and not plan.depths() and not plan.named()


def _own_metrics(plan: Plan) -> dict[str, Any]:
    """The metrics that are not part of the package."""
    used = {entry.metric.name: METRICS[entry.metric.name] for entry in plan.metrics}
    return {name: one for name, one in used.items() if not one.family.startswith("rankmeter.")}


def _n_parts(block: Block, plan: Plan) -> int:
    """In how many parts a block is sent."""
    rows = sum(table.height for table in (block.truth, *block.systems.values()))
    return max(
        1, (_PER_ROW * rows + _PER_USER * len(block.users)) // _PART, _values(block, plan) // _PART
    )


def _values(block: Block, plan: Plan) -> int:
    """Bytes of the values of a block."""
    return 8 * len(plan.metrics) * len(block.systems) * len(block.users)


def _parts(block: Block, plan: Plan) -> Iterator[_Part]:
    """The users of a block in parts of about as many users each."""
    users = block.users.series()
    size = -(-len(users) // _n_parts(block, plan))
    first = np.arange(0, len(users), size)
    ends = users.gather(first), users.gather(np.minimum(first + size, len(users)) - 1)
    truth = block.truth.parts(*ends)
    systems = {name: _plain(table).parts(*ends) for name, table in block.systems.items()}
    each = _values(block, plan) // first.size
    for at, judged in enumerate(truth):
        yield _Part(judged, {name: own[at] for name, own in systems.items()}, each)


def _plain(table: Table) -> Table:
    """The table without what belongs to a session."""
    return replace(table, origin=replace(table.origin, kind=POLARS))


def _together(parts: Iterable[_Part]) -> Iterator[list[tuple[_Part, bytes]]]:
    """Parts and what is sent of them, as many as are sent together."""
    some: list[tuple[_Part, bytes]] = []
    room = _SENT
    for part in parts:
        sent = pickle.dumps((part.truth, part.systems))
        size = max(len(sent), part.size)
        if some and size > room:
            yield some
            some, room = [], _SENT
        some.append((part, sent))
        room -= size
    yield some


def _scores_in(answer: bytes) -> dict[str, Scores]:
    """The scores of an answer; what was warned of is warned of here."""
    scores, said = pickle.loads(answer)  # noqa: S301 - of our own executor
    for message, category, file, line in said:
        warnings.warn_explicit(message, category, file, line, registry=_SAID)
    return {name: replace(one, by_executors=True) for name, one in scores.items()}


# ---------------------------------------------------------------------------------------------
# In an executor


def _work(own_version: str, known: bytes, plan: bytes) -> Callable[[bytes], bytes]:
    """What an executor does with a part. It is sent by value: the package may be missing there."""

    def work(part: bytes) -> bytes:
        try:
            from rankmeter._version import __version__

            if __version__ != own_version:
                return b""
            from rankmeter._engine.executors import measured

            return measured(known, plan, part)
        except Exception:  # noqa: BLE001 - the driver finds the error again
            return b""

    return work


def measured(known: bytes, plan: bytes, part: bytes) -> bytes:
    """The scores of a part and the warnings; empty if the numbers could be others here.

    Without a part the answer says that there would be one.
    """
    here, own = pickle.loads(known)  # noqa: S301 - of our own driver
    if here != _about():
        return b""
    METRICS.update(own)
    if not part:
        return b"able"
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        scores = Block(*pickle.loads(part)).score(pickle.loads(plan))  # noqa: S301
    return _pickled((scores, [(w.message, w.category, w.filename, w.lineno) for w in said]))


@functools.cache
def _about() -> tuple[object, ...]:
    """What numbers depend on here: versions, and how NumPy computes on this processor."""
    import hashlib

    x = np.arange(1, 1025) / 7
    found = [np.log(x), np.log2(x), np.exp(-x), np.exp2(-x), x**0.8, np.cumsum(x) @ x, x.sum()]
    computed = hashlib.sha256(np.hstack(found).tobytes()).hexdigest()
    return (sys.version_info[:2], *map(_version, ("numpy", "polars", "scipy")), computed)


def _version(package: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _pickled(value: object) -> bytes:
    """A value with functions and classes that only this process has."""
    from pyspark import cloudpickle

    found: bytes = cloudpickle.dumps(value)  # type: ignore[no-untyped-call]
    return found
