"""Stored results as systems: in compare, in gates, over several data sets."""

from __future__ import annotations

import random

import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter.errors import RankmeterWarning, UsageError

DRAW = random.Random(5)
USERS = [f"u{n}" for n in range(60)]
ITEMS = [f"i{n}" for n in range(30)]
TRUTH = {user: {*DRAW.sample(ITEMS, 3)} for user in USERS}


def lists(seed, share=0.5):
    """Rankings that put a relevant item first for about a share of the users."""
    draw = random.Random(seed)
    found = {}
    for user in USERS:
        first = [min(TRUTH[user])] if draw.random() < share else []
        rest = [item for item in draw.sample(ITEMS, 12) if item not in first]
        found[user] = [*first, *rest]
    return found


OLD, NEW = lists(1), lists(2)
METRICS = "ndcg@10 rr"


@pytest.fixture
def prod(tmp_path):
    rm.evaluate(OLD, TRUTH, METRICS).save(tmp_path / "prod.result")
    return tmp_path / "prod.result"


def numbers(comparison):
    return [(d.a, d.b, d.metric, d.difference, d.p, d.low) for d in comparison.differences]


def test_a_file_of_a_result_is_a_system(prod):
    new = rm.evaluate(NEW, TRUTH, METRICS)
    expected = rm.compare({"old": OLD, "new": NEW}, TRUTH, METRICS, baseline="old")
    by_path = rm.compare({"old": str(prod), "new": new}, baseline="old")
    by_truth = rm.compare({"old": prod, "new": NEW}, TRUTH, METRICS, baseline="old")
    assert numbers(by_path) == numbers(by_truth) == numbers(expected)


def test_rankings_next_to_a_result_have_its_metrics_by_default(prod):
    assert rm.compare({"old": prod, "new": NEW}, TRUTH).labels == ["ndcg@10", "rr"]


def test_several_runs_next_to_a_result_are_evaluated(prod):
    found = rm.compare({"old": [prod, prod], "new": [NEW, lists(3)]}, TRUTH, "rr")
    assert found.settings["runs"] == {"old": 2, "new": 2}


def test_rankings_next_to_a_result_need_the_truth(prod):
    with pytest.raises(UsageError, match=r"new is rankings, and old is a result"):
        rm.compare({"old": prod, "new": NEW})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"like": "recbole", "metrics": "ndcg@10"}, r"\(prod follows rankmeter, new recbole\)"),
        ({"ties": "expected"}, "ties of ndcg@10 is item in prod and expected in new"),
        ({"metrics": "ndcg(gain=exp2)@10"}, "was not evaluated"),
        ({"confidence": 0.9}, r"confidence is 0\.95 in prod and 0\.9 in new"),
    ],
)
def test_another_question_is_refused_with_what_differs(prod, options, message):
    with pytest.raises(UsageError, match=message):
        rm.compare({"prod": prod, "new": NEW}, TRUTH, **options)


def test_another_ground_truth_is_refused(prod):
    other = {user: {*sorted(items)[:2], "i99"} for user, items in TRUTH.items()}
    with pytest.raises(UsageError, match="the ground truth of prod has other items or gains"):
        rm.compare({"prod": prod, "new": NEW}, other, METRICS)


def renamed(rankings):
    return {user: [f"{item}#new" for item in items] for user, items in rankings.items()}


def test_labels_that_no_longer_describe_the_corpus_are_said(prod):
    chunks = renamed(OLD) | {USERS[0]: OLD[USERS[0]][:3]}
    with pytest.warns(RankmeterWarning, match="labels no longer describe the corpus"):
        found = rm.compare({"prod": prod, "new": chunks}, TRUTH, METRICS, baseline="prod")
    assert "30 judged items are in rankings of prod, and 3 in those of new" in repr(found)


@pytest.mark.filterwarnings("error")
def test_a_worse_system_on_the_same_corpus_is_no_other_corpus(prod):
    worse = {user: DRAW.sample(sorted({*ITEMS} - TRUTH[user]), 10) for user in USERS}
    found = rm.compare({"prod": prod, "new": worse}, TRUTH, METRICS, baseline="prod")
    assert found.cautions == ()


