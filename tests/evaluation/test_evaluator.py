"""An evaluator answers as the functions do, and reads what it is given once."""

import inspect

import polars as pl
import pytest

import rankmeter as rm

TRUTH = {"ann": {"a": 1.0, "b": 3.0}, "bob": {"b": 2.0}, "eve": {"c": 1.0}}
OLD = {"ann": ["x", "a"], "bob": ["x", "b"], "eve": ["x", "y"]}
NEW = {"ann": ["b", "a"], "bob": ["b"], "eve": ["y", "c"]}
TRAIN = {"ann": ["x"], "bob": ["x", "y"], "eve": ["c"]}
METRICS = ["ndcg@2", "rr", "recall@2"]
OPTIONS = {"relevant": ">=1", "ties": "expected", "like": "sklearn"}


def frame(lists):
    rows = [
        (user, item, -place) for user, items in lists.items() for place, item in enumerate(items)
    ]
    return pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")


@pytest.mark.parametrize("form", [dict, frame])
@pytest.mark.parametrize("options", [{}, OPTIONS, {"clusters": {u: u < "c" for u in TRUTH}}])
def test_the_answers_are_those_of_the_functions(form, options):
    old, new = form(OLD), form(NEW)
    evaluator = rm.Evaluator(TRUTH, METRICS, **options)
    for rankings in (old, new):
        wanted = rm.evaluate(rankings, TRUTH, METRICS, **options)
        result = evaluator.evaluate(rankings)
        assert result.to_dict() == wanted.to_dict()
        assert str(result.show("ann")) == str(wanted.show("ann"))
    systems = {"old": old, "new": new}
    settings = {"baseline": "old", "test": "t", "margin": {"rr": 0.1}, "n_permutations": 99}
    assert (
        evaluator.compare(systems, **settings).to_dict()
        == rm.compare(systems, TRUTH, METRICS, **settings, **options).to_dict()
    )
    for rankings in (old, systems):
        line = evaluator.curve(rankings, 3, "recall@2")
        assert line.frame.equals(rm.curve(rankings, TRUTH, "recall@2", 3, **options).frame)
    unclustered = {name: value for name, value in options.items() if name != "clusters"}
    for question in ({"target": 0.5}, {"between": ("rankmeter", "sklearn")}):
        like = {} if "target" in question else {"like": None}
        explained = rm.explain(old, TRUTH, "rr", **question, **(unclustered | like))
        assert evaluator.explain(old, "rr", **question).to_dict() == explained.to_dict()


def test_the_curve_of_several_systems_has_a_line_of_each():
    line = rm.curve({"old": OLD, "new": NEW}, TRUTH, "recall", 2)
    for name, lists in (("old", OLD), ("new", NEW)):
        alone = rm.curve(lists, TRUTH, "recall", 2).frame.drop("system")
        assert line.frame.filter(system=name).drop("system").equals(alone)


def test_signatures_are_those_of_the_functions():
    def options(function, *left_out):
        own = inspect.signature(function).parameters.values()
        return {p.name: (p.default, p.annotation) for p in own if p.name not in left_out}

    def annotations_aside(parameters):
        return {name: default for name, (default, _) in parameters.items()}

    bound, judge = options(rm.Evaluator), {"judge", "judged"}  # of another ground truth
    assert bound.keys() == options(rm.evaluate, "rankings", *judge).keys()
    asked = options(rm.Evaluator.compare, "self")
    assert asked == {n: p for n, p in options(rm.compare).items() if n in asked}
    assert options(rm.compare).keys() == asked.keys() | bound.keys() | judge
    assert annotations_aside(options(rm.Evaluator.curve, "self", "metric")).keys() == {
        "rankings",
        "max_k",
    }


def test_ground_truth_and_side_data_are_read_when_it_is_made_and_never_again(tmp_path):
    truth, train = tmp_path / "truth.parquet", tmp_path / "train.parquet"
    rows = [(user, item, gain) for user, gains in TRUTH.items() for item, gain in gains.items()]
    pl.DataFrame(rows, schema=["user", "item", "gain"], orient="row").write_parquet(truth)
    frame(TRAIN).drop("score").write_parquet(train)
    wanted = rm.evaluate(NEW, truth, ["rr", "novelty@2"], train=train).to_dict()
    evaluator = rm.Evaluator(truth, ["rr", "novelty@2"], train=train)
    truth.unlink()
    train.unlink()
    for _ in range(2):
        assert evaluator.evaluate(NEW).to_dict() == wanted
    assert evaluator.compare({"old": OLD, "new": NEW})["rr"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"metrics": "nothing@3"}, rm.errors.UnknownMetricError, "nothing"),
        ({"truth": "missing.parquet"}, rm.errors.FileFormatError, "missing.parquet"),
        ({"truth": TRUTH, "train": "missing.csv"}, rm.errors.FileFormatError, "missing.csv"),
        ({"truth": TRUTH, "engine": "fast"}, rm.errors.UsageError, "engine"),
        ({"truth": TRUTH, "each": "target"}, rm.errors.UsageError, "each"),
        ({"truth": TRUTH, "catalogue": []}, rm.errors.DataError, "catalogue"),
    ],
)
def test_what_is_wrong_with_a_question_is_an_error_when_it_is_bound(arguments, error, message):
    with pytest.raises(error, match=message):
        rm.Evaluator(**arguments)


def test_one_of_several_metrics_has_to_be_named():
    evaluator = rm.Evaluator(TRUTH, METRICS)
    for ask in (
        lambda **metric: evaluator.curve(OLD, 2, **metric),
        lambda **metric: evaluator.explain(OLD, target=0.5, **metric),
    ):
        with pytest.raises(rm.errors.UsageError, match="one of ndcg@2, rr, recall@2"):
            ask()
        with pytest.raises(rm.errors.UsageError, match="precision"):
            ask(metric="precision@2")


def test_an_accumulator_has_metrics_and_choices_and_refuses_what_it_cannot_use():
    evaluator = rm.Evaluator(metrics="rr", ties="pessimistic", like="torchmetrics")
    batch = {"scores": [[0.5, 0.5, 0.1]], "target": [0]}
    accumulators = [
        evaluator.accumulator(),
        rm.accumulator("rr", ties="pessimistic", like="torchmetrics"),
    ]
    for one in accumulators:
        one.update(**batch)
    first, second = (one.compute().to_dict() for one in accumulators)
    assert first == second
    with pytest.raises(rm.errors.UsageError, match="cannot use truth, train"):
        rm.Evaluator(TRUTH, "rr", train=TRAIN).accumulator()
    for option in ({"engine": "disk"}, {"memory": "1GB"}):
        with pytest.raises(rm.errors.UsageError, match="cannot use engine or memory"):
            rm.Evaluator(metrics="rr", **option).accumulator()


def test_records_bring_their_own_ground_truth():
    record = {"predict_list": ["x", "a"], "ground_truth": {"a": 1}}
    assert rm.Evaluator(metrics="rr").evaluate([record])["rr"].mean == 0.5
    with pytest.raises(rm.errors.UsageError, match="truth is missing"):
        rm.Evaluator(metrics="rr").evaluate(OLD)


def test_an_evaluator_says_what_it_measures():
    evaluator = rm.Evaluator(TRUTH, METRICS)
    assert repr(evaluator) == "Evaluator(ndcg@2, rr, recall@2)"
    assert evaluator.plan == rm.evaluate(OLD, TRUTH, METRICS).plan
