"""The whole job on the MovieLens ratings: split, recommend, evaluate, compare, write a report.

``rankmeter demo`` runs this file; so does ``python examples/demo.py [RATINGS [FOLDER]]``.
"""

from __future__ import annotations

import json
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

import rankmeter as rm

CUTOFFS = (1, 5, 10, 20, 50, 100)
MAIN = "ndcg@10"
SHOWN = ("popularity", "random", "item-knn", "svd")
"""The systems of which the lists themselves are measured."""
TOOLS = {
    "recbole": "RecBole", "rectools": "RecTools", "lenskit": "LensKit", "sklearn": "scikit-learn"
}  # fmt: skip
LIKED = 4
"""From this rating on an item is relevant, if ratings go up to 5."""
NEW = 10
"""One user in so many is new to the models."""

Part = str | tuple[str, pl.DataFrame]
"""Lines to print, or the title and the cells of a table."""


def demo(ratings: str | None = None, folder: str = "demo") -> Iterator[Part]:
    """Run the job, write train, test, rankings, results and report, and yield what to print."""
    data, items, made_up = _read(ratings)
    held = rm.splits.holdout(data, ratio=0.2)
    test, new = held.test, _new_users(held.test)
    train = held.train.filter(~pl.col("user").is_in(new.implode()))
    rankings = _recommend(train, data["user"].unique(), new)

    graded = "rating" in data.columns and data["rating"].max() == 5
    options: dict[str, Any] = {"relevant": f">={LIKED}" if graded else ">0"}
    options["no_overlap"] = "allow"
    metrics = [*(f"ndcg@{k}" for k in CUTOFFS), "recall@10", "mrr@10"]
    results = {
        name: rm.evaluate(ranked, test, metrics, **options) for name, ranked in rankings.items()
    }
    of_lists = ["coverage@10", "gini@10", "novelty@10"]
    side: dict[str, Any] = {"train": train, "catalogue": data["item"].unique()}
    if items is not None:
        of_lists += ["ild@10", "calibration@10"]
        side["items"] = items
    activity = rm.by_activity(train, bins=3, users=test)
    comparison = rm.compare(
        rankings, test, [MAIN, "recall@10", *of_lists], baseline=next(iter(rankings)),
        segments=activity, **options, **side,
    )  # fmt: skip

    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    for name, frame in {"train": train, "test": test, **rankings}.items():
        frame.write_csv(place / f"{name}.csv")
    numbers = {"schema": 1, "baselines": {name: r.to_dict() for name, r in results.items()}}
    (place / "results.json").write_text(json.dumps(numbers), "utf-8")
    try:
        comparison.report(place / "report.html")
        report = f"the report is {place / 'report.html'}: open it in a browser"
    except rm.errors.MissingDependencyError as error:
        report = f"there is no report: {error}"

    if made_up:
        yield "The MovieLens ratings are not installed: these ratings are made up.\n"
    yield f"{rm.describe(data)!r}\n\n{held!r}\n"
    if len(new):
        cold = test.filter(pl.col("user").is_in(new.implode())).height
        yield _paragraph(
            f"One user in {NEW} is new: the other {held.train.height - train.height:,} ratings of "
            f"{len(new)} users are not in train, which leaves {train.height:,}, and test has "
            f"{cold:,} of their ratings. Models that learn know nothing of these users and give "
            "them the most popular items."
        )
    headline = comparison.headline(MAIN)
    yield "\n".join(map(_paragraph, (f"{headline.title}.", headline.sentences[0]))) + "\n"
    yield from _accuracy(results)
    shown = {name: results[name] for name in rankings if name in SHOWN}
    yield _by_segment(shown, activity)
    means = comparison.estimates
    rows = [[name, *(_number(means[m, name].mean) for m in (MAIN, *of_lists))] for name in shown]
    yield "The trade-off: accuracy, and what is shown", _table(["system", MAIN, *of_lists], rows)
    best = max(results, key=lambda name: results[name][MAIN].mean)
    yield _conventions(best, rankings[best], test, options)
    liked = test.filter(pl.col("rating") >= LIKED) if graded else test
    titles = {} if items is None else dict(items.select("item", "title").iter_rows())
    yield from _typical_user(best, rankings[best], liked, titles)
    yield f"train, test, rankings and results.json are in {folder}"
    yield report


def _read(ratings: str | None) -> tuple[pl.DataFrame, pl.DataFrame | None, bool]:
    """Ratings, the items if they are known, and whether both are made up."""
    if ratings is not None:
        return rm.datasets.movielens(ratings), None, False
    try:
        return rm.datasets.movielens(), rm.datasets.movielens_items(), False
    except rm.errors.DataError:  # not installed
        return rm.datasets.synthetic(), rm.datasets.synthetic_items(), True


