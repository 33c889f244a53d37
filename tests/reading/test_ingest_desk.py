"""Forms of retrieval tools: each gives the values and counts of the plain form."""

import json
from types import SimpleNamespace
from typing import NamedTuple

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.dataset
import pytest

import rankmeter as rm
from rankmeter._reading.read import read_interactions, read_rankings, read_truth
from rankmeter._reading.records import is_records
from rankmeter.errors import ColumnError, DataError, DuplicateError, InvalidValueError, UsageError

RUN = {"q1": {"d1": 0.5, "x": 0.875}, "q2": {"d3": 0.75, "y": 0.25}}
QRELS = {"q1": {"d1": 1, "d2": 0}, "q2": {"d3": 2}}
ROWS = [("q1", "d1", 0.5), ("q1", "x", 0.875), ("q2", "d3", 0.75), ("q2", "y", 0.25)]
JUDGED = [("q1", "d1", 1), ("q1", "d2", 0), ("q2", "d3", 2)]


def made(path, **fields):
    """An object of a class with this path, as made without importing the library."""
    module, _, name = path.rpartition(".")
    return type(name, (), {"__module__": module, **fields})()


class Frames:
    """Lists of items and scores of each user as a frame of each library."""

    users = ("q1", "q2")
    items = (["d1", "x"], ["d3", "y"])
    scores = ([0.5, 0.875], [0.75, 0.25])

    @classmethod
    def polars(cls):
        return pl.DataFrame({"qid": cls.users, "docs": cls.items, "scores": cls.scores})

    @classmethod
    def arrays(cls):
        return cls.polars().with_columns(
            pl.col("docs").cast(pl.Array(pl.String, 2)),
            pl.col("scores").cast(pl.Array(pl.Float64, 2)),
        )

    @classmethod
    def pandas(cls):
        return cls.polars().to_pandas()  # of NumPy arrays


def hits(side):
    name = "score" if side == "rankings" else "relevance"
    data = RUN if side == "rankings" else QRELS
    return {q: [{"corpus_id": d, name: n} for d, n in one.items()] for q, one in data.items()}


def database(folder, *, tables=("run",)):
    path = folder / "retrieval.duckdb"
    with duckdb.connect(str(path)) as connection:
        for name in tables:
            connection.execute(f"CREATE TABLE {name} (qid TEXT, docno TEXT, score DOUBLE)")
            connection.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", ROWS)
    return path


def mteb(folder, parts=("default/test",)):
    data = {"mteb_model_meta": {"model_name": "m"}}
    for part in parts:
        subset, split = part.split("/")
        data.setdefault(subset, {})[split] = RUN
    path = folder / "Task_predictions.json"
    path.write_text(json.dumps(data))
    return path


