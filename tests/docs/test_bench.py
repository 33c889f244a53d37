"""The benchmark of speed runs on tiny data and writes its page; no time is tested."""

from __future__ import annotations

import itertools
import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from types import SimpleNamespace

import pytest

import worst_case
from size.__main__ import page as page_of_sizes
from speed import checks, environments, run
from speed.data import Data, Shape
from speed.growth import LABEL, growth, nanoseconds
from speed.page import chart, command, memory, seconds, spread, tables, times, write
from speed.peers import METRICS, NAMES, PEERS, read_lines

pytestmark = pytest.mark.once

TINY = Shape(users=6, length=12, hits=2)
FRAMES = run.Workload(
    "frames-20000-integer-shuffled-20", "Six users", "frames", TINY, peers=("floor", "lenskit")
)


@pytest.fixture(scope="module")
def figures(tmp_path_factory):
    """What the suite measures with rankmeter and the floor; LensKit is not installed."""
    with pytest.MonkeyPatch.context() as patch:
        empty = str(tmp_path_factory.mktemp("environments"))
        patch.setenv("RANKMETER_CONFORMANCE_ENVS", empty)
        return next(run.measure_all([FRAMES], rounds=2, install=False, command="make bench-quick"))


def test_the_suite_measures_every_peer_or_says_why_not(figures):
    (workload,) = figures["workloads"]
    floor, lenskit = workload["peers"]["floor"], workload["peers"]["lenskit"]
    assert len(floor["pairs"]) == 2
    assert "error" not in floor
    assert lenskit["error"] == "not installed: make bench installs it"
    assert workload["rankmeter"]["checks"].keys() == checks.GROUPS.keys()


def test_a_check_that_no_function_makes_any_more_is_an_error(monkeypatch):
    monkeypatch.setitem(checks.GROUPS, "gone", (r"_align\.pairs\.gone",))
    with pytest.raises(LookupError, match=r"_align\\\.pairs\\\.gone"):
        checks.checking()


def test_a_peer_with_other_values_is_an_error():
    ours = SimpleNamespace(ask=lambda **_: {"means": {"ndcg@10": 0.5}})
    run._agree(PEERS["ranx"], ["ndcg@10"], {"ndcg@10": 0.5}, ours)
    with pytest.raises(SystemExit, match=r"ranx: ndcg@10 is 0\.25, but 0\.5 by rankmeter"):
        run._agree(PEERS["ranx"], ["ndcg@10"], {"ndcg@10": 0.25}, ours)
    with pytest.raises(SystemExit, match="ndcg@10 is nan"):
        run._agree(PEERS["ranx"], ["ndcg@10"], {"ndcg@10": float("nan")}, ours)


@pytest.mark.parametrize("kind", ["dicts", "files"])
def test_pytrec_eval_and_rankmeter_agree(kind, monkeypatch):
    """Its package is among those of the tests: a worker here needs no other environment."""
    monkeypatch.setattr(run, "python_of", lambda *_, **__: sys.executable)
    workload = run.Workload("tiny", "Tiny", kind, TINY, peers=("pytrec_eval",))
    peer = run.measure(workload, rounds=1, install=False)["peers"]["pytrec_eval"]
    assert "error" not in peer
    assert len(peer["pairs"]) == 1


def test_rankmeter_writes_what_trec_eval_writes(monkeypatch):
    workload = run.Workload("tiny", "Tiny", "files", TINY, peers=("rankmeter trec_eval",))
    peer = run.measure(workload, rounds=1, install=False)["peers"]["rankmeter trec_eval"]
    assert "error" not in peer


def test_the_page_shows_every_figure(figures, tmp_path):
    write(figures, tmp_path)
    text = (tmp_path / "tables.md").read_text("utf-8")
    assert text == tables(figures)
    assert "| Polars: rank and join" in text
    assert "* LensKit: not installed: make bench installs it." in text
    for line in text.splitlines():
        if line.startswith("|"):
            assert line.endswith("|")
    kept = json.loads((tmp_path / "figures.json").read_text("utf-8"))
    assert kept["workloads"][0]["title"] == "Six users"
    ET.fromstring((tmp_path / "chart.svg").read_text("utf-8"))


def test_the_page_names_no_path(figures):
    text = tables(figures) + chart(figures) + json.dumps(figures)
    assert str(Path.home()) not in text
    assert str(environments.ROOT) not in text


def test_the_chart_follows_light_and_dark(figures):
    text = chart(figures)
    for selector in ("prefers-color-scheme: dark", 'data-theme="light"', 'data-theme="dark"'):
        assert selector in text
    assert re.search(r">rankmeter: .* m?s</text>", text)
    assert "floor (bare Polars)" in text


def test_numbers_are_short():
    assert spread([1.0], times) == "1.0"
    assert spread([1.0, 0.25, 12.0], times) == "1.0 (0.25–12)"
    assert [seconds(value) for value in (0.00123, 0.5, 123.4)] == ["1.23 ms", "0.5 s", "123 s"]
    assert [nanoseconds(value) for value in (88.0, 1234.0, 2e6)] == ["88 ns", "1.23 µs", "2 ms"]
    assert [memory(value) for value in (None, 2**31)] == ["not measured", "2,048 MiB"]


