"""``rankmeter metrics``, ``conventions``, ``doctor``: their output is complete and true."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import math

import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter.conventions import convention_names, load_convention
from rankmeter.metrics import METRICS

pytestmark = pytest.mark.once

# -- metrics ----------------------------------------------------------------------------------


def words(text):
    """The words of a page, independent of line breaks."""
    return " ".join(text.split())


def test_the_list_of_metrics_has_the_facts_of_each():
    page = words(rankmeter("metrics").out)
    for name, spec in METRICS.items():
        better = "higher" if spec.increasing else "lower"
        high = "∞" if math.isinf(spec.high) else f"{spec.high:g}"
        low = "−∞" if math.isinf(spec.low) else f"{spec.low:g}"
        assert f"{name} {spec.title}; {low} to {high}, {better} is better" in page
        for synonym in spec.synonyms:
            assert synonym in page


def test_the_list_of_metrics_as_json_is_the_registry():
    found = rankmeter("metrics", "--json").json
    assert found["schema"] == 1
    assert [one["name"] for one in found["metrics"]] == list(METRICS)
    for one in found["metrics"]:
        spec = METRICS[one["name"]]
        low = None if math.isinf(spec.low) else spec.low
        assert (one["title"], one["low"]) == (spec.title, low)
        assert one["high"] == (None if math.isinf(spec.high) else spec.high)
        assert (one["increasing"], one["cutoff"]) == (spec.increasing, spec.cutoff)
        assert one["synonyms"] == list(spec.synonyms)
        assert one["options"].keys() == spec.options.keys()


@pytest.mark.parametrize("name", METRICS)
def test_the_page_of_a_metric_has_its_options_choices_and_defaults(name):
    done = rankmeter("metrics", name)
    spec = METRICS[name]
    assert done.code == 0
    page = words(done.out)
    assert page.startswith(f"{name}{'@k' if spec.cutoff else ''} · {spec.title}")
    assert spec.summary.replace("`", "") in page
    for option in spec.options.values():
        assert f"{option.name}={'|'.join(option.choices)}" in page
        if option.required:
            assert "[required]" in page
        else:
            assert f"[default: {'none' if option.default is None else option.default}]" in page
        one = rankmeter("metrics", name, "--json").json["options"][option.name]
        assert one["choices"] == list(option.choices)
        assert one["required"] == option.required
    assert "``" not in done.out


def test_the_items_of_a_list_have_lines_of_their_own():
    lines = [line.strip() for line in rankmeter("metrics", "map").out.splitlines()]
    items = [line.split(":")[0] for line in lines if line.startswith("* ")]
    assert items == [f"* {choice}" for choice in METRICS["ap"].options["denominator"].choices]
    first = next(i for i, line in enumerate(lines) if line.startswith("* "))
    assert "" not in lines[first : lines.index("[default: min]")]


def test_a_metric_is_found_by_any_spelling():
    page = rankmeter("metrics", "ndcg").out
    for spelling in ("nDCG", "ndcg@10", "ndcg_cut_5", "NDCG(gain=exp2)@3"):
        assert rankmeter("metrics", spelling).out == page


def test_the_spelling_that_a_page_shows_is_one():
    for name, spec in METRICS.items():
        if spec.options:
            page = words(rankmeter("metrics", name).out)
            shown = page.split("written as ")[1].split(":")[0]
            if "…" not in shown:
                assert rm.metric(shown).name == name


# -- conventions ------------------------------------------------------------------------------


def test_the_list_of_conventions_has_each_with_its_title():
    page = words(rankmeter("conventions").out)
    for name in convention_names():
        convention = load_convention(name)
        assert words(f"{name} {convention.title} {convention.version}") in page


@pytest.mark.parametrize("name", convention_names())
def test_the_page_of_a_convention_has_its_choices_notes_and_sources(name):
    convention = load_convention(name)
    page = words(rankmeter("conventions", name.upper()).out)
    for choice, value in convention.switches.items():
        assert f"{choice} {value}" in page
    for metric, choices in convention.metrics.items():
        assert words(f"{metric} {', '.join(f'{k}={v}' for k, v in choices.items())}") in page
    for text in (*convention.notes, *convention.sources):
        assert words(text) in page


def test_conventions_as_json_are_what_the_files_say():
    def plain(convention):
        return json.loads(json.dumps(dataclasses.asdict(convention)))

    every = [plain(load_convention(name)) for name in convention_names()]
    assert rankmeter("conventions", "--json").json == {"schema": 1, "conventions": every}
    assert rankmeter("conventions", "lenskit", "--json").json == {
        "schema": 1,
        **plain(load_convention("lenskit")),
    }


# -- doctor -----------------------------------------------------------------------------------


def test_doctor_says_how_to_install_what_is_missing(monkeypatch):
    def version(name):
        if name in ("pandas", "pyspark"):
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.2.3"

    monkeypatch.setattr("rankmeter._cli.doctor.version", version)
    done = rankmeter("doctor")
    page = words(done.out)
    assert done.code == 0
    assert (
        "pandas not installed (optional: results as pandas frames): "
        "pip install 'rankmeter[pandas]'" in page
    )
    assert "pyspark not installed" in page
    assert "numpy 1.2.3 (required: the metrics)" in page


def test_doctor_fails_if_nothing_can_work(monkeypatch):
    def version(name):
        if name == "numpy":
            raise importlib.metadata.PackageNotFoundError(name)
        return "1.2.3"

    monkeypatch.setattr("rankmeter._cli.doctor.version", version)
    done = rankmeter("doctor")
    assert (done.code, done.err) == (4, "error: rankmeter does not work without numpy\n")


def test_doctor_names_the_java_that_spark_would_find(monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/opt/java")
    assert rankmeter("doctor", "--json").json["machine"]["Java"] == "/opt/java"
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setattr("rankmeter._cli.doctor.shutil.which", "/usr/bin/{}".format)
    assert rankmeter("doctor", "--json").json["machine"]["Java"] == "/usr/bin/java"
    monkeypatch.setattr("rankmeter._cli.doctor.shutil.which", lambda _: None)
    assert rankmeter("doctor", "--json").json["machine"]["Java"].startswith("not found")