def jsonl(folder):
    path = folder / "predictions.jsonl"
    rows = [{"query_id": q, "query": "?", "results": one} for q, one in hits("rankings").items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def parquet(folder):
    path = folder / "lists.parquet"
    Frames.polars().write_parquet(path)
    return path


class Scored(NamedTuple):
    query_id: str
    doc_id: str
    score: float


class Judged(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
    iteration: str


PYTERRIER = pd.DataFrame(
    {
        "qid": ["q1", "q1", "q2", "q2"],
        "docid": [7, 8, 9, 10],
        "docno": ["d1", "x", "d3", "y"],
        "rank": [1, 0, 0, 1],
        "score": [0.5, 0.875, 0.75, 0.25],
        "query": "?",
    }
)

RANKINGS = {
    "named tuples": lambda _: [Scored(*row) for row in ROWS],
    "generator": lambda _: (Scored(*row) for row in ROWS),
    "ranx": lambda _: made("ranx.data_structures.run.Run", to_dict=lambda _: RUN),
    "ir_datasets": lambda _: made(
        "ir_datasets.datasets.base.Dataset",
        has_scoreddocs=lambda _: True,
        has_qrels=lambda _: True,
        scoreddocs_iter=lambda _: (Scored(*row) for row in ROWS),
    ),
    "pyterrier": lambda _: PYTERRIER,
    "hits": lambda _: hits("rankings"),
    "hits under id": lambda _: {
        q: [{"_id": d, "_score": s, "text": "?"} for d, s in one.items()] for q, one in RUN.items()
    },
    "predictions of sentence-transformers": jsonl,
    "mteb": mteb,
    "mteb, a part": lambda folder: f"{mteb(folder, ['en/test', 'de/test'])}#de/test",
    "mteb in memory": lambda folder: json.loads(mteb(folder).read_text()),
    "duckdb": database,
    "duckdb, a table": lambda folder: f"{database(folder, tables=('a', 'b'))}#b",
    "duckdb lists": lambda _: duckdb.from_arrow(Frames.polars().to_arrow()),
    "polars lists": lambda _: Frames.polars(),
    "polars arrays": lambda _: Frames.arrays(),
    "polars lazy lists": lambda _: Frames.polars().lazy(),
    "pandas lists": lambda _: Frames.pandas(),
    "pandas python lists": lambda _: pd.DataFrame(Frames.polars().to_dict(as_series=False)),
    "pandas arrow lists": lambda _: Frames.polars().to_pandas(use_pyarrow_extension_array=True),
    "arrow lists": lambda _: Frames.polars().to_arrow(),
    "dataset of lists": lambda _: pyarrow.dataset.dataset(Frames.polars().to_arrow()),
    "parquet lists": parquet,
    "dict of list columns": lambda _: Frames.polars().to_dict(as_series=False),
    "frame of hits": lambda _: pl.DataFrame(
        {"user": ["q1", "q2"], "results": [*hits("rankings").values()]}
    ),
}  # fmt: skip


@pytest.mark.parametrize("engine", ["memory", "disk"])
@pytest.mark.parametrize("form", RANKINGS)
def test_rankings_of_every_tool_are_those_of_the_plain_form(form, engine, tmp_path):
    plain = rm.evaluate(pl.DataFrame(ROWS, ["user", "item", "score"], orient="row"), QRELS, "mrr")
    data = RANKINGS[form](tmp_path)
    lists = form in ("polars lazy lists", "dataset of lists", "parquet lists")
    if engine == "disk" and lists:
        with pytest.raises(UsageError, match="has lists of items"):
            rm.evaluate(data, QRELS, "mrr", engine=engine)
        return
    if engine == "disk" and form in ("predictions of sentence-transformers", "mteb"):
        return  # their format is refused, as other JSON is
    found = rm.evaluate(data, QRELS, "mrr", engine=engine)
    assert found.values_by_user.equals(plain.values_by_user)
    assert found.counts == plain.counts


QRELS_FORMS = {
    "named tuples": lambda _: [Judged(*row, "0") for row in JUDGED],
    "ranx": lambda _: made("ranx.data_structures.qrels.Qrels", to_dict=lambda _: QRELS),
    "ir_datasets": lambda _: made(
        "ir_datasets.datasets.base.Dataset",
        has_qrels=lambda _: True,
        qrels_iter=lambda _: (Judged(*row, "0") for row in JUDGED),
    ),
    "pyterrier": lambda _: pd.DataFrame(JUDGED, columns=["qid", "docno", "label"]),
    "hits": lambda _: hits("truth"),
    "beir": lambda folder: beir(folder, "test"),
    "beir, a split": lambda folder: f"{beir(folder, 'dev', 'test')}#dev",
    "beir qrels": lambda folder: beir(folder, "test") / "qrels" / "test.tsv",
    "beir frame": lambda _: pl.DataFrame(JUDGED, ["query-id", "corpus-id", "score"], orient="row"),
}  # fmt: skip


def beir(folder, *splits):
    qrels = folder / "nfcorpus" / "qrels"
    qrels.mkdir(parents=True)
    lines = ["query-id\tcorpus-id\tscore", *("\t".join(map(str, row)) for row in JUDGED)]
    for split in splits:
        (qrels / f"{split}.tsv").write_text("\n".join(lines) + "\n")
    return folder / "nfcorpus"


@pytest.mark.parametrize("form", QRELS_FORMS)
def test_judgments_of_every_tool_are_those_of_the_plain_form(form, tmp_path):
    found = read_truth(QRELS_FORMS[form](tmp_path))
    assert found.frame.rows() == [(q, d, float(n)) for q, d, n in JUDGED]
    assert found.counts == {"rows": 3}


def documents(path, attribute):
    return [[made(path, **{attribute: d}) for d in one] for one in (["x", "d1"], ["d3", "y"])]


@pytest.mark.parametrize(
    ("path", "attribute"),
    [
        ("haystack.dataclasses.document.Document", "id"),
        ("langchain_core.documents.base.Document", "id"),
        ("llama_index.core.schema.NodeWithScore", "node_id"),
    ],
)
def test_documents_are_their_ids_in_the_order_of_their_list(path, attribute):
    found = read_rankings(documents(path, attribute))
    assert found.frame.rows() == [(0, "x"), (0, "d1"), (1, "d3"), (1, "y")]
    assert found.order == "list"
    (one, _) = documents(path, attribute)
    assert read_rankings(one).frame["item"].to_list() == ["x", "d1"]


def test_documents_with_scores_keep_the_order_of_their_list():
    """Of `similarity_search_with_score`, whose scores are distances or similarities."""
    path = "langchain_core.documents.base.Document"
    pairs = [(made(path, id=d), score) for d, score in (("x", 0.1), ("d1", 0.4))]
    found = read_rankings({"q1": pairs})
    assert (found.frame.rows(), found.order) == ([("q1", "x"), ("q1", "d1")], "list")


def test_documents_of_other_classes_with_content_and_metadata_are_read_alike():
    """As in wrappers, and in versions of LangChain that had no ids."""
    own = [made("mine.Passage", page_content="…", metadata={}, id=d) for d in ("x", "d1")]
    for ranked in (own, [(document, 0.5) for document in own]):
        assert read_rankings({"q1": ranked}).frame["item"].to_list() == ["x", "d1"]
    bare = made("mine.Passage", page_content="…", metadata={"source": "d1"})
    with pytest.raises(DataError, match=r"has no id.*\['source'\].*duplicates='best'"):
        read_rankings({"q1": [bare]})


def test_documents_without_an_id_name_their_metadata():
    path = "langchain_core.documents.base.Document"
    unnamed = [made(path, id=None, metadata={"source": "d1", "page": 3})]
    with pytest.raises(DataError, match=r"Document 1 of user .q1. of dict has no id"):
        read_rankings({"q1": unnamed})
    with pytest.raises(DataError, match=r"document\.metadata\['source'\] for document in doc"):
        read_rankings({"q1": unnamed})


RECORDS = [
    {"retrieved_ids": ["x", "d1"], "expected_ids": ["d1"]},
    {"retrieved_ids": ["d3", "y"], "expected_ids": ["d3"]},
]
RAGAS = [
    {"retrieved_context_ids": r["retrieved_ids"], "reference_context_ids": r["expected_ids"]}
    for r in RECORDS
]


@pytest.mark.parametrize(
    "records",
    [
        RECORDS,
        [made("llama_index.core.evaluation.RetrievalEvalResult", **one) for one in RECORDS],
        pd.DataFrame(RECORDS),
        pl.DataFrame(RECORDS),
        RAGAS,
        [SimpleNamespace(**one) for one in RAGAS],
        made(
            "ragas.dataset_schema.EvaluationDataset",
            samples=[SimpleNamespace(**one) for one in RAGAS],
        ),
        pd.DataFrame(RAGAS),
    ],
    ids=lambda records: type(records).__name__,
)  # fmt: skip
def test_records_hold_both_sides(records):
    assert is_records(records)
    result = rm.evaluate(records, metrics=["rr", "hr@1"])
    assert result.per_user["rr"].to_list() == [0.5, 1.0]


def test_the_judgments_of_an_evaluator_are_read():
    evaluator = made(
        "sentence_transformers.evaluation.InformationRetrievalEvaluator",
        relevant_docs={"q1": {"d1"}, "q2": {"d3"}},
    )
    assert rm.evaluate(RUN, evaluator, "rr")["rr"].mean == 0.75
    with pytest.raises(DataError, match=r"no rankings\. Pass it as the ground truth"):
        read_rankings(evaluator)


def test_hits_of_one_query_are_those_of_one_user():
    found = read_rankings([{"corpus_id": 3, "score": 0.5}, {"corpus_id": 1, "score": 0.75}])
    assert found.frame.rows() == [(0, 3, 0.5), (0, 1, 0.75)]
    assert found.origin.shape == "pairs"


def test_hits_without_a_score_are_in_order_unless_a_number_may_be_it():
    assert read_rankings({"q": [{"id": "b"}, {"id": "a", "text": "?"}]}).order == "list"
    for other in ({"distance": 0.5}, {"rank": 1}):
        with pytest.raises(DataError, match="hits without a score but with numbers"):
            read_rankings({"q": [{"id": "b", **other}]})
    with pytest.raises(DataError, match=r"Hit 2 of user 'q' .* where others have 'id', 'score'"):
        read_rankings({"q": [{"id": "b", "score": 0.5}, {"id": "a"}]})


def test_the_score_orders_the_frames_of_pyterrier_and_the_rank_may_start_at_0():
    found = read_rankings(PYTERRIER)
    assert found.order == "score"
    assert found.frame["item"].to_list() == ["d1", "x", "d3", "y"]
    assert read_rankings(PYTERRIER.rename(columns={"qid": "query_id"}).drop(columns="docid").assign(
        rank=[2, 1, 1, 2])).order == "rank"  # fmt: skip


def test_several_parts_are_an_error_that_names_one(tmp_path):
    with pytest.raises(DataError, match=r"2 subset and splits: 'de/test', 'en/test'.*#de/test"):
        read_rankings(mteb(tmp_path, ["en/test", "de/test"]))
    with pytest.raises(DataError, match=r"no subset and split 'fr/test'"):
        read_rankings(f"{mteb(tmp_path)}#fr/test")
    with pytest.raises(DataError, match=r"2 tables: 'a', 'b'.*#a"):
        read_rankings(database(tmp_path, tables=("a", "b")))
    with pytest.raises(DataError, match=r"2 splits: 'dev', 'test'.*#dev"):
        read_truth(beir(tmp_path, "test", "dev"))
    with pytest.raises(DataError, match="has judgments but no rankings"):
        read_rankings(tmp_path / "nfcorpus")
    (tmp_path / "run.csv").write_text("user,item\nu,a\n")
    with pytest.raises(DataError, match="no part 'x' of it"):
        read_rankings(f"{tmp_path / 'run.csv'}#x")


def test_a_chunk_is_the_item_only_where_no_document_is():
    rows = {"query_id": ["q"], "score": [0.5], "chunk_id": ["d1#2"]}
    assert read_rankings(pl.DataFrame(rows)).frame["item"].to_list() == ["d1#2"]
    rows["doc_id"] = ["d1"]
    assert read_rankings(pl.DataFrame(rows)).frame["item"].to_list() == ["d1"]


@pytest.mark.parametrize(
    ("hits", "words"),
    [
        ([{"id": 1}, {"id": 2, "score": 3}], r"Hit 1 .* where others have 'id', 'score'"),
        ([{"id": 1, "points": 1}, {"id": 2, "points": 0.5}], "with numbers, 'points'"),
        ([{"id": 1, "score": 0.5, "prob": 0.9}], "2 fields that could be the score"),
    ],
)
def test_a_number_of_any_hit_is_seen(hits, words):
    with pytest.raises(DataError, match=words):
        read_rankings({"q": hits})


LISTS = {"user": ["a", "b"], "items": [["x"], []]}


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
def test_users_with_an_empty_list_are_users_without_items(frame):
    table = read_rankings(frame(LISTS))
    assert table.frame.rows() == [("a", "x")]
    assert table.empty_users.to_list() == ["b"]


@pytest.mark.parametrize("frame", [pl.DataFrame, pd.DataFrame])
@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ({"user": ["a", "a"], "items": [["x"], ["y"]]}, DuplicateError, "'a' .* has two lists"),
        ({"user": ["a", "b"], "items": [["x"], None]}, DataError, "Row 2 .* no list of items"),
        ({**LISTS, "scores": [[1.0], [2.0]]}, DataError, "Row 2 .* has 0 items but .*2.0"),
        ({**LISTS, "score": [1.0, 2.0]}, DataError, "one value in 'score'"),
        ({**LISTS, "scores": [1.0, 2.0]}, DataError, "one value in 'scores'"),
        ({"user": ["a"], "items": [3]}, ColumnError, "no column for the item"),
    ],
)
def test_lists_that_cannot_be_read_with_certainty_are_errors(frame, data, error, words):
    with pytest.raises(error, match=words):
        read_rankings(frame(data))


