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
from rankmeter._large.agreed import PartAnswer, agree, answer_of
from rankmeter._rankings.ties import BY_ROW
from rankmeter._reading.by_user import IdSeries, InFrame
from rankmeter._reading.collapse import missing_parts_error
from rankmeter._reading.spark import InSpark, Query, TruthInSpark, Unordered, send_frame
from rankmeter._reading.table import POLARS, Table
from rankmeter._version import __version__
from rankmeter.conventions._plan import Plan
from rankmeter.errors import DataError, MissingDependencyError, UsageError
from rankmeter.errors._caution import warn
from rankmeter.errors._checks import brief
from rankmeter.metrics import METRICS, Spec

_LEAST = 2**14  # rows that are worth a task


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
        self._raise([result for result in results if isinstance(result, Exception)])
        self._refuse_changed_rows([result.heights for result in results])
        kept = {name: sum(result.kept[name] for result in results) for name in self.systems}
        self._warn([result.answers for result in results], kept)
        given = self.side.side
        size = given.size if given.catalogue is None else None
        found = {}
        for name, table in self.systems.items():
            if n := table.rows.n_rows - kept[name]:
                table.counts["collapsed_items"] = n  # known from here on
            values = UserValues.merge(result.scores[name] for result in results)
            values = check_whole(plan, values, self.truth, table, size)
            found[name] = replace(values, cautions=tuple(self.cautions[name]))
        return found

    def _raise(self, errors: Sequence[Exception]) -> None:
        """Raise the first error, if any, but one for all missing parts of the same system."""
        if not errors:
            return
        error, system = errors[0], vars(errors[0]).get("system")
        if system is None:
            raise error
        of_system = [vars(one) for one in errors if vars(one).get("system") == system]
        if missing := [one["missing_parts"] for one in of_system if "missing_parts" in one]:
            parts, lost = zip(*missing, strict=True)
            error = missing_parts_error(pl.concat(parts), sum(lost), self.systems[system].source)
        raise error if len(self.systems) == 1 else type(error)(f"System {system!r}: {error}")

    def _warn(self, answers: Sequence[Mapping[str, PartAnswer]], n_rows: Mapping[str, int]) -> None:
        """Warn of what all tasks doubt; once, whatever is measured later."""
        for name in [name for name in self.systems if name not in self.cautions]:
            of_system = [part[name] for part in answers if name in part]
            self.cautions[name] = [text for text in agree(of_system, n_rows[name]) if text]
            warn(*self.cautions[name])

    def _refuse_changed_rows(self, heights: Sequence[Sequence[int]]) -> None:
        for number, table in enumerate((self.truth, *self.systems.values())):
            expected = table.rows.n_rows
            if (n := sum(part[number] for part in heights)) != expected:
                raise DataError(
                    f"{expected:,} rows of {table.source} were counted and {n:,} measured: the "
                    f"data changed while they were read. Repeat the evaluation when nothing "
                    f"writes to them."
                )

    def _work(self, plan: Plan) -> _Work:
        systems = {name: _without_rows(table) for name, table in self.systems.items()}
        own = {
            entry.metric.name: _sendable(entry.metric.spec)
            for entry in plan.metrics
            if not entry.spec.function.__module__.startswith("rankmeter.")
        }
        n_judged = self.truth.height
        truth = _without_rows(self.truth)
        asks = not self.cautions
        return _Work(plan, own, truth, systems, self._side(plan), n_judged, asks)

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

    def _id_types(self) -> dict[str, pl.DataType]:
        """The types of ids that are sent: integers, or text if some are, or become, others."""
        rows = [table.rows for table in self.systems.values()]
        parts = [
            one.collapsing.dtype for one in rows if isinstance(one, InSpark) and one.collapsing
        ]
        kinds = {role: {self.truth.id_dtype(role)} for role in ("user", "item")}
        kinds["item"].update(parts)
        return {r: pl.Int64() if k == {pl.Int64()} else pl.String() for r, k in kinds.items()}

    def _rows(self, query: Query) -> Iterator[Any]:
        """Yield frames of Spark with the rows of the truth and of each system; see `_Work`."""
        n, types = len(self.systems), self._id_types()
        place, sent, judged = pl.int_range(pl.len()), [], self.truth.rows
        ids = [f"{_sql(types[role])}({role}) AS {role}" for role in ("user", "item")]
        has_subtopics = self.truth.has_subtopics
        if isinstance(judged, TruthInSpark):
            row = "-1 - monotonically_increasing_id() AS row"
            yield judged.query.candidates.selectExpr(*ids, "gain AS value", row)
        else:
            sent = [_rows_to_send(self.truth, "gain", -1 - place, types)]
        for number, table in enumerate(self.systems.values()):
            if not isinstance(table.rows, InSpark):
                sent.append(_rows_to_send(table, table.order, number + n * place, types))
                continue
            users = table.empty_users.to_series().cast(types["user"]).to_frame("user")
            sent.append(users.select("user", row=pl.lit(number, pl.Int64)))
            rows = table.rows.query
            subtopic = ["string(NULL) AS subtopic"] if has_subtopics else []
            row = f"bigint({number}) AS row"
            yield rows.candidates.selectExpr(*ids, f"{rows.order} AS value", row, *subtopic)
            if (emptied := rows.users_of_dropped_rows) is not None:
                nothing = f"CAST(NULL AS {_sql(types['item'])}) AS item"
                yield emptied.selectExpr(ids[0], nothing, "double(NULL) AS value", row, *subtopic)
        types = types | {"value": pl.Float64(), "row": pl.Int64()}
        types |= {"subtopic": pl.String()} if has_subtopics else {}
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


