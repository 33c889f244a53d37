"""JSON of search engines: relevance judgments, and the documents that were found.

Elasticsearch and OpenSearch: requests and responses of ``_rank_eval``. OpenSearch: judgment lists
of its Search Relevance plugin. RRE (Rated Ranking Evaluator): ratings files.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rankmeter._reading.columns import Side
from rankmeter.errors import FileFormatError
from rankmeter.errors._checks import shown


def by_query(data: Mapping[Any, Any], side: Side, where: str) -> Mapping[Any, Any]:
    """Query → {document: rating}, or its documents in order; other data are returned unchanged."""
    if "requests" in data:
        read, belongs = _requests, "truth"
    elif "details" in data and "metric_score" in data:
        read, belongs = _responses, "rankings"
    elif "judgmentRatings" in data or "hits" in data:
        read, belongs = _judgments, "truth"
    elif "topics" in data:
        read, belongs = _topics, "truth"
    else:
        return data
    try:
        found = read(data)
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        return data
    if side in ("rankings", "truth") and side != belongs:
        what = "relevance judgments" if belongs == "truth" else "documents that were found"
        raise FileFormatError(
            f"{where} has the {what} of a search engine, which are the {belongs}, not the "
            f"{side}. Were the two swapped?"
        )
    return {query: documents if belongs == "rankings" else _unique(documents, query, where)
            for query, documents in _unique(found, "the file", where).items()}  # fmt: skip


def _requests(data: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    return [
        (request["id"], [(rated["_id"], rated["rating"]) for rated in request["ratings"]])
        for request in data["requests"]
    ]


def _responses(data: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    return [
        (query, [hit["hit"]["_id"] for hit in found["hits"]])
        for query, found in data["details"].items()
    ]


def _judgments(data: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    source = data if "judgmentRatings" in data else data["hits"]["hits"][0]["_source"]
    return [
        (judged["query"], [(rated["docId"], float(rated["rating"])) for rated in judged["ratings"]])
        for judged in source["judgmentRatings"]
    ]


def _topics(data: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """The groups of queries, which share their ratings."""
    groups = [group for topic in data["topics"] for group in topic["query_groups"]]
    return [
        (group["name"], [(document, float(rating))
                         for rating, documents in group["relevant_documents"].items()
                         for document in documents])
        for group in groups
    ]  # fmt: skip


def _unique(pairs: Iterable[tuple[Any, Any]], of: Any, where: str) -> dict[Any, Any]:
    """The pairs as a mapping; the same key twice is an error, because only one could be kept."""
    mapping: dict[Any, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise FileFormatError(
                f"{where}: {shown(of)} has {shown(key)} twice. Documents of one query need "
                "different ids, whatever their index, and queries different names"
            )
        mapping[key] = value
    return mapping