@pytest.mark.parametrize("name", ["items", "item"])
@pytest.mark.parametrize("form", [pl.DataFrame, lambda columns: pl.DataFrame(columns).to_dicts()])
def test_numbers_in_lists_beside_the_items_are_never_passed_over(form, name):
    frame = form({"user": ["a", "b"], name: [["x"], []], "points": [[1.0], []]})
    with pytest.raises(ColumnError, match="'points'"):
        read_rankings(frame)
    with pytest.raises(ColumnError, match="'points'"):
        read_truth(frame)


def test_a_column_of_scores_that_is_not_made_of_lists_alone_is_never_passed_over():
    lists = {"user": ["a", "b"], "items": [["x", "z"], ["y"]]}
    scores = [[1.0, 2.0], float("nan")]
    with pytest.raises(DataError, match="one value in 'scores'"):
        read_rankings(pd.DataFrame({**lists, "scores": scores}))
    objects = pl.Series([[1.0, 2.0], [{3}]], dtype=pl.Object)
    with pytest.raises(InvalidValueError, match="is not a number"):
        read_rankings(pl.DataFrame({**lists, "scores": objects}))


@pytest.mark.parametrize("scores", [{"x": 1.0, "z": 2.0}, {1.0, 2.0}, np.array("ab")])
def test_numbers_next_to_items_are_lists(scores):
    lists = {"user": ["a"], "items": [["x", "z"]]}
    with pytest.raises(DataError):
        read_rankings({**lists, "scores": [scores]})


