"""Read JSON of search engines: relevance judgments and search results.

Elasticsearch and OpenSearch: requests and responses of ``_rank_eval``. OpenSearch: judgment lists
and evaluation results of its Search Relevance plugin. RRE (Rated Ranking Evaluator): ratings files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal, NamedTuple

from rankmeter._reading.columns import Side
from rankmeter.errors import FileFormatError
from rankmeter.errors._checks import brief


def read_search_engine_data(data: Mapping[Any, Any], side: Side, source: str) -> Mapping[Any, Any]:
    """Return query → {document: rating} or query → documents; other data are returned unchanged."""
    forms = [form for form in _FORMS if form.keys <= data.keys()]
    for form in sorted(forms, key=lambda form: form.side != side):
        try:
            queries = form.read(data)
            break
        except (KeyError, TypeError, AttributeError, ValueError, IndexError):
            continue  # users may have these names
    else:
        return data
    if side in ("rankings", "truth") and side != form.side:
        noun = "relevance judgments" if form.side == "truth" else "search results"
        raise FileFormatError(
            f"{source} has {noun} of a search engine: they are the {form.side}, not the {side}. "
            "Were the two swapped?"
        )
    by_name = _mapping_of_unique_keys(queries, "it", source)
    if form.side == "rankings":
        return by_name
    return {
        query: _mapping_of_unique_keys(rated, brief(query), source)
        for query, rated in by_name.items()
    }


def index_of_documents(data: Mapping[Any, Any]) -> frozenset[str]:
    """The indexes in which the documents of requests and responses of ``_rank_eval`` are."""
    try:
        if "requests" in data:
            rated = [one for request in data["requests"] for one in request["ratings"]]
        elif "details" in data:
            found = data["details"].values()
            rated = [hit["hit"] for result in found for hit in result["hits"]]
        else:
            return frozenset()
        return frozenset(str(one["_index"]) for one in rated if "_index" in one)
    except (KeyError, TypeError, AttributeError):
        return frozenset()  # users may have these names


def _read_requests(data: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    return [
        (request["id"], [(rated["_id"], rated["rating"]) for rated in request["ratings"]])
        for request in data["requests"]
    ]


def _read_responses(data: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    return [
        (query, [hit["hit"]["_id"] for hit in result["hits"]])
        for query, result in data["details"].items()
    ]


def _read_judgments(data: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    return [
        (judged["query"], [(rated["docId"], float(rated["rating"])) for rated in judged["ratings"]])
        for judged in data["judgmentRatings"]
    ]


def _read_stored_judgments(data: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Read the judgments of all judgment lists in a search response."""
    lists = [stored["_source"] for stored in data["hits"]["hits"]]
    return [judged for judgments in lists for judged in _read_judgments(judgments)]


def _read_stored_results(data: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Read the documents of each query from the experiment results in a search response."""
    results = [stored["_source"] for stored in data["hits"]["hits"]]
    pairs = [(result["searchText"], result["documentIds"]) for result in results]
    if not all(isinstance(query, str) and isinstance(ids, list) for query, ids in pairs):
        raise TypeError
    return pairs


def _read_topics(data: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    """Read the query groups; the queries of a group share their ratings."""
    groups = [group for topic in data["topics"] for group in topic["query_groups"]]
    return [
        (group["name"], [(document, float(rating))
                         for rating, documents in group["relevant_documents"].items()
                         for document in documents])
        for group in groups
    ]  # fmt: skip


def _mapping_of_unique_keys(
    pairs: Iterable[tuple[Any, Any]], owner: str, source: str
) -> dict[Any, Any]:
    """Turn pairs into a mapping; refuse repeated keys."""
    mapping: dict[Any, Any] = {}
    for key, value in pairs:
        if key in mapping:
            raise FileFormatError(
                f"{source}: {owner} has {brief(key)} twice. Documents of one query need different "
                "ids, in all indexes together, and queries need different names, so that results "
                "are of one search configuration"
            )
        mapping[key] = value
    return mapping


class _Form(NamedTuple):
    """Response or request of a search engine, with its keys, side and reader."""

    keys: frozenset[str]
    side: Literal["rankings", "truth"]
    read: Callable[[Mapping[Any, Any]], list[tuple[Any, Any]]]


_FORMS = (
    _Form(frozenset({"requests"}), "truth", _read_requests),
    _Form(frozenset({"details", "metric_score"}), "rankings", _read_responses),
    _Form(frozenset({"judgmentRatings"}), "truth", _read_judgments),
    _Form(frozenset({"hits"}), "truth", _read_stored_judgments),
    _Form(frozenset({"hits"}), "rankings", _read_stored_results),
    _Form(frozenset({"topics"}), "truth", _read_topics),
)
