"""The conventions: data that can be trusted to mean what it says, and the choices they need."""

import dataclasses

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from rankmeter._choices import Alignment, Averaging
from rankmeter._plan import resolve
from rankmeter.conventions import convention_names, load_convention
from rankmeter.metrics import METRICS, parse_metrics

CHOICES = {f.name for part in (Alignment, Averaging) for f in dataclasses.fields(part)}


@pytest.mark.parametrize("name", convention_names())
class TestProfiles:
    """A profile that loads names only what exists, with values that it may have."""

    def test_says_what_it_is_and_where_its_facts_come_from(self, name):
        convention = load_convention(name)
        assert convention.name == name
        assert convention.title
        assert convention.sources
        assert convention.notes
        assert convention.takes in {"scores", "mappings", "lists", "triples"}
        assert name == "rankmeter" or convention.version

    def test_choices_exist_and_have_permitted_values(self, name):
        convention = load_convention(name)
        assert set(convention.switches) <= CHOICES
        for key, chosen in convention.metrics.items():
            metric, at, rest = key.partition("@")
            spec = METRICS[metric]
            assert not rest, key
            assert spec.cutoff or not at, key
            assert set(chosen) <= CHOICES | set(spec.options), key
            required = {n: 1 for n, o in spec.options.items() if o.required and n not in chosen}
            asked = rm.Metric(metric, 10 if at else None)(**required)
            switches = resolve(asked, like=name).metrics[0].switches()
            assert {n: switches[n] for n in chosen} == chosen, key

    def test_spellings_are_metrics(self, name):
        for theirs, ours in load_convention(name).names.items():
            spelling, _, chosen = ours.partition(" with ")
            choices = dict(choice.split("=", 1) for choice in chosen.split(", ") if chosen)
            if choices.get("depth") == "k":
                choices["depth"] = 10
            (metric,) = parse_metrics(spelling)
            missing = {n: 1 for n, o in metric.spec.options.items() if o.required}
            asked = metric(**missing | dict(metric.options))
            assert resolve(asked, like=name, choices=choices).metrics, theirs

    def test_options_are_choices(self, name):
        for chosen in load_convention(name).options.values():
            resolve("ndcg@10", like=name, choices=chosen)

    def test_bugs_and_deviations_are_described(self, name):
        convention = load_convention(name)
        for bug in convention.bugs:
            assert bug.keys() == {"why", "metrics", "choices"}
            for metric in bug["metrics"]:
                assert set(bug["choices"]) <= CHOICES | set(METRICS[metric].options)
                (followed,) = resolve(metric, like=name, bugs=True).metrics
                assert followed.switches().items() >= bug["choices"].items()
        for deviation in convention.deviations:
            assert deviation["why"]
            assert deviation.keys() <= {"why", "names", "cases", "values", "decimals", "absent"}
            assert set(deviation.get("values", ())) <= {"mean", "per_user"}


