"""Values, means and intervals are in the range that a metric has under its options and choices."""

import itertools
import math
import zlib

import numpy as np
import pytest
import scipy.sparse

import rankmeter as rm
from rankmeter.metrics import METRICS

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore::rankmeter.errors.RankmeterWarning"),
]

ITEMS, USERS = 9, 100

CHOICES = {
    "default": {},
    "graded": {"relevant": ">=2"},
    "all gains": {"gains": "all"},
    "all gains, few relevant": {"gains": "all", "relevant": ">=2"},
    "any": {"relevant": "any"},
    "negative threshold": {"relevant": ">-2"},
    "positive": {"gains": "positive", "relevant": ">=2"},
    "above": {"gains": "above", "relevant": ">-2"},
    "reached": {"gains": "reached", "relevant": ">=2"},
    "table": {"gains": {1: 5.0, 2: 0.0}},
    "each": {"duplicates": "each"},
    "each, all gains": {"duplicates": "each", "gains": "all"},
    "each, ranked": {"duplicates": "each", "scope": "ranked"},
    "each, by user": {"duplicates": "each", "aggregate": "mean"},
    "best": {"duplicates": "best"},
    "first": {"duplicates": "first"},
    "ranked": {"scope": "ranked", "gains": "all"},
    "judged": {"pool": "judged", "gains": "all"},
    "retrieved": {"retrieved": "positive", "gains": "all"},
    "appended": {"scope": "appended", "ties": "input"},
    "self": {"exclude": "self"},
    "sum": {"judgements": "sum"},
    "expected": {"ties": "expected", "gains": "all"},
    "pessimistic": {"ties": "pessimistic"},
    "by user": {"aggregate": "mean", "relevant": "any"},
    "hit": {"users": "hit"},
    "empty": {"empty": "skip", "missing": "skip"},
    "geometric": {"aggregate": "geometric"},
    "median": {"aggregate": "median"},
    "micro": {"aggregate": "micro", "gains": "all"},
}
"""Choices that could change the range of a metric; tie rules by which hits share a rank cannot."""

WITHOUT_LISTS = {"pessimistic"}
"""Choices that no list metric takes."""

NEGATIVE = {"all", "any", ">-2"}


def data(rng, choices):
    """Rankings with many ties, and truth in which most judgments are of one grade or two."""
    grades = np.arange(-2.0 if NEGATIVE & {*map(str, choices.values())} else 0.0, 4.0)
    rankings, truth = {}, {}
    for user in range(USERS):
        n = int(rng.integers(0, 8)) if user else 3
        if "duplicates" in choices:
            items = rng.integers(0, ITEMS, n).tolist()
        else:
            items = rng.permutation(ITEMS)[:n].tolist()
        mostly_ranked = items and rng.random() < 0.4
        judged = [*{*items}] if mostly_ranked else rng.permutation(ITEMS)[: rng.integers(1, 7)]
        shares = rng.dirichlet(np.full(grades.size, 0.4))
        truth[user] = {int(item): float(rng.choice(grades, p=shares)) for item in judged}
        scored = {item: float(rng.integers(-2, 3)) for item in items}
        rankings[user] = scored if {"ties", "retrieved"} & choices.keys() else items
    return rankings, truth


