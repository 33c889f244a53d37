"""``gains={grade: gain}``: what each grade counts."""

import inspect
from typing import get_args

import numpy as np
import polars as pl
import pytest

import cases
import rankmeter as rm
from command_line import rankmeter
from rankmeter.errors import UsageError

TABLE = {1: 0.01, 2: 0.1, 3: 1}
METRICS = [
    "ndcg@5", "dcg(gain=exp2)", "cg@3", "ap@5", "precision@3", "rbp(gain=linear)"
]  # fmt: skip


def values(result):
    return {str(name): result[name].mean for name in METRICS}


@pytest.mark.parametrize("relevant", [">0", ">=2"])
@pytest.mark.parametrize("engine", ["memory", "disk"])
def test_it_is_the_same_as_gains_written_into_the_truth(engine, relevant):
    rankings, truth = cases.batch(3)
    truth = {user: {i: g for i, g in at.items() if g in (0, 1, 2, 3)} for user, at in truth.items()}
    written = {u: {i: TABLE.get(g, g) for i, g in at.items()} for u, at in truth.items()}
    threshold = ">0" if relevant == ">0" else ">=0.1"
    wanted = rm.evaluate(rankings, written, METRICS, relevant=threshold)
    rows = [(user, item, score) for user, at in rankings.items() for item, score in at.items()]
    shown = cases.held(pl.DataFrame(rows, ["user", "item", "score"], orient="row"), engine)
    ours = rm.evaluate(shown, truth, METRICS, relevant=relevant, gains=TABLE, engine=engine)
    assert values(ours) == pytest.approx(values(wanted), rel=1e-12)
    assert values(ours) != values(rm.evaluate(rankings, truth, METRICS, relevant=relevant))


def test_matrices_and_grades_in_order_take_it_too():
    scores = np.array([[3.0, 2.0, 1.0, 0.0]])
    wanted = rm.evaluate({"u": [*"abcd"]}, {"u": {"a": 0.01, "b": 1, "d": 0.1}}, "ndcg")[
        "ndcg"
    ].mean
    truth = {0: {0: 1, 1: 3, 3: 2}}
    assert rm.evaluate(rm.Scores(scores), truth, "ndcg", gains=TABLE)["ndcg"].mean == wanted
    assert (
        rm.evaluate(rm.Grades([[1, 3, 0, 2]], n_relevant=[3]), None, "ndcg", gains=TABLE)[
            "ndcg"
        ].mean
        == wanted
    )


def test_a_grade_without_an_entry_gains_itself():
    truth = {"u": {"a": 1, "b": 4}}
    result = rm.evaluate({"u": ["a", "b"]}, truth, "cg", gains={1: 0.5})
    assert result["cg"].mean == 4.5
    assert "relevant judgments with a grade not in gains: 1" in result.notes
    assert not rm.evaluate({"u": ["a"]}, truth, "cg", gains={1: 0.5, 4: 1}).counts.keys() & {
        "relevant_judgments_with_a_grade_not_in_gains"
    }
    rows = rm.evaluate_scores([[0.2, 0.1]], np.array([[1.0, 4.0]]), "cg", gains={1: 0.5})
    assert rows.counts["relevant_judgments_with_a_grade_not_in_gains"] == 1


@pytest.mark.parametrize(
    "written",
    [{3: 1.0, 1: 0.01, 2: 0.1}, "1:.01 2:.1 3:1", "{1: 0.01, 2: 0.1, 3: 1}", "3:1,2:0.1,1:0.01"],
)
def test_all_spellings_are_one(written):
    metric = rm.NDCG(gains=written) @ 5
    assert str(metric) == "ndcg(gains=1:0.01 2:0.1 3:1)@5"
    assert rm.metric(str(metric)) == metric
    if isinstance(written, str) and not written.startswith("3"):
        assert rm.metric(f"nDCG(gains={written})@5") == metric


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {1: -1},
        {1: np.nan},
        {"a": 1},
        {1: None},
        "1:2 1:3",
        "a:b",
        "1:",
        "1:2:3",
        "1:2}",
        "{{1:2}}",
        "1:1_0",
        "１:2",
        {2**53 + 1: 1},
    ],
)
def test_what_is_no_table_is_refused(wrong):
    with pytest.raises(
        UsageError, match=r"`gains` must be 'relevant', .* or, for each grade, a gain of 0 or more"
    ):
        rm.evaluate({"u": ["a"]}, {"u": ["a"]}, "ndcg", gains=wrong)


def test_a_misspelt_word_is_corrected():
    with pytest.raises(UsageError, match=r"got 'positve'; did you mean 'positive'\?"):
        rm.evaluate({"u": ["a"]}, {"u": ["a"]}, "ndcg", gains="positve")


def test_a_gain_for_grades_that_are_not_relevant_is_refused():
    ranked, truth = {"u": ["a", "b"]}, {"u": {"a": 0, "b": 2}}
    with pytest.raises(UsageError, match=r"grade 0 a gain, .* not relevant \(>0\): choose"):
        rm.evaluate(ranked, truth, "cg", gains={0: 1})
    assert rm.evaluate(ranked, truth, "cg", gains={0: 1}, relevant="any")["cg"].mean == 3


