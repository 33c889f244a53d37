"""Every public object can be copied, pickled, and used in other threads and processes."""

# ruff: noqa: ARG005 - makers in a table share their arguments
from __future__ import annotations

import copy
import inspect
import multiprocessing
import pickle
import re
import typing
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
import scipy.sparse

import cases
import rankmeter as rm
from rankmeter.errors import RankmeterError

pytestmark = pytest.mark.once

USERS = [f"u{number}" for number in range(12)]
TRUTH = {user: {"a": 2, "b": 1} for user in USERS}
LISTS = {user: ["c", "a", "b"] for user in USERS}
OTHERS = {user: ["a", "c"] if n % 3 else ["c", "x"] for n, user in enumerate(USERS)}
SEGMENTS = {user: "xy"[n % 2] for n, user in enumerate(USERS)}
TRAIN = pl.DataFrame({"user": [1, 1, 2, 2], "item": [1, 2, 1, 3], "timestamp": [1, 2, 1, 2]})
BOTH = {"one": LISTS, "two": OTHERS}
FOUND = rm.evaluate(LISTS, TRUTH, "ndcg@2 rr")
COMPARED = rm.compare(BOTH, TRUTH, "ndcg@2 rr", segments=SEGMENTS)


def accumulated(keep):
    accumulator = rm.accumulator("mrr hits@2", keep=keep)
    accumulator.update(scores=np.eye(4)[:, ::-1], target=[0, 1, 2, 3])
    return accumulator


def raised():
    errors = []
    for call in (
        lambda: rm.metric("nothing"),
        lambda: rm.evaluate(LISTS, TRUTH, "rr", ties="no"),
        lambda: rm.evaluate({1: [float("nan")]}, {1: [2]}, "rr"),
        lambda: rm.evaluate({1: [2]}, {1: [3]}, "rr"),
        lambda: rm.evaluate({1: [2, 2]}, {1: [2]}, "rr"),
    ):
        try:
            call()
        except RankmeterError as error:
            errors.append(error)
    return errors