def _new_users(test: pl.DataFrame) -> pl.Series:
    """Users who are new to the models, a tenth; none of few users."""
    few = test["user"].n_unique() < NEW
    rows: pl.DataFrame = test.clear() if few else rm.splits.k_fold(test, k=NEW)[0].test
    return rows["user"].unique()


def _recommend(train: pl.DataFrame, users: pl.Series, new: pl.Series) -> dict[str, pl.DataFrame]:
    """Top 100 items of each baseline that the columns of the ratings allow.

    New users, if a model has no list for them, get the most popular items.
    """
    usual = rm.baselines.popularity(train, users=new) if len(new) else None
    rankings = {}
    for name, recommend in rm.baselines.BASELINES.items():
        try:
            lists = recommend(train, users=users)
        except rm.errors.ColumnError as error:
            warnings.warn(f"{name} is left out: {error}", rm.errors.RankmeterWarning, stacklevel=2)
            continue
        if usual is not None:
            lists = pl.concat([lists, usual.join(lists, on="user", how="anti")])
        rankings[name] = lists.sort("user", "rank")
    return rankings


def _accuracy(results: Mapping[str, rm.Summary]) -> Iterator[Part]:
    """Tables of the metrics with their intervals, and of the main metric against the cutoff."""
    metrics = [MAIN, "recall@10", "mrr@10"]
    rows = [[name, *(_with_interval(r[m]) for m in metrics)] for name, r in results.items()]
    yield "Who wins: means with their 95 % intervals", _table(["system", *metrics], rows)
    rows = [[name, *(_number(r[f"ndcg@{k}"].mean) for k in CUTOFFS)] for name, r in results.items()]
    columns = ["system", *(f"@{k}" for k in CUTOFFS)]
    yield "How long should the list be: ndcg against k", _table(columns, rows)


def _by_segment(results: Mapping[str, rm.Summary], activity: object) -> Part:
    """Table of the main metric by the number of ratings of users."""
    means = {
        name: result.by_segment(activity).filter(pl.col("metric") == MAIN)
        for name, result in results.items()
    }
    first = next(iter(means.values()))
    columns = [map(_number, frame["mean"]) for frame in means.values()]
    rows = [
        [segment, f"{n:,}", *cells]
        for segment, n, *cells in zip(first["segment"], first["n_users"], *columns, strict=True)
    ]
    return f"By activity of the users: {MAIN}", _table(["users", "n", *means], rows)


def _conventions(
    name: str, ranked: pl.DataFrame, test: pl.DataFrame, options: Mapping[str, Any]
) -> Part:
    """Measure the same lists by the conventions of four tools."""
    rows = []
    for tool, title in TOOLS.items():
        mean = rm.evaluate(ranked, test, MAIN, like=tool, **options)[MAIN]
        rows.append([title, _number(mean.mean), f"{mean.n:,}"])
    title = f"The same lists of {name}, four conventions (rankmeter explain says why)"
    return title, _table(["as computed by", MAIN, "users"], rows)


def _typical_user(
    name: str, ranked: pl.DataFrame, liked: pl.DataFrame, titles: Mapping[Any, str]
) -> Iterator[Part]:
    """Table with the list of a user whose value is the median of those who have a hit."""
    top = ranked.filter(pl.col("rank") <= 10)
    hits = top.join(liked, on=["user", "item"], how="semi")
    if hits.is_empty():
        return
    value = (1 / (pl.col("rank") + 1).log(2)).sum()
    by_value = hits.group_by("user").agg(value=value).sort("value", "user")
    user = by_value["user"][by_value.height // 2]
    relevant = set(hits.filter(pl.col("user") == user)["item"])
    rows = [
        [str(rank), str(titles.get(item, item)), "hit" if item in relevant else ""]
        for item, rank in top.filter(pl.col("user") == user).select("item", "rank").iter_rows()
    ]
    title = (
        f"A typical user with a hit: the first ten of {name} for user {user}, who likes "
        f"{liked.filter(pl.col('user') == user).height:,} held-out items"
    )
    yield title, _table(["rank", "item", "relevant"], rows)


def _table(columns: list[str], rows: list[list[str]]) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")


def _number(mean: float) -> str:
    return f"{mean:.4f}"


def _with_interval(estimate: rm.Estimate) -> str:
    return f"{estimate.mean:.4f} [{estimate.low:.4f}, {estimate.high:.4f}]"


def _paragraph(text: str) -> str:
    return textwrap.fill(text, 80)


if __name__ == "__main__":
    pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_hide_column_data_types=True, fmt_str_lengths=80)
    for part in demo(*sys.argv[1:]):
        print(*([part] if isinstance(part, str) else part), sep="\n")