def test_ir_measures_has_the_same_values():
    # ir_measures 0.4.3, nDCG(gains={2: 5}) @ 3 and nDCG(gains={2: 5, 3: 7}) @ 3
    run = {"q": {"a": 4, "b": 3, "c": 2, "d": 1}}
    truth = {"q": {"a": 1, "b": 3, "c": 2, "d": 0, "z": 3}}
    recorded = {
        "nDCG(gains={2:5})@3": 0.6425503004057738,
        "nDCG(dcg='log2', gains={2: 5, 3: 7})@3": 0.5688573684263546,
    }
    result = rm.evaluate(run, truth, [*recorded], like="ir_measures")
    for name, value in recorded.items():
        assert result[name].mean == pytest.approx(value, rel=1e-15)


def test_it_is_the_label_gain_of_lightgbm():
    # LightGBM 4.7.0 with label_gain=[0, 1, 5, 6] and eval_at=[3] prints this.
    ranked = rm.grouped(np.array([3.0, 2.0, 1.0, 0.5]), np.array([1, 2, 0, 3]), group=[4])
    result = rm.evaluate(*ranked, "ndcg(gain=linear)@3", like="lightgbm", gains={1: 1, 2: 5, 3: 6})
    assert result["ndcg(gain=linear)@3"].mean == pytest.approx(0.430326246739202, rel=1e-15)


def test_the_command_line_takes_it(tmp_path):
    (tmp_path / "run.csv").write_text("user,item,score\nu,a,2\nu,b,1\n")
    (tmp_path / "truth.csv").write_text("user,item,gain\nu,a,1\nu,b,3\n")
    done = rankmeter(
        "evaluate", tmp_path / "run.csv", tmp_path / "truth.csv", "-m", "cg", "--gains", "1:.5,3:1",
        "--format", "json",
    )  # fmt: skip
    assert '"mean": 1.5' in done.out
    assert rankmeter(
        "evaluate", tmp_path / "run.csv", tmp_path / "truth.csv", "--gains", "positve"
    ).code == 2  # fmt: skip


TIES = get_args(get_args(inspect.signature(rm.evaluate).parameters["ties"].annotation)[0])


@pytest.mark.parametrize("ties", TIES)
def test_ties_are_ordered_by_what_grades_gain(ties):
    table = {1: 3, 2: 1, 3: 0.5}
    rankings, truth = cases.batch(5, n_users=60, ties=True, max_length=6, n_items=8)
    truth = {user: {i: g for i, g in at.items() if g in (0, 1, 2, 3)} for user, at in truth.items()}
    written = {user: {i: table.get(g, g) for i, g in at.items()} for user, at in truth.items()}
    names = ["dcg@2", "ndcg", "ndcg_rel", "precision@2", "rr"]
    if ties == "expected":
        names.remove("ndcg_rel")
    if ties in cases.SHARED:
        names = ["cg", "precision", "rr"]
    ours = rm.evaluate(rankings, truth, names, gains=table, ties=ties)
    wanted = rm.evaluate(rankings, written, names, ties=ties)
    for name in names:
        assert ours[name].mean == pytest.approx(wanted[name].mean, rel=1e-12), name


def test_grades_in_single_precision_meet_the_table():
    columns = {"user": ["u"] * 3, "item": ["a", "b", "c"]}
    truth = pl.DataFrame(columns | {"gain": pl.Series([0.1, 0.2, 0.3], dtype=pl.Float32)})
    table = {0.1: 1, 0.2: 2, 0.1 + 0.2: 3}
    assert rm.evaluate({"u": ["a", "b", "c"]}, truth, "cg", gains=table)["cg"].mean == 6


def test_what_is_shown_has_the_gains_of_the_table():
    ranked, truth = {"u": ["a", "b", "c"]}, {"u": {"a": 1, "b": 3, "z": 2}}
    result = rm.evaluate(ranked, truth, "ndcg", gains={1: 1, 2: 9, 3: 2})
    walk = result.show("u").walks[0][1]
    assert [(place.item, place.gain) for place in walk.ideal.places] == [
        ("z", 9),
        ("b", 2),
        ("a", 1),
    ]
    assert "items with a gain above 0 are relevant, gains 1:1 2:9 3:2" in str(result)


def test_judgments_by_subtopic_take_the_table():
    columns = {"user": ["u"] * 4, "item": ["a", "a", "b", "c"], "subtopic": ["x", "y", "x", "y"]}
    names = ["d_sharp_ndcg@3", "alpha_ndcg@3", "subtopic_recall@1"]
    ranked, table = {"u": ["b", "a", "c"]}, {1: 5, 2: 1, 3: 0}
    frames = (pl.DataFrame(columns | {"gain": gain}) for gain in ([1, 2, 2, 3], [5, 1, 1, 0]))
    ours, wanted = (
        rm.evaluate(ranked, frame, names, gains=gains)
        for frame, gains in zip(frames, (table, "relevant"), strict=True)
    )
    for name in names:
        assert ours[name].mean == wanted[name].mean


def test_explain_shows_what_items_gain():
    truth = {"u": {"a": 1, "b": 2}}
    found = rm.explain(
        {"u": ["a", "x"]}, truth, "ndcg(gains={1: 9})", between=("rankmeter", "sklearn")
    )
    assert "a (9)" in str(found)


def test_a_comma_between_the_grades_is_read_in_metric_strings():
    assert (
        rm.metric("ndcg(gains=1:0.1,2:1,gain=exp2)@3")
        == rm.NDCG(gains={1: 0.1, 2: 1}, gain="exp2") @ 3
    )
