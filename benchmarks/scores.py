"""Matrices of scores: the time of evaluate_scores next to plain array code and torchmetrics.

    python benchmarks/scores.py --rounds 9
    python benchmarks/scores.py --rounds 9 --device cuda

Both sides take turns in one process. The plain code counts the scores above and equal to the
target's score and averages reciprocal ranks and hits at 10: no check, no interval, no result.
Prints medians and the ratios of each round to the plain code, as median (lowest to highest).
"""

from __future__ import annotations

import argparse
import statistics
import time
import warnings

import numpy as np

import rankmeter as rm

SHAPES = [(8_000, 40), (2_000, 14_541), (512, 100_000)]
METRICS = ["mrr", "hits@10"]
TURNS = {40: 10}  # calls in one timing, by the number of columns; otherwise one


def plain(scores, target):
    """Reciprocal rank and hits at 10 in a few lines."""
    own = scores[np.arange(len(target)), target][:, None]
    rank = ((scores > own).sum(1) + (scores >= own).sum(1) + 1) / 2
    return float((1 / rank).mean()), float((rank <= 10).mean())


def plain_tensor(scores, target):
    """The same on the device of a tensor."""
    own = scores.gather(1, target[:, None])
    rank = ((scores > own).sum(1) + (scores >= own).sum(1) + 1).double() / 2
    return float((1 / rank).mean()), float((rank <= 10).double().mean())


def means(scores, target):
    """What users write."""
    found = rm.evaluate_scores(scores, target, METRICS)
    return found["mrr"].mean, found["hits@10"].mean


def updated(scores, target):
    """The same through an accumulator, as in training loops."""
    loop = rm.accumulator(METRICS, keep="moments")
    loop.update(scores=scores, target=target)
    found = loop.compute()
    return found["mrr"].mean, found["hits@10"].mean


def torchmetrics(scores, target):
    """The same by torchmetrics, which wants one row for each cell."""
    import torch
    from torchmetrics.retrieval import RetrievalHitRate, RetrievalMRR

    wanted = torch.nn.functional.one_hot(target, scores.shape[1]).flatten()
    query = torch.arange(len(target), device=scores.device).repeat_interleave(scores.shape[1])
    found = []
    for metric in (RetrievalMRR(), RetrievalHitRate(top_k=10)):
        there = metric.to(scores.device)
        there.update(scores.flatten(), wanted, indexes=query)
        found.append(float(there.compute()))
    return tuple(found)


def contenders(shape, device):
    """The calls to time, the plain one first, and the inputs of each."""
    rng = np.random.default_rng(0)
    scores = rng.random(shape, dtype=np.float32)
    target = rng.integers(0, shape[1], shape[0])
    arrays = (scores, target)
    calls = {"plain": (plain, arrays), "evaluate_scores": (means, arrays)}
    calls["accumulator"] = (updated, arrays)
    if device:
        import torch

        arrays = tuple(torch.tensor(one, device=device) for one in arrays)
        calls = {name: (call, arrays) for name, (call, _) in calls.items()}
        calls["plain"] = (plain_tensor, arrays)
        if shape[1] < 100:
            calls["torchmetrics"] = (torchmetrics, arrays)
    return calls


def seconds(call, arrays, turns):
    """The mean time of some calls; they end with numbers in Python, so the device has ended."""
    begun = time.perf_counter()
    for _ in range(turns):
        call(*arrays)
    return (time.perf_counter() - begun) / turns


def main():
    """Run all shapes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--device", default="", help="a device of PyTorch [NumPy arrays]")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    for shape in SHAPES:
        calls = contenders(shape, asked.device)
        answers = {name: call(*arrays) for name, (call, arrays) in calls.items()}
        for name, answer in answers.items():
            np.testing.assert_allclose(answer, answers["plain"], rtol=1e-5, err_msg=name)
        times = {name: [] for name in calls}
        for _ in range(asked.rounds):
            for name, (call, arrays) in calls.items():
                turns = TURNS.get(shape[1], 1) if name != "torchmetrics" else 1
                times[name].append(seconds(call, arrays, turns))
        print(f"{shape[0]:,} × {shape[1]:,}, {asked.device or 'NumPy'}")
        for name, found in times.items():
            ratios = [one / base for one, base in zip(found, times["plain"], strict=True)]
            print(
                f"  {name:<16} {statistics.median(found) * 1e3:9.2f} ms   "
                f"{statistics.median(ratios):6.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
            )


if __name__ == "__main__":
    main()
