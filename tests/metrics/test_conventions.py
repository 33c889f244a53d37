"""The conventions: valid data, and the choices they need."""

import re
import time

import numpy as np
import polars as pl
import pytest

import rankmeter as rm
from command_line import rankmeter
from rankmeter.conventions import (
    convention_names,
    load_convention,
    translate_metrics,
    translate_name,
)
from rankmeter.conventions._plan import resolve_plan
from rankmeter.errors import UsageError

pytestmark = pytest.mark.once


def own_reading(name):
    """The metrics that a name means without a convention; none for an unknown name."""
    try:
        return rm.metrics.parse_metrics(name)
    except UsageError:
        return ()


def _label(metric):
    return metric.label or str(metric)


@pytest.mark.parametrize("name", convention_names())
class TestProfiles:
    """A profile that loads names only existing options, with valid values."""

    def test_says_what_it_is_and_where_its_facts_come_from(self, name):
        convention = load_convention(name)
        assert convention.name == name
        assert convention.title
        assert convention.sources
        assert convention.notes
        assert name == "rankmeter" or convention.version

    def test_every_name_can_be_asked_for_and_labels_the_result(self, name):
        rankings = {"ann": ["a", "b", "x"], "bob": ["y", "c"], "cat": ["c", "x"]}
        truth = {"ann": {"b"}, "bob": {"c"}, "cat": {"x"}}
        side = {
            "train": {"ann": ["y"], "bob": ["a", "b"], "cat": ["a"]},
            "items": {item: ["early" if item < "n" else "late", item] for item in "abcxy"},
            "catalogue": 9,
            "baseline_lists": rankings,
            "propensity": dict.fromkeys("abcxy", 0.5),
        }
        for theirs in load_convention(name).names:
            (metric,) = translate_name(theirs, name)
            if metric.spec.at and "@" not in theirs:
                whole = metric.spec.options[metric.spec.at].type is int
                theirs += "@2" if whole else "@0.5"  # noqa: PLW2901
            elif metric.spec.cutoff and metric.k is None:
                theirs += "@2"  # noqa: PLW2901
            result = rm.evaluate(rankings, truth, [theirs], like=name, n_items=9, **side)
            # The requested name, or the usual label if the name means the same without like=.
            (asked,) = translate_name(theirs, name)
            assert list(result) == [asked.label or str(asked)]
            assert asked.label in (theirs, *map(_label, own_reading(theirs)))
            # The default cutoff of PyKEEN, 10, is beyond these lists: all orders have a hit.
            assert np.isfinite(result[theirs].mean) or theirs.endswith("@k")
            (expected,) = rm.evaluate(
                rankings, truth, translate_name(theirs, name), like=name, n_items=9, **side
            ).values()
            np.testing.assert_equal(result[theirs].mean, expected.mean)

    def test_the_names_of_rankmeter_are_understood_too(self, name):
        for ours in ("ndcg@10", "ap(denominator=k)@3", "hit_rate@1", "r_precision", "P@5", "rr"):
            (metric,) = translate_name(ours, name)
            assert (metric.name, metric.k) == (rm.metric(ours).name, rm.metric(ours).k)

    def test_aliases_are_names_of_no_other(self, name):
        for alias in load_convention(name).aliases:
            assert alias not in convention_names()
            assert load_convention(alias.upper().replace("_", "-")).name == name


