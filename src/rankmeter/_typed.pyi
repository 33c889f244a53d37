# Written by python tests/laws/typed.py: what type checkers know of metrics and tools.
# fmt: off
# ruff: noqa: E501, I001, RUF022
from collections.abc import Mapping
from typing import Literal, TypeAlias, TypedDict, Unpack

from rankmeter.metrics import Metric


Like: TypeAlias = Literal[
    "allrank",
    "allrank==1.4.3",
    "ampligraph",
    "ampligraph==2.2.0",
    "ann_benchmarks",
    "ann-benchmarks",
    "annbenchmarks",
    "ann_benchmarks==f402b2c",
    "azure",
    "azure_ai_evaluation",
    "azure_ai_search",
    "documentretrievalevaluator",
    "azure==1.18.10",
    "beir",
    "beir==2.2.0",
    "catboost",
    "cat_boost",
    "catboost==1.2.10",
    "cornac",
    "cornac==3.0.1",
    "dgl_ke",
    "dgl-ke",
    "dglke",
    "dgl_ke==0.1.2",
    "elasticsearch",
    "elastic",
    "es",
    "rank_eval",
    "elasticsearch_rank_eval",
    "elasticsearch==main (d04e400)",
    "elliot",
    "elliot==0.3.1",
    "evidently",
    "evidently==0.7.23",
    "haystack",
    "haystack==3.3.0",
    "implicit",
    "implicit==0.7.3",
    "ir_measures",
    "ir-measures",
    "ir_measures==0.4.3",
    "keras_rs",
    "keras-rs",
    "kerasrs",
    "keras_recommenders",
    "keras_rs==0.4.0",
    "lenskit",
    "lenskit==2026.4.0",
    "lenskit_2025",
    "lenskit-2025",
    "lenskit==2025.8.1",
    "libkge",
    "libkge==9bca31f",
    "lightfm",
    "lightfm_next",
    "lightfm==lightfm-next 1.19.0",
    "lightgbm",
    "lgbm",
    "lgb",
    "light_gbm",
    "lightgbm==4.7.0",
    "llama_index",
    "llama-index",
    "llama_index==0.14.25",
    "merlin",
    "merlin==23.12.00",
    "mlflow",
    "mlflow==3.18.0",
    "mlflow==3.17.2",
    "mteb",
    "mteb==2.26.24",
    "ogb",
    "ogb==1.3.6",
    "opensearch",
    "open_search",
    "opensearch_search_relevance",
    "opensearch==3.1.0",
    "pyg",
    "torch_geometric",
    "pyg==2.8.1",
    "pykeen",
    "pykeen==1.11.1",
    "pytrec_eval",
    "pytrec-eval",
    "pytrec_eval==0.5.11",
    "ragas",
    "ragas==0.4.3",
    "rankereval",
    "rankereval==0.2.0",
    "rankmeter",
    "ranx",
    "ranx==0.3.21",
    "recbole",
    "recbole==1.2.1",
    "recommenders",
    "recommenders==1.2.1",
    "recpack",
    "recpack==0.3.6",
    "rectools",
    "rectools==0.19.0",
    "replay",
    "replay==0.22.0",
    "rexmex",
    "rexmex==0.1.3",
    "sentence_transformers",
    "sentence-transformers",
    "sbert",
    "sentence_transformers==6.2.0",
    "sklearn",
    "scikit_learn",
    "sklearn==1.9.1",
    "spark",
    "pyspark",
    "spark==4.0.1",
    "tf_ranking",
    "tf-ranking",
    "tensorflow_ranking",
    "tf_ranking==0.5.5",
    "torcheval",
    "torch_eval",
    "torcheval==0.0.7",
    "torchkge",
    "torchkge==0.17.7",
    "torchmetrics",
    "torchmetrics==1.9.0",
    "transformers4rec",
    "transformers4rec==23.12.00",
    "trec_eval",
    "trec-eval",
    "trec_eval==10.0",
    "trec_eval_9",
    "trec-eval-9",
    "trec_eval==9.0.8",
    "trectools",
    "trectools==0.0.50",
    "vespa",
    "pyvespa",
    "vespaevaluator",
    "vespa_evaluator",
    "vespa==1.2.9",
    "warprec",
    "warprec==2.2.8",
    "xgboost",
    "xgb",
    "xgboost==3.2.0",
]

