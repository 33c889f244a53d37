"""The order of systems: sets of ranks that hold together, and pairs that nothing could decide."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl
import pytest
import scipy.stats

import rankmeter as rm
from rankmeter._results.differences import RankSet
from rankmeter._statistics.step_down import Hypotheses, step_down_test
from rankmeter.errors import UsageError

pytestmark = [
    pytest.mark.once,
    pytest.mark.filterwarnings("ignore::rankmeter.errors.RankmeterWarning"),
]


def values_of(seed, n=80, systems=5):
    """Hits or dense values of systems, of which some are better and some equal."""
    rng = np.random.default_rng(seed)
    effect = 0.1 * rng.integers(0, 4, systems)
    if seed % 2:
        table = (rng.random((n, systems)) < 0.2 + effect).astype(float)
    else:
        table = rng.random((n, 1)) + effect + rng.normal(0, 0.3, (n, systems))
    return {f"s{j}": column for j, column in enumerate(table.T)}


def as_rows(found):
    return [tuple(row) for row in found.ranks.rows()]


@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_ranks_are_counts_of_pairs_that_are_shown(seed, lower):
    """By t tests of SciPy, each p times the number of pairs."""
    values = values_of(seed)
    found = rm.compare_values(values, test="t", lower_is_better=lower)
    better = {name: -x.mean() if lower else x.mean() for name, x in values.items()}
    shown = {
        (a, b)
        for a, b in itertools.permutations(values, 2)
        if better[a] > better[b] and 10 * scipy.stats.ttest_rel(values[a], values[b]).pvalue <= 0.05
    }
    rows = [
        (
            name,
            float(values[name].mean()),
            1 + sum(better[other] > better[name] for other in values),
            1 + sum((other, name) in shown for other in values),
            5 - sum((name, other) in shown for other in values),
            not any((other, name) in shown for other in values),
        )
        for name in values
    ]
    expected = sorted(rows, key=lambda row: row[2:5])
    assert found.ranks.columns == ["system", "mean", "rank", "low", "high", "could_be_first"]
    for row, (name, mean, *others) in zip(as_rows(found), expected, strict=True):
        assert row == (name, pytest.approx(mean, rel=1e-12), *others)
    for n in range(1, 6):
        assert found.top(n) == tuple(name for name, _, _, low, *_ in expected if low <= n)


@pytest.mark.parametrize("options", [{}, {"correction": "holm"}, {"test": "t"}])
@pytest.mark.parametrize("seed", range(4))
def test_a_baseline_does_not_change_the_ranks(seed, options):
    values = values_of(seed)
    free = rm.compare_values(values, **options)
    for baseline in values:
        found = rm.compare_values(values, baseline=baseline, **options)
        assert found.leads["value"].ranks == free.leads["value"].ranks
        _, note = (note for note in found.notes if note.startswith("rank: "))
        assert note.endswith(f"(single step over 10 pairs, not only those with {baseline})")


@pytest.mark.parametrize("seed", range(8))
def test_nothing_contradicts_the_ranks(seed):
    """Ranks contain those of the means, and the title names those that could be first."""
    found = rm.compare_values(values_of(seed, n=40))
    sets = found.leads["value"].ranks
    assert all(of.low <= of.rank <= of.high for of in sets.values())
    first = found.top(1)
    assert first == tuple(found.ranks.filter("could_be_first")["system"])
    assert set(first) == set(found.leads["value"].contenders)
    title = found.headline().title
    if "could be first" in title:
        named = title.partition(" could be first")[0]
        many = f"Any of {len(first)} systems"
        assert named == many or named.replace(" or ", ", ") == ", ".join(first)


def test_the_first_metric_decides_and_others_have_their_ranks():
    rng = np.random.default_rng(0)
    rows = [
        {"system": name, "user": user, "metric": metric, "value": x}
        for metric, gain in (("clicks", 0.0), ("loss", 1.0))
        for name, effect in (("a", 0.0), ("b", gain), ("c", 2 * gain))
        for user, x in enumerate(effect + rng.normal(0, 0.3, 50))
    ]
    found = rm.compare_values(pl.DataFrame(rows), lower_is_better="loss")
    assert found.ranks["could_be_first"].all()
    assert found.leads["loss"].ranks == {
        "a": RankSet(1, 1, 1), "b": RankSet(2, 2, 2), "c": RankSet(3, 3, 3),
    }  # fmt: skip
    assert found.top(1) == found.top(1, "clicks") == found.top(3)
    assert found.top(2, "loss") == ("a", "b")
    assert found.to_dict()["ranks"]["loss"]["b"] == {
        "rank": 2, "low": 2, "high": 2, "could_be_first": False,
    }  # fmt: skip


@pytest.mark.parametrize("n", [0, -1, 1.5, "3", True])
def test_top_takes_whole_numbers_from_one(n):
    with pytest.raises(UsageError, match="`n` must be"):
        rm.compare_values(values_of(0)).top(n)


def test_every_look_has_the_column():
    found = rm.compare_values({"A": [1, 1, 1, 1, 1, 0.5, 0.5, 0.5], "B": [0] * 8, "C": [0] * 8})
    assert found.table().columns == ("system", "rank", "value")
    assert [row[1] for row in found.table().rows] == ["1", "2–3", "2–3"]
    assert repr(found).splitlines()[5].split()[:4] == ["b", "B", "2–3", "0.0000"]
    assert "<td>2–3</td>" in found._repr_html_()
    assert "| b B | 2–3 | <ins>0.0000</ins> |" in found.to_markdown()
    assert r"b B & 2--3 & \underline{0.0000} \\" in found.to_latex()


def test_without_a_test_every_rank_is_possible():
    """A single user, and a system without a mean."""
    found = rm.compare_values({"A": {"u": 1.0}, "B": {"u": 0.0}, "C": {"u": 0.5}})
    assert as_rows(found) == [
        ("A", 1.0, 1, 1, 3, True), ("C", 0.5, 2, 1, 3, True), ("B", 0.0, 3, 1, 3, True),
    ]  # fmt: skip
    lost = rm.compare({"A": [["x"]], "B": [["x"]]}, [["y"]], "mr", no_overlap="allow")
    assert as_rows(lost)[0][2:] == (None, 1, 2, True)
    assert lost.top(1) == ("A", "B")
    assert lost.to_dict()["ranks"]["mr"]["A"]["rank"] is None


def test_clusters_and_runs_have_ranks_too():
    rng = np.random.default_rng(1)
    taste = rng.normal(0, 1, (6, 3))
    table = np.repeat(taste, 40, axis=0) + np.array([0, 0.3, 0.6])
    values = {name: dict(enumerate(column)) for name, column in zip("ABC", table.T, strict=True)}
    alone = rm.compare_values(values)
    found = rm.compare_values(values, clusters={user: user // 40 for user in range(240)})
    assert [of.high - of.low for of in found.leads["value"].ranks.values()] == [2, 2, 2]
    assert any(of.high - of.low < 2 for of in alone.leads["value"].ranks.values())
    runs = {
        name: [dict(enumerate(effect + rng.normal(0, 0.1, 30))) for _ in range(3)]
        for name, effect in (("A", 0.0), ("B", 1.0))
    }
    assert rm.compare_values(runs).top(1) == ("B",)


def test_the_note_says_what_holds_together():
    values = values_of(0)
    said = "rank: the places on value that the data allow, "
    together = f"{said}all together (single step over 10 pairs)"
    assert together in rm.compare_values(values).notes
    alone = rm.compare_values(values, correction="none").notes
    assert f"{said}each pair alone (no correction)" in alone


class TestUndecidable:
    @pytest.mark.parametrize("seed", range(6))
    def test_the_least_p_is_that_of_the_best_signs(self, seed):
        """Brute force: every user's differences get every sign, and the test is run again."""
        rng = np.random.default_rng(seed)
        table = np.round(rng.random((6, 3)) * (rng.random((6, 3)) < 0.7), 1 if seed % 2 else 9)
        pairs = [(0, 1), (0, 2), (1, 2)]
        found = step_down_test([Hypotheses(table, pairs)])
        again = [
            step_down_test([Hypotheses(table * np.array(signs)[:, None], pairs)]).single
            for signs in itertools.product([1, -1], repeat=6)
        ]
        assert found.least == pytest.approx(np.min(again, axis=0), abs=1e-12)

    def test_few_users_that_differ_could_not_have_decided(self):
        """Five signs: p is at least 2 / 32; six: 2 / 64."""
        base = np.linspace(0, 1, 40)
        for changed, undecidable in ((5, (("A", "B"),)), (6, ())):
            moved = base.copy()
            moved[:changed] += np.linspace(0.1, 0.2, changed)
            found = rm.compare_values({"A": base, "B": moved})
            assert found.leads["value"].undecidable == undecidable
            said = [note for note in found.notes if note.startswith("no outcome of this study")]
            assert len(said) == len(undecidable)
            assert all(note.endswith("between A and B: too few users differ") for note in said)
            assert found.to_dict()["undecidable"] == {"value": [list(p) for p in undecidable]}

    def test_more_pairs_need_more_users_that_differ(self):
        rng = np.random.default_rng(0)
        base = rng.random(60)
        others = {f"s{j}": rng.random(60) for j in range(8)}
        moved = base.copy()
        moved[:7] += 0.01 * rng.random(7)
        pair = {"A": base, "B": moved}
        assert not rm.compare_values(pair).leads["value"].undecidable
        for options in ({}, {"correction": "holm"}, {"baseline": "s0"}):
            found = rm.compare_values(pair | others, **options)
            assert found.leads["value"].undecidable == (("A", "B"),)
        assert not rm.compare_values(pair | others, correction="none").leads["value"].undecidable
        assert not rm.compare_values(pair | others, test="t").leads["value"].undecidable

    def test_equal_values_are_no_question(self):
        found = rm.compare_values({"A": [0.0] * 20, "B": [0.0] * 20})
        assert not found.leads["value"].undecidable

    def test_many_pairs_are_counted(self):
        base = np.linspace(0, 1, 40)
        values = {f"s{j}": np.where(np.arange(40) == j, base + 0.1, base) for j in range(4)}
        (note,) = (n for n in rm.compare_values(values).notes if n.startswith("no outcome"))
        assert "between s0 and s1; s0 and s2; s0 and s3; and 3 other pairs: too few" in note