def side_data(rng):
    def some(least=3):
        return rng.permutation(ITEMS)[: rng.integers(least, ITEMS + 1)].tolist()

    features = {item: rng.normal(size=3).tolist() for item in range(ITEMS)}
    categories = {item: ["ab"[item % 2], "c"][: 1 + item % 3 // 2] for item in range(ITEMS)}
    return {
        "catalogue": ITEMS,
        "train": {user: some() for user in range(30)},
        "items": [features, categories][int(rng.integers(2))],
        "propensity": {item: rng.uniform(0.01, 1.0) for item in range(ITEMS)},
        "baseline_lists": {user: some()[:4] for user in range(USERS)},
    }


def spell(value):
    if value is None or isinstance(value, bool):
        return {None: "none", True: "true", False: "false"}[value]
    return f"{value:g}" if isinstance(value, float) else str(value)


def forms(spec, rng):
    """Metric strings with the defaults, one other option, random options, adjusted for chance."""
    drawn = {o.name: o.values[rng.integers(len(o.values))] for o in spec.options.values()}
    one = dict([list(drawn.items())[rng.integers(len(drawn))]] if drawn else [])
    for given in (spec.example, {**spec.example, **one}, drawn):
        k = ("", "@1", "@2", "@3", "@5")[rng.integers(5)] if spec.cutoff else ""
        written = ",".join(f"{name}={spell(value)}" for name, value in given.items())
        yield f"{spec.name}({written}){k}" if written else f"{spec.name}{k}"
    if spec.needs == ("hits",) and spec.open_ties:
        yield f"{spec.name}({','.join(filter(None, [written, 'adjusted']))}){k}"


def evaluate_what_works(metrics, *args, **options):
    """Results of the metrics that these data and choices allow, in as few calls as possible."""
    waiting = [metrics]
    while waiting:
        some = waiting.pop()
        try:
            yield rm.evaluate(*args, some, **options)
        except rm.errors.RankmeterError:
            waiting += [some[::2], some[1::2]] if len(some) > 1 else []


def assert_in_range(result):
    """Check each value of a user, each mean and each interval; count them."""
    values, n = result.values_by_user, 0
    for label, estimate in result.items():
        entry = result.plan[label]
        low, high = result.scores.averaged(entry).scale(entry)
        numbers = [estimate.mean, *estimate.interval]
        if entry.averaging.aggregate == "geometric":
            low, high = (max(end, 1e-5) for end in (low, high))
        elif label in values.columns and not entry.spec.whole:
            numbers += values[label].drop_nulls().to_list()
        for number in numbers:
            slack = 1e-9 * max(1.0, abs(number))
            inside = math.isnan(number) or low - slack <= number <= high + slack
            assert inside, (label, number, low, high)
            n += not math.isnan(number)
    return n


@pytest.mark.parametrize(
    ("name", "of_lists"),
    [(n, f) for n in CHOICES for f in (False, True) if not f or n not in WITHOUT_LISTS],
)
def test_values_means_and_intervals_are_in_the_range_of_the_options_and_choices(name, of_lists):
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    rankings, truth = data(rng, CHOICES[name])
    specs = [spec for spec in METRICS.values() if spec.of_lists == of_lists]
    metrics = [*dict.fromkeys(form for spec in specs for form in forms(spec, rng))]
    found = evaluate_what_works(
        metrics, rankings, truth, n_items=30, **side_data(rng), **CHOICES[name]
    )
    assert sum(map(assert_in_range, found)) > 200


@pytest.mark.parametrize("name", METRICS)
def test_the_declared_range_is_that_of_the_default_options(name):
    spec = METRICS[name]
    assert spec.range() == (spec.low, spec.high)


REPEATED = {"u": [*"aaab"]}, {"u": {"a", "b"}}


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        ("recall", 2.0),
        ("ap", 2.0),
        ("ndcg", 1.5706),
        ("bpref", 2.0),
        ("mcc(n_items=5)", 2.4495),
        ("accuracy(n_items=5)", 1.4),
    ],
)
def test_repeated_items_that_count_each_time_have_no_limit(metric, value):
    result = rm.evaluate(*REPEATED, metric, duplicates="each")
    assert result[metric].mean == pytest.approx(value, abs=1e-4)
    assert result.plan[metric].range[1] == math.inf
    assert METRICS[result.plan[metric].metric.name].high == 1.0


@pytest.mark.parametrize(
    ("metric", "high"),
    [("precision(adjusted)@5", 1.0), ("precision(adjusted,denominator=ranked)@5", 4.0)],
)
def test_a_shorter_ranking_that_is_better_than_perfect_widens_the_range(metric, high):
    """One item alone has precision 1; of 10 candidates, 5 have 2/5 at best and 1/5 by chance."""
    lists, truth = {u: ["a"] for u in range(5)}, {u: {"a", "b"} for u in range(5)}
    result = rm.evaluate(lists, truth, metric, n_items=10)
    entry = result.plan[metric]
    ends = result.scores.averaged(entry).scale(entry)
    assert ends[1] == pytest.approx(high)  # (1 - 1/5) / (2/5 - 1/5)
    assert result[metric].mean <= ends[1] + 1e-12