class InParentheses(TypedDict, total=False):
    relevant: str | float | None
    gains: Literal["relevant", "positive", "all", "above", "reached"] | Mapping[float, float] | None
    ties: Literal["item", "item-descending", "text", "text-descending", "native-descending", "input", "expected", "optimistic", "pessimistic", "realistic", "rounded", "together"] | None
    duplicates: Literal["error", "best", "first", "each", "unchecked"] | None
    judgements: Literal["error", "max", "last", "sum"] | None
    scope: Literal["all", "ranked", "appended"] | None
    pool: Literal["all", "judged"] | None
    exclude: Literal["none", "self"] | None
    history: Literal["all", "new", "seen"] | None
    retrieved: Literal["all", "positive"] | None
    score_type: Literal["float64", "float32"] | None
    depth: int | None
    missing: Literal["zero", "skip", "raise"] | None
    extra: Literal["ignore", "zero", "raise"] | None
    undefined: Literal["skip", "zero", "one", "nan", "raise"] | None
    users: Literal["all", "relevant", "hit", "ranked"] | None
    empty: Literal["score", "skip"] | None
    empty_truth: Literal["score", "skip"] | None
    aggregate: Literal["mean", "geometric", "median", "sum", "micro"] | None
    n_items: int | None
    judgments: Literal["error", "max", "last", "sum"] | None
    rel: str | float | None
    truth: Literal["all", "new", "seen"] | None
    adjusted: bool