class TestNames:
    """The languages of the tools."""

    RANKINGS = {"ann": {"a": 3.0, "b": 2.0, "x": 1.0}, "bob": {"y": 2.0, "c": 1.0}}
    TRUTH = {"ann": {"b": 1, "z": 2}, "bob": {"c": 3}}

    @pytest.mark.parametrize(
        ("tool", "name", "metrics"),
        [
            ("torchmetrics", "RetrievalMAP@10", "ap@10"),
            ("torchmetrics", "RetrievalMAP(top_k=10)", "ap@10"),
            ("torchmetrics", "RetrievalMRR[empty_target_action=skip]", "rr(undefined=skip)"),
            ("torchmetrics", "RetrievalPrecision[adaptive_k]@2", "precision(denominator=ranked)@2"),
            ("trec_eval", "ndcg_cut.5,10", "ndcg@5 ndcg@10"),
            ("trec_eval", "ndcg_cut_10", "ndcg@10"),
            ("trec_eval", "P_5", "precision@5"),
            ("trec_eval", "gm_map", "ap(aggregate=geometric)"),
            ("trec_eval", "gm_map[-l 2]", "ap(aggregate=geometric,relevant=2)"),
            ("trec_eval", "iprec_at_recall.0.20", "iprec@0.2"),
            ("trec_eval", "iprec_at_recall..2", "iprec@0.2"),
            ("trec_eval", "num_nonrel_judged_ret", "n_nonrelevant"),
            ("lenskit", "NDCG@10", "ndcg@10"),
            (
                "lenskit==2025.8.1",
                "NDCG[gain=rating]@10",
                "ndcg(gain=linear,gains=all,ideal=complete)@10",
            ),
            ("lenskit", "RBP(n=10)", "rbp@10"),
            ("rectools", "Recall(k=10)", "recall@10"),
            ("spark", "precisionAt(10)", "precision@10"),
            ("merlin", "recall_at_10", "recall@10"),
            ("recpack", "NDCGK_10", "ndcg@10"),
            ("recommenders", "precision_at_10", "precision@10"),
            ("rexmex", "hits_at_10", "precision@10"),
            ("ranx", "hits@10", "n_hits@10"),
            ("ranx", "ndcg@10-l2", "ndcg(relevant=2)@10"),
            ("ranx", "ndcg-l2@10", "ndcg(relevant=2)@10"),
            ("ranx", "rbp.80@5", "rbp(p=0.8)@5"),
            ("ranx", "dcg_burges(ties=expected)@3", "dcg(gain=exp2,ties=expected)@3"),
            ("ir_measures", "P(rel=2)@1,3", "precision(relevant=2)@1 precision(relevant=2)@3"),
            ("ir_measures", "SetP(relative=True)", "precision(denominator=relevant)"),
            ("trectools", "get_bpref@10", "bpref(depth=10,pool=judged)"),
            ("trectools", "get_bpref", "bpref(depth=none,pool=judged)"),
            ("ogb", "hits@3_list", "hit_rate@3"),
            ("lgbm", "map@5", "ap@5"),
            ("xgb", "ndcg@10-", "ndcg(undefined=zero)@10"),
            ("xgb", "ndcg", "ndcg@32"),
            ("catboost", "NDCG:top=10;type=Exp", "ndcg(gain=exp2)@10"),
            ("catboost", "PFound:decay=0.5;top=3", "pfound(decay=0.5)@3"),
        ],
    )
    def test_a_name_means_what_the_profile_says(self, tool, name, metrics):
        assert translate_name(name, tool) == translate_metrics(metrics, "rankmeter")

    @pytest.mark.parametrize(
        ("n_hits", "ratings", "dcg", "normalized"),
        [
            (6, [3, 2, 3, 0, 1, 2], 13.84826362927298, 13.84826362927298 / 14.595390756454922),
            (6, [3, 2, 3, None, 1], 12.779642067948913, 12.779642067948913 / 13.347184833073591),
            (4, [3, 2, 3, None, 1], 12.392789260714371, 12.392789260714371 / 13.347184833073591),
            (3, [3, 2, 3, None, 1], 12.392789260714371, 0.9594535145926796),
        ],
    )
    def test_elasticsearch_has_the_values_of_its_own_tests(self, n_hits, ratings, dcg, normalized):
        truth = {"q": {f"d{i}": g for i, g in enumerate(ratings) if g is not None}}
        hits = {"q": [f"d{i}" for i in range(n_hits)]}
        names = ["dcg", "dcg[normalize=true]"]
        found = rm.evaluate(hits, truth, names, like="elastic")
        assert found["dcg"].mean == pytest.approx(dcg, abs=1e-12)
        assert found["dcg[normalize=true]"].mean == pytest.approx(normalized, abs=1e-12)

    def test_a_name_wins_over_ours_only_under_its_tool(self):
        """hits of ranx counts; anywhere else it is the hit rate, a synonym."""
        assert translate_name("hits@3", "ranx") == (rm.metric("n_hits@3"),)
        assert translate_name("hits@3", "lenskit") == (rm.metric("hit_rate@3"),)
        assert rm.metric("hits@3") == rm.metric("hit_rate@3")

    def test_several_names_in_one_text_each_label_their_result(self):
        text = "ndcg_cut.1,2 P_5, num_rel_ret ndcg(gain=exp2)@3"
        result = rm.evaluate(self.RANKINGS, self.TRUTH, text, like="trec_eval")
        assert list(result) == [
            "ndcg_cut.1",
            "ndcg_cut.2",
            "P_5",
            "num_rel_ret",
            "ndcg(gain=exp2)@3",
        ]
        for other in ("precision@5", "P@5", "P.5", "prec@5"):
            assert result[other] == result["P_5"]
        assert result.per_user.columns[1:] == list(result)

    def test_what_the_name_says_wins_over_the_call(self):
        result = rm.evaluate(
            self.RANKINGS, self.TRUTH, "map[-l 2] map", like="trec_eval", relevant=3
        )
        relevant = [entry.alignment.relevant for entry in result.plan.metrics]
        assert relevant == [">=2", ">=3"]

    def test_all_functions_understand_them(self):
        both = {"a": self.RANKINGS, "b": self.RANKINGS}
        name, like = "RetrievalMAP@2", "torchmetrics"
        mean = rm.evaluate(self.RANKINGS, self.TRUTH, name, like=like)[name].mean
        compared = rm.compare(both, self.TRUTH, [name], like=like)
        assert compared.summaries["a"][name].mean == mean
        curve = rm.curve(self.RANKINGS, self.TRUTH, "RetrievalMAP", max_k=2, like=like)
        assert curve.frame["mean"].to_list()[1] == mean
        for pair in ((like, "lenskit"), ("lenskit", like)):
            walk = rm.explain(self.RANKINGS, self.TRUTH, name, between=pair)
            assert walk.metric == name
            assert mean in (walk.start.mean, walk.end.mean)
        search = rm.explain(self.RANKINGS, self.TRUTH, name, like=like, target=mean)
        assert search.matches[0].convention == like

    def test_the_command_line_understands_them(self, tmp_path):
        run, qrels = tmp_path / "a.run", tmp_path / "a.qrels"
        run.write_text("".join(f"1 Q0 d{i} {i} {9 - i} me\n" for i in (1, 2, 3)), "utf-8")
        qrels.write_text("1 0 d2 1\n", "utf-8")
        typed = ["-m", "ndcg_cut.2", "-m", "P_2", "--like", "trec_eval", "--json"]
        done = rankmeter("evaluate", run, qrels, *typed, "--fail-if", "P.2<0.5")
        assert list(done.json["metrics"]) == ["ndcg_cut.2", "P_2"]
        assert done.json["metrics"]["P_2"]["mean"] == 0.5

    def test_a_walk_takes_a_name_as_each_tool_means_it(self):
        walk = rm.explain(self.RANKINGS, self.TRUTH, "map@2", between=("recommenders", "lenskit"))
        for tool, end in (("recommenders", walk.start), ("lenskit", walk.end)):
            one = rm.evaluate(self.RANKINGS, self.TRUTH, "map@2", like=tool)["map@2"]
            assert one.mean == end.mean

    def test_the_note_of_ir_measures_names_every_measure_that_is_missing(self):
        measures = (
            "Accuracy AP BPM Bpref Compat ERR ERR_IA nERR_IA alpha_DCG alpha_nDCG NRBP nNRBP AP_IA "
            "P_IA StRecall INST INSQ infAP IPrec Judged nDCG NERR8 NERR9 NERR10 NERR11 NumQ NumRel "
            "NumRet NumRelRet P R RBP Rprec RR SDCG SetP SetRelP SetR SetF SetAP Success"
        )
        (note,) = (n for n in load_convention("ir_measures").notes if n.startswith("Not expressed"))
        missing = set()
        for name in measures.split():
            try:
                translate_name(name, "ir_measures")
            except UsageError:
                missing.add(name)
        listed = note.partition(":")[2].partition("min_rel")[0]
        assert {one.strip() for one in listed.split(",") if one.strip()} == missing

    @pytest.mark.parametrize("like", [None, "recommenders"])
    @pytest.mark.parametrize("name", ["map@2", "ap@2"])
    def test_a_search_takes_a_name_as_each_tool_means_it(self, name, like):
        rankings = {u: ["a", "x", "b", "c"] for u in "uvw"}
        truth = {"u": {"a"}, "v": {"b", "c", "d"}, "w": {"x", "a", "c"}}
        for tool in ("rankmeter", "recommenders"):
            mean = rm.evaluate(rankings, truth, name, like=tool)[name].mean
            found = rm.explain(rankings, truth, name, target=f"{mean:.6f}", like=like)
            tools = {match.convention for match in found.matches if not match.switches}
            assert tool in tools
            for other in tools:
                value = rm.evaluate(rankings, truth, name, like=other)[name].mean
                assert value == pytest.approx(mean, abs=1e-6)

    @pytest.mark.parametrize(
        ("name", "tool", "parts"),
        [
            ("RetrievalRecal@10", "torchmetrics", ["of torchmetrics", "RetrievalRecall"]),
            ("num_q", "trec_eval", ["of trec_eval", "'num_ret' or 'num_rel'"]),
            ("retrievalmap", "torchmetrics", ["did you mean 'RetrievalMAP'"]),
            ("RetrievalMAP@10", "lenskit", ["name of torchmetrics", "like='torchmetrics'"]),
            ("RetrievalMAP@10", "rankmeter", ["name of torchmetrics", "like='torchmetrics'"]),
            ("P.5", "rankmeter", ["pytrec_eval, trec_eval, trec_eval_9"]),
            ("zzzzzzzz", "lenskit", ["unknown metric 'zzzzzzzz'"]),
            ("Recall(k=10)@5", "rectools", ["two cutoffs"]),
            ("Recall@0", "rectools", ["an integer ≥ 1"]),
            ("Recall(color=red)@5", "rectools", ["no option 'color'"]),
        ],
    )
    def test_what_nobody_can_read_is_refused_with_a_way_on(self, name, tool, parts):
        with pytest.raises(rm.errors.UsageError) as caught:
            rm.evaluate(self.RANKINGS, self.TRUTH, name, like=tool)
        for part in parts:
            assert part in str(caught.value)

    def test_a_name_of_ours_alone_is_none_of_the_tool(self):
        with pytest.raises(rm.errors.UnknownMetricError, match="rprec_mult"):
            translate_name("rprec_mult@0.5", "lenskit", ours=False)

    @pytest.mark.parametrize("like", ["rankmeter", "trec_eval", "ir_measures"])
    @pytest.mark.parametrize(
        "piece", ["a", "1", "_1", ".1,1", " ", "(", "()", "a b ", "11pt ", "@1,", "[", "-", "_at_"]
    )
    def test_reading_takes_time_in_proportion_to_the_length(self, like, piece):
        """100,000 arbitrary characters are refused immediately."""
        for start in ("ndcg", ""):
            text = start + piece * (100_000 // len(piece)) + "!"
            began = time.process_time()
            with pytest.raises(rm.errors.UsageError):
                translate_metrics(text, like)
            assert time.process_time() - began < 10


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

    def test_gains_may_count_only_for_users_with_something_relevant(self):
        """trec_eval's Rndcg: bob has nothing at the level, so nothing of his counts."""
        for form in (self.RANKINGS, {"ann": {"a": 2.0, "b": 1.0}, "bob": {"c": 1.0}}):
            result = rm.evaluate(form, self.TRUTH, "cg", relevant=3, gains="reached")
            assert result.per_user.rows() == [("ann", 4.0)]
        assert result.counts["users_in_truth"] == 3
        assert "for users with a gain of at least 3" in repr(result)

    def test_items_without_a_positive_score_may_be_no_hits(self):
        """torchmetrics: they keep their ranks, and relevant items still count as relevant."""
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
        """scikit-learn given all candidates: items that a list lacks are appended."""
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

    def test_a_negative_gain_is_no_judgment_where_only_judged_items_take_up_ranks(self):
        truth = {"ann": {"a": 0, "b": -1, "c": 1}}
        result = rm.evaluate({"ann": ["new", "a", "b", "c"]}, truth, "rr", pool="judged")
        assert result["rr"].mean == 1 / 2

    @pytest.mark.parametrize(("choice", "users"), [("score", 3), ("skip", 2)])
    def test_a_user_without_any_judgment_may_not_count_at_all(self, choice, users):
        result = rm.evaluate(
            self.RANKINGS, self.TRUTH, "recall", undefined="zero", empty_truth=choice
        )
        assert result["recall"].n == users
        assert result["recall"].mean == 2 / users

    @pytest.mark.parametrize(("choice", "users"), [("all", 3), ("relevant", 2), ("hit", 1)])
    def test_users_may_need_something_relevant_or_a_hit(self, choice, users):
        """Also for a count, which is defined for every user."""
        rankings = {"ann": ["a"], "bob": ["x"], "eve": ["d"]}
        assert rm.evaluate(rankings, self.TRUTH, "n_hits", users=choice)["n_hits"].n == users

    def test_shares_may_be_pooled(self):
        """All hits divided by all possible hits: 1 + 1 of min(2, 2) + min(2, 1)."""
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


class TestLacking:
    """A convention applied to a metric that its tool does not have."""

    RANKINGS, TRUTH = {"ann": ["a", "b"], "bob": ["c", "x"]}, {"ann": {"b"}, "bob": {"c"}}

    @pytest.mark.parametrize(
        ("tool", "metric", "title"),
        [
            ("pykeen", "ndcg@2", "PyKEEN"),
            ("ogb", "ndcg@2", "OGB"),
            ("libkge", "ndcg@2", "LibKGE"),
            ("rexmex", "ndcg@2", "rexmex"),
            ("recpack", "ap", "RecPack"),
            ("sklearn", "hit_rate", "scikit-learn"),
        ],
    )
    def test_every_form_of_a_result_says_so(self, tool, metric, title):
        name = rm.metric(metric).name
        said = f"{title} has no {name}; its conventions are applied to rankmeter's {name}"
        result = rm.evaluate(self.RANKINGS, self.TRUTH, metric, like=tool)
        both = {"a": self.RANKINGS, "b": self.RANKINGS}
        compared = rm.compare(both, self.TRUTH, [metric, "rr"], like=tool)
        for one in (result, compared):
            for shown in (repr(one), one.to_markdown(), one.to_latex()):
                assert said in shown.replace(", rr;", ";").replace(f"{name}, rr", name)
        assert result.to_dict()["plan"]["notes"] == [said]
        assert said in result.plan.describe()


class TestUnknown:
    """Names that mean no metric here."""

    @pytest.mark.parametrize("like", ["rankmeter", "lenskit", "trec_eval", "torchmetrics"])
    @pytest.mark.parametrize(
        "name",
        [
            "rmse", "mae", "mse", "kendall@10", "logloss", "R2", "spearman",
        ],
    )  # fmt: skip
    def test_measures_of_the_field_that_are_not_here_get_no_suggestion(self, name, like):
        bare = name.partition("@")[0]
        with pytest.raises(rm.errors.UnknownMetricError) as caught:
            translate_metrics(name, like)
        assert f"rankmeter has no {bare.lower()}" in str(caught.value)
        assert "did you mean" not in str(caught.value)

    @pytest.mark.parametrize(
        ("name", "meant"),
        [
            ("ndgc", "ndcg"),
            ("recal", "recall"),
            ("mrrr", "mrr"),
            ("mapk", "map"),
            ("precison@5", "precision"),
            ("hitrates", "hitrate"),
        ],
    )
    def test_near_misses_are_suggested(self, name, meant):
        with pytest.raises(rm.errors.UnknownMetricError, match=f"did you mean '{meant}'"):
            rm.metric(name)

    @pytest.mark.parametrize("name", ["nDCG(rel=2)@10", "RR(rel=2)", "AP(rel=2)", "P(rel=2)@3"])
    def test_the_level_of_ir_measures_is_read_under_it_and_explained_elsewhere(self, name):
        (metric,) = translate_name(name, "ir_measures")
        assert dict(metric.choices) == {"relevant": ">=2"}
        assert dict(rm.metric(name).choices) == {"relevant": ">=2"}


@pytest.mark.parametrize("name", convention_names())
def test_a_convention_is_asked_for_by_version(name):
    profile = load_convention(name)
    if not profile.version:
        with pytest.raises(UsageError, match="this convention has no versions"):
            load_convention(f"{name}==1.0")
        return
    assert load_convention(f" {name} == {profile.version}") is profile
    with pytest.raises(UsageError, match=f"known: .*{re.escape(profile.version)}"):
        load_convention(f"{name}==0.0.0")
    plan = resolve_plan("rr", like=f"{name}=={profile.version}")
    assert plan.to_dict()["convention_version"] == profile.version


def test_notes_have_the_version():
    found = rm.evaluate({"u": ["x"]}, {"u": ["x"]}, "ndcg@1", like="rectools==0.19.0")
    assert "convention rectools 0.19.0: " in str(found)


def test_an_older_version_has_a_profile_of_its_own():
    assert load_convention("trec_eval==9.0.8").name == "trec_eval_9"
