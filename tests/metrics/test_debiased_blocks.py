"""Debiased metrics do not depend on the order of rows or on the blocks of users."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import cases
import rankmeter as rm
from rankmeter._engine.memory import Memory

STRATA = [f"stratum_recall(stratum={one})@3" for one in ("head", "middle", "tail")]


EVERY = ["snips@2", "ips@2", "snips(gamma=1.5)@2", "ips(gamma=1,cold=rarest)@3",
         "snips(discount=log2,clip=3)", *STRATA]  # fmt: skip


@pytest.mark.once
@pytest.mark.parametrize("ties", ["item", "expected", "optimistic", "pessimistic"])
def test_the_order_of_the_rows_and_the_blocks_change_no_bit(ties, monkeypatch):
    rankings, truth, side = cases.with_side(2, ties=True)
    other, _, _ = cases.with_side(4)
    rng = np.random.default_rng(0)
    given = {"train": side.train, "propensity": side.propensity, "ties": ties}

    def rows(data, name):
        found = [(u, i, x) for u, own in data.items() for i, x in own.items()]
        order = rng.permutation(len(found))
        return pl.DataFrame([found[n] for n in order], schema=["user", "item", name], orient="row")

    def answers():
        r, t = rows(rankings, "score"), rows(truth, "gain")
        result = rm.evaluate(r, t, ["rr", *EVERY], **given)
        compared = rm.compare({"a": r, "b": rows(other, "score")}, t, EVERY, **given)
        curve = rm.curve(r, t, "snips(gamma=1)", 3, **given)
        return result.per_user.rows(), result.to_json(), compared.to_json(), curve.frame.rows()

    whole = answers()
    monkeypatch.setattr("rankmeter._engine.ENGINE", Memory(5))
    assert answers() == whole
    names = {user: own for user, own in rankings.items() if own}
    listed = rm.evaluate(names, truth, EVERY, **given)
    assert listed.per_user.rows() == rm.evaluate(rows(names, "score"), truth, EVERY,
                                                 **given).per_user.rows()  # fmt: skip