class _AMR(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
AMR: _AMR
class _AMRI(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
AMRI: _AMRI
class _AMRR(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
AMRR: _AMRR
class _AP(Metric):
    def __call__(self, *, denominator: Literal["min", "relevant", "k", "hits", "ranked", "all"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
AP: _AP
class _APIa(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
APIa: _APIa
class _Accuracy(Metric):
    def __call__(self, *, chosen: Literal["ranked", "k"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Accuracy: _Accuracy
class _AdjustedHits(Metric):
    def __call__(self, *, top: int = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
AdjustedHits: _AdjustedHits
class _AlphaNDCG(Metric):
    def __call__(self, *, alpha: float = ..., discount: Literal["log2", "ln", "log10", "jarvelin", "reciprocal"] = ..., ideal: Literal["greedy", "greedy-descending", "bound"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
AlphaNDCG: _AlphaNDCG
class _Auc(Metric):
    def __call__(self, *, absent: Literal["random", "last"] = ..., smooth: bool = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Auc: _Auc
class _BiasDisparity(Metric):
    def __call__(self, *, groups: Literal["categories", "popularity"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
BiasDisparity: _BiasDisparity
class _BinomialDiversity(Metric):
    def __call__(self, *, alpha: float = ..., part: Literal["both", "coverage", "non_redundancy"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
BinomialDiversity: _BinomialDiversity
class _Bpref(Metric):
    def __call__(self, *, negative: Literal["unjudged", "nonrelevant"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Bpref: _Bpref
class _CG(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
CG: _CG
class _Calibration(Metric):
    def __call__(self, *, of: Literal["categories", "popularity"] = ..., divergence: Literal["kl", "js", "hellinger"] = ..., alpha: float = ..., base: Literal["e", "2"] = ..., discount: Literal["none", "log2", "reciprocal", "geometric"] = ..., p: float = ..., weights: Literal["none", "rating"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Calibration: _Calibration
class _CategoricalDiversity(Metric):
    def __call__(self, *, denominator: Literal["k", "ranked", "categories"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
CategoricalDiversity: _CategoricalDiversity
class _CategoryEntropy(Metric):
    def __call__(self, *, discount: Literal["none", "log2", "reciprocal", "geometric"] = ..., p: float = ..., smoothing: float = ..., base: Literal["2", "e"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
CategoryEntropy: _CategoryEntropy
class _Compatibility(Metric):
    def __call__(self, *, p: float = ..., normalize: bool = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Compatibility: _Compatibility
class _Coverage(Metric):
    def __call__(self, *, scale: Literal["share", "count"] = ..., outside: Literal["ignore", "count"] = ..., items: Literal["catalogue", "training"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Coverage: _Coverage
class _DCG(Metric):
    def __call__(self, *, gain: Literal["linear", "exp2", "binary"] = ..., discount: Literal["log2", "ln", "log10", "jarvelin", "reciprocal"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
DCG: _DCG
class _DSharpNDCG(Metric):
    def __call__(self, *, recall_weight: float = ..., discount: Literal["log2", "ln", "log10", "jarvelin", "reciprocal"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
DSharpNDCG: _DSharpNDCG
class _ERR(Metric):
    def __call__(self, *, max_gain: float = ..., gain: Literal["linear", "binary"] = ..., stop: Literal["exp2", "linear"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
ERR: _ERR
class _ERRIa(Metric):
    def __call__(self, *, alpha: float = ..., ideal: Literal["bound", "greedy", "greedy-descending", "none"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
ERRIa: _ERRIa
class _Efd(Metric):
    def __call__(self, *, discount: Literal["none", "log2", "reciprocal", "geometric"] = ..., p: float = ..., relevance: Literal["none", "binary", "graded", "exp2"] = ..., denominator: Literal["ranked", "k"] = ..., cold: Literal["rarest", "skip", "one", "zero"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Efd: _Efd
class _EffectiveItems(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
EffectiveItems: _EffectiveItems
class _Eild(Metric):
    def __call__(self, *, distance: Literal["cosine", "jaccard", "hamming", "hamming_share", "euclidean", "users", "given"] = ..., discount: Literal["none", "log2", "reciprocal", "geometric"] = ..., p: float = ..., relevance: Literal["none", "binary", "graded", "exp2"] = ..., unknown: Literal["skip", "zero"] = ..., single: Literal["undefined", "zero"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Eild: _Eild
class _ElevenPoint(Metric):
    def __call__(self, *, rounding: Literal["trec9", "up", "nearest"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
ElevenPoint: _ElevenPoint
class _Entropy(Metric):
    def __call__(self, *, base: Literal["e", "2"] = ..., per: Literal["all", "item"] = ..., weights: Literal["items", "lists"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Entropy: _Entropy
class _Epc(Metric):
    def __call__(self, *, discount: Literal["none", "log2", "reciprocal", "geometric"] = ..., p: float = ..., relevance: Literal["none", "binary", "graded", "exp2"] = ..., denominator: Literal["ranked", "k"] = ..., cold: Literal["zero", "skip", "one"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Epc: _Epc
class _Epd(Metric):
    def __call__(self, *, distance: Literal["cosine", "jaccard", "hamming", "hamming_share", "euclidean", "users", "given"] = ..., discount: Literal["none", "log2", "reciprocal", "geometric"] = ..., p: float = ..., relevance: Literal["none", "binary", "graded", "exp2"] = ..., denominator: Literal["ranked", "k"] = ..., unknown: Literal["skip", "zero"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Epd: _Epd
class _ExpectedDepth(Metric):
    def __call__(self, *, model: Literal["inst", "insq", "bpm", "sdcg", "nerr8", "nerr9", "nerr10", "nerr11", "tbg", "u", "rbp"] = ..., target: float = ..., p: float = ..., scale: float = ..., max_gain: float | None = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
ExpectedDepth: _ExpectedDepth
class _ExposureGini(Metric):
    def __call__(self, *, discount: Literal["none", "log2", "reciprocal", "geometric"] = ..., p: float = ..., denominator: Literal["n", "n-1"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
ExposureGini: _ExposureGini
class _FBeta(Metric):
    def __call__(self, *, beta: float = ..., denominator: Literal["k", "ranked", "relevant"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
FBeta: _FBeta
class _Fallout(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Fallout: _Fallout
class _G(Metric):
    def __call__(self, *, gain: Literal["linear", "binary"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
G: _G
class _GMR(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
GMR: _GMR
class _Gauc(Metric):
    def __call__(self, *, absent: Literal["random", "last"] = ..., smooth: bool = ..., weight: Literal["relevant", "candidates"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Gauc: _Gauc
class _Gini(Metric):
    def __call__(self, *, denominator: Literal["n", "n-1"] = ..., items: Literal["catalogue", "shown"] = ..., inverse: bool = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Gini: _Gini
class _GroupBias(Metric):
    def __call__(self, *, groups: Literal["categories", "popularity"] = ..., group: int = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
GroupBias: _GroupBias
class _HMR(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
HMR: _HMR
class _HitRate(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
HitRate: _HitRate
class _IdealDCG(Metric):
    def __call__(self, *, gain: Literal["linear", "exp2", "binary"] = ..., discount: Literal["log2", "ln", "log10", "jarvelin", "reciprocal"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
IdealDCG: _IdealDCG
class _Ild(Metric):
    def __call__(self, *, distance: Literal["cosine", "jaccard", "hamming", "hamming_share", "euclidean", "users", "given"] = ..., over: Literal["pairs", "items"] = ..., unknown: Literal["skip", "zero"] = ..., single: Literal["undefined", "zero"] = ..., inverse: bool = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Ild: _Ild
class _Infap(Metric):
    def __call__(self, *, epsilon: float = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Infap: _Infap
class _Iprec(Metric):
    def __call__(self, *, recall: float = ..., rounding: Literal["trec9", "up", "nearest"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Iprec: _Iprec
class _Ips(Metric):
    def __call__(self, *, gamma: float | None = ..., clip: float | None = ..., cold: Literal["skip", "rarest"] = ..., discount: Literal["none", "log2", "reciprocal", "geometric"] = ..., p: float = ..., denominator: Literal["one", "k", "relevant"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Ips: _Ips
class _ItemGap(Metric):
    def __call__(self, *, groups: Literal["categories", "popularity"] = ..., relevance: Literal["binary", "graded", "exp2"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
ItemGap: _ItemGap
class _Judged(Metric):
    def __call__(self, *, denominator: Literal["ranked", "k"] = ..., negative: Literal["unjudged", "nonrelevant"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Judged: _Judged
class _LastRank(Metric):
    def __call__(self, *, absent: Literal["undefined", "next"] | float = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
LastRank: _LastRank
class _Lauc(Metric):
    def __call__(self, *, absent: Literal["random", "last"] = ..., denominator: Literal["relevant", "min"] = ..., chosen: Literal["ranked", "k"] = ..., smooth: bool = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Lauc: _Lauc
class _LeastItemPromoted(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
LeastItemPromoted: _LeastItemPromoted
class _ListLength(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
ListLength: _ListLength
class _MAP(Metric):
    def __call__(self, *, denominator: Literal["min", "relevant", "k", "hits", "ranked", "all"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
MAP: _MAP
class _MCC(Metric):
    def __call__(self, *, chosen: Literal["ranked", "k"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
MCC: _MCC
class _MRR(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
MRR: _MRR
class _Mar(Metric):
    def __call__(self, *, over: Literal["ranks", "hits"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Mar: _Mar
class _MeanRank(Metric):
    def __call__(self, *, of: Literal["first", "all"] = ..., absent: Literal["undefined", "next"] | float = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
MeanRank: _MeanRank
class _MedianRank(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
MedianRank: _MedianRank
class _NDCG(Metric):
    def __call__(self, *, gain: Literal["linear", "exp2", "binary"] = ..., discount: Literal["log2", "ln", "log10", "jarvelin", "reciprocal"] = ..., ideal: Literal["truth", "uncut", "ranked", "retrieved", "ones", "complete"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
NDCG: _NDCG
class _NDCGRel(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
NDCGRel: _NDCGRel
class _NERR(Metric):
    def __call__(self, *, max_gain: float = ..., gain: Literal["linear", "binary"] = ..., stop: Literal["exp2", "linear"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
NERR: _NERR
class _NHits(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
NHits: _NHits
class _NNonrelevant(Metric):
    def __call__(self, *, negative: Literal["unjudged", "nonrelevant"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
NNonrelevant: _NNonrelevant
class _NQueries(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
NQueries: _NQueries
class _NRBP(Metric):
    def __call__(self, *, alpha: float = ..., beta: float = ..., ideal: Literal["bound", "greedy", "greedy-descending"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
NRBP: _NRBP
class _NRanked(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
NRanked: _NRanked
class _NRelevant(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
NRelevant: _NRelevant
class _Novelty(Metric):
    def __call__(self, *, of: Literal["users", "interactions"] = ..., base: Literal["2", "e", "users"] = ..., cold: Literal["one", "skip", "zero"] = ..., denominator: Literal["ranked", "k"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Novelty: _Novelty
class _Opa(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Opa: _Opa
class _Pauc(Metric):
    def __call__(self, *, positives: Literal["all", "top"] = ..., insufficient: Literal["score", "undefined"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Pauc: _Pauc
class _PercentileRank(Metric):
    def __call__(self, *, gain: Literal["binary", "linear"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
PercentileRank: _PercentileRank
class _Personalization(Metric):
    def __call__(self, *, similarity: Literal["cosine", "overlap"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Personalization: _Personalization
class _Pfound(Metric):
    def __call__(self, *, max_gain: float = ..., decay: float = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Pfound: _Pfound
class _Popularity(Metric):
    def __call__(self, *, of: Literal["users", "interactions"] = ..., scale: Literal["count", "share", "most", "rank"] = ..., cold: Literal["zero", "skip", "one"] = ..., denominator: Literal["ranked", "k"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Popularity: _Popularity
class _PopularityLift(Metric):
    def __call__(self, *, of: Literal["users", "interactions"] = ..., cold: Literal["zero", "skip"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
PopularityLift: _PopularityLift
class _Precision(Metric):
    def __call__(self, *, denominator: Literal["k", "ranked", "relevant"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Precision: _Precision
class _PrecisionIa(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
PrecisionIa: _PrecisionIa
class _RBP(Metric):
    def __call__(self, *, p: float = ..., gain: Literal["binary", "linear"] = ..., max_gain: float | None = ..., normalize: bool = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
RBP: _RBP
class _RBPResidual(Metric):
    def __call__(self, *, p: float = ..., unjudged: Literal["nonrelevant", "unknown"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
RBPResidual: _RBPResidual
class _RNDCG(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
RNDCG: _RNDCG
class _RPrecision(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
RPrecision: _RPrecision
class _RR(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
RR: _RR
class _RRAll(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
RRAll: _RRAll
class _RSP(Metric):
    def __call__(self, *, groups: Literal["categories", "popularity"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
RSP: _RSP
class _Recall(Metric):
    def __call__(self, *, denominator: Literal["relevant", "min"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Recall: _Recall
class _RelevancePosition(Metric):
    def __call__(self, *, gain: Literal["binary", "linear"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
RelevancePosition: _RelevancePosition
class _Reo(Metric):
    def __call__(self, *, groups: Literal["categories", "popularity"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Reo: _Reo
class _Repetition(Metric):
    def __call__(self, *, scale: Literal["share", "any"] = ..., inverse: bool = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Repetition: _Repetition
class _RprecMult(Metric):
    def __call__(self, *, multiple: float = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
RprecMult: _RprecMult
class _Serendipity(Metric):
    def __call__(self, *, form: Literal["unlike", "rank", "hits"] = ..., distance: Literal["cosine", "jaccard", "hamming", "hamming_share", "euclidean", "users", "given"] = ..., relevance: Literal["none", "binary", "graded", "exp2"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Serendipity: _Serendipity
class _SetAP(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
SetAP: _SetAP
class _Snips(Metric):
    def __call__(self, *, gamma: float | None = ..., clip: float | None = ..., cold: Literal["skip", "rarest"] = ..., discount: Literal["none", "log2", "reciprocal", "geometric"] = ..., p: float = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Snips: _Snips
class _StratumRecall(Metric):
    def __call__(self, *, stratum: Literal["head", "middle", "tail"] = ..., head: float = ..., tail: float = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
StratumRecall: _StratumRecall
class _SubtopicRecall(Metric):
    def __call__(self, *, denominator: Literal["relevant", "all"] = ..., relevance: Literal["binary", "none"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
SubtopicRecall: _SubtopicRecall
class _Sufficiency(Metric):
    def __call__(self, *, partial: bool = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Sufficiency: _Sufficiency
class _TailCount(Metric):
    def __call__(self, *, head: Literal["interactions", "over", "items", "least", "count"] = ..., size: float | None = ..., cold: Literal["tail", "other"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
TailCount: _TailCount
class _TailShare(Metric):
    def __call__(self, *, head: Literal["interactions", "over", "items", "least", "count"] = ..., size: float | None = ..., cold: Literal["tail", "other"] = ..., denominator: Literal["ranked", "k"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
TailShare: _TailShare
class _Unexpectedness(Metric):
    def __call__(self, *, overlap: Literal["share", "rbo", "rbo_ext"] = ..., baseline_k: int | None = ..., denominator: Literal["ranked", "k"] = ..., p: float = ..., absent: Literal["undefined", "unexpected", "expected"] = ..., inverse: bool = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Unexpectedness: _Unexpectedness
class _Unjudged(Metric):
    def __call__(self, *, denominator: Literal["ranked", "k"] = ..., negative: Literal["unjudged", "nonrelevant"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Unjudged: _Unjudged
class _Unseen(Metric):
    def __call__(self, *, denominator: Literal["ranked", "k"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Unseen: _Unseen
class _UserCoverage(Metric):
    def __call__(self, *, least: int = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
UserCoverage: _UserCoverage
class _Utility(Metric):
    def __call__(self, *, found: float = ..., wrong: float = ..., missed: float = ..., spared: float = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Utility: _Utility
class _UtilityRate(Metric):
    def __call__(self, *, model: Literal["inst", "insq", "bpm", "sdcg", "nerr8", "nerr9", "nerr10", "nerr11", "tbg", "u", "rbp"] = ..., target: float = ..., p: float = ..., scale: float = ..., max_gain: float | None = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
UtilityRate: _UtilityRate
class _UtilityResidual(Metric):
    def __call__(self, *, model: Literal["inst", "insq", "bpm", "sdcg", "nerr8", "nerr9", "nerr10", "nerr11", "tbg", "u", "rbp"] = ..., target: float = ..., p: float = ..., scale: float = ..., max_gain: float | None = ..., unjudged: Literal["nonrelevant", "unknown"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
UtilityResidual: _UtilityResidual
class _Vendi(Metric):
    def __call__(self, *, similarity: Literal["cosine", "jaccard", "users", "given"] = ..., unknown: Literal["skip", "zero"] = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Vendi: _Vendi
class _Yaap(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Yaap: _Yaap
class _ZMR(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
ZMR: _ZMR
class _ZMRR(Metric):
    def __call__(self, **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
ZMRR: _ZMRR
class _Zhits(Metric):
    def __call__(self, *, top: int = ..., **choices: Unpack[InParentheses]) -> Metric: ...  # type: ignore[override]
Zhits: _Zhits

__all__ = [
    "AMR",
    "AMRI",
    "AMRR",
    "AP",
    "APIa",
    "Accuracy",
    "AdjustedHits",
    "AlphaNDCG",
    "Auc",
    "BiasDisparity",
    "BinomialDiversity",
    "Bpref",
    "CG",
    "Calibration",
    "CategoricalDiversity",
    "CategoryEntropy",
    "Compatibility",
    "Coverage",
    "DCG",
    "DSharpNDCG",
    "ERR",
    "ERRIa",
    "Efd",
    "EffectiveItems",
    "Eild",
    "ElevenPoint",
    "Entropy",
    "Epc",
    "Epd",
    "ExpectedDepth",
    "ExposureGini",
    "FBeta",
    "Fallout",
    "G",
    "GMR",
    "Gauc",
    "Gini",
    "GroupBias",
    "HMR",
    "HitRate",
    "IdealDCG",
    "Ild",
    "Infap",
    "Iprec",
    "Ips",
    "ItemGap",
    "Judged",
    "LastRank",
    "Lauc",
    "LeastItemPromoted",
    "ListLength",
    "MAP",
    "MCC",
    "MRR",
    "Mar",
    "MeanRank",
    "MedianRank",
    "NDCG",
    "NDCGRel",
    "NERR",
    "NHits",
    "NNonrelevant",
    "NQueries",
    "NRBP",
    "NRanked",
    "NRelevant",
    "Novelty",
    "Opa",
    "Pauc",
    "PercentileRank",
    "Personalization",
    "Pfound",
    "Popularity",
    "PopularityLift",
    "Precision",
    "PrecisionIa",
    "RBP",
    "RBPResidual",
    "RNDCG",
    "RPrecision",
    "RR",
    "RRAll",
    "RSP",
    "Recall",
    "RelevancePosition",
    "Reo",
    "Repetition",
    "RprecMult",
    "Serendipity",
    "SetAP",
    "Snips",
    "StratumRecall",
    "SubtopicRecall",
    "Sufficiency",
    "TailCount",
    "TailShare",
    "Unexpectedness",
    "Unjudged",
    "Unseen",
    "UserCoverage",
    "Utility",
    "UtilityRate",
    "UtilityResidual",
    "Vendi",
    "Yaap",
    "ZMR",
    "ZMRR",
    "Zhits",
]