def _without_rows(table: Table) -> Table:
    rows = table.rows
    frame = (rows.rows if isinstance(rows, InSpark | TruthInSpark) else table.frame).clear()
    users = IdSeries(pl.Series("user", [], table.id_dtype("user")))
    kept = InFrame(frame)
    if isinstance(rows, InSpark):
        kept = Unordered(frame, rows.collapsing, rows.doubts)
    return replace(table, rows=kept, empty_users=users, origin=replace(table.origin, kind=POLARS))


def _rows_to_send(
    table: Table, value: str, row: pl.Expr, types: Mapping[str, pl.DataType]
) -> pl.DataFrame:
    """The rows of a table in memory, and its users without rows, for `_Work`."""
    number = [] if value == "list" else [pl.col(value).alias("value")]
    subtopics = [pl.col("subtopic")] if table.has_subtopics else []
    ids = [pl.col(role).cast(types[role]) for role in ("user", "item")]
    empty = table.empty_users.to_series().cast(types["user"]).to_frame("user")
    rows = table.frame.select(*ids, *number, row.alias("row"), *subtopics)
    return pl.concat([rows, empty.select("user", row=row)], how="diagonal")


class _Measured(NamedTuple):
    """Values of the users of a part by system, numbers of rows, and what is doubtful."""

    scores: Mapping[str, UserValues]
    heights: Sequence[int]  # of the truth, and of each system
    kept: Mapping[str, int]  # rows of each system, once they are collapsed
    answers: Mapping[str, PartAnswer]


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
    n_judged: int  # judgments of all users
    asks: bool  # whether there may be doubts
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
        sort = any(choices.ties in BY_ROW for choices in self.plan.metrics_by_alignment())
        truth = _with_rows(self.truth, rows.filter(row < 0), descending=True, sort=sort)
        systems, heights = {}, [truth.height]
        for number, (name, table) in enumerate(self.systems.items()):
            own = rows.filter(row >= 0, row % n == number)
            try:
                systems[name] = _with_rows(table, own, descending=False, sort=sort)
            except DataError as error:
                vars(error)["system"] = name
                raise
            heights.append(own.height - own["item"].null_count())
        side = SideTables(self.side.side, {}, truth)
        side.__dict__.update({k: v for k, v in vars(self.side).items() if k not in vars(side)})
        block = Block(truth, systems, side_tables=lambda: side)
        answers = {
            name: answer
            for name, table in self.systems.items()
            if self.asks and isinstance(table.rows, Unordered)
            if (answer := answer_of(table.rows.doubts, systems[name], truth, self.n_judged))
        }
        kept = {name: t.height for name, t in systems.items()}
        return _Measured(block.score(self.plan), heights, kept, answers)


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
    if isinstance(table.rows, Unordered) and (collapsing := table.rows.collapsing) is not None:
        rows = collapsing.keep_best_parts(collapsing.rename(rows))
    rows = rows.cast(dict(frame.schema))  # type: ignore[arg-type]
    empty = IdSeries(users.cast(frame.schema["user"]))
    kept = Unordered if isinstance(table.rows, Unordered) else InFrame
    return replace(table, rows=kept(rows), empty_users=empty)
