"""Tables in memory: all users in one block, or in several, one after the other."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rankmeter._align import THREADS, Share, in_threads, is_grouped, partitions
from rankmeter._engine.block import Block
from rankmeter._engine.counted import Counted
from rankmeter._engine.scores import Scores
from rankmeter._engine.whole import check_whole
from rankmeter._ingest import PER_MEASURED_ROW, Table, check_memory
from rankmeter._plan import Plan
from rankmeter._side._given import NO_SIDE, Side
from rankmeter._side._tables import SideTables
from rankmeter.errors import UsageError

_PER_KEPT_ROW = 200
"""Bytes for each row of a table while it is measured, where memory is limited."""


class Data(Protocol):
    """Ground truth and rankings that an engine has been opened on."""

    def run(self, plan: Plan) -> dict[str, Scores]:
        """The per-user values of each system.

        Data that the choices refuse, or that a metric cannot handle, raise an error later, in
        `Scores.averaged`, for the metrics concerned.
        """
        ...

    def of_user(self, user: object) -> Block | Counted:
        """The data of one user.

        Raises
        ------
        UsageError
            If the rankings are not in memory.
        """
        ...


@dataclass(frozen=True, eq=False)
class Source:
    """Data of a result that can be opened again, and the name of the system."""

    open: Callable[[], Data] = field(repr=False)  # it holds the rankings
    system: str
    lists: bool = True  # whether all rankings are in memory


class Engine(Protocol):
    """A way to divide users into blocks."""

    def open(
        self,
        truth: Table,
        systems: Mapping[str, Table],
        *,
        side: Side = NO_SIDE,
        keep: bool = False,
    ) -> Data:
        """Prepare rankings, by name of the system, and ground truth with ids of the same types.

        The `side` is for metrics of what was shown.

        With `keep`, several plans with the same alignments follow, so that hits are worth keeping.
        """
        ...


@dataclass(frozen=True)
class Memory:
    """The engine for tables that fit into memory."""

    blocks: int | None = None  # how many; the results are the same for any, the memory is not

    def open(
        self,
        truth: Table,
        systems: Mapping[str, Table],
        *,
        side: Side = NO_SIDE,
        keep: bool = False,
    ) -> Tables:
        tables = SideTables(side, systems, truth)
        rows = truth.height + max((t.height for t in systems.values()), default=0)
        check_memory(rows * PER_MEASURED_ROW, f"Measuring {rows:,} rows of rankings and truth")
        rooms = [table.rows.room for table in systems.values()]
        room = min((room for room in rooms if room is not None), default=None)
        # Items that are not rows are looked up by one thread at a time, in little time.
        whole = keep or any(table.rows.is_index for table in systems.values())
        blocks = self.blocks or 1
        if self.blocks is None and not whole:
            viewed = all(map(is_grouped, systems.values()))
            blocks = _n_blocks(rows, truth.height, viewed=viewed)
        if room is not None:
            blocks = max(blocks, rows * _PER_KEPT_ROW // room)
        makers = _makers(truth, systems, blocks, functools.partial(Block, tables=tables, keep=keep))
        if keep:
            makers = [functools.cache(make) for make in makers]
        return Tables(truth, dict(systems), tables, makers)


def _n_blocks(rows: int, judged: int, *, viewed: bool) -> int:
    """One block where rows or judgments are few; fewer are worth a cut if rows are only viewed.

    A judgment needs about five times the memory of a row, and a few blocks are worked on at once.
    """
    least, share, size = (2**20, 32, 2**19) if viewed else (2**22, 8, 2**20)
    return 1 if rows < least or judged * share < rows else min(rows // size, 12)


def _makers(
    truth: Table, systems: Mapping[str, Table], blocks: int, block: Callable[..., Block]
) -> list[Callable[[], Block]]:
    """Return a function for each block, which builds it; blocks have about as many rows."""
    if blocks == 1:
        return [lambda: block(truth, systems)]

    def build(share: Callable[[], Share]) -> Block:
        codes, (truth_of_part, *others) = share()
        return block(truth_of_part, dict(zip(systems, others, strict=True)), codes=codes)

    return [
        functools.partial(build, share) for share in partitions(blocks, [truth, *systems.values()])
    ]


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables in memory, cut into blocks."""

    truth: Table
    systems: Mapping[str, Table]
    side: SideTables
    blocks: Sequence[Callable[[], Block]]  # made when they are needed, and freed if not kept

    def of_user(self, user: object) -> Block:
        if not all(table.rows.in_memory for table in self.systems.values()):
            raise UsageError(
                "rankings that were read in pieces are not in memory: evaluate the rows of one "
                "user alone", option="engine",
            )  # fmt: skip
        systems = {name: table.of_user(user) for name, table in self.systems.items()}
        return Block(self.truth.of_user(user), systems, tables=self.side, keep=True)

    def run(self, plan: Plan) -> dict[str, Scores]:
        """See `Data.run`."""
        by_block = [block.score(plan) for block in self._aligned_blocks(plan)]
        merged = {name: Scores.merge(part[name] for part in by_block) for name in self.systems}
        return {
            name: check_whole(plan, scores, self.truth, self.systems[name])
            for name, scores in merged.items()
        }

    def _aligned_blocks(self, plan: Plan) -> Iterator[Block]:
        """The blocks; threads find their hits, unless that may read rankings once more."""
        if not all(table.rows.in_memory for table in self.systems.values()):
            return (make() for make in self.blocks)

        def aligned(number: int) -> Block:
            block = self.blocks[number]()
            block.align(plan)
            return block

        # Functions of metrics run in the calling thread: they may come from elsewhere.
        return in_threads(aligned, len(self.blocks), THREADS)
