"""What no longer exists is refused, by every door, with a sentence that names what to use."""

from __future__ import annotations

import inspect
from typing import get_type_hints

import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter._choices import CHOICES
from rankmeter._results.settings import Settings
from rankmeter.errors import UsageError
from rankmeter.errors._removed import REMOVED_NUMBERS, REMOVED_OPTIONS, REMOVED_WORDS

pytestmark = pytest.mark.once

TRUTH = {u: {"a"} for u in range(4)}
LISTS = {"A": {u: ["a"] for u in TRUTH}, "B": {u: ["b", "a"] for u in TRUTH}}
HINTS = get_type_hints(rm.compare)
VALUES = {"A": [1.0, 2.0, 3.0], "B": [1.0, 1.0, 3.0]}
DOORS = {
    "compare": lambda options: rm.compare(LISTS, TRUTH, "rr", **options),
    "compare_values": lambda options: rm.compare_values(VALUES, **options),
    "Evaluator": lambda options: rm.Evaluator(TRUTH, "rr").compare(LISTS, **options),
    "results": lambda options: rm.compare(
        {name: rm.evaluate(own, TRUTH, "rr") for name, own in LISTS.items()}, **options
    ),
}
TOGETHER = {"alpha": 0.01, "gatekeeping": True, "common": "pair"}


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("name", REMOVED_OPTIONS)
def test_options(door, name):
    with pytest.raises(UsageError, match=f"`{name}` is no longer an option: ") as caught:
        DOORS[door]({name: TOGETHER[name]})
    assert REMOVED_OPTIONS[name] in str(caught.value)


def test_the_level_is_named_where_it_was_alpha():
    for call in (
        lambda: rm.compare(LISTS, TRUTH, "rr", alpha=0.01),
        lambda: rm.sample_size(sd=1, difference=0.5, alpha=0.01),
        lambda: rm.evaluate(LISTS["A"], TRUTH, "rr", alpha=0.01),
    ):
        with pytest.raises(UsageError, match="have one level, `confidence`: "):
            call()


@pytest.mark.parametrize("door", ["compare", "compare_values"])
@pytest.mark.parametrize(("option", "word"), REMOVED_WORDS)
def test_words(door, option, word):
    with pytest.raises(UsageError, match=f"`{option}` must be one of .*, got '{word}'") as caught:
        DOORS[door]({option: word})
    assert REMOVED_WORDS[option, word] in str(caught.value)


def test_the_command_line_says_the_same(tmp_path):
    (tmp_path / "t.csv").write_text("user,item\nu,a\nv,a\n")
    files = [f"{tmp_path}/t.csv", f"A={tmp_path}/t.csv", f"B={tmp_path}/t.csv", "-m", "rr"]
    for name in REMOVED_OPTIONS:
        done = rankmeter("compare", *files, f"--{name}")
        assert done.code == 2
        assert f"--{name} is no longer an option" in done.err
        assert "`" not in done.err
    for option, word in REMOVED_WORDS:
        done = rankmeter("compare", *files, f"--{option}", word)
        assert done.code == 2
        _, hint = done.err.split("; it was removed: ")
        assert "`" not in hint
        assert "=" not in hint
    done = rankmeter("sample-size", "--sd", "1", "--difference", "0.5", "--alpha", "0.1")
    assert "have one level, --confidence: " in done.err


@pytest.mark.parametrize("name", REMOVED_NUMBERS)
def test_numbers_of_a_difference(name):
    (d,) = rm.compare_values(VALUES).differences
    with pytest.raises(AttributeError, match=f"no longer has `{name}`, which is "):
        getattr(d, name)
    assert eval(REMOVED_NUMBERS[name], vars(d).copy()) > 0
    with pytest.raises(AttributeError, match=r"^nothing$"):
        _ = d.nothing


def test_what_was_removed_is_nowhere_an_option():
    taken = {*Settings.__dataclass_fields__, *CHOICES, *inspect.signature(rm.compare).parameters}
    assert not taken & REMOVED_OPTIONS.keys()
    for option, word in REMOVED_WORDS:
        hint = CHOICES[option].hint if option in CHOICES else HINTS[option]
        assert repr(word) not in str(hint)
