"""Scores in matrices give the numbers that tools of link prediction recorded."""

from __future__ import annotations

import json
import re
from pathlib import Path

import inputs
import numpy as np
import pytest
from recordings import answers
from scipy.stats import median_abs_deviation

import rankmeter as rm
from rankmeter.conventions import load_convention
from rankmeter.errors import UnknownMetricError

DATA = Path(__file__).parents[1] / "data"
NATIONS = json.loads((DATA / "pykeen_nations.json").read_text("utf-8"))
NAMES = {
    "arithmetic_mean_rank": "mr",
    "geometric_mean_rank": "gmr",
    "harmonic_mean_rank": "hmr",
    "inverse_harmonic_mean_rank": "mrr",
    "median_rank": "median_rank",
    "hits_at_1": "hits@1",
    "hits_at_3": "hits@3",
    "hits_at_5": "hits@5",
    "hits_at_10": "hits@10",
    "adjusted_arithmetic_mean_rank": "amr",
    "adjusted_arithmetic_mean_rank_index": "amri",
    "adjusted_inverse_harmonic_mean_rank": "amrr",
    "adjusted_hits_at_k": "adjusted_hits@10",
    "z_arithmetic_mean_rank": "zmr",
    "z_inverse_harmonic_mean_rank": "zmrr",
    "z_hits_at_k": "zhits@10",
    "count": "n_relevant(aggregate=sum)",
}


def others(result):
    """What PyKEEN computes from numbers that a result has, as the notes of its profile say."""
    ranks, sizes = result.per_user["mr"], result.per_user["n_ranked"].cast(int).to_list()
    adjusted = rm.adjust({"gmr": result["gmr"].mean}, candidates=sizes, n=len(sizes))
    return {
        "inverse_arithmetic_mean_rank": 1 / result["mr"].mean,
        "inverse_geometric_mean_rank": 1 / result["gmr"].mean,
        "inverse_median_rank": 1 / result["median_rank"].mean,
        "variance": ranks.var(ddof=0),
        "standard_deviation": ranks.std(ddof=0),
        "median_absolute_deviation": median_abs_deviation(ranks, scale="normal"),
        "adjusted_geometric_mean_rank_index": adjusted["agmri"],
        "z_geometric_mean_rank": adjusted["zgmr"],
    }


@pytest.mark.parametrize("kind", ["realistic", "optimistic", "pessimistic"])
@pytest.mark.parametrize("side", ["head", "tail", "both"])
def test_a_model_trained_on_nations_has_the_numbers_of_pykeen(side, kind):
    sides = ["head", "tail"] if side == "both" else [side]
    known = [NATIONS["train"], NATIONS["valid"]]
    queries = rm.link_queries(NATIONS["test"], filters=known, sides=sides)
    scores = np.concatenate([np.array(NATIONS["tenths"][one]) for one in sides])
    asked = [*NAMES.values(), "n_ranked"]
    result = rm.evaluate_scores(scores, queries.target, asked, exclude=queries.exclude, ties=kind)
    means = {name: result[ours].mean for name, ours in NAMES.items()} | others(result)
    theirs = {
        name.removeprefix(f"{side}.{kind}."): value
        for name, value in NATIONS["metrics"].items()
        if name.startswith(f"{side}.{kind}.")
    }
    assert len(theirs) == 25
    for name, value in theirs.items():
        assert means[name] == pytest.approx(value, rel=2e-6, abs=2e-6), name
    with_names = rm.evaluate_scores(
        scores, queries.target, ["inverse_harmonic_mean_rank", "hits_at_3"],
        exclude=queries.exclude, like="pykeen", ties=kind,
    )  # fmt: skip
    assert with_names["hits_at_3"].mean == result["hits@3"].mean


def test_numbers_of_pykeen_that_are_no_metrics_say_how_to_compute_them():
    known = load_convention("pykeen").elsewhere
    result = rm.evaluate_ranks([1, 2, 4], ["mr", "gmr", "median_rank", "n_ranked"], candidates=9)
    assert known.keys() == others(result).keys()
    for name, how in known.items():
        with pytest.raises(UnknownMetricError, match=f"can be computed: {re.escape(how)}"):
            rm.evaluate_ranks([1, 2, 4], name, like="pykeen")