def test_a_stored_result_is_no_ranking(prod):
    with pytest.raises(UsageError, match=r"prod\.result is a result, not rankings"):
        rm.evaluate(prod, TRUTH, "rr")


def test_results_on_several_data_sets(prod, tmp_path):
    new = rm.evaluate(NEW, TRUTH, METRICS)
    new.save(tmp_path / "new.result")
    files = {"old": prod, "new": tmp_path / "new.result"}
    compared = rm.compare({"old": OLD, "new": NEW}, TRUTH, METRICS)
    expected = rm.across({"x": compared, "y": compared}).to_dict()
    assert rm.across({"x": files, "y": {"old": prod, "new": new}}).to_dict() == expected


# ---------------------------------------------------------------------------------------------
# Commands


@pytest.fixture
def files(tmp_path):
    def write(name, rows):
        (tmp_path / name).write_text("user,item\n" + "".join(f"{u},{i}\n" for u, i in rows))
        return str(tmp_path / name)

    def write_lists(name, rankings):
        return write(name, [(user, item) for user, items in rankings.items() for item in items])

    truth = write("truth.csv", [(user, item) for user, items in TRUTH.items() for item in items])
    return {"truth": truth, "old": write_lists("old.csv", OLD), "write": write_lists}


def evaluated(files, rankings, name):
    path = files["truth"].replace("truth.csv", name)
    ran = rankmeter("evaluate", files[rankings], files["truth"], "-m", "ndcg@10", "-o", path)
    assert ran.code == 0
    assert "ndcg@10 is" in ran.out
    return path


def test_evaluate_stores_its_result_and_shows_it(files):
    path = evaluated(files, "old", "prod.result")
    assert rm.load_result(path).fingerprints.judged_items == 30


def test_a_gate_remembers_a_result(files):
    prod = evaluated(files, "old", "prod.result")
    worse = files["write"]("worse.csv", lists(2, 0.0))
    gate = f"new not shown within 0.5% of {prod} on ndcg@10"
    call = ["compare", files["truth"], f"new={worse}", "-m", "ndcg@10", "--fail-if", gate]
    ran = rankmeter(*call)
    assert ran.code == 1
    assert "tripped: cannot exclude that new is worse than" in ran.err
    call[2] = f"new={files['old']}"
    assert rankmeter(*call[:-1], gate.replace("0.5%", "20%")).code == 0


def test_two_results_need_no_truth(files):
    prod = evaluated(files, "old", "prod.result")
    files["new"] = files["write"]("new.csv", NEW)
    new = evaluated(files, "new", "new.result")
    gate = "new shown worse than prod on ndcg@10"
    assert rankmeter("compare", prod, new, "--baseline", "prod", "--fail-if", gate).code == 0
    named = rankmeter("compare", f"old={prod}", f"new={new}", "--json").json
    assert named["systems"] == ["old", "new"]


def test_only_evaluations_are_stored(files):
    systems = [f"a={files['old']}", f"b={files['old']}"]
    ran = rankmeter("compare", files["truth"], *systems, "-m", "rr", "-o", "c.result")
    assert ran.code == 2
    assert "only the result of an evaluation is stored" in ran.err


def test_the_command_report_reads_a_stored_result(files):
    prod = evaluated(files, "old", "prod.result")
    read = rankmeter("report", "--read", prod, "--json").json
    assert read == rm.load_result(prod).to_dict()
    assert "ndcg@10" in rankmeter("report", "--read", prod).out


def test_values_of_a_stored_result_are_compared(prod):
    new = rm.evaluate(NEW, TRUTH, METRICS)
    by_file = rm.compare_values({"old": prod, "new": new}, baseline="old")
    by_result = rm.compare_values({"old": rm.load_result(prod), "new": new}, baseline="old")
    assert by_file.to_dict() == by_result.to_dict()
