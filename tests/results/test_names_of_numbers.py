"""Names under which numbers are logged."""

from __future__ import annotations

import pytest

from rankmeter._results.result import flatten_numbers, safe_name
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once


class TestNames:
    @pytest.mark.parametrize(
        ("label", "expected"),
        [
            ("ndcg@10", "ndcg_at_10"),
            ("ndcg(gain=exp2)@10", "ndcg_gain_exp2_at_10"),
            ("rbp(p=0.8)", "rbp_p_0_8"),
            ("item kNN, v2.1", "item_kNN_v2_1"),
            ("한국어 모델", "한국어_모델"),
            ("<img src=x>", "img_src_x"),
            ("…", "_"),
        ],
    )
    def test_letters_digits_and_underscores(self, label, expected):
        assert safe_name(label) == expected

    def test_a_name_does_not_start_with_a_digit(self):
        assert list(flatten_numbers([(("2tower", "rr"), {"mean": 1.0})])) == ["_2tower_rr"]

    def test_two_names_never_become_one(self):
        groups = [(("a b", "rr"), {"mean": 1.0}), (("a_b", "rr"), {"mean": 2.0})]
        with pytest.raises(UsageError, match="another name"):
            flatten_numbers(groups)
