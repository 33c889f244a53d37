"""The search for a number lists the tools that many use first."""

import pytest

import rankmeter as rm
from rankmeter.conventions import convention_names
from rankmeter.conventions._profiles import WIDELY_USED

pytestmark = pytest.mark.once


class TestNames:
    RANKINGS = {"ann": {"a": 3.0, "b": 2.0, "x": 1.0}, "bob": {"y": 2.0, "c": 1.0}}

    TRUTH = {"ann": {"b": 1, "z": 2}, "bob": {"c": 3}}

    def test_a_search_lists_widely_used_tools_first(self):
        found = rm.explain(self.RANKINGS, self.TRUTH, "recall@2", target=0.75)
        tools = [match.convention for match in found.matches if not match.switches]
        assert tools[0] == "rankmeter"
        known = [tool for tool in tools[1:] if tool in WIDELY_USED]
        assert len(known) > 3
        assert known == sorted(known, key=WIDELY_USED.index) == tools[1 : len(known) + 1]
        assert set(WIDELY_USED) <= set(convention_names())
