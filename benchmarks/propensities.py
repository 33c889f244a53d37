"""How far estimates with propensities are from the recall over everything that users like.

    python benchmarks/propensities.py --repetitions 300

Each of 2,000 made-up users likes 20 of 400 items, popular ones a little more often. Item number i
was seen with probability i^-0.6, and only what was seen and is liked is known. Two systems know the
taste equally well: one prefers popular items, the other does not. Prints the table of
docs/guide/debiased.md: the mean of each estimate over samples of users and of what was seen, its
standard deviation, and how often its 95 % interval holds the mean over all liked items.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np
import polars as pl

import rankmeter as rm
from rankmeter.errors import RankmeterWarning

N_ITEMS, N_USERS, LIKED, K = 400, 2_000, 20, 10
SEEN = np.arange(1, N_ITEMS + 1) ** -0.6
METRICS = {
    "recall": f"recall@{K}",
    "snips": f"snips@{K}",
    "snips, pooled": f"snips(aggregate=micro)@{K}",
    "snips, clipped": f"snips(aggregate=micro,clip=10)@{K}",
}


def population(rng):
    """Whether each user likes each item, and the first items of two systems."""
    liking = 0.3 * np.log(SEEN) + rng.gumbel(size=(N_USERS, N_ITEMS))
    liked = np.zeros((N_USERS, N_ITEMS), dtype=bool)
    np.put_along_axis(liked, np.argsort(-liking, axis=1)[:, :LIKED], values=True, axis=1)
    signal = 1.5 * liked + rng.gumbel(size=liking.shape)
    scores = {"popular": signal + 1.5 * np.log(SEEN), "personal": signal}
    return liked, {name: np.argsort(-score, axis=1)[:, :K] for name, score in scores.items()}


def pairs(known):
    """A row for each user and item."""
    user, item = np.nonzero(known)
    return pl.DataFrame({"user": user, "item": item})


def estimates(lists, liked, n, rng):
    """The estimates from what one sample of users has seen."""
    users = rng.choice(N_USERS, n, replace=False)
    known = pairs(liked[users] & (rng.random((n, N_ITEMS)) < SEEN))
    found = rm.evaluate(lists[users], known, [*METRICS.values()], propensity=SEEN)
    return [(one.mean, *one.interval) for one in found.values()]


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repetitions", type=int, default=300)
    repetitions = parser.parse_args().repetitions
    warnings.simplefilter("ignore", RankmeterWarning)
    rng = np.random.default_rng(1)
    liked, systems = population(rng)
    print(f"| users | system | recall@{K} of all liked |", " | ".join(METRICS), "|")
    print("|---:|---|---:|", "|".join(["---:"] * len(METRICS)), "|", sep="")
    for n in (100, 1_000):
        for name, lists in systems.items():
            whole = np.take_along_axis(liked, lists, axis=1).mean() * K / LIKED
            every = [estimates(lists, liked, n, rng) for _ in range(repetitions)]
            mean, low, high = np.moveaxis(every, 2, 0)
            held = ((low <= whole) & (whole <= high)).mean(axis=0)
            cells = zip(mean.mean(axis=0), mean.std(axis=0), held, strict=True)
            shown = [f"{m:.3f} ± {sd:.3f}, {share:.0%}" for m, sd, share in cells]
            print(f"| {n:,} | {name} | {whole:.3f} |", " | ".join(shown), "|", flush=True)


if __name__ == "__main__":
    main()
