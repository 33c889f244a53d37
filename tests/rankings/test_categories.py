"""Polars numbers categories for the whole process: no number depends on what it saw before."""

import random

import polars as pl
import pytest

import rankmeter as rm

N, ITEMS = 300, 14
KEPT = []
"""Categories, which Polars forgets when nothing has them."""


@pytest.fixture(scope="module")
def prefix():
    """Ids whose categories have numbers far apart."""
    name = "far-apart-"
    for user in range(N):
        others = [f"{name}{user}-{n}" for n in range(60)]
        KEPT.append(pl.Series([*others, f"{name}{user}"]).cast(pl.Categorical))
    for item in range(ITEMS):
        others = [f"{name}item-{item}-{n}" for n in range(3000)]
        KEPT.append(pl.Series([*others, f"{name}item{item}"]).cast(pl.Categorical))
    yield name
    KEPT.clear()


def lists(prefix, seed):
    draw = random.Random(seed)
    items = [f"{prefix}item{item}" for item in range(ITEMS)]
    return {f"{prefix}{user}": draw.sample(items, ITEMS) for user in range(N)}


def frame(ranked, *, shuffled):
    rows = [
        (user, item, -float(place))
        for user, items in ranked.items()
        for place, item in enumerate(items)
    ]
    if shuffled:
        random.Random(9).shuffle(rows)
    return pl.DataFrame(rows, ["user", "item", "score"], orient="row")


@pytest.mark.parametrize("shuffled", [False, True], ids=["grouped", "shuffled"])
@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("kind", ["dict", "frame"])
def test_comparisons_have_the_values_of_a_fresh_process(prefix, kind, engine, shuffled):
    systems = {name: lists(prefix, name) for name in ("a", "b", "c")}
    judged = {user: {items[3], items[7]} for user, items in lists(prefix, "truth").items()}
    truth = judged
    if kind == "frame":
        rows = [(user, item) for user, items in judged.items() for item in sorted(items)]
        truth = pl.DataFrame(rows, ["user", "item"], orient="row")
    frames = {name: frame(ranked, shuffled=shuffled) for name, ranked in systems.items()}
    found = rm.compare(frames, truth, ["rr", "ndcg@5"], engine=engine)
    for name, ranked in systems.items():
        first = {
            user: 1 / (1 + min(map(items.index, judged[user]))) for user, items in ranked.items()
        }
        mean = sum(first.values()) / N
        assert found.estimates["rr", name].mean == pytest.approx(mean, abs=1e-12)
        alone = rm.evaluate(frames[name], truth, "rr", engine=engine).per_user
        assert dict(alone.iter_rows()) == pytest.approx(first, abs=1e-12)
