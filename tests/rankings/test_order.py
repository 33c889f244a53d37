"""The one order of ids that decides ties, whatever the form of the data and whatever other ids."""

import itertools
import json
import re
import tempfile
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import rankmeter as rm
from rankmeter.metrics import METRICS as EVERY_METRIC

RULES = ["item", "item-descending", "text", "text-descending"]


def slow(item):
    """Integers by value, then names by their bytes."""
    text = str(item)
    if re.fullmatch("0|-?[1-9][0-9]*", text):
        return (0, int(text), b"")
    return (1, 0, text.encode())


def written(item):
    return str(item).encode()


ids = st.one_of(
    st.integers(-120, 120).map(str),
    st.integers(-(10**40), 10**40).map(str),
    st.integers(0, 20).map(lambda n: f"{n:03}"),
    st.sampled_from(["-0", "+7", "7.0", "٣", "1e3", "-", "--1", "-01", "0x1", "a-1"]),
    st.text("0129-+abzÄ€😀\uffff", min_size=1, max_size=4),
)
sets = st.lists(ids, min_size=2, max_size=8, unique=True)


# The rows are (user, item); all scores are equal.
def frame_of(rows, folder=None):
    return pl.DataFrame(rows, schema=["user", "item"], orient="row").with_columns(score=0.5)


def numbers_of(rows, folder=None):
    """Integers, where that is what the items are."""
    frame = frame_of(rows)
    whole = all(slow(item)[0] == 0 and abs(int(item)) < 2**63 for _, item in rows)
    return frame.with_columns(pl.col("item").cast(pl.Int64)) if whole else frame


def dict_of(rows, folder=None):
    found = {}
    for user, item in rows:
        found.setdefault(user, {})[item] = 0.5
    return found


def run_of(rows):
    return "".join(f"{user} Q0 {item} 1 .5 t\n" for user, item in rows)


def file(name, write):
    def made(rows, folder):
        path = Path(folder) / name
        write(rows, path)
        return path

    return made


FORMS = {
    "frame of strings": frame_of,
    "frame of integers": numbers_of,
    "categories": lambda rows, _: frame_of(rows).cast({"item": pl.Categorical}),
    "pandas": lambda rows, _: frame_of(rows).to_pandas(),
    "dict": dict_of,
    "rows": lambda rows, _: frame_of(rows).to_dicts(),
    "CSV": file("a.csv", lambda rows, path: frame_of(rows).write_csv(path)),
    "TSV": file("a.tsv", lambda rows, path: frame_of(rows).write_csv(path, separator="\t")),
    "TREC": file("a.run", lambda rows, path: path.write_text(run_of(rows))),
    "JSON": file("a.json", lambda rows, path: path.write_text(json.dumps(dict_of(rows)))),
    "JSON Lines": file("a.jsonl", lambda rows, path: frame_of(rows).write_ndjson(path)),
}


def truth_of(rows, rankings):
    """The same judgments in a form whose ids can meet those of the rankings."""
    frame = rankings if isinstance(rankings, pl.DataFrame) else frame_of(rows)
    judged = frame.cast({"item": pl.String}) if frame["item"].dtype == pl.Categorical else frame
    return judged.select("user", "item").head(1)


def rank_of_the_first(form, rows, ties):
    with tempfile.TemporaryDirectory() as folder:
        rankings = FORMS[form](rows, folder)
        found = rm.evaluate(rankings, truth_of(rows, rankings), "mean_rank", ties=ties)
    return found["mean_rank"].mean


@settings(max_examples=4)
@given(sets)
@example(["9", "10"])
@example(["9", "10", "07"])
def test_every_form_has_the_same_order_of_tied_items(found):
    mine = [("me", item) for item in found]
    others = [("other", "name"), ("other", "07"), ("other", "9" * 40)]
    for ties in RULES:
        key = slow if ties.startswith("item") else written
        ordered = sorted(found, key=key, reverse=ties.endswith("descending"))
        expected = ordered.index(found[0]) + 1
        for form in FORMS:
            assert rank_of_the_first(form, mine, ties) == expected, (form, ties)
            assert rank_of_the_first(form, mine + others, ties) == expected, (form, ties)


@pytest.mark.parametrize(
    ("run", "truth"),
    [
        ("user,item,score\n1,9,.5\n1,10,.5\n", "user,item,gain\n1,9,1\n"),
        ("user,item,score\n1,9,.5\n1,10,.5\n2,x,1\n", "user,item,gain\n1,9,1\n"),
        ("user,item,score\n1,9,.5\n1,10,.5\n", "user,item,gain\n1,9,1\n2,07,1\n"),
        ("1 Q0 9 1 .5 t\n1 Q0 10 2 .5 t\n", "1 0 9 1\n"),
        ('{"1": {"9": 0.5, "10": 0.5}}', '{"1": {"9": 1}}'),
    ],
    ids=["all integers", "a name of another user", "a name in the truth", "TREC", "JSON"],
)
def test_the_value_of_a_user_does_not_depend_on_the_file(run, truth, tmp_path):
    for name, text in (("run", run), ("truth", truth)):
        (tmp_path / name).write_text(text)
    result = rm.evaluate(tmp_path / "run", tmp_path / "truth", "mrr")
    assert result.per_user.filter(pl.col("user").cast(pl.String) == "1")["mrr"].to_list() == [1.0]