EXAMPLES = {
    "evaluate": lambda: FOUND,
    "evaluate, clusters": lambda: rm.evaluate(LISTS, TRUTH, "rr", clusters=SEGMENTS),
    "evaluate, side data": lambda: rm.evaluate(
        LISTS, TRUTH, ["novelty@2", "ild@2", "coverage@2", "gini@2"], train=OTHERS,
        items={item: [number, 1.0] for number, item in enumerate("abcx")}, catalogue=5,
    ),
    "evaluate_scores": lambda: rm.evaluate_scores(np.eye(3), [0, 1, 1], "mrr"),
    "evaluate_ranks": lambda: rm.evaluate_ranks([1, 2], "mrr", groups={"side": ["head", "tail"]}),
    "compare": lambda: COMPARED,
    "compare, baseline": lambda: rm.compare(BOTH, TRUTH, "rr", baseline="one", margin="5%"),
    "compare, runs": lambda: rm.compare({"A": [LISTS, OTHERS], "B": [OTHERS, LISTS]}, TRUTH, "rr"),
    "compare, results": lambda: rm.compare(
        {name: rm.evaluate(lists, TRUTH, "rr") for name, lists in BOTH.items()}
    ),
    "compare, runs of results": lambda: rm.compare(
        {name: [rm.evaluate(x, TRUTH, "rr") for x in BOTH.values()] for name in BOTH}
    ),
    "compare, stored": lambda: rm.compare(
        {name: rm.evaluate(lists, TRUTH, "rr").per_user for name, lists in BOTH.items()}
    ),
    "compare_values": lambda: rm.compare_values({"a": np.arange(9.0), "b": np.ones(9)}),
    "across": lambda: rm.across({"x": COMPARED, "y": COMPARED}),
    "across, means": lambda: rm.across({n: {"a": 1.0, "b": float(len(n))} for n in ("x", "xy")}),
    "audit": lambda: rm.audit(TRUTH, TRUTH),
    "diff": lambda: rm.diff(LISTS, OTHERS),
    "Evaluator": lambda: rm.Evaluator(TRUTH, "rr"),
    "Evaluator.compare": lambda: rm.Evaluator(TRUTH, "rr").compare(BOTH),
    "Evaluator.curve": lambda: rm.Evaluator(TRUTH, "recall").curve(BOTH, 3),
    "curve": lambda: rm.curve(LISTS, TRUTH, "recall", 3),
    "Comparison.curve": lambda: COMPARED.curve("ndcg@2", 3),
    "explain": lambda: rm.explain(LISTS, TRUTH, "ndcg@2", between=("recbole", "trec_eval")),
    "explain, target": lambda: rm.explain(LISTS, TRUTH, "rr", target=0.5),
    "show": lambda: FOUND.show("u1"),
    "show, compared": lambda: COMPARED.show("u1"),
    "describe": lambda: rm.describe(TRAIN),
    "neighbours": lambda: rm.evaluate(rm.neighbours([[1]], [[1]], k=1), None, "recall@1"),
    "check_mean": lambda: rm.check_mean(0.35, n=300, against=0.34),
    "sample_size": lambda: rm.sample_size(sd=1, difference=0.5),
    "metric": lambda: rm.NDCG(gain="exp2") @ 10,
    "Collapsed": lambda: rm.collapse({"u1": ["d#1", "d#2"]}, "#"),
    "Scores": lambda: rm.Scores(np.eye(3)),
    "Scores, sparse": lambda: rm.Scores(scipy.sparse.csr_array(np.eye(3))),
    "Sampled": lambda: rm.Sampled([0.5], [[0.1, 0.7]]),
    "Ranks": lambda: rm.Ranks([1, 4]),
    "Grades": lambda: rm.Grades([[0, 0, 1], [2, 3, 0]], n_relevant=[1, 2]),
    "Positions": lambda: rm.Positions([[2, 5, 8], [1]]),
    "link_queries": lambda: rm.link_queries(np.array([[0, 0, 1], [1, 0, 2]])),
    "adjust": lambda: rm.adjust({"mrr": 0.35}, candidates=100),
    "splits": lambda: rm.splits.leave_one_out(TRAIN),
    "holdout": lambda: rm.splits.holdout(LISTS, ratio=0.4),
    "popularity": lambda: rm.baselines.popularity(TRAIN, k=2),
    "by_activity": lambda: rm.by_activity(TRAIN),
    "by_popularity": lambda: rm.by_popularity(LISTS, TRAIN.with_columns(item=pl.lit("a"))),
    "scorer": lambda: rm.scorer("ndcg@10"),
    "compute_metrics": lambda: rm.compute_metrics("mrr"),
    "group_metric": lambda: rm.group_metric("ndcg@10"),
    "errors": raised,
    **{
        f"{what}, {keep}": make
        for keep in ("values", "moments")
        for what, make in {
            "accumulator": lambda keep=keep: accumulated(keep),
            "compute": lambda keep=keep: accumulated(keep).compute(),
        }.items()
    },
}  # fmt: skip
ARGUMENTS = {
    "show": ("u1",), "curve": ("rr", 3), "by_segment": (SEGMENTS,), "marks": ("rr",),
    "segment_table": ("rr",), "lead": ("rr",), "evaluate": (OTHERS,), "compare": (BOTH,),
}  # fmt: skip
ACTS = {
    "report",
    "save",
    "plot",
    "log",
    "update",
    "merge",
    "reset",
    "state",
    "reopen",
    "open",
    "read",
    "judged",
}
"""Methods that write, change, draw or read; what needs rankings again has a test of its own."""


def is_ours(thing):
    own = type(thing).__module__.startswith("rankmeter")
    return own and not isinstance(thing, str | tuple | dict | BaseException)


