"""How often the intervals of aggregate metrics hold the expected number.

    python benchmarks/list_intervals.py --repetitions 2000

Users are drawn from 20,000 made-up ones with lists of 10 of 400 items: popularity follows Zipf's
law, and each user prefers the items of one of eight tastes, which are also the groups of items.
Histories and relevant items are drawn in the same way. The expected number is the mean over all
samples. Prints the table of docs/guide/beyond-accuracy.md.
"""

from __future__ import annotations

import argparse

import numpy as np

from rankmeter._choices import Setting
from rankmeter._engine.scores import Averaged
from rankmeter._evidence.lists import Catalogue, Features, Lists, Popularity, Profiles
from rankmeter._results.estimates import estimate_on_scale
from rankmeter.metrics import METRICS

N_ITEMS, LENGTH, N_USERS, TASTES = 400, 10, 20_000, 8
SIZES = (30, 100, 1_000)


def population(rng):
    """The lists, histories and relevant items of every user, and the taste of each item."""
    popular = -0.9 * np.log(np.arange(1, N_ITEMS + 1))
    taste, kind = rng.integers(0, TASTES, N_USERS), rng.integers(0, TASTES, N_ITEMS)
    liking = popular + 1.5 * (taste[:, None] == kind)

    def drawn():
        noisy = liking + rng.gumbel(size=(N_USERS, N_ITEMS))
        return np.sort(np.argpartition(-noisy, LENGTH, axis=1)[:, :LENGTH], axis=1)

    return (drawn(), drawn(), drawn()), kind


def lists_of(items, good):
    """The lists of some users; the items of `good` are relevant."""
    n, user = len(items), np.repeat(np.arange(len(items)), LENGTH) * N_ITEMS
    relevant = np.isin(user + items.ravel(), user + good.ravel())
    rank = np.tile(np.arange(1, LENGTH + 1), n)
    return Lists(
        np.arange(n + 1) * LENGTH, items.ravel(), rank, relevant.astype(float), relevant, N_ITEMS
    )


def evidence(items, kind, users):
    """What is known of some users."""
    shown, had, good = (each[users] for each in items)
    n, offsets = np.bincount(had.ravel(), minlength=N_ITEMS), np.arange(len(users) + 1) * LENGTH
    return {
        "lists": lists_of(shown, good),
        "relevant": lists_of(good, good),
        "profiles": Profiles(offsets, had.ravel(), np.ones(had.size), N_ITEMS),
        "popularity": Popularity(n, n, len(users), had.size),
        "categories": Features(np.eye(TASTES)[kind], kind >= 0),
        "catalogue": Catalogue(N_ITEMS),
    }


def coverage(name, items, kind, n, repetitions, rng):
    """The share of samples whose interval holds the expected number, and its error."""
    spec = METRICS[name]
    values, bounds = [], []
    for _ in range(repetitions):
        known = evidence(items, kind, rng.integers(0, N_USERS, n))
        state = spec.state(*(known.get(need) for need in spec.needs), None)
        averaged = Averaged(state.influence(), np.arange(n), 0, 0, state)
        found = estimate_on_scale(Setting(), name, (spec.low, spec.high), averaged)
        values.append(found.mean)
        bounds.append(found.interval)
    low, high = np.transpose(bounds)
    expected = np.mean(values)
    share = float(np.mean((low <= expected) & (expected <= high)))
    return share, np.sqrt(share * (1 - share) / repetitions)


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--repetitions", type=int, default=2_000)
    repetitions = parser.parse_args().repetitions
    rng = np.random.default_rng(1)
    items, kind = population(rng)
    names = [name for name, spec in METRICS.items() if spec.whole]
    print("| users |", " | ".join(names), "|")
    print("|---:|", "|".join(["---:"] * len(names)), "|", sep="")
    for n in SIZES:
        cells = [coverage(name, items, kind, n, repetitions, rng) for name in names]
        print(f"| {n:,} |", " | ".join(f"{share:.3f} ± {error:.3f}" for share, error in cells), "|")


if __name__ == "__main__":
    main()
