"""Values adjusted for chance, in blocks of users."""

from __future__ import annotations

import pytest
from test_chance import LISTS, TRUTH

import rankmeter as rm

pytestmark = pytest.mark.once


class TestAdjusted:
    truth, lists = TRUTH, LISTS

    options = {"n_items": 20, "relevant": ">0"}

    def test_blocks_keep_the_scale(self):
        from rankmeter._engine import open_data
        from rankmeter._engine.scores import UserValues
        from rankmeter._engine.side import Given
        from rankmeter._evaluation.question import Question
        from rankmeter.conventions._plan import resolve_plan

        plan = resolve_plan("rr(adjusted)@5", choices=self.options)
        parts = []
        for half in (list(self.truth)[:9], list(self.truth)[9:]):
            truth, lists = ({u: both[u] for u in half} for both in (self.truth, self.lists))
            question = Question(truth, "rr(adjusted)@5", None, self.options, Given())
            _, judged, tables, _ = question.read({"s": lists})
            parts.append(open_data(judged, tables).run(plan)["s"])
        whole = rm.evaluate(self.lists, self.truth, "rr(adjusted)@5", **self.options).scores
        assert UserValues.merge(parts).ends == whole.ends
        low, high = whole.ends["rr(adjusted)@5"]
        assert low < 0
        assert high == 1
