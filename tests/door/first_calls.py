"""The first calls of twelve people with a job each: how many are lost?

Each goal has the calls in the order in which a newcomer tried them. A call is lost if it ends in an
error or in another number than the newcomer meant. Two counts are printed: of all calls as they
were typed; and of those that a reader makes who stops at the right number, and goes to the right
call as soon as a message names it. ``python tests/door/first_calls.py`` prints the table, and with
``--spark`` the calls of job 9 run in Spark.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import os
import random
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse

sys.path.insert(0, str(Path(__file__).parents[1]))

import rankmeter as rm
from command_line import rankmeter
from door.judge import by_score, naive

Call = tuple[str, Callable[[], Any]]


@dataclass(frozen=True)
class Goal:
    """What somebody wants, and the calls until it is reached; the last one is right."""

    job: int
    meant: Any  # a number, a test of the result, or None: anything but an error
    calls: tuple[Call, ...]
    named: str = r"\Z."  # what a message says that leads to the right call
    door: Call | None = None  # the right call, where nobody made it: not among the 97


GOALS: list[Goal] = []


def goal(job: int, meant: Any, *calls: Call, named: str = r"\Z.", door: Call | None = None) -> None:
    GOALS.append(Goal(job, meant, calls, named, door))


def try_call(call: Callable[[], Any], meant: Any) -> tuple[bool, str]:
    """Whether the call gave what was meant, and what it said."""
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            found = call()
        except Exception as error:  # noqa: BLE001 - a newcomer sees whatever comes
            return False, f"{type(error).__name__}: {error}"
    if meant is None:
        return True, ""
    if callable(meant):
        return bool(meant(found)), f"{found}"
    value = found if isinstance(found, int | float) else first_mean(found)
    right = math.isclose(value, meant, rel_tol=1e-6, abs_tol=1e-9)
    return right, "" if right else f"{value:.6g} for {meant:.6g}; {found}"


def first_mean(found: Any) -> float:
    if hasattr(found, "summaries"):
        found = next(iter(found.summaries.values()))
    return float(found[next(iter(found))].mean)


@dataclass
class Lost:
    """The calls of a job, and those that were lost."""

    calls: int = 0
    as_typed: int = 0
    by_reader: int = 0


def count(said: list[str] | None = None) -> dict[int, Lost]:
    """Run all calls; ``said`` receives a line about each that is lost."""
    jobs: dict[int, Lost] = {}
    for one in GOALS:
        job = jobs.setdefault(one.job, Lost())
        done = [try_call(call, one.meant) for _, call in one.calls]
        job.calls += len(done)
        job.as_typed += sum(not right for right, _ in done)
        job.by_reader += lost_by_reader(one, done)
        if said is not None:
            said += [
                f"{one.job:>3}  {text}\n       {message.splitlines()[0][:150]}"
                for (text, _), (right, message) in zip(one.calls, done, strict=True)
                if not right
            ]
    return jobs


def lost_by_reader(one: Goal, done: list[tuple[bool, str]]) -> int:
    """Calls that are lost until the first right one, or until a message that names it."""
    right_call = try_call(one.door[1], one.meant) if one.door else done[-1]
    for lost, (right, message) in enumerate(done):
        if right:
            return lost
        if re.search(one.named, message) and right_call[0]:
            return lost + 1
    return len(done)


# --- 1: a student with five articles --------------------------------------------------------------

P, T = [4, 6, 2, 3, 1, 8, 10, 9, 5, 7], [1, 6, 9]
FIVE = ["precision@5", "recall@5", "ndcg@5", "ap@5", "rr@5"]
CASES = [
    {"predict_list": list("ABCLYUFZ"), "ground_truth": dict.fromkeys("AKBZ", 1.0)},
    {"predict_list": list("NXYBM"), "ground_truth": {"E": 1.0, "B": 1.0}},
]
THREE = [[0, 0, 1], [1, 1, 0], [1, 1, 1]]
MAP = (1 / 3 + 1 + 1) / 3
DCG = sum(g / math.log2(n + 1) for n, g in enumerate([2, 3, 3, 1, 2], 1))


def five(found: Any) -> bool:
    values = [round(found[name].mean, 4) for name in FIVE]
    return values == [0.4, 0.6667, 0.4776, 0.3, 0.5]


goal(1, five, ("evaluate(P, T, five)", lambda: rm.evaluate(P, T, FIVE)))
goal(
    1,
    five,
    ("evaluate_ranks([2, 5, 8], five)", lambda: rm.evaluate_ranks([2, 5, 8], FIVE)),
    named="Positions",
    door=("Positions", lambda: rm.evaluate(rm.Positions([[2, 5, 8]]), None, FIVE)),
)
goal(
    1,
    1 / 3,
    ("leave-one-out: evaluate(P, 2, 'rr@5')", lambda: rm.evaluate(P, 2, "rr@5")),
    ("evaluate(P, [2], 'rr@5')", lambda: rm.evaluate(P, [2], "rr@5")),
    named=r"\[2\]",
)
goal(1, 0.5, ("one record", lambda: rm.evaluate(CASES[:1], metrics="recall@5")))
goal(
    1,
    0.25,
    ("records, metric second", lambda: rm.evaluate(CASES, "recall@3")),
    ("records, metrics=", lambda: rm.evaluate(CASES, metrics="recall@3")),
    named="metrics=|None, 'recall@3'",
)
goal(
    1,
    MAP,
    ("0/1 lists: evaluate([[0, 0, 1], …], 'map@3')", lambda: rm.evaluate(THREE, "map@3")),
    ("Grades of 0/1 lists", lambda: rm.evaluate(rm.Grades(THREE), metrics="map@3")),
    named="Grades",
)
goal(
    1,
    DCG,
    (
        "graded list: evaluate([2, 3, 3, 1, 2], […])",
        lambda: rm.evaluate([2, 3, 3, 1, 2], ["dcg", "ndcg", "cg"]),
    ),
    named="Grades",
    door=("Grades", lambda: rm.evaluate(rm.Grades([2, 3, 3, 1, 2]), None, ["dcg", "ndcg", "cg"])),
)
goal(
    1,
    2.8,
    ("evaluate([1, 3, 3, 5, 2], 'mr')", lambda: rm.evaluate([1, 3, 3, 5, 2], "mr")),
    ("evaluate_ranks([1, 3, 3, 5, 2], 'mr')", lambda: rm.evaluate_ranks([1, 3, 3, 5, 2], "mr")),
    named="evaluate_ranks|Ranks",
)

goal(1, 0.8, ("accuracy", lambda: rm.evaluate([[1, 2]], [[1, 5]], "accuracy@2", n_items=10)))
goal(1, 0.275, ("reciprocal ranks", lambda: rm.evaluate_ranks([2, 5, 8], "rr")))

# --- 2: a recommender team, in pandas -------------------------------------------------------------

RNG = random.Random(4)
SHOP = pd.DataFrame(
    [
        {
            "customer_id": f"c{u}",
            "sku": f"s{min(int(RNG.expovariate(0.15)), 39) * 7 % 40}-{k % 3}",
            "purchased_at": pd.Timestamp("2026-01-01") + pd.Timedelta(days=3 * k + u % 3),
            "qty": 1 + k % 3,
            "price": 1.5 * k,
        }
        for u in range(30)
        for k in range(9 + u % 7)
    ]
).drop_duplicates(["customer_id", "sku"])
BY_TIME = {"time": "purchased_at"}
LAST = SHOP.sort_values("purchased_at").groupby("customer_id").tail(1)
EARLIER = SHOP.drop(LAST.index)
HELD = dict(zip(LAST["customer_id"], LAST["sku"], strict=True))
POPULAR = EARLIER["sku"].value_counts().rename_axis("sku").reset_index(name="n")
POPULAR = POPULAR.sort_values(["n", "sku"], ascending=[False, True])["sku"].tolist()
SEEN = EARLIER.groupby("customer_id")["sku"].agg(set)
TOP = {u: [i for i in POPULAR if i not in SEEN[u]][:10] for u in HELD}
TOP_FRAME = pd.DataFrame(
    [(u, i, n) for u, items in TOP.items() for n, i in enumerate(items, 1)],
    columns=["customer_id", "sku", "rank"],
)
SHOP_RR = naive(TOP, {u: [i] for u, i in HELD.items()}, "rr@10")
SEGMENTS = {u: "web" if u[-1] in "02468" else "store" for u in HELD}
COVERED = len({items[0] for items in TOP.values()}) / EARLIER["sku"].nunique()


def shop_comparison(**options: Any) -> Any:
    other = {u: items[::-1] for u, items in TOP.items()}
    truth = {u: [i] for u, i in HELD.items()}
    return rm.compare({"top": TOP, "last": other}, truth, "rr@10", **options)


def in_folder(name: str) -> Path:
    return Path(FOLDER.name) / name


FOLDER = tempfile.TemporaryDirectory(prefix="first_calls")


def is_last(split: Any) -> bool:
    test = split.test
    return dict(zip(test["customer_id"], test["sku"], strict=True)) == HELD


goal(2, None, ("describe(orders)", lambda: rm.describe(SHOP)))
goal(
    2,
    is_last,
    ("leave_one_out(orders)", lambda: rm.splits.leave_one_out(SHOP)),
    ("leave_one_out(columns=)", lambda: rm.splits.leave_one_out(SHOP, columns=BY_TIME)),
    named="'time': 'purchased_at'",
)
goal(2, None, ("popularity(train)", lambda: rm.baselines.popularity(EARLIER, k=10)))
goal(2, None, ("item_knn(train)", lambda: rm.baselines.item_knn(EARLIER, k=10)))
goal(
    2,
    SHOP_RR,
    ("evaluate(recs, test)", lambda: rm.evaluate(TOP_FRAME, LAST, "rr@10")),
    (
        "evaluate(recs, test without qty, price)",
        lambda: rm.evaluate(TOP_FRAME, LAST.drop(columns=["qty", "price"]), "rr@10"),
    ),
    named="drop|relevant='any'|'gain': None",
)
goal(
    2,
    COVERED,
    ("coverage with train=", lambda: rm.evaluate(TOP_FRAME, None, "coverage@1", train=EARLIER)),
)
goal(2, SHOP_RR, ("compare", shop_comparison))
goal(
    2,
    None,
    ("by_segment of a comparison", lambda: shop_comparison().by_segment(SEGMENTS)),
    ("compare(segments=)", lambda: shop_comparison(segments=SEGMENTS)),
    named="segments=",
)
goal(
    2,
    None,
    (
        "report(segments=)",
        lambda: shop_comparison().report(in_folder("shop.html"), segments=SEGMENTS),
    ),
)

# --- 3: search, with TREC files -------------------------------------------------------------------

QUERIES = {f"q{n}": RNG.sample([f"d{k}" for k in range(30)], 10) for n in range(12)}
QRELS = {q: {d: RNG.choice([0, 1, 2]) for d in items[::2]} for q, items in QUERIES.items()}
for _q, _judged in QRELS.items():
    _judged[QUERIES[_q][4]] = 2


def wanted(least: int) -> dict[str, list[str]]:
    return {q: [d for d, grade in judged.items() if grade >= least] for q, judged in QRELS.items()}


def write_search() -> tuple[Path, Path, Path]:
    qrels, one, two = (in_folder(name) for name in ("qrels.txt", "bm25.run", "dense.run"))
    qrels.write_text("".join(f"{q} 0 {d} {g}\n" for q, j in QRELS.items() for d, g in j.items()))
    for file, step in ((one, 1), (two, -1)):
        file.write_text(
            "".join(
                f"{q} Q0 {d} {n} {20 - n} {file.stem}\n"
                for q, items in QUERIES.items()
                for n, d in enumerate(items[::step], 1)
            )
        )
    return qrels, one, two


def printed(*args: Any) -> float:
    """The first mean that a command prints."""
    done = rankmeter(*args, "--json")
    if done.code != 0:
        raise RuntimeError(done.err)
    row = next(iter(done.json["metrics"].values()))
    return float(row["mean"] if "mean" in row else next(iter(row.values()))["mean"])


QREL_FILE, BM25, DENSE = write_search()
RR = naive(QUERIES, wanted(1))
goal(3, RR, ("compare qrels *.run", lambda: printed("compare", QREL_FILE, BM25, DENSE, "-m", "rr")))
goal(3, RR, ("evaluate bm25.run qrels", lambda: printed("evaluate", BM25, QREL_FILE, "-m", "rr")))
goal(
    3,
    naive(QUERIES, wanted(1), "ap"),
    (
        "--like trec_eval -m map",
        lambda: printed("evaluate", BM25, QREL_FILE, "-m", "map", "--like", "trec_eval"),
    ),
)
goal(
    3,
    naive(QUERIES, wanted(2)),
    ("RR(rel=2)", lambda: rm.evaluate(BM25, QREL_FILE, "RR(rel=2)")),
    ("rr(relevant=2)", lambda: rm.evaluate(BM25, QREL_FILE, "rr(relevant=2)")),
    named="relevant=2",
)

# --- 4: RAG ---------------------------------------------------------------------------------------

ASKED = {f"q{n}": [f"doc{k}" for k in RNG.sample(range(20), 5)] for n in range(10)}
GIVEN = {q: [items[n % 5]] for n, (q, items) in enumerate(ASKED.items())}
RAG = naive(ASKED, GIVEN)
CHUNKS = {q: [f"{d}#{k}" for d in items for k in (0, 1)] for q, items in ASKED.items()}


def lines(name: str, rows: list[dict[str, Any]]) -> Path:
    path = in_folder(name)
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return path


RETRIEVED = lines("retrieved.jsonl", [{"query_id": q, "retrieved": d} for q, d in ASKED.items()])


def truth_lines(key: str) -> Path:
    return lines(f"{key}.jsonl", [{"query_id": q, key: d} for q, d in GIVEN.items()])


def document(text: str, name: str) -> Any:
    """As in LangChain, without an id of its own."""
    return SimpleNamespace(page_content=text, metadata={"source": name}, id=None, type="Document")


TWO_KEYS = [
    {"retrieved_doc_ids": ASKED[q], "relevant_doc_ids": GIVEN[q], "question": f"what is {q}?"}
    for q in ASKED
]
CONTEXTS = [
    {
        "question": f"what is {q}?",
        "contexts": [{"id": d, "score": 9.5 - n} for n, d in enumerate(ASKED[q])],
        "ground_truth": GIVEN[q],
    }
    for q in ASKED
]
SHAPES_OF_FILES = ["ground_truth", "items", "relevant", "relevant_docs"]
goal(4, RAG, ("dictionaries", lambda: rm.evaluate(ASKED, GIVEN, "rr")))
goal(4, RAG, ("chunks", lambda: rm.evaluate(CHUNKS, GIVEN, "rr", collapse="#")))
for _key in SHAPES_OF_FILES:
    goal(
        4,
        RAG,
        (
            f"truth.jsonl with {_key}",
            lambda key=_key: rm.evaluate(RETRIEVED, truth_lines(key), "rr"),
        ),
    )
goal(4, RAG, ("records with two lists of ids", lambda: rm.evaluate(TWO_KEYS, metrics="rr")))
goal(4, RAG, ("records with contexts", lambda: rm.evaluate(CONTEXTS, metrics="rr")))
goal(
    4,
    RAG,
    (
        "Documents without an id",
        lambda: rm.evaluate(
            {q: [document("text", d) for d in items] for q, items in ASKED.items()}, GIVEN, "rr"
        ),
    ),
    (
        "their names in a list",
        lambda: rm.evaluate(
            {q: [d for d in items] for q, items in ASKED.items()},  # noqa: C416
            GIVEN,
            "rr",
        ),
    ),
)
goal(4, RAG, ("compare", lambda: rm.compare({"a": ASKED, "b": ASKED}, GIVEN, "rr")))

# --- 5: models that score -------------------------------------------------------------------------

SCORES = np.random.default_rng(3).random((20, 15))
CLICKED = (np.random.default_rng(4).random((20, 15)) < 0.2).astype(np.int64)
CLICKED[np.arange(20), np.arange(20) % 15] = 1
KNOWN = (np.random.default_rng(5).random((20, 15)) < 0.2) & (CLICKED == 0)


def tensor(values: np.ndarray) -> Any:
    try:
        import torch
    except ImportError:  # pragma: no cover - the same numbers
        return values
    return torch.from_numpy(values)


def ranked(scores: np.ndarray) -> list[list[int]]:
    return [
        by_score({k: s for k, s in enumerate(row) if np.isfinite(s)}) for row in scores.tolist()
    ]


MASKED = np.where(KNOWN, -np.inf, SCORES)
RELEVANT = [np.flatnonzero(row).tolist() for row in CLICKED]
MATRIX_RR, MASKED_RR = naive(ranked(SCORES), RELEVANT), naive(ranked(MASKED), RELEVANT)
SIZES = [15] * 20
FLAT_SCORES, FLAT_LABELS = SCORES.ravel(), CLICKED.ravel()


def collected(update: Callable[[Any, slice], Any]) -> Any:
    accumulator = rm.accumulator("rr")
    for start in (0, 10):
        update(accumulator, slice(start, start + 10))
    return accumulator.compute()


goal(
    5,
    MATRIX_RR,
    ("evaluate_scores", lambda: rm.evaluate_scores(tensor(SCORES), tensor(CLICKED), "rr")),
)
goal(
    5,
    MATRIX_RR,
    (
        "accumulator.update(scores, target)",
        lambda: collected(lambda a, rows: a.update(tensor(SCORES[rows]), tensor(CLICKED[rows]))),
    ),
    (
        "update(scores=, target=)",
        lambda: collected(
            lambda a, rows: a.update(scores=tensor(SCORES[rows]), target=tensor(CLICKED[rows]))
        ),
    ),
    named="scores=",
)
goal(
    5,
    MASKED_RR,
    ("-inf for what was seen", lambda: rm.evaluate_scores(tensor(MASKED), tensor(CLICKED), "rr")),
    (
        "exclude=",
        lambda: rm.evaluate_scores(tensor(SCORES), tensor(CLICKED), "rr", exclude=tensor(KNOWN)),
    ),
    named="exclude",
)
goal(
    5,
    MATRIX_RR,
    (
        "flat scores, groups=sizes",
        lambda: rm.evaluate_scores(FLAT_SCORES, FLAT_LABELS, "rr", groups=SIZES),
    ),
    (
        "flat scores, group=sizes",
        lambda: rm.evaluate_scores(FLAT_SCORES, FLAT_LABELS, "rr", group=SIZES),
    ),
    ("grouped", lambda: rm.evaluate(*rm.grouped(FLAT_SCORES, FLAT_LABELS, SIZES), "rr")),
    named="grouped",
)
goal(5, MATRIX_RR, ("Scores", lambda: rm.evaluate(rm.Scores(SCORES), RELEVANT, "rr")))
goal(
    5,
    MATRIX_RR,
    ("sparse labels", lambda: rm.evaluate_scores(SCORES, scipy.sparse.csr_matrix(CLICKED), "rr")),
)

# --- 6: a knowledge graph -------------------------------------------------------------------------

TRAIN = [(0, 0, 1), (0, 0, 2), (3, 0, 1)]
TEST = [(0, 0, 3), (3, 0, 2)]
NAMED_TEST = [("ann", "knows", "bob"), ("bob", "knows", "eve")]


def has_two_sides(queries: Any) -> bool:
    return len(queries.frame) == 4


goal(
    6,
    lambda found: has_two_sides(found) and found.exclude is not None,
    ("link_queries(test, train)", lambda: rm.link_queries(TEST, TRAIN)),
    ("link_queries(test, known=train)", lambda: rm.link_queries(TEST, known=TRAIN)),
    ("link_queries(test, filters=train)", lambda: rm.link_queries(TEST, filters=[TRAIN])),
    named="filters=",
)
goal(
    6,
    has_two_sides,
    ("triples with names", lambda: rm.link_queries(NAMED_TEST)),
    named="entities=",
    door=("their order", lambda: rm.link_queries(NAMED_TEST, entities=["ann", "bob", "eve"])),
)
goal(
    6,
    lambda found: abs(found["amri"].mean - (1 - 0.5 / 6.5)) < 1e-9,
    ("n_candidates=14", lambda: rm.evaluate_ranks([1, 2], "amri", n_candidates=14)),
    ("candidates=14", lambda: rm.evaluate_ranks([1, 2], "amri", candidates=14)),
    named="candidates=",
)

# --- 7: six systems with three seeds, for a paper -------------------------------------------------


def seeds(system: int) -> list[dict[str, list[str]]]:
    rng = random.Random(system)
    return [{q: rng.sample(items, len(items)) for q, items in QUERIES.items()} for _ in range(3)]


def paper() -> Any:
    return rm.compare({f"s{n}": seeds(n) for n in range(3)}, wanted(1), "rr")


goal(7, None, ("compare with runs", paper))
goal(7, lambda text: "tabular" in text, ("to_latex", lambda: paper().to_latex()))
goal(7, lambda text: "|" in text, ("to_markdown", lambda: paper().to_markdown()))
goal(7, None, ("plan.cite()", lambda: f"{summary().plan.cite()}"))

# --- 8: many rows in Parquet ----------------------------------------------------------------------


def parquet(name: str, lists: dict[str, list[str]]) -> Path:
    rows = [(q, d, n) for q, items in lists.items() for n, d in enumerate(items, 1)]
    frame = pl.DataFrame(rows, schema=["user_id", "item_id", "rank"], orient="row")
    path = in_folder(name)
    (frame if "recs" in name else frame.drop("rank")).write_parquet(path)
    return path


RECS, TRUE = parquet("recs.parquet", QUERIES), parquet("truth.parquet", wanted(1))
goal(8, RR, ("evaluate recs.parquet", lambda: printed("evaluate", RECS, TRUE, "-m", "rr")))
goal(
    8,
    RR,
    ("--engine disk", lambda: printed("evaluate", RECS, TRUE, "-m", "rr", "--engine", "disk")),
)

# --- 9: ALS of Spark ------------------------------------------------------------------------------

ALS_ROWS = [
    (u, [(i, 9.5 - n) for n, i in enumerate(RNG.sample(range(40), 5))]) for u in range(1, 11)
]
ALS_LISTS = {u: [i for i, _ in found] for u, found in ALS_ROWS}
ALS_TRUTH = {u: [items[u % 5]] for u, items in ALS_LISTS.items()}


def als() -> Any:
    """What `recommendForAllUsers` returns; without Spark, what it gives to pandas."""
    if "--spark" in sys.argv:
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
        recommended = "recommendations array<struct<movie_id: int, rating: float>>"
        return spark.getOrCreate().createDataFrame(ALS_ROWS, f"user_id int, {recommended}")
    rows = [[{"movie_id": i, "rating": s} for i, s in found] for _, found in ALS_ROWS]
    return pd.DataFrame({"user_id": [u for u, _ in ALS_ROWS], "recommendations": rows})


ALS_RR = naive(ALS_LISTS, ALS_TRUTH)
goal(
    9,
    ALS_RR,
    ("recommendForAllUsers", lambda: rm.evaluate(als(), ALS_TRUTH, "rr")),
    (
        "columns={'item': 'recommendations'}",
        lambda: rm.evaluate(als(), ALS_TRUTH, "rr", columns={"item": "recommendations"}),
    ),
)

# --- 10: a gate in CI -----------------------------------------------------------------------------


def exits(code: int, *args: Any) -> Call:
    return " ".join(map(str, args[:1])), lambda: rankmeter(*args).code == code


goal(10, bool, exits(0, "evaluate", BM25, QREL_FILE, "-m", "rr", "--fail-if", f"rr<{RR - 0.01}"))
goal(10, bool, exits(1, "evaluate", BM25, QREL_FILE, "-m", "rr", "--fail-if", f"rr<{RR + 0.01}"))
goal(10, bool, exits(1, "evaluate", BM25, QREL_FILE, "-m", "rr", "--fail-if", "rr.low<0.99"))
goal(10, bool, exits(0, "compare", QREL_FILE, BM25, DENSE, "-m", "rr", "--baseline", "bm25"))
goal(10, bool, exits(3, "evaluate", BM25, "nowhere.txt", "-m", "rr"))

# --- 11: a notebook -------------------------------------------------------------------------------


def summary() -> Any:
    return rm.evaluate(QUERIES, QRELS, ["rr", "ndcg@5"])


def has_html(found: Any) -> bool:
    return "<" in found


goal(11, has_html, ("summary", lambda: summary()._repr_html_()))
goal(11, None, ("per_user", lambda: summary().per_user))
goal(11, None, ("plan", lambda: str(summary().plan)))
goal(11, None, ("estimate", lambda: str(summary()["rr"])))
goal(11, None, ("show", lambda: str(summary().show("q1"))))
goal(11, None, ("by_segment", lambda: summary().by_segment(dict.fromkeys(QUERIES, "a"))))
goal(11, None, ("comparison", lambda: shop_comparison()._repr_html_()))
goal(11, None, ("difference", lambda: shop_comparison()["rr@10"][0].p))
goal(11, None, ("curve", lambda: rm.curve(QUERIES, QRELS, "recall", 5).frame))
goal(11, None, ("explain", lambda: rm.explain(QUERIES, QRELS, "rr", between=("ranx", "sklearn"))))
goal(11, None, ("metric", lambda: str(rm.NDCG @ 5)))
goal(11, None, ("describe", lambda: rm.describe(SHOP)._repr_html_()))
goal(11, None, ("to_pandas", lambda: summary().to_pandas()))

# --- 12: one list of 0 and 1, and ranks -----------------------------------------------------------

BITS = [0, 0, 1, 0, 1]
TWO_DCG = (DCG + sum(g / math.log2(n + 1) for n, g in enumerate([3, 3, 2, 2, 1], 1))) / 2
TWO = [[2, 3, 3, 1, 2], [3, 3, 2, 2, 1]]
goal(
    12,
    1 / 3,
    ("evaluate([0, 0, 1, 0, 1], metrics=)", lambda: rm.evaluate(BITS, metrics="rr")),
    ("the same as an array", lambda: rm.evaluate(np.array(BITS), metrics="rr")),
    ("as booleans", lambda: rm.evaluate(np.array(BITS, bool), metrics="rr")),
    ("as a list of booleans", lambda: rm.evaluate([bool(b) for b in BITS], metrics="rr")),
    ("Grades, flat", lambda: rm.evaluate(rm.Grades(BITS), metrics="rr")),
    ("Grades, nested", lambda: rm.evaluate(rm.Grades([BITS]), metrics="rr")),
    named="Grades",
)
goal(
    12,
    TWO_DCG,
    ("evaluate(two graded lists, None, 'dcg')", lambda: rm.evaluate(TWO, None, "dcg")),
    ("Grades of two graded lists", lambda: rm.evaluate(rm.Grades(TWO), None, "dcg")),
    named="Grades",
)
goal(
    12,
    five,
    ("evaluate_ranks([[2, 5, 8]])", lambda: rm.evaluate_ranks([[2, 5, 8]], FIVE)),
    ("Ranks([[2, 5, 8]])", lambda: rm.evaluate(rm.Ranks([[2, 5, 8]]), None, FIVE)),
    ("evaluate([[2, 5, 8]], None)", lambda: rm.evaluate([[2, 5, 8]], None, FIVE)),
    ("the recipe with n", lambda: rm.evaluate([[*range(1, 11)]], [[2, 5, 8]], FIVE)),
    named=r"Positions|range\(1",
)
goal(
    12,
    1 / 2,
    ("Ranks of the first", lambda: rm.evaluate(rm.Ranks([2]), None, "rr")),
)


def table() -> str:
    said: list[str] = []
    jobs = count(said)
    rows = [*jobs.items(), ("all", total(jobs))]
    head = f"{'job':>4}{'calls':>7}{'lost as typed':>15}{'lost by a reader':>18}"
    body = [f"{job!s:>4}{one.calls:>7}{one.as_typed:>15}{one.by_reader:>18}" for job, one in rows]
    return "\n".join(("lost:", *said, "", head, *body))


def total(jobs: dict[int, Lost]) -> Lost:
    return Lost(
        sum(one.calls for one in jobs.values()),
        sum(one.as_typed for one in jobs.values()),
        sum(one.by_reader for one in jobs.values()),
    )


if __name__ == "__main__":
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    sys.stdout.write(table() + "\n")