def test_a_missed_item_is_not_counted_below_zero():
    result = rm.evaluate(*REPEATED, "mean_rank(of=all,absent=100)", duplicates="each")
    assert result["mean_rank(of=all,absent=100)"].mean == (1 + 2 + 3 + 4) / 2


@pytest.mark.parametrize(
    ("metric", "choices", "ends"),
    [
        ("rbp", {}, (0, 1)),
        ("rbp(gain=linear)", {}, (0, math.inf)),
        ("rbp(gain=linear,max_gain=3)", {}, (0, 1)),
        ("rbp(max_gain=3)", {"gains": "all"}, (-math.inf, 1)),
        ("ndcg", {}, (0, 1)),
        ("ndcg", {"relevant": ">=-1"}, (-math.inf, 1)),
        ("ndcg", {"relevant": ">=0"}, (0, 1)),
        ("ndcg(gain=binary)", {"gains": "all"}, (0, 1)),
        ("ndcg(ideal=ones)", {}, (0, math.inf)),
        ("ndcg(ideal=ones,gain=binary)", {}, (0, 1)),
        ("coverage(scale=count)", {}, (0, math.inf)),
        ("accuracy(n_items=10,chosen=k)@5", {}, (-0.5, 1)),
        ("mean_rank(absent=0)", {}, (0, math.inf)),
    ],
)
def test_the_range_is_that_of_the_options_and_choices(metric, choices, ends):
    (entry,) = rm.Evaluator(*[{"u": {"a": 1.0}}, metric], **choices).plan.metrics
    assert entry.range == ends


# ---------------------------------------------------------------------------------------------
# No ranking of the judged items is better than the ideal one


def every_ranking(items):
    """All orders of all subsets of some items."""
    for n in range(1, len(items) + 1):
        yield from itertools.permutations(items, n)


TRUTHS = [
    {"x": 2.0, "y": 2.0, "z": 1.0, "n": -1.0},
    {"x": 3.0, "n": -1.0, "m": -2.0},
    {"x": 1.0, "o": 0.0, "n": -2.0},
    {"x": 1.0, "y": 3.0, "n": -1.0, "m": -1.0},
]


@pytest.mark.parametrize("choices", [{"gains": "all"}, {"relevant": "any"}, {}])
@pytest.mark.parametrize("truth", TRUTHS)
def test_no_ranking_is_better_than_the_ideal_and_one_reaches_it(truth, choices):
    rankings = dict(enumerate(every_ranking([*truth])))
    judged = dict.fromkeys(rankings, truth)
    names = [f"ndcg(gain={gain})" for gain in ("linear", "exp2", "binary")]
    names += [f"ndcg(discount={discount})" for discount in ("ln", "jarvelin", "reciprocal")]
    names += [f"nerr(max_gain=3,stop={stop})" for stop in ("exp2", "linear")]
    names += ["nerr(max_gain=3,gain=binary)", "ndcg(ideal=ranked)"]
    metrics = [f"{name}{k}" for name in names for k in ("", "@1", "@2", "@3", "@5")]
    metrics += ["ndcg_rel", "rndcg", "g", "ndcg(ideal=uncut)"]
    result = rm.evaluate(rankings, judged, metrics, **choices)
    for label in metrics:
        assert result.values_by_user[label].max() == pytest.approx(1.0, abs=1e-12), label
    cut = rm.evaluate(rankings, judged, ["ndcg(ideal=uncut)@2", "ndcg(ideal=retrieved)"], **choices)
    for label in cut:
        assert cut.values_by_user[label].max() <= 1 + 1e-12, label


