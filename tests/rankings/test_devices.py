"""Scores in memory of another device: its library counts the same, and only integers leave it.

PyTorch on the CPU and the strict array API are everywhere; accelerators are found.
"""

from __future__ import annotations

import array_api_strict
import numpy as np
import pytest
from test_scores import RULES, SCORES, TARGET, mask_of

import cases
import rankmeter as rm
from rankmeter._scores import arrays as _arrays
from rankmeter._scores import cells as _cells
from rankmeter._scores import known_ranks as _samples
from rankmeter._scores import score_counts as _counting
from rankmeter._scores import scores as _scores
from rankmeter.errors import DataError, InvalidValueError


def _found():
    """Functions that put an array of NumPy on a device, by its name."""
    found = {"array API": array_api_strict.asarray}
    try:
        import torch

        found["PyTorch on the CPU"] = torch.tensor
        if torch.cuda.is_available():
            found["PyTorch on CUDA"] = lambda array: torch.tensor(array, device="cuda")
    except ImportError:
        pass
    try:
        import cupy

        cupy.zeros(1)
        found["CuPy"] = cupy.asarray
    except (ImportError, RuntimeError):  # CuPy or the driver is missing
        pass
    try:
        import jax

        if jax.default_backend() != "cpu":
            jax.config.update("jax_enable_x64", val=True)
            found["JAX"] = jax.numpy.asarray
    except ImportError:
        pass
    return found


DEVICES = _found()


@pytest.fixture(params=DEVICES)
def device(request, monkeypatch):
    """Puts arrays on a device; tensors of the CPU are treated as if it were another device."""

    def asarray(data, name):
        return data.detach() if _arrays.is_torch(data) else _arrays.asarray(data, name)

    for module in (_cells, _samples, _scores):
        monkeypatch.setattr(module, "asarray", asarray)
    return DEVICES[request.param]


@pytest.fixture
def fetched(monkeypatch):
    """The types of all arrays that left a device."""
    kinds = set()

    def host(array):
        found = _arrays.to_numpy(array)
        if not isinstance(array, np.ndarray):
            kinds.add(found.dtype.kind)
        return found

    for module in (_cells, _counting, _samples, _scores):
        monkeypatch.setattr(module, "to_numpy", host)
    return kinds


def same(got, want):
    np.testing.assert_array_equal(got.scores.matrix, want.scores.matrix)
    assert got.cautions == want.cautions


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("each", [True, False])
def test_counts_are_those_of_numpy(device, fetched, rule, each):
    rng = np.random.default_rng(5)
    scores = rng.integers(0, 5, (9, 7)) / 4
    targets = [rng.permutation(7)[: rng.integers(0, 4)].tolist() for _ in range(9)]
    known = [[i for i in range(7) if i not in t][:2] for t in targets]
    own = [sorted({*t, 0, 1, 2}) for t in targets]
    options = {"each": each, "ties": rule}
    metrics = ["mr", "map"] if each or rule not in cases.SHARED else ["mr", "auc"]
    want = rm.evaluate_scores(scores, targets, metrics, exclude=known, **options)
    there = device(scores)
    for form in (there, [there[:, :3], there[:, 3:]], (there, device(np.eye(7)))):
        for known_cells in (known, device(mask_of(known, scores.shape))):
            same(rm.evaluate_scores(form, targets, metrics, exclude=known_cells, **options), want)
    want = rm.evaluate_scores(scores, targets, metrics, candidates=own, **options)
    same(rm.evaluate_scores(there, targets, metrics, candidates=own, **options), want)
    assert fetched <= set("iub")


@pytest.mark.parametrize("rule", ["optimistic", "realistic", "pessimistic"])
def test_negatives_are_counted_where_they_are(device, fetched, rule):
    rng = np.random.default_rng(6)
    positive, own = rng.integers(0, 5, 9) / 4, rng.integers(0, 5, (9, 7)) / 4
    for negatives in (own, own[0]):
        want = rm.evaluate_scores(positive, negatives=negatives, metrics="mr", ties=rule)
        got = rm.evaluate_scores(
            device(positive), negatives=device(negatives), metrics="mr", ties=rule
        )
        same(got, want)
    assert fetched <= set("iub")


@pytest.mark.parametrize("keep", ["values", "moments"])
def test_batches_add_up_to_the_whole(device, keep):
    rng = np.random.default_rng(7)
    scores, target = rng.integers(0, 9, (40, 11)) / 8, rng.integers(0, 11, 40)
    whole = rm.evaluate_scores(scores, target, ["mrr", "hits@3"])
    parts = rm.accumulator(["mrr", "hits@3"], keep=keep)
    for start in range(0, 40, 16):
        rows = slice(start, start + 16)
        parts.update(scores=device(scores[rows]), target=device(target[rows]))
    found = parts.compute()
    for name in ("mrr", "hits@3"):
        assert found[name].mean == pytest.approx(whole[name].mean, abs=1e-15)


@pytest.mark.filterwarnings("ignore:.*of the targets are tied")
def test_bad_scores_are_found(device):
    scores = SCORES.copy()
    scores[4, 2] = np.nan
    with pytest.raises(InvalidValueError, match="score of row 4 and column 2 is nan"):
        rm.evaluate_scores(device(scores), TARGET)
    for bad in ("drop", "worst"):
        want = rm.evaluate_scores(scores, TARGET, "mr", bad_scores=bad)
        same(rm.evaluate_scores(device(scores), TARGET, "mr", bad_scores=bad), want)


@pytest.mark.filterwarnings("ignore:.*of the targets are tied")
@pytest.mark.once
def test_few_digits_are_noticed():
    torch = pytest.importorskip("torch")
    half = torch.tensor(SCORES).bfloat16()
    assert "bfloat16" in rm.evaluate_scores(half, TARGET, "mr").cautions[0]


def test_scores_are_compared_in_the_type_asked_for(device):
    close = device(np.array([[1.0, 1 + 1e-12]]))
    assert rm.evaluate_scores(close, [0], "mr")["mr"].mean == 2
    assert rm.evaluate_scores(close, [0], "mr", score_type="float32")["mr"].mean == 1.5


def test_arrays_of_two_places_are_refused(device):
    here, there = np.array([0.5]), device(np.array([[0.6, 0.5]]))
    with pytest.raises(DataError, match="`positive` and `negatives` must be on one device"):
        rm.evaluate_scores(here, negatives=there, metrics="mr")
    with pytest.raises(DataError, match="factors must be on one device"):
        rm.evaluate_scores((np.ones((2, 2)), there), [0, 0], "mr")
    with pytest.raises(DataError, match="blocks must be on one device"):
        rm.evaluate_scores([np.ones((1, 2)), there], [0], "mr")
