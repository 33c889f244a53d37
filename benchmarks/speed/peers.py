"""How each tool evaluates the data: its fastest documented call, one small function per form.

A function takes the data and returns two steps: ``prepare()`` makes what the tool reads, and
``run(prepared, metrics)`` returns the mean of each metric (``"ndcg@10"``). The steps are timed
apart. For files a function returns a command instead, whose output `Peer.read` reads.

Packages are imported inside the functions: each is installed in one environment only.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

METRICS = ("ndcg", "precision", "recall", "map", "hr", "rr", "f1", "dcg")
# What they are called, in this order; a tool that has fewer names has fewer metrics.
NAMES = {
    "rankmeter": "ndcg precision recall map hr rr f1 dcg",
    "ranx": "ndcg precision recall map hit_rate mrr f1 dcg",
    "pytrec_eval": "ndcg_cut P recall map_cut success",
    "trec_eval": "ndcg_cut P recall map_cut success",
    "ir_measures": "nDCG P R AP Success RR",
    "rectools": "NDCG Precision Recall MAP HitRate MRR F1Beta",
    "replay": "NDCG Precision Recall MAP HitRate MRR",
    "recommenders": "ndcg_at_k precision_at_k recall_at_k map_at_k",
    "lenskit": "NDCG Precision Recall AveragePrecision Hit RecipRank",
    "torchmetrics": "RetrievalNormalizedDCG RetrievalPrecision RetrievalRecall RetrievalMAP "
    "RetrievalHitRate RetrievalMRR",
    "sklearn": "ndcg_score",
}


@dataclass(frozen=True)
class Peer:
    """One tool, or one way to call it."""

    title: str
    convention: str  # whose names it uses and with which it must agree; empty: no values
    calls: Mapping[str, Callable]  # by kind: frames, dicts, files
    environment: str  # of tests/conformance/record; empty: that of rankmeter
    package: str  # the distribution whose version is shown
    read: Callable = json.loads
    tolerance: float = 1e-9
    note: str = ""

    def knows(self, metric: str) -> bool:
        """Whether the tool has the metric."""
        return not self.convention or metric.partition("@")[0] in names(self.convention)


def peer(title, tool, calls, *, environment=None, package=None, **more):
    """A peer whose environment and package have the name of the tool, unless they are given."""
    environment, package = (tool if own is None else own for own in (environment, package))
    return Peer(title, tool, calls, environment, package, **more)


def names(convention):
    """The names of the metrics in a tool."""
    return dict(zip(METRICS, NAMES[convention].split(), strict=False))


def split(convention, metrics):
    """(metric, the name of the tool, k) for each metric."""
    known = names(convention)
    parts = [(metric, *metric.split("@")) for metric in metrics]
    return [(metric, known[name], int(k)) for metric, name, k in parts]


def spelled(convention, metrics):
    """The metrics as the tool spells them."""
    return [f"{name}@{k}" for _, name, k in split(convention, metrics)]


def by_name(convention, metrics):
    """The cutoffs of each of the names."""
    cutoffs: dict[str, list[int]] = {}
    for _, name, k in split(convention, metrics):
        cutoffs.setdefault(name, []).append(k)
    return cutoffs


def given(*inputs):
    """Nothing to prepare: these are what the tool takes."""
    return lambda: inputs


# rankmeter and the floor


def rankmeter_frames(data):
    return given(*data.polars()), lambda made, metrics: rankmeter_means(*made, metrics)


def rankmeter_dicts(data):
    return given(*data.dicts()), lambda made, metrics: rankmeter_means(*made, metrics)


def rankmeter_means(rankings, truth, metrics, **options):
    import rankmeter as rm

    result = rm.evaluate(rankings, truth, metrics, **options)
    return {metric: result[metric].mean for metric in metrics}


def rankmeter_files(run, qrels, metrics):
    asked = [part for metric in metrics for part in ("-m", metric)]
    return [sys.executable, "-m", "rankmeter", "evaluate", run, qrels, *asked, "--json"]


def read_rankmeter(text):
    return {metric: found["mean"] for metric, found in json.loads(text)["metrics"].items()}


def rankmeter_trec_eval(run, qrels, metrics):
    return [sys.executable, "-m", "rankmeter", "trec_eval", *trec_options(metrics), qrels, run]


def floor_frames(data):
    """Rank within users and join the truth: no checks, no metrics."""
    import polars as pl

    rank = pl.col("score").rank("ordinal", descending=True).over("user")

    def run(made, metrics):
        rankings, truth = made
        rankings.with_columns(rank=rank).join(truth, on=["user", "item"], how="inner")
        return {}

    return given(*data.polars()), run


# Retrieval


def ranx_frames(data):
    from ranx import Qrels, Run

    rankings, truth = data.pandas(text=True)
    texts = {"user": object, "item": object}  # it refuses the strings of pandas 3
    rankings, truth = rankings.astype(texts), truth.astype(texts)

    def prepare():
        qrels = Qrels.from_df(truth, q_id_col="user", doc_id_col="item", score_col="gain")
        return qrels, Run.from_df(rankings, q_id_col="user", doc_id_col="item", score_col="score")

    return prepare, lambda prepared, metrics: ranx_means(*prepared, metrics)


def ranx_dicts(data):
    rankings, truth = data.dicts()
    return given(truth, rankings), lambda made, metrics: ranx_means(*made, metrics)


def ranx_objects(data):
    from ranx import Qrels, Run

    rankings, truth = data.dicts()
    return lambda: (Qrels(truth), Run(rankings)), lambda made, metrics: ranx_means(*made, metrics)


def ranx_means(qrels, run, metrics):
    from ranx import evaluate

    asked = spelled("ranx", metrics)
    found = evaluate(qrels, run, asked)
    values = found.values() if isinstance(found, dict) else [found]
    return dict(zip(metrics, map(float, values), strict=True))


def ranx_files(run, qrels, metrics):
    return command("ranx_process", run, qrels, metrics)


def ranx_files_cold(run, qrels, metrics):
    """With an empty cache of compiled code, as after the installation."""
    empty = "export NUMBA_CACHE_DIR=$(mktemp -d); trap 'rm -rf $NUMBA_CACHE_DIR' EXIT"
    return ["sh", "-c", f'{empty}; "$@"', "sh", *ranx_files(run, qrels, metrics)]


def ranx_process(run, qrels, metrics):
    from ranx import Qrels, Run

    qrels, run = Qrels.from_file(qrels, kind="trec"), Run.from_file(run, kind="trec")
    return ranx_means(qrels, run, metrics)


def pytrec_eval_frames(data):
    return data.dicts, lambda made, metrics: pytrec_eval_means(*made, metrics)


def pytrec_eval_dicts(data):
    return given(*data.dicts()), lambda made, metrics: pytrec_eval_means(*made, metrics)


def pytrec_eval_means(run, qrels, metrics):
    import pytrec_eval

    cutoffs = by_name("pytrec_eval", metrics).items()
    measures = {f"{name}.{','.join(map(str, ks))}" for name, ks in cutoffs}
    found = pytrec_eval.RelevanceEvaluator(qrels, measures).evaluate(run).values()
    means = {}
    for metric, name, k in split("pytrec_eval", metrics):
        values = [of_user[f"{name}_{k}"] for of_user in found]
        means[metric] = pytrec_eval.compute_aggregated_measure(f"{name}_{k}", values)
    return means


def pytrec_eval_files(run, qrels, metrics):
    return command("pytrec_eval_process", run, qrels, metrics)


def pytrec_eval_process(run, qrels, metrics):
    import pytrec_eval

    with Path(run).open() as rankings, Path(qrels).open() as truth:
        given = pytrec_eval.parse_run(rankings), pytrec_eval.parse_qrel(truth)
    return pytrec_eval_means(*given, metrics)


def ir_measures_frames(data):
    return data.dicts, lambda made, metrics: ir_measures_means(*made, metrics)


def ir_measures_dicts(data):
    return given(*data.dicts()), lambda made, metrics: ir_measures_means(*made, metrics)


def ir_measures_means(run, qrels, metrics):
    import ir_measures

    measures = [ir_measures.parse_measure(name) for name in spelled("ir_measures", metrics)]
    found = ir_measures.calc_aggregate(measures, qrels, run)
    return {metric: found[measure] for metric, measure in zip(metrics, measures, strict=True)}


def ir_measures_files(run, qrels, metrics):
    asked = spelled("ir_measures", metrics)
    return [sys.executable, "-m", "ir_measures", qrels, run, *asked, "-p", "12"]


def trec_eval_files(run, qrels, metrics):
    return [os.environ["TREC_EVAL"], *trec_options(metrics), qrels, run]


def trec_options(metrics):
    cutoffs = by_name("trec_eval", metrics).items()
    return [part for name, ks in cutoffs for part in ("-m", f"{name}.{','.join(map(str, ks))}")]


def read_lines(convention, at="@"):
    """Read lines that begin with a metric and end with its mean."""

    def read(text):
        fields = [line.split() for line in text.splitlines()]
        back = {name: metric for metric, name in names(convention).items()}
        parts = [(*field[0].rsplit(at, 1), float(field[-1])) for field in fields]
        return {f"{back[name]}@{k}": value for name, k, value in parts}

    return read


# Recommendation


def rectools_frames(data):
    """Ranks are given: RecTools reads no scores."""
    reco, interactions = rectools_rows(data)
    reco["rank"] = rectools_ranks(reco)
    return given(reco, interactions), lambda made, metrics: rectools_means(*made, metrics)


def rectools_ranking(data):
    """The ranks are computed, too."""

    def run(made, metrics):
        reco, interactions = made
        return rectools_means(reco.assign(rank=rectools_ranks(reco)), interactions, metrics)

    return given(*rectools_rows(data)), run


def rectools_rows(data):
    roles = {"user": "user_id", "item": "item_id"}
    reco, interactions = (frame.rename(columns=roles) for frame in data.pandas())
    return reco, interactions[["user_id", "item_id"]]


def rectools_ranks(reco):
    return reco.groupby("user_id")["score"].rank(method="first", ascending=False).astype(int)


def rectools_means(reco, interactions, metrics):
    from rectools import metrics as tools

    asked = {metric: getattr(tools, name)(k) for metric, name, k in split("rectools", metrics)}
    found = tools.calc_metrics(asked, reco, interactions=interactions)
    return {metric: float(found[metric]) for metric in metrics}


def replay_frames(data):
    roles = {"user": "query_id", "item": "item_id", "score": "rating"}
    frames = (frame.rename(roles, strict=False) for frame in data.polars())
    return given(*frames), lambda made, metrics: replay_means(*made, metrics)


def replay_means(rankings, truth, metrics):
    from replay import metrics as tools

    found = {}
    for name, ks in by_name("replay", metrics).items():
        found |= getattr(tools, name)(ks)(rankings, truth)
    return dict(zip(metrics, (found[name] for name in spelled("replay", metrics)), strict=True))


def recommenders_frames(data):
    from recommenders.evaluation import python_evaluation as tools

    roles = {"user": "userID", "item": "itemID", "score": "prediction", "gain": "rating"}
    predicted, true = (frame.rename(columns=roles) for frame in data.pandas())

    def run(made, metrics):
        asked = split("recommenders", metrics)
        return {metric: getattr(tools, name)(*made, k=k) for metric, name, k in asked}

    return given(true, predicted), run


def lenskit_frames(data):
    from lenskit.data import ItemListCollection

    roles = {"user": "user_id", "item": "item_id"}
    rankings, truth = (frame.rename(columns=roles) for frame in data.pandas())

    def prepare():
        ordered = rankings.sort_values(["user_id", "score"], ascending=[True, False])
        ordered["rank"] = ordered.groupby("user_id").cumcount() + 1
        lists = ItemListCollection.from_df(ordered, ["user_id"])
        return lists, ItemListCollection.from_df(truth[["user_id", "item_id"]], ["user_id"])

    return prepare, lambda made, metrics: lenskit_means(*made, metrics)


def lenskit_means(lists, test, metrics):
    from lenskit.metrics import RunAnalysis, ranking

    analysis = RunAnalysis()
    for metric, name, k in split("lenskit", metrics):
        analysis.add_metric(getattr(ranking, name)(k), label=metric)
    means = analysis.measure(lists, test).list_summary()["mean"]
    return {metric: float(means[metric]) for metric in metrics}


# Labels


def torchmetrics_frames(data):
    import torch
    from torchmetrics import retrieval

    def prepare():
        gains, scores = data.matrices()
        users = torch.arange(gains.shape[0]).repeat_interleave(gains.shape[1])
        return torch.from_numpy(scores.ravel()).float(), torch.from_numpy(gains.ravel()), users

    def run(made, metrics):
        means = {}
        for metric, name, k in split("torchmetrics", metrics):
            measure = getattr(retrieval, name)(top_k=k)
            measure.update(made[0], made[1], indexes=made[2])
            means[metric] = float(measure.compute())
        return means

    return prepare, run


def sklearn_frames(data):
    from sklearn.metrics import ndcg_score

    def run(made, metrics):
        asked = split("sklearn", metrics)
        return {metric: float(ndcg_score(*made, k=k)) for metric, _, k in asked}

    return data.matrices, run


def command(function, run, qrels, metrics):
    """Call a function of this file in a process of its own."""
    return [sys.executable, "-m", "speed.peers", function, run, qrels, ",".join(metrics)]


_LABELS = "takes labels: its preparation joins the ground truth"
_OBJECTS = "takes its own objects: its preparation makes them from the frame"
_DICTS = "takes dictionaries: its preparation makes them"
PEERS = {
    "rankmeter": peer(
        "rankmeter",
        "rankmeter",
        {"frames": rankmeter_frames, "dicts": rankmeter_dicts, "files": rankmeter_files},
        environment="",
        read=read_rankmeter,
    ),
    "floor": peer(
        "Polars: rank and join",
        "",
        {"frames": floor_frames},
        package="polars",
        note="the floor: no metrics, no checks",
    ),
    "ranx": peer(
        "ranx",
        "ranx",
        {"frames": ranx_frames, "dicts": ranx_objects, "files": ranx_files},
        note=_OBJECTS,
    ),
    "ranx dicts": peer("ranx, from dictionaries", "ranx", {"dicts": ranx_dicts}),
    "ranx cold": peer(
        "ranx, nothing compiled yet",
        "ranx",
        {"files": ranx_files_cold},
        note="compiles its functions, as in the first process after the installation",
    ),
    "pytrec_eval": peer(
        "pytrec_eval",
        "pytrec_eval",
        {"frames": pytrec_eval_frames, "dicts": pytrec_eval_dicts, "files": pytrec_eval_files},
        package="pytrec-eval-terrier",
        note=_DICTS,
    ),
    "ir_measures": peer(
        "ir_measures",
        "ir_measures",
        {"frames": ir_measures_frames, "dicts": ir_measures_dicts, "files": ir_measures_files},
        read=read_lines("ir_measures"),
        note=_DICTS,
    ),
    "trec_eval": peer(
        "trec_eval (C)",
        "trec_eval",
        {"files": trec_eval_files},
        package="",
        read=read_lines("trec_eval", "_"),
        tolerance=1e-4,
        note="prints four decimals",
    ),
    "rankmeter trec_eval": peer(
        "rankmeter trec_eval",
        "trec_eval",
        {"files": rankmeter_trec_eval},
        environment="",
        package="rankmeter",
        read=read_lines("trec_eval", "_"),
        tolerance=1e-4,
        note="the same output as trec_eval, byte for byte",
    ),
    "rectools": peer("RecTools", "rectools", {"frames": rectools_frames}, note="ranks are given"),
    "rectools ranking": peer(
        "RecTools, with ranking",
        "rectools",
        {"frames": rectools_ranking},
        note="ranks are computed from the scores with pandas",
    ),
    "replay": peer("RePlay (Polars)", "replay", {"frames": replay_frames}, package="replay-rec"),
    "recommenders": peer("recommenders", "recommenders", {"frames": recommenders_frames}),
    "lenskit": peer("LensKit", "lenskit", {"frames": lenskit_frames}, note=_OBJECTS),
    "torchmetrics": peer(
        "torchmetrics",
        "torchmetrics",
        {"frames": torchmetrics_frames},
        tolerance=1e-5,
        note=_LABELS,
    ),
    "sklearn": peer(
        "scikit-learn",
        "sklearn",
        {"frames": sklearn_frames},
        environment="scikit-learn",
        package="scikit-learn",
        note=_LABELS,
    ),
}

if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](sys.argv[2], sys.argv[3], sys.argv[4].split(","))))
