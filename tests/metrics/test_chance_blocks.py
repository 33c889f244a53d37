"""Values adjusted for chance, in blocks of users."""

from __future__ import annotations

import numpy as np
import pytest

import rankmeter as rm

pytestmark = pytest.mark.once


RNG = np.random.default_rng(4)


TRUTH = {
    f"u{i}": {f"i{j}": int(RNG.integers(1, 4)) for j in RNG.choice(20, 1 + i % 5, replace=False)}
    for i in range(30)
}


LISTS = {user: [f"i{j}" for j in RNG.permutation(20)[:8]] for user in TRUTH}


class TestAdjusted:
    truth, lists = TRUTH, LISTS

    options = {"n_items": 20, "relevant": ">0"}

    def test_blocks_keep_the_scale(self):
        from rankmeter._engine import open_data
        from rankmeter._engine.scores import Scores
        from rankmeter._engine.side import Given
        from rankmeter._evaluation.question import Question
        from rankmeter.conventions._plan import resolve

        plan = resolve("rr(adjusted)@5", choices=self.options)
        parts = []
        for half in (list(self.truth)[:9], list(self.truth)[9:]):
            truth, lists = ({u: both[u] for u in half} for both in (self.truth, self.lists))
            question = Question(truth, "rr(adjusted)@5", None, self.options, Given())
            _, judged, tables, _ = question.read({"s": lists})
            parts.append(open_data(judged, tables).run(plan)["s"])
        whole = rm.evaluate(self.lists, self.truth, "rr(adjusted)@5", **self.options).scores
        assert Scores.merge(parts).lowest == whole.lowest
        assert whole.lowest["rr(adjusted)@5"] < 0
