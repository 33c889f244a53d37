"""pytrec_eval (the -terrier build): ``RelevanceEvaluator(qrels, measures).evaluate(run)``.

Per user by the evaluator; the mean by its own ``compute_aggregated_measure`` over the users that it
returned. A metric is named by its trec_eval measure, "@k" standing for the cutoff in ``P_5``.
"""

from importlib.metadata import version

import inputs
import pytrec_eval

VERSION = version("pytrec-eval-terrier")
PACKAGES = {}

CUT = ["P", "recall", "map_cut", "ndcg_cut", "success", "relative_P"]
WHOLE = [
    "map", "gm_map", "ndcg", "ndcg_rel", "Rndcg", "recip_rank", "Rprec", "bpref", "gm_bpref",
    "11pt_avg", "infAP", "binG", "G", "set_P", "set_recall", "set_relative_P", "set_map", "set_F",
    "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret", "utility",
]  # fmt: skip
RECALL_LEVELS = [0.0, 0.2, 0.5, 0.6, 1.0]


def record(golden):
    for case in inputs.CASES:
        ks = ",".join(map(str, case["ks"]))
        levels = ",".join(f"{level:.2f}" for level in RECALL_LEVELS)
        asked = {f"{name}.{ks}" for name in CUT} | set(WHOLE)
        asked.add("iprec_at_recall." + levels)
        # A dict holds an item once: of a duplicate the later (lower) score stays.
        run = {user: dict(map(tuple, listed)) for user, listed in case["rankings"].items()}
        level = case["relevant"].get("at_least", case["relevant"].get("above", 0) + 1)
        try:
            keep(golden, case, run, asked, "", relevance_level=level)
        except Exception as error:
            golden.refuse(case, error)
            continue
        if "gains" in " ".join(case["features"]):
            keep(golden, case, run, asked, "[relevance_level=2]", relevance_level=2)
        if case["name"] in ("graded", "judged_and_unjudged"):
            keep(golden, case, run, asked, "[judged_docs_only_flag]", judged_docs_only_flag=True)


def keep(golden, case, run, asked, option, **options):
    evaluator = pytrec_eval.RelevanceEvaluator(case["truth"], asked, **options)
    answers = evaluator.evaluate(run)
    for measure in sorted(next(iter(answers.values()))):
        per_user = {user: answer[measure] for user, answer in answers.items()}
        mean = pytrec_eval.compute_aggregated_measure(measure, list(per_user.values()))
        golden.metric(case, spelled(measure, option), mean, per_user)


def spelled(measure, option):
    name, _, k = measure.rpartition("_")
    if name in CUT:
        return f"{name}{option}@{k}"
    if name == "iprec_at_recall":
        return f"{name}{option}@{k}"
    return measure + option
