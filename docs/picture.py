"""Makes the pictures of the report in the README again: ``make picture``, which needs Chromium."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import rankmeter as rm

STATIC = Path(__file__).parent / "_static"
SIZE = "1280,758"  # up to the end of the table of means
SCHEMES = {"dark": 0, "light": 1}


def report(path: Path) -> None:
    """The report of three models on the MovieLens ratings."""
    films = rm.datasets.movielens_items()
    split = rm.splits.holdout(rm.datasets.movielens(), ratio=0.2)
    models = {
        "popularity": rm.baselines.popularity(split.train),
        "item-kNN": rm.baselines.item_knn(split.train),
        "SVD": rm.baselines.svd(split.train),
    }
    metrics = ["ndcg@10", "recall@20", "mrr"]
    activity = rm.by_activity(split.train, bins=3, users=split.test)
    rm.compare(
        models, split.test, metrics, baseline="popularity", relevant=">=4", segments=activity,
        items=films,
    ).report(path)  # fmt: skip


def photograph(page: Path, browser: str, profile: str) -> None:
    """The top of a page in both color schemes."""
    for name, scheme in SCHEMES.items():
        subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=20000",
             f"--window-size={SIZE}", f"--blink-settings=preferredColorScheme={scheme}",
             f"--user-data-dir={profile}", f"--screenshot={STATIC / f'report-{name}.png'}",
             page.as_uri()],
            check=True, capture_output=True,
        )  # fmt: skip


if __name__ == "__main__":
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        raise SystemExit("found no chromium: apt-get install chromium")
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder, "report.html")
        report(written)
        photograph(written, chromium, folder)
    for picture in sorted(STATIC.glob("report-*.png")):
        print(picture, f"{picture.stat().st_size:,} bytes")
