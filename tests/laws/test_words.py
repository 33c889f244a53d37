"""Tables, notes, sentences, messages and the report use the words of the reader's field."""

from __future__ import annotations

import json
from dataclasses import astuple

import polars as pl
import pytest

import rankmeter as rm
from pages import page_of
from rankmeter.errors import DataError, UsageError

pytestmark = pytest.mark.once

RUN = "q1 Q0 d1 1 3 x\nq1 Q0 d2 2 2 x\nq2 Q0 d3 1 1 x\n"
USERS = ("user", "users", "item", "items")
RETRIEVAL = ("query", "queries", "document", "documents")
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d9 2\nq3 0 d1 0\nq4 0 d1 1\n"


@pytest.fixture
def trec(tmp_path):
    (tmp_path / "run.txt").write_text(RUN, "utf-8")
    (tmp_path / "other.txt").write_text(RUN.replace(" 3 x", " 1 x"), "utf-8")
    (tmp_path / "qrels.txt").write_text(QRELS, "utf-8")
    return tmp_path


def test_a_trec_file_has_queries_and_documents(trec):
    result = rm.evaluate(trec / "run.txt", trec / "qrels.txt", "ndcg@3")
    assert result.table().columns[3] == "queries"
    said = repr(result)
    assert "2 queries have no ranking and count as empty rankings" in said
    assert "user" not in said
    assert "ndcg@3 of query q1" in repr(result.show("q1"))
    assert result.show("q1").table().columns[:2] == ["rank", "document"]
    with pytest.raises(UsageError, match="has no query 'q9'"):
        result.show("q9")


def test_tooltips_of_charts_speak_of_queries(trec):
    found = rm.compare(
        {"a": trec / "run.txt", "b": trec / "other.txt"},
        trec / "qrels.txt",
        "ndcg@3",
        segments={"q1": "x", "q2": "x", "q4": "y"},
    )
    drawn = str(found.plot("segments").to_dict()) + str(found.plot("differences").to_dict())
    assert "'title': 'queries'" in drawn
    assert "'title': 'users'" not in drawn


def test_what_a_program_reads_stays_the_same(trec):
    result = rm.evaluate(trec / "run.txt", trec / "qrels.txt", "ndcg@3")
    assert result.per_user.columns == ["user", "ndcg@3"]
    found = json.loads(result.to_json())
    assert found["metrics"]["ndcg@3"]["n_users"] == 3
    assert "users_in_truth" in found["users"]


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (("qid", "docid"), RETRIEVAL),
        (("query_id", "doc_id"), RETRIEVAL),
        (("query-id", "docno"), RETRIEVAL),
        (("user", "item"), USERS),
        (("userId", "movieId"), USERS),
        (("session", "item"), USERS),
    ],
)
def test_the_names_of_columns_decide(names, words):
    frame = pl.DataFrame({names[0]: [1, 2], names[1]: [3, 4]})
    assert astuple(rm.evaluate(frame, frame, "rr")._words) == words


def test_messages_use_them(trec):
    with pytest.raises(DataError, match="2 queries in the ground truth without a ranking"):
        rm.evaluate(trec / "run.txt", trec / "qrels.txt", "ndcg@3", missing="raise")


def test_a_comparison_and_its_report_use_them(trec):
    systems = {"users of old": trec / "run.txt", "new": trec / "other.txt"}
    found = rm.compare(systems, trec / "qrels.txt", "ndcg@3")
    assert "1 differing query" in " ".join(found.sentences())
    assert "users of old" in repr(found)  # the name of a system is not translated
    assert "query has nothing relevant" in repr(found)
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    page = page_of(found)
    assert "Queries with the largest differences" in page
    assert "Differences per query" in page


def test_groups_by_relation_are_of_triples():
    queries = rm.link_queries([(0, 0, 1), (1, 0, 2)])
    ranks = [1, 2, 1, 3]
    found = rm.evaluate_ranks(ranks, "mrr", groups=queries.groups, clusters=queries.clusters)
    assert found.table().columns[3] == "triples"
