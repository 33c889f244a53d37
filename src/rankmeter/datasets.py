"""Ratings for examples and tests: MovieLens from the source checkout, and synthetic ones."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from rankmeter._reading.memory import check_memory
from rankmeter._reading.read import read_interactions
from rankmeter.errors import DataError, UsageError
from rankmeter.errors._checks import check_integer, check_number
from rankmeter.splits._chance import draw_random_bits, scramble_bits

__all__ = ["movielens", "movielens_items", "synthetic", "synthetic_items"]

_FOLDER = Path("examples") / "ml-latest-small"
_CHECKOUT = Path(__file__).resolve().parents[2]
_PER_RATING = 32
"""Bytes for each rating while it is made, at least."""
_CELLS = 2_000_000  # users × items processed at a time
_OWN_TASTE = 50.0  # how much more often an item of the own taste is drawn
_DAY = 86_400
_NEW_YEAR_2020 = 1_577_836_800
_GENRES = (
    "Adventure", "Animation", "Biography", "Comedy", "Concert", "Crime", "Documentary", "Drama",
    "Family", "Fantasy", "History", "Horror", "Music", "Mystery", "Nature", "Romance",
    "Science fiction", "Sport", "Thriller", "Western",
)  # fmt: skip
"""Names of the first tastes."""
_FIRST = (
    "Amber", "Blue", "Broken", "Distant", "Empty", "First", "Frozen", "Golden", "Hidden", "Hollow",
    "Last", "Little", "Lonely", "Lost", "Midnight", "Northern", "Old", "Open", "Paper", "Quiet",
    "Red", "Second", "Secret", "Silent", "Silver", "Sleeping", "Small", "Stolen", "Stone", "Sunken",
    "Third", "Velvet", "Wandering", "White", "Wild", "Winter", "Wooden", "Yellow", "Young",
)  # fmt: skip
_SECOND = (
    "Bridge", "Castle", "City", "Clock", "Crossing", "Dance", "Door", "Dream", "Field", "Fire",
    "Forest", "Garden", "Gate", "Harbour", "House", "Island", "Journey", "Key", "Lake", "Letter",
    "Light", "Map", "Market", "Mirror", "Mountain", "Night", "Orchard", "Promise", "River", "Road",
    "Room", "Sea", "Shadow", "Song", "Station", "Storm", "Street", "Summer", "Tower", "Train",
    "Valley", "Voice", "Wall", "Window",
)  # fmt: skip
"""Words of made-up titles."""


def movielens(path: str | Path | None = None) -> pl.DataFrame:
    """Read the MovieLens ratings that the source checkout holds.

    610 users gave 9,724 movies 100,836 ratings from half a star to five, from 1996 to 2018. Cite
    F. Maxwell Harper and Joseph A. Konstan (2015), "The MovieLens datasets: history and context",
    ACM TiiS 5, 4: 19; ``README.txt`` in the same folder holds the license.

    Parameters
    ----------
    path : str or Path, optional
        ``ratings.csv`` of a MovieLens data set, or the folder that holds it. Without it,
        ``examples/ml-latest-small`` of the checkout or of the current directory.

    Returns
    -------
    polars.DataFrame
        ``user``, ``item``, ``rating``, and ``time`` in seconds since 1970.

    Raises
    ------
    DataError
        The ratings are not there: the package does not include them.

    Examples
    --------
    >>> movielens().head(2).rows()
    [(1, 1, 4.0, 964982703), (1, 3, 4.0, 964981247)]
    """
    return read_interactions(_find_file(path, "ratings.csv"))


def _find_file(path: str | Path | None, name: str) -> Path:
    """Find a file by name in the folder of the data set."""
    places = [Path(path)] if path is not None else [_CHECKOUT / _FOLDER, Path.cwd() / _FOLDER]
    files = [folder / name if folder.is_dir() else folder for folder in places]
    for file in files:
        if file.is_file():
            return file
    raise DataError(
        f"found no MovieLens ratings at {' or '.join(map(str, files))}. The package does not "
        f"include them: download the data set ml-latest-small from GroupLens, "
        "https://grouplens.org/datasets/movielens/, and keep its README.txt, which is its license, "
        "with it; or use rankmeter.datasets.synthetic(), which makes up ratings, or "
        "`rankmeter demo --ratings FILE` on any other ratings"
    )


def movielens_items(path: str | Path | None = None) -> pl.DataFrame:
    """Read the titles and genres of the MovieLens movies that the source checkout holds.

    Parameters
    ----------
    path : str or Path, optional
        ``movies.csv`` of a MovieLens data set, or the folder that holds it. Without it, as for
        `movielens`.

    Returns
    -------
    polars.DataFrame
        ``item``, ``title`` and ``category``, the list of its genres, which may be empty.

    Raises
    ------
    DataError
        The movies are not there: the package does not include them.

    Examples
    --------
    >>> movielens_items().row(0)[:2]
    (1, 'Toy Story (1995)')
    """
    movies = pl.read_csv(_find_file(path, "movies.csv"))
    genres = pl.col("genres").str.split("|")
    return movies.select(
        item="movieId",
        title="title",
        category=genres.list.eval(pl.element().filter(pl.element() != "(no genres listed)")),
    )


def synthetic(
    *,
    n_users: int = 1000,
    n_items: int = 2000,
    n_per_user: int = 20,
    exponent: float = 1.0,
    n_tastes: int = 20,
    uneven: float = 0.75,
    seed: int = 0,
) -> pl.DataFrame:
    """Make up ratings in which few items are popular, and users with one taste rate alike.

    Few users are very active, as in real data. `synthetic_items` names the items.

    Parameters
    ----------
    n_users, n_items : int
        Users and items, with the ids 1, 2, …; an item that is never drawn does not occur.
    n_per_user : int
        Mean number of ratings of a user, all of different items.
    exponent : float
        Exponent of Zipf's law: the r-th most popular item is drawn with a probability proportional
        to 1 / r^exponent. At 0 all items are equally popular. The ids do not reveal which items are
        popular.
    n_tastes : int
        Each user and each item has one of `n_tastes` tastes. A user draws items with the same taste
        50 times as often as other items of the same popularity, and rates them half a star higher.
        So models that learn beat popularity, as they do on real ratings. With 1 all users are
        alike.
    uneven : float
        How much users differ in activity, from 0 to 1. A user has `n_per_user` times
        (1 - `uneven`) + `uneven` · x ratings, where x is exponential with mean 1, rounded, at least
        one and at most `n_items`. At 0 every user has `n_per_user`.
    seed : int
        The same seed makes the same ratings, also in other versions of NumPy and Polars.

    Returns
    -------
    polars.DataFrame
        ``user``, ``item``, ``rating`` (0.5, 1, …, 5), ``time`` (seconds since 1970), by user and
        time. Ratings depend on the item, on the taste and on chance; a user starts somewhere in
        2020 and rates every other day or so.

    Raises
    ------
    UsageError
        A number is out of range, or `n_per_user` is greater than `n_items`.
    NotEnoughMemoryError
        The ratings do not fit into memory.

    Notes
    -----
    A user's items are the first arrivals of a race in which every item starts and
    waits for an exponential time, short if it is popular: this draws without replacement. Work is
    proportional to `n_users` · `n_items`, about a second for 1,000 by 40,000.

    Examples
    --------
    >>> ratings = synthetic(n_users=3, n_items=10, n_per_user=4, uneven=0)
    >>> ratings.shape, ratings.columns
    ((12, 4), ['user', 'item', 'rating', 'time'])
    >>> ratings["item"].to_list()
    [8, 1, 10, 6, 10, 6, 1, 7, 4, 2, 1, 3]
    """
    n_users = check_integer("n_users", n_users, least=1)
    n_items = check_integer("n_items", n_items, least=1)
    n_per_user = check_integer("n_per_user", n_per_user, least=1)
    n_tastes = check_integer("n_tastes", n_tastes, least=1)
    uneven = check_number("uneven", uneven, least=0, most=1)
    n = n_users * n_per_user
    check_memory((n + n_items) * _PER_RATING, f"Making {n:,} ratings of {n_items:,} items")
    if n_per_user > n_items:
        raise UsageError(f"`n_per_user` must be at most `n_items`, got {n_per_user} > {n_items}")
    check_number("exponent", exponent, least=0)
    ids = pl.Series(np.arange(1, n_items + 1))
    by_popularity = np.argsort(draw_random_bits(seed, ids)) + 1
    popularity = np.arange(1, n_items + 1, dtype=np.float64) ** -exponent
    chance = draw_random_bits(seed, pl.Series(np.arange(1, n_users + 1)))
    n_ratings = _activity(chance, n_per_user, n_items, uneven)
    user = np.repeat(np.arange(1, n_users + 1), n_ratings)
    taste_of_user = scramble_bits(~scramble_bits(chance)) % np.uint64(n_tastes)
    taste_of_item = _tastes(by_popularity, n_tastes, seed)
    step = max(_CELLS // n_items, 1)
    races = []
    for start_user in range(0, n_users, step):
        users = slice(start_user, start_user + step)
        is_own = taste_of_user[users, None] == taste_of_item
        appeal = popularity * np.where(is_own & (n_tastes > 1), _OWN_TASTE, 1.0)
        places = np.arange(n_ratings[users].max())
        race = _first_arrivals(chance[users], appeal, len(places))
        races.append(race[places < n_ratings[users, None]])
    popularity_rank = np.concatenate(races)
    item = by_popularity[popularity_rank]
    pair = draw_random_bits(seed, pl.Series(user), pl.Series(item))
    quality = _bell_shaped_numbers(draw_random_bits(seed, pl.Series(item)))
    liking = 3.5 + quality + _bell_shaped_numbers(pair)
    if n_tastes > 1:
        liking += np.where(taste_of_item[popularity_rank] == taste_of_user[user - 1], 0.25, -0.25)
    start = _NEW_YEAR_2020 + (scramble_bits(~chance) % np.uint64(366 * _DAY)).astype(np.int64)
    pause = (scramble_bits(~pair) % np.uint64(4 * _DAY)).astype(np.int64) + 1
    passed = pause.cumsum()
    before = np.repeat((passed - pause)[n_ratings.cumsum() - n_ratings], n_ratings)
    time = np.repeat(start, n_ratings) + passed - before
    rating = np.clip(np.round(2 * liking) / 2, 0.5, 5)
    return pl.DataFrame({"user": user, "item": item, "rating": rating, "time": time})


def synthetic_items(*, n_items: int = 2000, n_tastes: int = 20, seed: int = 0) -> pl.DataFrame:
    """Name the items of `synthetic`: made-up titles, and their tastes as categories.

    Parameters
    ----------
    n_items, n_tastes, seed : int
        Those of `synthetic`.

    Returns
    -------
    polars.DataFrame
        ``item``, ``title``, different for all items, and ``category``, a list with the taste.

    Raises
    ------
    UsageError
        A number is out of range.

    Examples
    --------
    >>> synthetic_items(n_items=2).rows()
    [(1, 'Amber Bridge', ['Thriller']), (2, 'Blue Castle', ['Music'])]
    """
    n_items = check_integer("n_items", n_items, least=1)
    n_tastes = check_integer("n_tastes", n_tastes, least=1)
    check_memory(n_items * _PER_RATING, f"Naming {n_items:,} items")
    item = np.arange(1, n_items + 1)
    genres = [*_GENRES, *(f"Taste {n + 1}" for n in range(len(_GENRES), n_tastes))]
    return pl.DataFrame(
        {
            "item": item,
            "title": [_title(number) for number in range(n_items)],
            "category": [[genres[taste]] for taste in _tastes(item, n_tastes, seed).tolist()],
        }
    )


def _title(number: int) -> str:
    """A title for each number: all pairs of two words first, then those pairs with a number."""
    rest, second = divmod(number, len(_SECOND))
    part, first = divmod(rest, len(_FIRST))
    words = f"{_FIRST[(first + second) % len(_FIRST)]} {_SECOND[second]}"
    return f"{words} {part + 1}" if part else words


def _tastes(items: NDArray[np.int64], n_tastes: int, seed: int) -> NDArray[np.uint64]:
    """The taste of each item, from 0."""
    tastes: NDArray[np.uint64] = scramble_bits(~draw_random_bits(seed, pl.Series(items)))
    return tastes % np.uint64(n_tastes)


def _activity(
    chance: NDArray[np.uint64], n_per_user: int, n_items: int, uneven: float
) -> NDArray[np.int64]:
    """The number of ratings of each user."""
    x = -np.log(_uniform_numbers(scramble_bits(chance ^ np.uint64(1))))
    n = np.rint(n_per_user * (1 - uneven + uneven * x))
    return np.clip(n, 1, n_items).astype(np.int64)


def _first_arrivals(
    chance: NDArray[np.uint64], appeal: NDArray[np.float64], n: int
) -> NDArray[np.int64]:
    """Find the items that arrive first for each user: (users, n) columns of `appeal`."""
    lane = np.arange(appeal.shape[1], dtype=np.uint64)
    arrival = -np.log(_uniform_numbers(scramble_bits(chance[:, None] ^ lane))) / appeal
    first = np.argpartition(arrival, n - 1, axis=1)[:, :n]
    order = np.argsort(np.take_along_axis(arrival, first, axis=1), axis=1)
    return np.take_along_axis(first, order, axis=1)


def _uniform_numbers(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Convert words to numbers between 0 and 1, both excluded."""
    return ((words >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def _bell_shaped_numbers(words: NDArray[np.uint64]) -> NDArray[np.float64]:
    """Convert words to numbers with mean 0 and standard deviation 0.75: sums of uniform numbers."""
    total = np.full(len(words), -1.5)
    for _ in range(3):
        words = scramble_bits(words)
        total += _uniform_numbers(words)
    return 1.5 * total