def test_columns_may_name_a_column_of_lists():
    frame = pl.DataFrame({"u": ["a", "b"], "recs": [[1, 2], [3]], "s": [[0.5, 0.25], [1.0]]})
    table = read_rankings(frame, columns={"user": "u", "item": "recs", "score": "s"})
    assert table.frame.rows() == [("a", 1, 0.5), ("a", 2, 0.25), ("b", 3, 1.0)]


def test_interactions_in_lists_keep_their_other_columns():
    frame = pl.DataFrame({**LISTS, "times": [[7], []], "country": ["de", "fr"]})
    found = read_interactions(frame, columns={"time": "times"})
    assert found.rows() == [("a", "x", 7, "de")]


@pytest.mark.parametrize("field", ["use", "customer", "0x10"])
def test_a_hit_with_a_field_that_may_name_the_user_is_not_of_the_only_user(field, tmp_path):
    record = {field: "ann", "item": "a", "gain": 1.0}
    path = tmp_path / "truth.jsonl"
    path.write_text(json.dumps(record) + "\n", "utf-8")
    for truth in ([record], str(path)):
        with pytest.raises(DataError):
            rm.evaluate([["a"]], truth, "rr")


def test_hits_of_one_query_may_have_a_text():
    hits = [{"id": "a", "score": 0.9, "text": "A film"}, {"id": "b", "score": 0.5, "text": ""}]
    assert rm.evaluate(hits, ["b"], "rr")["rr"].mean == 0.5


