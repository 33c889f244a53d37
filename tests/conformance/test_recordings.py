"""Every profile has a recording and every recording a profile: two places, and no other list."""

from __future__ import annotations

import pytest
from recordings import EXCUSES, FACTS, GOLDENS, RECORD, answers, recordings

from rankmeter.conventions import convention_names, load_convention

pytestmark = pytest.mark.once

TOOLS = recordings()


def test_every_profile_has_one_recording_and_every_recording_a_profile():
    followed = [load_convention(tool).name for tool in TOOLS]
    missing = {*convention_names()} - {*followed, "rankmeter"}
    assert not missing, f"write {', '.join(str(RECORD / f'{name}.toml') for name in missing)}"
    assert sorted([*followed, "rankmeter"]) == sorted(convention_names())


def test_every_recording_has_its_answers_and_a_script():
    unanswered = [GOLDENS / f"{tool}.json" for tool in TOOLS]
    assert not [str(file) for file in unanswered if not file.exists()], "run record.py TOOL"
    assert {file.stem for file in GOLDENS.glob("*.json")} == TOOLS.keys()
    scripts = {facts["environment"].get("script", tool) for tool, facts in TOOLS.items()}
    assert {file.stem for file in RECORD.glob("*.py")} == scripts


@pytest.mark.parametrize("tool", TOOLS)
def test_a_recording_says_what_the_comparison_needs(tool):
    facts = TOOLS[tool]
    assert facts.keys() <= FACTS | {"environment", "excused"}
    assert facts["takes"] in {"scores", "mappings", "lists", "triples"}
    assert facts.get("threshold", "named") in {"named", "reached"}
    assert facts["environment"]["python"]
    assert answers(tool)["version"]
    assert set(facts.get("binary_labels", ())) <= answers(tool)["cases"].keys()
    excused = facts.get("excused", {})
    assert excused.keys() == {one["why"] for one in load_convention(tool).deviations}
    for excuse in excused.values():
        assert excuse.keys() <= EXCUSES
        assert set(excuse.get("values", ())) <= {"mean", "per_user"}