def plain(thing, depth=2):
    """What a value says, as something that can be compared."""
    if isinstance(thing, pl.DataFrame | pl.Series):
        return repr(thing.to_dict(as_series=False) if hasattr(thing, "to_dict") else [*thing])
    if isinstance(thing, dict):
        return {str(name): plain(value, depth) for name, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [plain(value, depth) for value in thing]
    if isinstance(thing, np.ndarray):
        return repr(thing.tolist())
    if isinstance(thing, BaseException):
        return [repr(thing), plain(vars(thing))]
    if is_ours(thing) and depth:
        return facts(thing, depth - 1)
    return re.sub(r" at 0x\w+|<[^>]*object[^>]*>", "", repr(thing))


def facts(thing, depth=1):
    """The repr of an object, all of its public attributes, and what its methods return."""
    if not is_ours(thing):
        return plain(thing, 0)
    found = {"repr": plain(repr(thing), 0)}
    names = [name for name in dir(thing) if not name.startswith("_") and name not in ACTS]
    for name in names:
        try:
            value = getattr(thing, name)
            if callable(value) and not isinstance(value, type):
                arguments = ARGUMENTS.get(name, ())
                inspect.signature(value).bind(*arguments)
                value = value(*arguments)
        except (RankmeterError, LookupError, TypeError, ValueError, AttributeError) as error:
            value = str(error)
        found[name] = plain(value, depth)
    return found


def facts_of_pickle(content):
    return facts(pickle.loads(content))


def in_thread(thing):
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(facts, thing).result()


TRIPS = {
    **{
        f"pickle, protocol {number}": lambda thing, number=number: facts_of_pickle(
            pickle.dumps(thing, number)
        )
        for number in range(2, pickle.HIGHEST_PROTOCOL + 1)
    },
    "pickled twice": lambda thing: facts_of_pickle(pickle.dumps(pickle.loads(pickle.dumps(thing)))),
    "deepcopy": lambda thing: facts(copy.deepcopy(thing)),
    "copy": lambda thing: facts(copy.copy(thing)),
    "thread": in_thread,
}


@pytest.fixture(scope="module")
def process():
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        yield pool


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", EXAMPLES)
def test_an_object_is_the_same_after_every_trip(name, process):
    made = EXAMPLES[name]()
    before = facts(made)
    for trip, call in TRIPS.items():
        assert call(made) == before, trip
    assert process.submit(facts, made).result() == before


@pytest.mark.filterwarnings("ignore")
def test_joblib_takes_every_object():
    joblib = pytest.importorskip("joblib")
    made = {name: make() for name, make in EXAMPLES.items()}
    calls = [joblib.delayed(facts)(thing) for thing in made.values()]
    found = joblib.Parallel(n_jobs=1, backend="loky")(calls)
    assert dict(zip(made, found, strict=True)) == {name: facts(x) for name, x in made.items()}


def parts(thing, seen, depth=4):
    """The classes of rankmeter in an object, its public attributes and their items."""
    if isinstance(thing, dict):
        thing = [*thing.values()]
    if isinstance(thing, list | tuple):
        for value in thing[:3]:
            parts(value, seen, depth)
    if not is_ours(thing) or not depth:
        return
    seen.add(type(thing))
    for name in dir(thing):
        if not name.startswith("_"):
            parts(getattr(thing, name, None), seen, depth - 1)


def returned(function):
    """The public classes that a public function returns, by its annotation."""
    text = str(getattr(function, "__annotations__", {}).get("return", ""))
    return {getattr(rm, word) for word in re.findall(r"\w+", text) if word in rm.__all__}


def test_every_public_class_and_result_is_tried():
    public = {thing for name in rm.__all__ if isinstance(thing := getattr(rm, name), type)}
    modules = [rm, rm.splits, rm.baselines]
    for module in modules:
        for name in getattr(module, "__all__", ()):
            public |= returned(getattr(module, name))
    for cls in [*public]:
        for _, method in inspect.getmembers(cls, inspect.isfunction):
            public |= returned(method)
    seen: set[type] = set()
    for make in EXAMPLES.values():
        parts(make(), seen)
    assert public - seen - {typing.Any} == set()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", rm.metrics.METRICS)
def test_the_result_of_every_metric_can_be_pickled(name):
    rankings, truth, side = cases.with_side(3)
    spec = rm.metrics.METRICS[name]
    needed = [f"{o.name}={o.values[0]}" for o in spec.options.values() if o.required]
    text = f"{name}({','.join(needed)})" if needed else name
    text += "@5" * spec.cutoff
    for given in (side.given(), {"n_items": 40}, side.given() | VECTORS, {"items": SUBTOPICS}):
        try:
            result = rm.evaluate(rankings, truth, text, **given)
            result.to_dict()
            break
        except RankmeterError as error:
            refused = error
    else:
        raise refused
    segments = {user: "xy"[n % 2] for n, user in enumerate(rankings)}
    copied = pickle.loads(pickle.dumps(result))
    assert facts(copied) == facts(result)
    assert plain(copied.by_segment(segments)) == plain(result.by_segment(segments))
    assert plain(copy.deepcopy(result).by_segment(segments)) == plain(result.by_segment(segments))


VECTORS = {"items": {f"i{number:02d}": [number, 1.0] for number in range(16)}}
SUBTOPICS = {f"i{number:02d}": ["s", "t"] for number in range(16)}


def files(folder):
    rows = {
        name: pl.DataFrame(
            [(u, i, 9.0 - n) for u, items in lists.items() for n, i in enumerate(items)],
            schema=["user", "item", "score"], orient="row",
        )
        for name, lists in BOTH.items()
    }  # fmt: skip
    for name, frame in rows.items():
        frame.write_csv(folder / f"{name}.csv")
        frame.write_parquet(folder / f"{name}.parquet")
        frame.write_ndjson(folder / f"{name}.jsonl")
        lines = [f"{u} Q0 {i} 1 {s} x" for u, i, s in frame.rows()]
        (folder / f"{name}.run").write_text("\n".join(lines) + "\n")
    return rows


def connection(rows):
    duckdb = pytest.importorskip("duckdb")
    return {name: duckdb.from_arrow(frame.to_arrow()) for name, frame in rows.items()}


def matrices(kind):
    scores = np.array([[3.0, 2.0, 0.0, 4.0]] * 6 + [[3.0, 0.5, 2.0, 1.0]] * 6)
    kinds = {
        "matrix": lambda scores: scores,
        "function": lambda scores: lambda: [scores],
        "blocks": lambda scores: [scores[:, :2], scores[:, 2:]],
    }
    make = {"users": USERS, "items": [*"abcx"]}
    return {
        "one": rm.Scores(kinds[kind](scores), **make),
        "two": rm.Scores(kinds[kind](scores[::-1]), **make),
    }


FORMS = {
    "dictionaries": lambda folder, rows: BOTH,
    "frames": lambda folder, rows: rows,
    "lazy": lambda folder, rows: {name: frame.lazy() for name, frame in rows.items()},
    "pandas": lambda folder, rows: {name: frame.to_pandas() for name, frame in rows.items()},
    "arrow": lambda folder, rows: {name: frame.to_arrow() for name, frame in rows.items()},
    "csv": lambda folder, rows: {name: folder / f"{name}.csv" for name in rows},
    "jsonl": lambda folder, rows: {name: folder / f"{name}.jsonl" for name in rows},
    "run": lambda folder, rows: {name: str(folder / f"{name}.run") for name in rows},
    "parquet": lambda folder, rows: {name: str(folder / f"{name}.parquet") for name in rows},
    "arrays": lambda folder, rows: {
        name: {user: np.array(items) for user, items in lists.items()}
        for name, lists in BOTH.items()
    },
    "relations": lambda folder, rows: connection(rows),
    "matrix": lambda folder, rows: matrices("matrix"),
    "blocks": lambda folder, rows: matrices("blocks"),
    "function": lambda folder, rows: matrices("function"),
    "scores by item": lambda folder, rows: {
        name: {user: {i: 9 - n for n, i in enumerate(x)} for user, x in lists.items()}
        for name, lists in BOTH.items()
    },
}
STAY_BEHIND = {"relations", "lazy", "function"}
"""Whose results may leave the data behind, which are read again where they are."""


def looks(result, page, *, pages=False):
    """What needs the rankings once more, or the error that says why not."""
    found = {}
    for name, look in {
        "show": lambda: repr(result.show("u1")),
        "curve": lambda: plain(result.curve("rr", 3).frame) if hasattr(result, "curve") else "",
        "report": lambda: result.report(page) or page.read_text("utf-8"),
    }.items():
        if name == "report" and not pages:
            continue
        try:
            found[name] = look()
        except RankmeterError as error:
            found[name] = f"error: {error}"
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("engine", ["auto", "disk"])
@pytest.mark.parametrize("form", FORMS)
def test_results_of_every_form_are_shown_after_a_trip(form, engine, tmp_path, process):
    data, page = FORMS[form](tmp_path, files(tmp_path)), tmp_path / "page.html"
    metrics = ["ndcg@2", "rr"]
    try:
        one = rm.evaluate(data["one"], TRUTH, metrics, engine=engine)
        results = {"Summary": one, "Comparison": rm.compare(data, TRUTH, metrics, engine=engine)}
    except RankmeterError:
        if engine == "disk":
            return
        raise
    two = rm.evaluate(data["two"], TRUTH, metrics, engine=engine)
    results["of results"] = rm.compare({"one": one, "two": two})
    for name, result in results.items():
        pages = name == "Comparison" and form in ("dictionaries", "function")
        before = looks(result, page, pages=pages)
        assert engine == "disk" or not before["show"].startswith("error")
        copies = {
            "pickle": looks(pickle.loads(pickle.dumps(result)), page, pages=pages),
            "deepcopy": looks(copy.deepcopy(result), page, pages=pages),
            "process": process.submit(looks, result, page, pages=pages).result(),
        }
        for trip, after in copies.items():
            if after != before:
                assert trip != "deepcopy"
                assert form in STAY_BEHIND or engine == "disk"
                assert after["show"].startswith("error: ")
                assert after.get("report", "<!doctype html>").startswith("<!doctype html>")


QRELS = pl.DataFrame(
    [(user, item, gain) for user, own in TRUTH.items() for item, gain in own.items()],
    schema=["user", "item", "gain"], orient="row",
)  # fmt: skip
TRUTHS = {
    "dictionary": lambda folder: TRUTH,
    "frame": lambda folder: QRELS,
    "lazy": lambda folder: QRELS.lazy(),
    "pandas": lambda folder: QRELS.to_pandas(),
    "csv": lambda folder: QRELS.write_csv(folder / "t.csv") or folder / "t.csv",
    "parquet": lambda folder: QRELS.write_parquet(folder / "t.parquet") or folder / "t.parquet",
    "qrels": lambda folder: folder / "t.qrels",
    "generator": lambda folder: ((user, [*own]) for user, own in TRUTH.items()),
}


def evaluated(evaluator, rankings):
    return facts(evaluator.evaluate(rankings)), repr(evaluator.evaluate(rankings).show("u1"))


@pytest.mark.parametrize("form", TRUTHS)
def test_an_evaluator_of_every_form_asks_the_same_in_another_process(form, tmp_path, process):
    lines = [f"{user} 0 {item} {gain}\n" for user, item, gain in QRELS.rows()]
    (tmp_path / "t.qrels").write_text("".join(lines))
    try:
        evaluator = rm.Evaluator(TRUTHS[form](tmp_path), "ndcg@2 rr")
    except RankmeterError:
        assert form == "generator"
        return
    before = evaluated(evaluator, OTHERS)
    (tmp_path / "t.qrels").unlink()
    assert evaluated(pickle.loads(pickle.dumps(evaluator)), OTHERS) == before
    assert evaluated(copy.deepcopy(evaluator), OTHERS) == before
    assert process.submit(evaluated, evaluator, OTHERS).result() == before