@pytest.mark.parametrize("k", [1, 2, 5])
def test_the_ideal_gain_is_the_largest_of_any_ranking(k):
    for truth in TRUTHS:
        rankings = dict(enumerate(every_ranking([*truth])))
        judged = dict.fromkeys(rankings, truth)
        result = rm.evaluate(rankings, judged, [f"dcg@{k}", f"ideal_dcg@{k}"], gains="all")
        ideal = result.values_by_user[f"ideal_dcg@{k}"].unique().to_list()
        assert ideal == pytest.approx([result.values_by_user[f"dcg@{k}"].max()])


def test_the_ideal_of_subtopics_leaves_out_losses():
    truth, genres = {"x": 2.0, "y": 1.0, "n": -1.0}, {"x": ["a"], "y": ["b"], "n": ["a", "b"]}
    rankings = dict(enumerate(every_ranking([*truth])))
    label = "d_sharp_ndcg(recall_weight=0)@3"
    result = rm.evaluate(rankings, dict.fromkeys(rankings, truth), label, items=genres, gains="all")
    assert result.values_by_user[label].max() == pytest.approx(1.0)


# ---------------------------------------------------------------------------------------------
# Targets of the shape of the scores are labels


def test_integers_of_the_shape_of_the_scores_are_labels_also_of_one_column():
    scores, grades = np.array([[0.3], [0.2], [0.9], [0.1]]), np.array([[2], [2], [1], [3]])
    found, graded = (
        rm.evaluate_scores(scores, target, ["cg", "ndcg"]) for target in (grades, grades * 1.0)
    )
    assert found["cg"].mean == graded["cg"].mean == 2.0
    scores, grades = np.tile(np.arange(4.0), (2, 1)), np.array([[2, 2, 0, 1], [5, 0, 1, 3]])
    assert rm.evaluate_scores(scores, grades, "cg")["cg"].mean == 7.0


@pytest.mark.parametrize(
    ("target", "gain", "unjudged", "ideal"),
    [
        ([[2, 0, 1], [1, 2, 0]], 3.0, 0, [3.0, 3.0]),
        ([[2, -1, -1], [0, 1, -1]], 1.5, 3, [1.0, 2.0]),
    ],
)
def test_integers_that_could_be_labels_or_ids_are_labels_in_an_array_and_refused_in_lists(
    target, gain, unjudged, ideal
):
    scores = np.tile(np.arange(3.0), (2, 1))
    for dtype in (np.int64, np.int8, np.float64):
        found = rm.evaluate_scores(scores, np.array(target, dtype=dtype), "cg")
        assert found["cg"].mean == gain
        assert (f"labels of -1, which are not judged: {unjudged}" in str(found)) == bool(unjudged)
    both = r"pass np\.array\(target\) if these are labels, or target_ids=True if they are ids"
    with pytest.raises(rm.errors.DataError, match=both):
        rm.evaluate_scores(scores, target, "cg")
    for ids in (target, np.array(target)):
        found = rm.evaluate_scores(scores, ids, "n_relevant", target_ids=True)
        assert found.per_user["n_relevant"].to_list() == ideal


# ---------------------------------------------------------------------------------------------
# A user without a value does not make a system better

SYSTEM = {0: [1, 2], 1: [3]}, {0: {2: 1.0}, 1: {9: 0.0}}
LOW_IS_GOOD = [
    spec for spec in METRICS.values()
    if not spec.of_lists and (not spec.increasing or not spec.low <= 0 <= spec.high)
]  # fmt: skip


@pytest.mark.parametrize("choice", ["undefined", "extra"])
@pytest.mark.parametrize("spec", LOW_IS_GOOD, ids=lambda spec: spec.name)
def test_zero_is_refused_where_it_is_no_value_or_the_best_one(spec, choice):
    metric = f"{spec.name}({','.join(f'{n}={v}' for n, v in spec.example.items())})"
    metric = metric.replace("()", "")
    with pytest.raises(rm.errors.UsageError, match=rf"{choice}='zero' .* Choose {choice}="):
        rm.evaluate(*SYSTEM, metric, **{choice: "zero"})
    with pytest.raises(rm.errors.UsageError, match=f"{choice}='zero'"):
        rm.evaluate(*SYSTEM, f"{metric.removesuffix(')')}{'(,'[')' in metric]}{choice}=zero)")
    assert rm.evaluate(*SYSTEM, "ndcg", **{choice: "zero"})["ndcg"].mean < 1