# -- search engines ---------------------------------------------------------------------------

REQUEST = {
    "requests": [
        {"id": query, "request": {"query": {"match": {"title": query}}}, "ratings": [
            {"_index": "films", "_id": item, "rating": gain} for item, gain in judged.items()
        ]}
        for query, judged in QRELS.items()
    ],
    "metric": {"dcg": {"k": 10}},
}  # fmt: skip
RESPONSE = {
    "metric_score": 0.5,
    "details": {
        query: {"metric_score": 0.5, "unrated_docs": [], "hits": [
            {"hit": {"_index": "films", "_id": item, "_score": score}, "rating": None}
            for item, score in sorted(found.items(), key=lambda pair: -pair[1])
        ]}
        for query, found in RUN.items()
    },
    "failures": {},
}  # fmt: skip
JUDGMENTS = {
    "name": "spring", "type": "IMPORT_JUDGMENT",
    "judgmentRatings": [
        {"query": query, "ratings": [
            {"docId": item, "rating": f"{gain:.3f}"} for item, gain in judged.items()
        ]}
        for query, judged in QRELS.items()
    ],
}  # fmt: skip
TOPICS = {
    "index": "films",
    "topics": [
        {"description": "all", "query_groups": [
            {"name": query, "queries": [{"template": "a.json", "placeholders": {"$query": "x"}}],
             "relevant_documents": {
                 str(gain): [i for i, g in judged.items() if g == gain] for gain in (0, 1, 2)}}
            for query, judged in QRELS.items()
        ]}
    ],
}  # fmt: skip
HALVES = [{**JUDGMENTS, "judgmentRatings": [one]} for one in JUDGMENTS["judgmentRatings"]]
STORED_HALVES = {"took": 1, "hits": {"hits": [{"_source": half} for half in HALVES]}}
RESULTS = [
    {"searchText": query, "searchConfigurationId": "new", "metrics": [],
     "documentIds": sorted(found, key=found.get, reverse=True)}
    for query, found in RUN.items()
]  # fmt: skip
EXPERIMENT = {"took": 1, "hits": {"hits": [{"_source": result} for result in RESULTS]}}
STORED = {"took": 1, "hits": {"total": {"value": 1}, "hits": [{"_source": JUDGMENTS}]}}