TOOLS = {"ours": {10**6: [1.0, 2.0], 10**7: [4.0]}, "a & b": {10**6: [1.1]}, "c": {10**7: [4.1]}}


def test_the_names_of_lines_do_not_cover_each_other():
    drawn = ET.fromstring(growth("Title", TOOLS, {"ours": "first"}))
    texts = {one.text: float(one.get("y")) for one in drawn.iter() if one.tag.endswith("text")}
    heights = sorted(texts[name] for name in ("ours, 400 ns", "a & b, 1.1 µs", "c, 410 ns"))
    assert min(b - a for a, b in itertools.pairwise(heights)) >= LABEL
    assert {"1 million rows", "10 million rows"} <= set(texts)


def test_lines_rise_with_the_time_of_a_row():
    drawn = ET.fromstring(growth("Title", TOOLS, {"ours": "first"}))
    points = [one for one in drawn.iter() if one.get("class") == "point first"]
    (left, right) = points
    assert float(left.get("cx")) < float(right.get("cx"))
    assert float(left.get("cy")) < float(right.get("cy"))  # 1.5 µs is above 400 ns


def test_a_size_that_was_not_measured_is_a_dash():
    found = {"seconds": 2.0, "peak": 2**30}
    text, _ = page_of_sizes({"disk": {10**7: found, 10**8: found}, "memory": {10**7: found}}, "x")
    assert "| 10 million | 2 s, 200 ns a row, 1,024 MiB | 2 s, 200 ns a row, 1,024 MiB |" in text
    assert "| 100 million | 2 s, 20 ns a row, 1,024 MiB | – |" in text


def test_a_page_names_its_command_without_the_folder(monkeypatch):
    words = "speed 1e7 --output /home/a --memory 1GiB --folder /b"
    monkeypatch.setattr(sys, "argv", words.split())
    assert command("size") == "size 1e7 --memory 1GiB"


def test_every_score_of_a_user_is_different_in_single_precision():
    data = Data(Shape(users=20, length=50, hits=3))
    for user in range(20):
        scores = data.score[data.user == user].astype("float32")
        assert len(set(scores.tolist())) == 50
        assert len(set(data.item[data.user == user].tolist())) == 50


@pytest.mark.parametrize("hits", [1, 3])
def test_users_have_the_hits_that_the_shape_says(hits):
    data = Data(Shape(users=20, length=50, hits=hits))
    listed = set(zip(data.user.tolist(), data.item.tolist(), strict=True))
    true = list(zip(data.true_user.tolist(), data.true_item.tolist(), strict=True))
    assert len(true) == len(set(true)) == 2 * 20 * hits
    assert sum(pair in listed for pair in true) == 20 * hits


def test_text_ids_and_integer_ids_are_the_same_data():
    numbers, _ = Data(TINY).polars()
    texts, _ = Data(Shape(**{**vars(TINY), "text": True})).polars()
    assert ("user-" + numbers["user"].cast(str)).to_list() == texts["user"].to_list()
    assert ("item-" + numbers["item"].cast(str)).to_list() == texts["item"].to_list()


def test_workloads_have_names_of_their_own_and_known_peers():
    names = [workload.name for workload in run.WORKLOADS + run.QUICK]
    assert len(names) == len(set(names))
    for workload in run.WORKLOADS + run.QUICK:
        assert set(workload.opponents()) <= set(PEERS)
        assert {metric.split("@")[0] for metric in workload.metrics} <= set(METRICS)
    for peer in PEERS.values():
        assert peer.convention in NAMES or not peer.convention


def test_printed_means_are_read():
    assert read_lines("ir_measures")("nDCG@10\t0.25\nR@100\t1.0") == {
        "ndcg@10": 0.25,
        "recall@100": 1.0,
    }
    assert read_lines("trec_eval", "_")("ndcg_cut_10 all 0.2500\nP_5 all 1.0000") == {
        "ndcg@10": 0.25,
        "precision@5": 1.0,
    }


@pytest.mark.parametrize("power", [1, 2])
def test_the_exponent_of_the_worst_case_is_that_of_the_growth(power, monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(worst_case.time, "process_time", lambda: clock[0])

    def make(n):
        return lambda: clock.__setitem__(0, clock[0] + 1e-9 * n**power)

    _, times, exponent = worst_case.growth(make, 2**10, 0.05, 2)
    assert exponent == pytest.approx(power)
    assert times[2] > times[1] > times[0] > 0.01
    monkeypatch.setattr(worst_case, "CASES", {"grows": (make, 2**10)})
    monkeypatch.setattr(sys, "argv", ["worst_case.py"])
    if power == 1:
        worst_case.main()
    else:
        with pytest.raises(SystemExit, match=r"above 1\.2: grows"):
            worst_case.main()