@pytest.mark.parametrize("like", ["trec_eval", "trec_eval_9", "pytrec_eval", "ir_measures"])
@pytest.mark.parametrize("metric", ["ndcg@10", "ap", "rr", "precision@3"])
def test_tools_that_compare_text_do_so_with_integer_ids(like, metric):
    draw = np.random.default_rng(5)
    rows = [
        (user, int(item), float(draw.integers(0, 3)))
        for user in range(30)
        for item in draw.choice(np.arange(1, 400), 12, replace=False)
    ]
    run = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
    truth = run.filter(pl.Series(draw.random(run.height) < 0.4)).select("user", "item", gain=1)
    text = [frame.cast({"item": pl.String}) for frame in (run, truth)]
    by_number = rm.evaluate(run, truth, metric, like=like, ties="item-descending")
    # The slow way: each list in the order of the tool.
    lists = {
        user: [
            item
            for _, item in sorted(
                ((score, str(item)) for u, item, score in rows if u == user), reverse=True
            )
        ]
        for user in range(30)
    }
    judged = {user: {} for user in range(30)}
    for user, item, gain in truth.iter_rows():
        judged[user][str(item)] = gain
    expected = rm.evaluate(lists, judged, metric, like=like)[metric].mean
    for a, b in ((run, truth), text):
        assert rm.evaluate(a, b, metric, like=like)[metric].mean == expected
    assert by_number[metric].mean != expected


def test_explain_lists_the_items_in_the_order_that_was_measured():
    scores = {"u": {"10": 1.0, "x": 1.0, "9": 1.0}}
    for like, other, items in (
        ("trec_eval", "rankmeter", ("x (1)", "9", "10")),
        ("rankmeter", "trec_eval", ("9", "10", "x (1)")),
    ):
        (change,) = rm.explain(scores, {"u": ["x"]}, "mrr", between=(like, other)).users
        assert change.items == items
        assert change.before == 1 / (items.index("x (1)") + 1)


def test_popularity_lists_equally_popular_items_in_the_same_order():
    numbers = pl.DataFrame({"user": [1, 1, 1, 1], "item": [10, 9, -3, 100]})
    lists = [
        rm.baselines.popularity(train, users=[2])["item"].cast(pl.String).to_list()
        for train in (numbers, numbers.cast({"item": pl.String}))
    ]
    assert lists == [["-3", "9", "10", "100"]] * 2


METRICS = ["ndcg@5", "ap", "rr"]
POOLED = ["ap(aggregate=geometric)", "precision(aggregate=micro)@3", "ndcg(aggregate=sum)"]


@pytest.mark.parametrize("seed", range(5))
def test_means_and_intervals_do_not_depend_on_the_order_of_users(seed):
    """As integers users are ordered by value, as text by their bytes."""
    draw = np.random.default_rng(seed)
    truth = {user: draw.choice(30, 7, replace=False).tolist() for user in range(200)}
    lists = [{user: draw.permutation(30)[:10].tolist() for user in truth} for _ in "ab"]

    def numbers(kind):
        first, second, judged = (
            {kind(user): items for user, items in data.items()} for data in (*lists, truth)
        )
        alone = rm.evaluate(first, judged, [*METRICS, *POOLED])
        both = rm.compare({"a": first, "b": second}, judged, METRICS, test="t")
        return repr([*alone.estimates.values(), *both.differences])

    assert numbers(int) == numbers(str)


OF_HIT_ITEMS = [name for name, spec in EVERY_METRIC.items() if spec.needs_hit_items]
CUTS = [
    {},
    {"depth": 1},
    {"depth": 2},
    {"depth": 2, "scope": "appended"},
    {"depth": 1, "pool": "judged"},
]


@pytest.mark.parametrize("name", OF_HIT_ITEMS)
@pytest.mark.parametrize("ties", ["item", "text-descending", "optimistic", "pessimistic"])
@pytest.mark.parametrize("cut", CUTS, ids=str)
def test_metrics_of_hit_items_do_not_know_the_order_of_rows(name, ties, cut):
    """Items of equal scores and gains differ in what a metric weighs, so one order is chosen."""
    asked, side = name, {"propensity": {11: 0.2, 12: 0.5, 13: 0.9, 14: 0.4}}
    if name == "stratum_recall":
        asked, side = f"{name}(stratum=tail)", {"train": {1: [11, 12], 2: [12, 11], 3: [14]}}
    found = set()
    for order in itertools.permutations([11, 12, 13]):
        rankings = dict.fromkeys([*order, 15], 0.5)
        truth = {7: dict.fromkeys([*reversed(order), 14], 1)}
        result = rm.evaluate({7: rankings}, truth, asked, ties=ties, **cut, **side)
        found.add(repr(result[asked].mean))
    assert len(found) == 1