@pytest.mark.parametrize("kind", ["torch", "numpy"])
def test_hits_over_a_pool_are_those_of_ogb(kind):
    recorded = answers("ogb")["cases"]
    compared = 0
    for case in inputs.CASES:
        for name, answer in recorded[case["name"]].get("metrics", {}).items():
            if not name.startswith(f"hits[pool, {kind}]"):
                continue
            positive, pool = [], []
            for user, listed in case["rankings"].items():
                relevant = inputs.relevant_items(case, user)
                for item, score in listed:
                    (positive if item in relevant else pool).append(float(score))
            metric = f"hits@{name.rpartition('@')[2]}"
            got = rm.evaluate_scores(positive, negatives=pool, metrics=metric, like="ogb")
            assert got[metric].mean == pytest.approx(answer["mean"], abs=1e-12), (case, name)
            compared += 1
    assert compared > 5


@pytest.mark.parametrize("setting", ["filtered", "raw"])
@pytest.mark.parametrize("tool", ["pykeen", "libkge", "torchkge"])
def test_ranks_in_a_matrix_are_those_of_the_tools(tool, setting):
    kinds = {
        "pykeen": {"realistic": "realistic", "optimistic": "optimistic"},
        "libkge": {"rounded_mean_rank": "rounded", "worst_rank": "pessimistic"},
        "torchkge": {"": "pessimistic"},
    }[tool]
    recorded = answers(tool)["cases"]
    compared = 0
    for case in inputs.CASES:
        if not case["name"].startswith("full_catalogue"):
            continue
        columns = {item: at for at, item in enumerate(inputs.item_numbers(case))}
        users = sorted(case["truth"])
        scores = np.zeros((len(users), len(columns)))
        for row, user in enumerate(users):
            for item, score in case["rankings"][user]:
                scores[row, columns[item]] = score
        true = [[columns[i] for i in inputs.relevant_items(case, user)] for user in users]
        names = {at: item for item, at in columns.items()}
        for kind, rule in kinds.items():
            label = f"rank[{setting}, {kind}]" if kind else f"rank[{setting}]"
            ranks = recorded[case["name"]]["metrics"][label]["per_user"]
            if setting == "filtered":
                result = rm.evaluate_scores(
                    scores, true, "mr", users=users, ties=rule, like=tool, tolerance=(0, 0)
                )
                got = {
                    f"{u.rpartition('/')[0]}/{names[int(u.rpartition('/')[2])]}": value
                    for u, value in result.per_user.rows()
                }
                assert got == {user: float(rank) for user, rank in ranks.items()}
            else:
                for row, user in enumerate(users):
                    for target in true[row]:
                        alone = rm.evaluate_scores(scores[row : row + 1], [target], "mr", ties=rule)
                        assert alone["mr"].mean == float(ranks[f"{user}/{names[target]}"])
            compared += len(ranks)
    assert compared > 50


@pytest.mark.parametrize("blocks", [1, 3])
@pytest.mark.parametrize(
    ("kind", "rule"),
    [("rounded_mean_rank", None), ("best_rank", "optimistic"), ("worst_rank", "pessimistic")],
)
def test_close_scores_are_tied_as_in_libkge(kind, rule, blocks):
    recorded = json.loads((DATA / "libkge_close.json").read_text("utf-8"))
    scores = (np.array(recorded["millionths"]) / 1e6).astype(np.float32)
    options = {"exclude": recorded["known"], "like": "libkge", "ties": rule}
    parts = np.array_split(scores, blocks, axis=1)
    result = rm.evaluate_scores(parts, recorded["targets"], "mr", **options)
    assert result.per_user["mr"].to_list() == recorded["ranks"][kind]
    assert "tied within 1e-05 + 0.0001" in repr(result)
    exact = rm.evaluate_scores(scores, recorded["targets"], "mr", tolerance=(0, 0), **options)
    assert exact.per_user["mr"].to_list() != recorded["ranks"][kind]
    acc = rm.accumulator("mr", like="libkge", ties=rule)
    for part in np.array_split(np.arange(len(scores)), 4):
        known = [recorded["known"][row] for row in part]
        acc.update(scores=scores[part], target=np.array(recorded["targets"])[part], exclude=known)
    assert acc.compute()["mr"].mean == result["mr"].mean
