"""Conventions as plans: their choices exist and take effect."""

import dataclasses

import pytest

import rankmeter as rm
from rankmeter._choices import Alignment, Averaging
from rankmeter.conventions import convention_names, load_convention, translate_name
from rankmeter.conventions._plan import resolve_plan
from rankmeter.metrics import METRICS, RESERVED

pytestmark = pytest.mark.once


CHOICES = {f.name for part in (Alignment, Averaging) for f in dataclasses.fields(part)}


SETTINGS = {"each"}


@pytest.mark.parametrize("name", convention_names())
class TestProfiles:
    def test_choices_exist_and_have_permitted_values(self, name):
        convention = load_convention(name)
        assert set(convention.switches) <= CHOICES | SETTINGS
        for key, chosen in convention.metrics.items():
            metric, at, rest = key.partition("@")
            spec = METRICS[metric]
            assert not rest, key
            assert spec.cutoff or not at, key
            assert set(chosen) <= CHOICES | set(spec.options), key
            required = {n: 1 for n, o in spec.options.items() if o.required and n not in chosen}
            asked = rm.Metric(metric, 10 if at else None)(**required)
            switches = resolve_plan(asked, like=name).metrics[0].choices_by_name()
            assert {n: switches[n] for n in chosen} == chosen, key

    def test_spellings_are_metrics(self, name):
        for theirs in load_convention(name).names:
            (metric,) = translate_name(theirs, name)
            missing = {n: 1 for n, o in metric.spec.options.items() if o.required}
            asked = metric(**missing | dict(metric.options))
            assert resolve_plan(asked, like=name).metrics, theirs

    def test_options_are_choices(self, name):
        for option, chosen in load_convention(name).options.items():
            if not option.endswith("={value}"):  # which name the option of a metric
                resolve_plan("ndcg@10", like=name, choices=chosen)

    def test_bugs_and_deviations_are_described(self, name):
        convention = load_convention(name)
        for bug in convention.bugs:
            assert bug.keys() == {"why", "metrics", "choices"}
            for metric in bug["metrics"]:
                assert set(bug["choices"]) <= CHOICES | set(METRICS[metric].options)
                (followed,) = resolve_plan(metric, like=name, choices={"bugs": True}).metrics
                assert followed.choices_by_name().items() >= bug["choices"].items()
        for deviation in convention.deviations:
            assert deviation["why"]
            assert deviation.keys() <= {"why", "names", "when"}
            assert deviation.get("when", "long ties") in {"long ties", "negative gains"}


class TestLacking:
    @pytest.mark.parametrize("tool", convention_names())
    def test_what_the_tool_has_needs_no_note(self, tool):
        for theirs in load_convention(tool).names:
            (metric,) = translate_name(theirs, tool)
            missing = {n: 1 for n, o in metric.spec.options.items() if o.required}
            assert resolve_plan(metric(**missing | dict(metric.options)), like=tool).notes == ()
        assert resolve_plan("ndcg rr utility(n_items=9)").notes == ()


def test_no_option_is_named_like_a_choice_of_alignment():
    choices = RESERVED | Alignment.__dataclass_fields__.keys()
    assert not {name for spec in METRICS.values() for name in spec.options} & choices


def test_names_come_back_as_they_were_asked_for():
    asked = "NDCG@10 P@5 MRR recall_1,2 nDCG( gain = exp2 )@3 F2@3 Hits@3"
    result = rm.evaluate([["a", "b"]], [{"b"}], asked)
    names = ["NDCG@10", "P@5", "MRR", "recall_1", "recall_2", "nDCG(gain=exp2)@3", "F2@3", "Hits@3"]
    assert list(result) == list(result.to_dict()["metrics"]) == names
    assert result.per_user.columns[1:] == names
    for text in (str(result), result.to_markdown()):
        assert all(name in text for name in names)
    assert "P@5 (precision@5): Precision" in str(result.plan)
    assert result["precision@5"] is result["prec_5"] is result["P@5"]
    assert list(rm.evaluate([["a"]], [{"a"}], "mrr MRR rr")) == ["mrr", "MRR", "rr"]
