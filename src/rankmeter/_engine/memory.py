"""Values of tables in memory, block by block."""

from __future__ import annotations

import copy
import functools
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl

from rankmeter._engine.block import Block
from rankmeter._engine.scores import UserValues, check_whole
from rankmeter._engine.side import NO_SIDE, Side
from rankmeter._rankings.codes import (
    THREADS,
    Share,
    is_grouped_by_user,
    map_in_threads,
    partition_users,
    shares_of_parts,
)
from rankmeter._reading.by_user import IdSeries
from rankmeter._reading.memory import PER_MEASURED_ROW, check_memory
from rankmeter._reading.table import Table
from rankmeter.conventions._plan import Plan
from rankmeter.errors import UsageError

if TYPE_CHECKING:
    from rankmeter._engine.counted import CountedQueries
    from rankmeter._engine.side_tables import SideTables


class Data(Protocol):
    """Ground truth and rankings opened by an engine."""

    def run(self, plan: Plan) -> dict[str, UserValues]:
        """The per-user values of each system.

        Data that the choices refuse, or that a metric cannot handle, raise an error later, in
        `UserValues.averaged`, for the metrics concerned.
        """
        ...

    def select_user(self, user: object, system: str) -> Block | CountedQueries:
        """The data of one user under one system.

        Raises
        ------
        UsageError
            If the rankings are not in memory.
        """
        ...


class Opener:
    """Opens the data of results; systems that are compared share one.

    Results are copied and pickled with their data. Data that cannot be copied, such as a query of
    a database or a function, stay behind: then the copy has all numbers and raises an error if
    rankings have to be read again.
    """

    def __init__(self, open_data: Callable[[], Data]) -> None:
        self._open = open_data

    @classmethod
    def of(cls, data: Data) -> Opener:
        """Make an opener of data that are open already."""
        return cls(functools.partial(_same_data, data))

    def __call__(self) -> Data:
        return self._open()

    def __deepcopy__(self, _: dict[int, Any]) -> Opener:
        try:
            return Opener(copy.deepcopy(self._open))  # a failure would leave halves in `memo`
        except Exception:  # noqa: BLE001 - of any library
            return self  # data are read only, so they can be shared

    def __reduce__(self) -> tuple[Callable[[bytes], Opener], tuple[bytes]]:
        try:
            content = pickle.dumps(self._open, pickle.HIGHEST_PROTOCOL)
        except Exception:  # noqa: BLE001 - of any library
            content = pickle.dumps(refuse_data_left_behind)
        return _load_opener, (content,)


def _same_data(data: Data) -> Data:
    return data


def _load_opener(content: bytes) -> Opener:
    return Opener(pickle.loads(content))  # noqa: S301 - a part of a pickle that is being loaded


def refuse_data_left_behind() -> Data:
    """Raise a UsageError: the data of a result could not be pickled with it."""
    raise UsageError(
        "this needs the rankings once more, which were not pickled with the result, because "
        "functions, database queries and rankings read in pieces cannot be: evaluate them again"
    )


@dataclass(frozen=True, eq=False)
class Source:
    """Reopenable data of a result, with the name of the system."""

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

        The `side` is for list metrics.

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
        side_tables = functools.cache(functools.partial(_side_tables, side, systems, truth))
        rows = truth.height + max((t.height for t in systems.values()), default=0)
        check_memory(rows * PER_MEASURED_ROW, f"Measuring {rows:,} rows of rankings and truth")
        # Items that are not rows are looked up by one thread at a time, in little time.
        prefers_one_block = keep or any(table.rows.is_index for table in systems.values())
        blocks = self.blocks or 1
        if self.blocks is None and not prefers_one_block:
            viewed = all(map(is_grouped_by_user, systems.values()))
            blocks = _n_blocks(rows, truth.height, viewed=viewed)
        block = functools.partial(Block, side_tables=side_tables, keep=keep)

        def build_block(share: Callable[[], Share]) -> Block:
            codes, (truth_of_part, *system_tables) = share()
            return block(truth_of_part, dict(zip(systems, system_tables, strict=True)), codes=codes)

        makers: list[Callable[[], Block]] = [lambda: block(truth, systems)]
        in_parts = any(table.rows.division is not None for table in systems.values())
        if in_parts:
            shares = shares_of_parts([truth, *systems.values()])
            makers = [functools.partial(build_block, share) for share in shares]
        elif blocks > 1:  # with about the same number of rows each
            shares = partition_users(blocks, [truth, *systems.values()])
            makers = [functools.partial(build_block, share) for share in shares]
        if keep and not in_parts:
            makers = [functools.cache(make) for make in makers]
        return Tables(truth, dict(systems), side, side_tables, makers, self, keep)


def _side_tables(side: Side, systems: Mapping[str, Table], truth: Table) -> SideTables:
    from rankmeter._engine.side_tables import SideTables

    return SideTables(side, systems, truth)


def _n_blocks(rows: int, judged: int, *, viewed: bool) -> int:
    """Number of blocks: 1 for few rows or judgments; thresholds are lower for viewed rows.

    A judgment needs about five times the memory of a row, and a few blocks are worked on at once.
    """
    least, share, size = (2**20, 32, 2**19) if viewed else (2**22, 8, 2**20)
    return 1 if rows < least or judged * share < rows else min(rows // size, 12)


@dataclass(frozen=True, eq=False)
class Tables:
    """Tables in memory, cut into blocks."""

    truth: Table
    systems: Mapping[str, Table]
    side: Side
    side_tables: Callable[[], SideTables]
    blocks: Sequence[Callable[[], Block]]  # made when they are needed, and freed if not kept
    engine: Memory
    keep: bool

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles hold the tables, and divide them into blocks again."""
        open_again = functools.partial(Memory.open, side=self.side, keep=self.keep)
        return open_again, (self.engine, self.truth, self.systems)

    def select_user(self, user: object, system: str) -> Block:
        systems = {system: _rows_of_user(self.systems[system], user)}
        return Block(
            self.truth.rows_of_user(user), systems, side_tables=self.side_tables, keep=True
        )

    def run(self, plan: Plan) -> dict[str, UserValues]:
        """Score all blocks and merge the scores; see `Data.run`."""
        by_block = [block.score(plan) for block in self._aligned_blocks(plan)]
        merged = {name: UserValues.merge(part[name] for part in by_block) for name in self.systems}
        given = self.side
        size = given.size if given.catalogue is None else None
        return {
            name: check_whole(plan, scores, self.truth, self.systems[name], size)
            for name, scores in merged.items()
        }

    def _aligned_blocks(self, plan: Plan) -> Iterator[Block]:
        """Blocks with hits found in threads."""
        rows = [table.rows for table in self.systems.values()]

        def align_block(number: int) -> Block:
            block = self.blocks[number]()
            block.align(plan)
            return block

        # Functions of metrics run in the calling thread: they may come from elsewhere.
        ahead = min(one.ahead for one in rows)
        aligned = map_in_threads(align_block, len(self.blocks), min(ahead, THREADS))
        if all(one.in_memory for one in rows):
            return aligned
        from rankmeter._files import with_progress

        n_rows = sum(one.n_rows for one in rows)
        return with_progress(aligned, "2 of 2: measuring", len(self.blocks), n_rows)


def _rows_of_user(table: Table, user: object) -> Table:
    if table.rows.division is None:
        return table.rows_of_user(user)
    number = int(table.rows.division.numbers(IdSeries(pl.Series([user])))[0])
    return replace(table, rows=table.rows.read_part(number)).rows_of_user(user)
