"""One evaluation and its report, which the tests of the page share."""

from __future__ import annotations

from pathlib import Path

import cases
import rankmeter as rm

CSS = (Path(rm.__file__).parent / "_report" / "page.css").read_text("utf-8")
RANKINGS, TRUTH = cases.batch(0)
TRAIN = {user: [*judged, "common"] for user, judged in TRUTH.items()}
SEGMENTS = {user: ("old", "new")[i % 2] for i, user in enumerate(TRUTH)}