class TestChoices:
    """What conventions may choose, beyond what the other tests use."""

    TRUTH = {"ann": {"a": 1, "b": 3}, "bob": {"c": 2}, "eve": {}}
    RANKINGS = {"ann": ["a", "b"], "bob": ["c"], "eve": ["d"]}

    def test_a_threshold_may_leave_gains_alone(self):
        """trec_eval's level decides what counts as relevant, not what has a gain."""
        strict = rm.evaluate(self.RANKINGS, self.TRUTH, ["cg", "precision"], relevant=3)
        mild = rm.evaluate(
            self.RANKINGS, self.TRUTH, ["cg", "precision"], relevant=3, gains="positive"
        )
        assert strict.per_user["cg"].to_list() == [3.0]
        assert mild.per_user["cg"].to_list() == [4.0, 2.0]
        assert strict.per_user["precision"].to_list() == [0.5]

    def test_items_without_a_positive_score_may_be_no_hits(self):
        """torchmetrics: they keep their ranks, and what is relevant is still to be found."""
        scores = {"ann": {"a": 1.0, "b": 0.0, "c": -1.0}}
        result = rm.evaluate(
            scores,
            {"ann": {"a", "c"}},
            ["recall", "precision"],
            scope="ranked",
            retrieved="positive",
        )
        assert result["recall"].mean == 1 / 2
        assert result["precision"].mean == 1 / 3

    def test_one_undefined_user_may_make_the_mean_undefined(self):
        result = rm.evaluate(self.RANKINGS, self.TRUTH, "rr", undefined="nan")
        assert np.isnan(result["rr"].mean)
        assert result.per_user["rr"].to_list() == [1.0, 1.0, None]

    @pytest.mark.parametrize(("relevant", "gain"), [(">=2", 2.0), (">2", 1.0), (">0", 3.0)])
    def test_gains_may_count_from_the_threshold(self, relevant, gain):
        """Elliot: a rating that just reaches the threshold gains 1."""
        truth = {"ann": {"a": 1, "b": 3}}
        result = rm.evaluate(
            {"ann": ["b", "x"]}, truth, ["cg", "ndcg"], relevant=relevant, gains="above"
        )
        assert result["cg"].mean == gain
        assert result["ndcg"].mean == pytest.approx(1.0 if gain < 3 else 3 / (3 + 1 / np.log2(3)))
        with pytest.raises(rm.errors.UsageError, match="threshold"):
            rm.evaluate({"ann": ["b"]}, truth, "cg", relevant="any", gains="above")

    @pytest.mark.parametrize(
        "form", [{"ann": {"x": 9.0, "a": 7.0}}, {"ann": ["x", "a"]}], ids=["scores", "list"]
    )
    def test_missed_items_may_be_appended(self, form):
        """scikit-learn given all candidates: what a list lacks stands behind it."""
        truth = {"ann": {"a": 1, "b": 1}}
        result = rm.evaluate(form, truth, ["recall", "ap", "precision"], scope="appended")
        assert result["recall"].mean == 1.0
        assert result["precision"].mean == 2 / 3
        assert result["ap"].mean == (1 / 2 + 2 / 3) / 2

    def test_missed_items_are_appended_to_given_ranks(self):
        rows = pl.DataFrame({"user": ["ann", "ann"], "item": ["x", "a"], "rank": [1, 2]})
        result = rm.evaluate(rows, {"ann": {"a": 1, "b": 1}}, "mean_rank(of=all)", scope="appended")
        assert next(iter(result.values())).mean == 2.5

    @pytest.mark.parametrize(
        ("rule", "precision", "dcg"),
        [
            ("best", 2 / 2, 1 + 1 / np.log2(3)),
            ("first", 2 / 3, 1 + 1 / 2),
            ("each", 3 / 3, 1 + 1 / np.log2(3) + 1 / 2),
        ],
    )
    def test_a_repeated_item_is_left_out_or_takes_up_a_rank_or_counts(self, rule, precision, dcg):
        lists, rows = ["a", "a", "b"], [("ann", "b", 1.0), ("ann", "a", 2.0), ("ann", "a", 3.0)]
        frame = pl.DataFrame(rows, schema=["user", "item", "score"], orient="row")
        for rankings in ({"ann": lists}, frame):
            result = rm.evaluate(
                rankings, {"ann": {"a", "b"}}, ["precision", "dcg"], duplicates=rule
            )
            assert result["precision"].mean == precision
            assert result["dcg"].mean == pytest.approx(dcg)

    def test_negative_gains_may_count(self):
        truth = {"ann": {"a": 2, "b": -1}}
        assert rm.evaluate({"ann": ["a", "b"]}, truth, "cg", gains="all")["cg"].mean == 1.0

    def test_a_negative_gain_is_no_judgement_where_only_judged_items_take_up_ranks(self):
        truth = {"ann": {"a": 0, "b": -1, "c": 1}}
        result = rm.evaluate({"ann": ["new", "a", "b", "c"]}, truth, "rr", pool="judged")
        assert result["rr"].mean == 1 / 2

    @pytest.mark.parametrize(("choice", "users"), [("score", 3), ("skip", 2)])
    def test_a_user_without_any_judgement_may_not_count_at_all(self, choice, users):
        result = rm.evaluate(
            self.RANKINGS, self.TRUTH, "recall", undefined="zero", empty_truth=choice
        )
        assert result["recall"].n == users
        assert result["recall"].mean == 2 / users

    @pytest.mark.parametrize(("choice", "users"), [("all", 3), ("relevant", 2), ("hit", 1)])
    def test_users_may_need_something_relevant_or_a_hit(self, choice, users):
        """Also for a count, which is defined for everybody."""
        rankings = {"ann": ["a"], "bob": ["x"], "eve": ["d"]}
        assert rm.evaluate(rankings, self.TRUTH, "n_hits", users=choice)["n_hits"].n == users

    def test_shares_may_be_pooled(self):
        """All hits over all that could be hits: 1 + 1 of min(2, 2) + min(2, 1)."""
        rankings = {"ann": ["a", "x"], "bob": ["c", "x"]}
        result = rm.evaluate(
            rankings, self.TRUTH, ["recall@2", "precision@2"], aggregate="micro", empty_truth="skip"
        )
        assert result["recall@2"].mean == pytest.approx(2 / 3)
        assert result["precision@2"].mean == 2 / 4
        assert result.per_user["recall@2"].to_list() == [0.5, 1.0]
        with pytest.raises(rm.errors.UsageError, match="rr cannot be pooled"):
            rm.evaluate(rankings, self.TRUTH, "rr", aggregate="micro")

    def test_the_interval_of_a_pooled_share_is_that_of_the_mean_where_all_count_alike(self):
        rankings = {user: [user, "x"] if user < 5 else ["x"] for user in range(9)}
        truth = {user: {user, "y"} for user in range(9)}
        rankings = {user: list(map(str, items)) for user, items in rankings.items()}
        truth = {user: set(map(str, items)) for user, items in truth.items()}
        mean, micro = (
            rm.evaluate(rankings, truth, "recall", aggregate=how)["recall"]
            for how in ("mean", "micro")
        )
        assert micro.mean == pytest.approx(mean.mean)
        assert micro.interval == pytest.approx(mean.interval)
