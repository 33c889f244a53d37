"""The work of an evaluation of frames, counted: rows sorted, joined and visited, never seconds."""

import gc
import sys
from collections import defaultdict
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from rankmeter import _native
from rankmeter._rankings.codes import Codes
from rankmeter._reading.lists import PythonLists

pytestmark = pytest.mark.once

METRICS = ["ndcg@10", "map@100", "rr", "recall@100", "precision@10"]
QUERIES = {"join", "sort", "unique", "group_by", "is_duplicated", "n_unique", "rank", "filter"}


def frames(n_users, length=50, n_hits=2, *, strings=False, shuffled=True):
    """Lists of one length in any order; a few of their items are relevant, others are not found."""
    rng = np.random.default_rng(3)
    user = np.repeat(np.arange(n_users), length)
    item = (np.tile(np.arange(length), n_users) * 7 + user) % 1000
    rankings = pl.DataFrame({"user": user, "item": item, "score": rng.random(user.size)})
    first = np.arange(user.size) % length
    missed = pl.DataFrame({"user": np.arange(n_users), "item": np.full(n_users, 2000)})
    truth = pl.concat([rankings.select("user", "item").filter(first < n_hits), missed])
    if shuffled:
        rankings = rankings.sample(fraction=1, shuffle=True, seed=1)
    if strings:
        text = [pl.format("u{}", "user").alias("user"), pl.format("i{}", "item").alias("item")]
        rankings, truth = rankings.with_columns(text), truth.with_columns(text)
    return rankings, truth


class Work:
    """What Python calls while a function runs."""

    def __init__(self, run, patch):
        self.calls = 0  # of Python functions
        self.sorts = []  # the shape of each array that NumPy sorts
        self.by_value = []  # and of those sorted by value
        self.queries = defaultdict(list)  # the rows of each query of Polars, by its name
        lexsort = np.lexsort

        def lexsorted(keys):
            self.sorts.append(keys[-1].shape)
            return lexsort(keys)

        patch.setattr(np, "lexsort", lexsorted)
        sys.setprofile(self.look)
        try:
            run()
        finally:
            sys.setprofile(None)

    def look(self, frame, event, called):
        if event == "call":
            self.calls += 1
            name, data = frame.f_code.co_name, frame.f_locals.get("self")
            if name in QUERIES and isinstance(data, pl.DataFrame | pl.Series):
                self.queries[name].append(len(data))
        elif event == "c_call" and isinstance(called.__self__, np.ndarray):
            if called.__name__ in ("sort", "argsort"):
                self.sorts.append(called.__self__.shape)
            if called.__name__ == "sort":
                self.by_value.append(called.__self__.shape)

    @property
    def cells(self):
        """How many numbers are sorted in rows of a matrix."""
        return sum(shape[0] * shape[1] for shape in self.sorts if len(shape) == 2)


def work(monkeypatch, *args, **kwargs):
    rankings, truth = frames(*args, **kwargs)
    rm.evaluate(rankings, truth, METRICS)  # imports and caches
    with monkeypatch.context() as patch:
        return Work(lambda: rm.evaluate(rankings, truth, METRICS), patch), rankings, truth


@pytest.fixture
def passes(monkeypatch):
    """How many numbers each call of compiled code gets, by the name of the function."""
    if _native.native is None:
        pytest.skip("no compiler with the headers of Python")
    seen, native = defaultdict(list), _native.native

    class Seen:
        def __getattr__(self, name):
            return lambda *args: seen[name].append(len(args[0])) or getattr(native, name)(*args)

    monkeypatch.setattr(_native, "native", Seen())
    return seen


@pytest.mark.parametrize("shuffled", [True, False])
@pytest.mark.parametrize("strings", [True, False])
@pytest.mark.parametrize("n_hits", [1, 20])
def test_compiled_code_sees_the_rows_three_times_and_nothing_is_sorted(
    monkeypatch, passes, n_hits, strings, shuffled
):
    rankings, truth = frames(400, n_hits=n_hits, strings=strings, shuffled=shuffled)
    rm.evaluate(rankings, truth, METRICS)
    passes.clear()
    with monkeypatch.context() as patch:
        done = Work(lambda: rm.evaluate(rankings, truth, METRICS), patch)
    n, t = rankings.height, truth.height
    # Judgments are searched for repeated ones, then rows are grouped, matched and counted.
    assert passes["match"] == [t, n]
    assert passes["count"] == [n]
    assert passes["group"].count(n) == 1
    assert sum(passes["group"]) < n + 4 * t
    assert passes["sort"] == [n_hits * 400] * (n_hits > 1)
    assert max((shape[0] for shape in done.sorts), default=0) <= t
    assert done.cells == 0


@pytest.mark.parametrize("strings", [True, False])
def test_no_query_reads_all_rows(monkeypatch, strings):
    done, rankings, _ = work(monkeypatch, 2000, strings=strings)
    sizes = [rows for sizes in done.queries.values() for rows in sizes]
    assert max(sizes, default=0) < rankings.height / 4


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize("strings", [True, False])
def test_the_number_of_calls_does_not_grow_with_the_users(monkeypatch, strings, is_compiled):
    if not is_compiled:
        monkeypatch.setattr(_native, "native", None)
    few, _, _ = work(monkeypatch, 300, strings=strings)
    many, _, _ = work(monkeypatch, 6000, strings=strings)
    # Text is read in up to eight parts, so a few calls more; far less than one for each user.
    assert many.calls - few.calls < (6000 if strings else 100)