@pytest.mark.parametrize("as_file", [False, True])
@pytest.mark.parametrize("answer", [RESPONSE, EXPERIMENT])
@pytest.mark.parametrize("truth", [REQUEST, JUDGMENTS, TOPICS, STORED, STORED_HALVES])
def test_files_of_search_engines_are_read(truth, answer, as_file, tmp_path):
    rankings = answer
    if as_file:
        rankings, path = tmp_path / "response.json", tmp_path / "truth.json"
        rankings.write_text(json.dumps(answer), "utf-8")
        path.write_text(json.dumps(truth, indent=1), "utf-8")
        truth = path
    metrics = "ndcg@10 mrr n_relevant judged@5"
    found, plain = rm.evaluate(rankings, truth, metrics), rm.evaluate(RUN, QRELS, metrics)
    assert found.to_dict()["metrics"] == plain.to_dict()["metrics"]
    with pytest.raises(DataError, match="Were the two swapped"):
        rm.evaluate(truth, rankings, metrics)


def test_results_of_two_search_configurations_are_refused():
    twice = {"hits": {"hits": 2 * EXPERIMENT["hits"]["hits"]}}
    with pytest.raises(DataError, match=r"twice.* results are of one search configuration"):
        rm.evaluate(twice, QRELS, "mrr")


def test_documents_of_two_indexes_with_one_id_are_refused():
    twice = {"_index": "books", "_id": "d1", "rating": 2}
    request = {"requests": [{"id": "q1", "ratings": [*REQUEST["requests"][0]["ratings"], twice]}]}
    with pytest.raises(DataError, match="'q1' has 'd1' twice"):
        rm.evaluate(RUN, request, "mrr")


@pytest.mark.parametrize("name", ["requests", "topics", "hits", "details", "judgmentRatings"])
def test_a_user_may_have_the_name_of_a_key(name):
    assert rm.evaluate({name: ["a"], "metric_score": ["b"]}, {name: {"a"}}, "mrr")["mrr"].mean == 1


@pytest.mark.parametrize(
    "broken",
    [
        {"requests": [{"id": "q1", "ratings": [{"_index": "films", "rating": 3}]}], "metric": {}},
        {"requests": [{"request": {}, "ratings": []}], "metric": {"dcg": {"k": 10}}},
        {"judgmentRatings": [{"query": "q1", "ratings": [{"docId": "d1", "rating": "high"}]}]},
        {"topics": [{"description": "all", "query_groups": [{"name": "q1"}]}]},
        {"took": 3, "hits": {"total": {"value": 1}, "hits": [{"_id": "d1", "_score": 2.0}]}},
    ],
)
def test_broken_files_of_search_engines_are_never_read(broken):
    with pytest.raises((DataError, UsageError)):
        rm.evaluate(RUN, broken, "mrr")
    with pytest.raises((DataError, UsageError)):
        rm.evaluate(broken, QRELS, "mrr")
