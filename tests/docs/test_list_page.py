"""The page "How metrics see a list": its script computes what rankmeter computes."""

from __future__ import annotations

import itertools
import json
import math
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import rankmeter as rm

pytestmark = pytest.mark.once

STATIC = Path(__file__).parents[2] / "docs" / "_static"
BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND",
    "--virtual-time-budget=20000", "--dump-dom",
)  # fmt: skip
LISTS = [
    [int(bit) for bit in f"{number:010b}"] for number in (0, 1, 2, 292, 300, 512, 513, 770, 1023)
]
MISSED = (0, 1, 7)


def browse(folder, body):
    (folder / "list.js").write_text((STATIC / "list.js").read_text("utf-8"), "utf-8")
    page = folder / "page.html"
    page.write_text(
        f'<!doctype html><meta charset="utf-8"><div class="rm-list-page"></div>'
        f'<script src="list.js"></script><pre id="out"></pre><script>{body}</script>',
        "utf-8",
    )
    profile = f"--user-data-dir={folder / 'profile'}"
    done = subprocess.run(
        [BROWSER, *FLAGS, profile, page.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    return done.stdout


def told(dom):
    return json.loads(re.search('<pre id="out">(.*?)</pre>', dom)[1])


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_every_value_is_that_of_rankmeter(tmp_path):
    cases = [*itertools.product(LISTS, MISSED)]
    dom = browse(
        tmp_path,
        f"document.getElementById('out').textContent = JSON.stringify({json.dumps(cases)}"
        ".map(([list, missed]) => rmList.values(list, missed)))",
    )
    shown = told(dom)
    for (gains, missed), values in zip(cases, shown, strict=True):
        n = sum(gains) + missed
        if n == 0:
            assert set(values.values()) == {None}  # undefined: NaN
            continue
        found = rm.evaluate(rm.Grades([gains], n_relevant=[n]), metrics=[*values])
        for name, value in values.items():
            assert math.isclose(value, found[name].mean, abs_tol=1e-12), (gains, missed, name)


@pytest.mark.skipif(BROWSER is None, reason="needs Chromium")
def test_a_click_and_an_arrow_key_change_all_values(tmp_path):
    dom = browse(
        tmp_path,
        """addEventListener('DOMContentLoaded', () => {
        const button = (n) => document.querySelectorAll('.rm-play button')[n];
        const row = (n) => [...document.querySelectorAll('.rm-values tr')[n].children]
          .slice(0, 3).map((cell) => cell.textContent);
        const out = [row(4)];
        button(1).dispatchEvent(new KeyboardEvent('keydown', {key: 'ArrowLeft'}));
        out.push(row(4), [document.querySelector('.rm-said').textContent],
          [document.activeElement.getAttribute('aria-label')]);
        button(0).click();
        out.push(row(4), [button(0).getAttribute('aria-pressed')]);
        document.getElementById('out').textContent = JSON.stringify(out);
        });
        """,
    )
    assert told(dom) == [
        ["rr", "0.5000", ""],
        ["rr", "1.0000", "+0.5000"],
        ["Did not see the change: precision@5, recall@5, hr@5, r_precision."],
        ["rank 1, relevant"],
        ["rr", "0.2000", "−0.8000"],
        ["false"],
    ]