def work_on_dicts(monkeypatch, n_users, length, *, form):
    """The work, and how many rows are made of dictionaries and lists."""
    scores = np.random.default_rng(5).random((n_users, length))
    if form == "grades":
        scores = np.round(scores * 4)
    rankings = {
        f"u{user}": {f"i{7 * n % 10_007 + user}": score for n, score in enumerate(mine)}
        for user, mine in enumerate(scores.tolist())
    }
    truth = {user: dict.fromkeys([*ranked][:2], 1) for user, ranked in rankings.items()}
    if form == "lists":
        rankings = {user: [*items] for user, items in rankings.items()}
    rm.evaluate(rankings, truth, METRICS)
    made, frame = [], PythonLists.frame
    with monkeypatch.context() as patch:
        patch.setattr(PythonLists, "frame", lambda self: made.append(len(self)) or frame(self))
        return Work(lambda: rm.evaluate(rankings, truth, METRICS), patch), made


@pytest.mark.parametrize("form", ["scores", "lists"])
def test_dictionaries_do_not_become_rows_and_cost_no_call_per_item(monkeypatch, form):
    calls = {}
    for n_users, length in ((300, 20), (300, 500), (900, 20)):
        done, made = work_on_dicts(monkeypatch, n_users, length, form=form)
        assert made == []
        assert not any(done.queries.values())
        calls[n_users, length] = done.calls
    assert calls[300, 500] - calls[300, 20] < 500  # for 144,000 items
    assert (calls[900, 20] - calls[300, 20]) / 600 < 12  # one look at the name of each user


def test_grades_with_many_ties_are_seen_without_the_items(monkeypatch):
    _, made = work_on_dicts(monkeypatch, 300, 100, form="grades")
    assert made == []


@pytest.mark.skipif(_native.native is None, reason="not compiled")
@pytest.mark.parametrize("name", ["evaluate", "trec_eval"])
def test_the_lines_of_trec_files_make_no_column_of_items(name, tmp_path, monkeypatch):
    rankings, truth = frames(300, length=50, strings=True, shuffled=False)
    run, qrels = tmp_path / "a.run", tmp_path / "a.qrels"
    lines = rankings.select(pl.format("{} Q0 {} 1 {} tag", "user", "item", "score"))
    run.write_text("\n".join(lines.to_series()))
    qrels.write_text(
        "\n".join(truth.sort("user").select(pl.format("{} 0 {} 1", "user", "item")).to_series())
    )
    measures = ["ndcg_cut.10", "map", "P.5"]

    def work():
        if name == "evaluate":
            return rm.evaluate(run, qrels, METRICS)
        from rankmeter._cli._trec_eval._report import report_lines

        return [*report_lines(str(qrels), str(run), measures)]

    work()
    written, gather = [], _native.native.gather
    native = SimpleNamespace(**vars(_native.native))
    native.gather = lambda content, ids: written.append(len(ids)) or gather(content, ids)
    monkeypatch.setattr(_native, "native", native)
    monkeypatch.setattr(pl, "scan_csv", None)
    done = Work(work, monkeypatch)
    assert written[:2] == [300, 300]  # the users of both files
    assert all(n <= 500 for n in written[2:])  # ids whose spelling is looked at
    assert not any(done.queries.values())
    assert done.calls < 10_000  # for 15,000 lines


def test_users_are_looked_up_once_for_each_run_of_rows(monkeypatch):
    rankings, truth = frames(400, strings=True, shuffled=False)
    looked_up, look = [], Codes._look_up_by_polars
    monkeypatch.setattr(
        Codes, "_look_up_by_polars", lambda self, ids: looked_up.append(len(ids)) or look(self, ids)
    )
    rm.evaluate(rankings, truth, METRICS)
    assert 0 < max(looked_up) <= truth.height


CALLS = {
    "frames": lambda some: rm.evaluate(*some, METRICS),
    "lists": lambda _: rm.evaluate(
        {"a": ["x"]}, {"a": ["x"]}, "ndcg@1, coverage@1", catalogue=["x"]
    ),
    "compare": lambda some: rm.compare({"a": some[0], "b": some[0]}, some[1], ["ndcg@10", "rr"]),
    "curve": lambda some: rm.curve(*some, "ndcg", max_k=3),
    "scores": lambda _: rm.evaluate_scores([[0.1, 0.2]], [0], ["mrr", "hits@1"]),
}


@pytest.mark.parametrize("name", CALLS)
def test_memory_is_free_when_a_result_is_gone(name):
    """Without waiting for the collector of cycles, which seldom runs next to large arrays."""
    some = frames(20)
    CALLS[name](some)
    gc.collect()
    gc.garbage.clear()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        CALLS[name](some)
        gc.collect()
        left = {type(one).__name__ for one in gc.garbage}
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert left.isdisjoint({"DataFrame", "Series", "Block", "Table", "Hits", "Summary", "function"})
