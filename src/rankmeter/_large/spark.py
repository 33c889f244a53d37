"""Rankings in Spark: its tasks measure parts of users, by the engine for memory.

Rankings and ground truth are cut by a hash of the user. A task gets all rows of its users, measures
them, and returns their values, which the driver merges.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, NamedTuple, NoReturn
from warnings import catch_warnings, filterwarnings

import polars as pl

from rankmeter._engine.block import Block
from rankmeter._engine.scores import UserValues, check_whole
from rankmeter._engine.side import NO_SIDE, Side
from rankmeter._engine.side_tables import SideTables
from rankmeter._large.parts import Answer, Doubt, agree, answer_of
from rankmeter._reading.by_user import IdSeries, InFrame
from rankmeter._reading.spark import InSpark, Query, Unordered, send_frame
from rankmeter._reading.table import POLARS, Table
from rankmeter._version import __version__
from rankmeter.conventions._plan import Plan
from rankmeter.errors import DataError, MissingDependencyError, UsageError
from rankmeter.errors._caution import warn
from rankmeter.errors._checks import brief
from rankmeter.metrics import METRICS, Spec

_LARGEST = 2**20  # rows of a part, unless memory is smaller
_LEAST = 2**14  # rows that are worth a task
_PER_ROW = 250  # bytes of memory for a row that is measured


def count_rows(table: Table, memory: int) -> Table:
    """Count and check the rows of rankings in Spark, which `memory` bytes for each task measure.

    Raises
    ------
    DataError
        If ids, scores or ranks are bad.
    """
    rows = table.rows
    assert isinstance(rows, InSpark)
    query = rows.query
    sums = [
        "count(1) AS rows",
        "count_if(user IS NULL) AS no_user",
        "count_if(item IS NULL) AS no_item",
        f"count_if({query.order} IS NULL) AS missing",
        f"count_if(abs({query.order}) = double('Infinity')) AS infinite",
        "count_if(rounded = 1) AS rounded",
    ]
    counts = query.collect(query.aggregate(query.all_rows, [], *sums)).row(0, named=True)
    n_rows = counts["rows"] - (counts["missing"] if query.bad_scores == "drop" else 0)
    size = max(min(_LARGEST, memory // _PER_ROW), 1)
    origin = replace(table.origin, counts=query.check_counts(counts))
    return replace(
        table, rows=replace(rows, height=n_rows, n_parts=-(-n_rows // size)), origin=origin
    )


@dataclass(frozen=True, eq=False)
class Cluster:
    """Ground truth, and rankings of which some are in Spark; implements `Data`."""

    truth: Table
    systems: Mapping[str, Table]
    side: SideTables
    cautions: dict[str, list[str]] = field(default_factory=dict)  # of each system, once asked for

    @classmethod
    def open(cls, truth: Table, systems: Mapping[str, Table], side: Side) -> Cluster:
        """Open tables; see `Engine.open`."""
        return cls(truth, systems, SideTables(side, systems, truth))

    def select_user(self, user: object, system: str) -> NoReturn:  # noqa: ARG002 - none is here
        """Refuse: the rows of a user are not in memory."""
        raise UsageError(
            "rankings in Spark are not in memory: evaluate the rows of one user alone",
            option="engine",
        )

    def run(self, plan: Plan) -> dict[str, UserValues]:
        """Measure all parts and merge the values; see `Data.run`."""
        query = next(t.rows.query for t in self.systems.values() if isinstance(t.rows, InSpark))
        n_rows = sum(t.rows.n_rows for t in self.systems.values())
        few = min(query.default_parallelism, -(-n_rows // _LEAST))
        n_parts = sum(t.rows.n_parts for t in self.systems.values() if isinstance(t.rows, InSpark))
        rows = reduce(lambda one, other: one.unionByName(other), self._rows(query))
        cut = rows.repartition(max(n_parts, few), "user")
        with catch_warnings(), _python_of_driver(query.data.sparkSession):
            for said in ("PySpark does not yet fully support pandas", "distutils Version classes"):
                filterwarnings("ignore", message=said)
            work = cut.mapInArrow(self._work(plan), "result binary")  # without pandas
        measured = query.collect(work)
        results = [pickle.loads(result) for result in measured["result"]]  # noqa: S301 - of our own
        for result in results:
            if isinstance(result, Exception):
                raise result
        self._refuse_changed_rows([result.heights for result in results])
        self._warn([result.answers for result in results])
        given = self.side.side
        size = given.size if given.catalogue is None else None
        values = {name: UserValues.merge(r.scores[name] for r in results) for name in self.systems}
        return {
            name: replace(
                check_whole(plan, values[name], self.truth, table, size),
                cautions=tuple(filter(None, self.cautions[name])),
            )
            for name, table in self.systems.items()
        }

    def _warn(self, answers: Sequence[Mapping[str, Answer]]) -> None:
        """Warn of what all tasks doubt; once, whatever is measured later."""
        for name, table in self.systems.items():
            if name not in self.cautions:
                of_system = [part[name] for part in answers if name in part]
                self.cautions[name] = agree(of_system, table.rows.n_rows)
                warn(*filter(None, self.cautions[name]))

    def _refuse_changed_rows(self, heights: Sequence[Sequence[int]]) -> None:
        for number, table in enumerate(self.systems.values()):
            expected = table.rows.n_rows
            if (n := sum(part[number] for part in heights)) != expected:
                raise DataError(
                    f"{expected:,} rows of {table.source} were counted and {n:,} measured: the "
                    f"rankings changed while they were read. Repeat the evaluation when nothing "
                    f"writes to them."
                )

    def _work(self, plan: Plan) -> _Work:
        systems = {name: _without_rows(table) for name, table in self.systems.items()}
        own = {
            entry.metric.name: _sendable(entry.metric.spec)
            for entry in plan.metrics
            if not entry.spec.function.__module__.startswith("rankmeter.")
        }
        doubts = {
            name: table.rows.doubts
            for name, table in self.systems.items()
            if isinstance(table.rows, InSpark) and name not in self.cautions
        }
        n_judged = self.truth.height
        truth = _without_rows(self.truth)
        return _Work(plan, own, truth, systems, self._side(plan), doubts, n_judged)

    def _side(self, plan: Plan) -> SideTables:
        """Side data over the codes of all items, made once."""
        side, truth = self.side, _without_rows(self.truth)
        if not (plan.list_depths() or plan.alignments_with_hit_items() or self.truth.has_subtopics):
            return SideTables(NO_SIDE, {}, truth)
        side.prepare()
        made = SideTables(side.side, {}, truth)
        for name, value in vars(side).items():
            if name not in ("side", "systems", "truth"):
                made.__dict__[name] = value
        return made

    def _rows(self, query: Query) -> Iterator[Any]:
        """Yield frames of Spark with the rows of the truth and of each system; see `_Work`."""
        n, types = len(self.systems), _types(self.truth)
        place = pl.int_range(pl.len())
        sent = [_rows_to_send(self.truth, "gain", -1 - place)]
        for number, table in enumerate(self.systems.values()):
            if not isinstance(table.rows, InSpark):
                sent.append(_rows_to_send(table, table.order, number + n * place))
                continue
            users = table.empty_users.to_series().cast(types["user"]).to_frame("user")
            sent.append(users.select("user", row=pl.lit(number, pl.Int64)))
            ids = [f"{_sql(types[role])}({role}) AS {role}" for role in ("user", "item")]
            rows = table.rows.query
            subtopic = ["string(NULL) AS subtopic"] if self.truth.has_subtopics else []
            row = f"bigint({number}) AS row"
            yield rows.candidates.selectExpr(*ids, f"{rows.order} AS value", row, *subtopic)
            if (emptied := rows.users_of_dropped_rows) is not None:
                nothing = f"CAST(NULL AS {_sql(types['item'])}) AS item"
                yield emptied.selectExpr(ids[0], nothing, "double(NULL) AS value", row, *subtopic)
        types |= {"value": pl.Float64(), "row": pl.Int64()}
        types |= {"subtopic": pl.String()} if self.truth.has_subtopics else {}
        frame = pl.concat([pl.DataFrame(schema=types), *sent], how="diagonal")
        if frame.height:
            yield send_frame(frame, query.data.sparkSession, query.source)


@contextmanager
def _python_of_driver(session: Any) -> Iterator[None]:
    """Run the tasks of a session on this machine in this Python, unless another one was chosen."""
    context, chosen = getattr(session, "_sc", None), "spark.pyspark.python"
    if (
        context is None
        or not context.master.startswith("local")
        or ("PYSPARK_PYTHON" in os.environ or context.getConf().contains(chosen))
    ):
        yield
        return
    usual, context.pythonExec = context.pythonExec, sys.executable
    try:
        yield
    finally:
        context.pythonExec = usual


def _sendable(spec: Spec) -> Spec:
    from pyspark import cloudpickle

    try:
        cloudpickle.dumps(spec)  # type: ignore[no-untyped-call]
    except Exception as error:
        raise UsageError(
            f"The metric `{spec.name}` cannot be sent to the tasks of Spark: "
            f"{brief(error)}. Its function must hold only what can be pickled."
        ) from error
    return spec


def _sql(kind: pl.DataType) -> str:
    return "bigint" if kind == pl.Int64() else "string"


def _types(table: Table) -> dict[str, pl.DataType]:
    """The types of ids that are sent: integers, or text."""
    is_int = {role: table.id_type(role) == "Int64" for role in ("user", "item")}
    return {role: pl.Int64() if short else pl.String() for role, short in is_int.items()}


def _without_rows(table: Table) -> Table:
    frame = table.rows.frame().clear()
    users = IdSeries(pl.Series("user", [], table.id_dtype("user")))
    kept = Unordered if isinstance(table.rows, InSpark) else InFrame
    return replace(
        table, rows=kept(frame), empty_users=users, origin=replace(table.origin, kind=POLARS)
    )


def _rows_to_send(table: Table, value: str, row: pl.Expr) -> pl.DataFrame:
    """The rows of a table in memory, and its users without rows, for `_Work`."""
    types, number = _types(table), [] if value == "list" else [pl.col(value).alias("value")]
    subtopics = [pl.col("subtopic")] if table.has_subtopics else []
    ids = [pl.col(role).cast(types[role]) for role in ("user", "item")]
    empty = table.empty_users.to_series().cast(types["user"]).to_frame("user")
    rows = table.frame.select(*ids, *number, row.alias("row"), *subtopics)
    return pl.concat([rows, empty.select("user", row=row)], how="diagonal")


class _Measured(NamedTuple):
    """Values of the users of a part by system, the number of its rows, and what is doubtful."""

    scores: Mapping[str, UserValues]
    heights: Sequence[int]
    answers: Mapping[str, Answer]


@dataclass(frozen=True, eq=False)
class _Work:
    """What a task does with the rows of its users.

    The rows have ``user``, ``item``, ``value`` and ``row``: number of the system plus the number of
    systems times the place of a row in its table, or, of the ground truth, -1 less its place.
    Users without items have a row without item.
    """

    plan: Plan
    own: Mapping[str, Any]  # metrics of the user by name
    truth: Table  # without rows
    systems: Mapping[str, Table]  # without rows
    side: SideTables
    doubts: Mapping[str, Sequence[Doubt]]  # to ask by system
    n_judged: int  # judgments of all users
    version: str = __version__  # of the driver

    def __call__(self, batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        frames = [pl.DataFrame(pl.from_arrow(batch)) for batch in batches]
        if frames:
            try:
                result: Any = self.measure(pl.concat(frames))
                content = pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
            except Exception as error:  # noqa: BLE001 - raised by the driver
                content = pickle.dumps(error, pickle.HIGHEST_PROTOCOL)
            yield pa.RecordBatch.from_pydict({"result": pa.array([content], pa.binary())})

    def measure(self, rows: pl.DataFrame) -> _Measured:
        """Measure all users of some rows."""
        if self.version != __version__:
            raise MissingDependencyError(
                f"The executors of Spark have rankmeter {__version__}, and the driver has "
                f"{self.version}: install one version on all nodes."
            )
        for name, spec in self.own.items():
            METRICS[name] = spec
        n, row = len(self.systems), pl.col("row")
        sort = any(choices.ties == "input" for choices in self.plan.metrics_by_alignment())
        truth = _with_rows(self.truth, rows.filter(row < 0), descending=True, sort=sort)
        systems = {
            name: _with_rows(
                table, rows.filter(row >= 0, row % n == number), descending=False, sort=sort
            )
            for number, (name, table) in enumerate(self.systems.items())
        }
        side = SideTables(self.side.side, {}, truth)
        side.__dict__.update({k: v for k, v in vars(self.side).items() if k not in vars(side)})
        block = Block(truth, systems, side_tables=lambda: side)
        answers = {
            name: answer
            for name, doubts in self.doubts.items()
            if (answer := answer_of(doubts, systems[name], truth, self.n_judged)) is not None
        }
        return _Measured(block.score(self.plan), [t.height for t in systems.values()], answers)


def _with_rows(table: Table, rows: pl.DataFrame, *, descending: bool, sort: bool) -> Table:
    """Fill a table with rows in their order, or if they have none and `sort`, in one of items."""
    frame = table.frame
    if not isinstance(table.rows, Unordered):
        rows = rows.sort("row", descending=descending)
    elif sort:
        rows = rows.sort("user", "item", "value")
    number = next((name for name in ("score", "rank", "gain") if name in frame.columns), "value")
    rows = rows.rename({"value": number})
    users = rows.filter(pl.col("item").is_null())["user"].unique()
    rows = rows.filter(pl.col("item").is_not_null()).select(frame.columns)
    rows = rows.cast(dict(frame.schema))  # type: ignore[arg-type]
    empty = IdSeries(users.cast(frame.schema["user"]))
    kept = Unordered if isinstance(table.rows, Unordered) else InFrame
    return replace(table, rows=kept(rows), empty_users=empty)