@pytest.mark.parametrize("metric", ["amri", "amrr", "adjusted_hits", "mean_rank", "gmr", "vendi"])
def test_one_is_refused_where_a_miss_would_be_perfect(metric):
    items = {"items": {item: [float(item), 1.0] for item in (1, 2, 3)}}
    if metric == "vendi":  # 1 is its lowest value
        rm.evaluate(*SYSTEM, metric, undefined="one", **items)
        return
    with pytest.raises(rm.errors.UsageError, match="undefined='one'"):
        rm.evaluate(*SYSTEM, metric, undefined="one")
    assert rm.evaluate(*SYSTEM, "fallout", undefined="one", n_items=9)["fallout"].mean > 0


def test_a_tool_keeps_its_number_for_its_own_metrics_and_its_range_says_so():
    plan = rm.Evaluator(SYSTEM[1], "coverage_error", like="sklearn").plan
    assert plan.metrics[0].averaging.undefined == "zero"
    assert plan.metrics[0].range == (0.0, math.inf)
    plan = rm.Evaluator(SYSTEM[1], "mean_rank", like="ir_measures").plan
    assert plan.metrics[0].averaging.undefined == "skip"
    assert plan.metrics[0].range == (1.0, math.inf)


@pytest.mark.parametrize("metric", ["coverage@2", "gini@2", "exposure_gini@2"])
@pytest.mark.parametrize("size", [1, 2])
def test_a_catalogue_that_is_smaller_than_what_is_shown_is_an_error(metric, size):
    rankings, truth = {1: [1, 2, 3], 2: [2, 3, 1]}, {1: [2], 2: [3]}
    with pytest.raises(rm.errors.InvalidValueError, match=rf"3 different .* catalogue has {size}:"):
        rm.evaluate(rankings, truth, metric, catalogue=size)
    with pytest.raises(rm.errors.InvalidValueError):
        rm.compare({"a": rankings, "b": rankings}, truth, metric, catalogue=size)
    assert rm.evaluate(rankings, truth, metric, catalogue=3)[metric].mean <= 1


LISTS, TRUTH = {u: [u, u + 1] for u in range(1, 50)}, {u: [u] for u in range(1, 50)}


@pytest.mark.parametrize(
    ("metric", "side", "message"),
    [
        ("unseen@2", {"train": {u + 1000: [u] for u in range(1, 50)}}, "train= has no user in"),
        ("novelty@2", {"train": {u: [u + 1000] for u in range(1, 50)}}, "train= has no item in"),
        ("coverage@2", {"catalogue": [1001, 1002]}, "catalogue= has no item in common"),
        ("ild@2", {"items": {1001: [1.0, 2.0]}}, "items= has no item in common"),
        ("categorical_diversity@2", {"items": {1001: ["a"]}}, "items= has no item in common"),
        ("ips@2", {"propensity": {1001: 0.5}}, "propensity= has no item in common"),
        (
            "unexpectedness@2",
            {"baseline_lists": {u + 1000: [u] for u in range(1, 50)}},
            "baseline_lists= has no user in",
        ),
    ],
)
def test_side_data_of_other_users_or_items_are_an_error(metric, side, message):
    with pytest.raises(rm.errors.NoOverlapError, match=message):
        rm.evaluate(LISTS, TRUTH, metric, **side)


@pytest.mark.parametrize("metric", ["unseen@2", "novelty@2", "popularity@2"])
def test_empty_side_data_are_an_error(metric):
    with pytest.raises(rm.errors.DataError, match="train= has no interactions"):
        rm.evaluate(LISTS, TRUTH, metric, train={1: [], 2: []})
    empty = ([], scipy.sparse.csr_matrix((0, 0)))
    with pytest.raises(rm.errors.RankmeterError, match=r"^items= "):
        rm.evaluate(LISTS, TRUTH, metric, train=LISTS, items=empty)
