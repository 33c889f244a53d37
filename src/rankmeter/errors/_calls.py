"""Calls with arguments that a function does not have, answered with the call that is right."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import is_dataclass
from types import FunctionType
from typing import Any, TypeVar, cast

from rankmeter.errors import UsageError
from rankmeter.errors._checks import brief, counted, suggest_words

F = TypeVar("F", bound=Callable[..., Any])

_CUTOFFS = ("k", "cutoff", "cutoffs", "n", "top_k", "top_n", "topk", "topn")
REMEDIES: Mapping[tuple[str, ...], str] = {
    _CUTOFFS: "a cutoff is part of the metric string, such as ndcg@10, or ndcg@5,10,20 for several",
    ("segments", "segment", "by_segment"): "for means within segments call "
    "result.by_segment({user: segment}), or pass segments= to compare",
    ("mask", "seen"): "leave items out with exclude= of evaluate_scores, Scores or update()",
    ("n_candidates",): "pass candidates= to evaluate_ranks, Ranks or Scores, or n_items= for all",
    ("threshold", "min_rating", "min_relevance"): "write relevant='>=4' for items rated at least 4",
}
"""What to do instead of options that rankmeter does not have."""

_RANKED = ("recs", "recommendations", "recommended", "predictions", "predicted", "preds", "y_pred")
_JUDGED = ("gt", "ground_truth", "truth", "y_true", "labels", "qrels", "actual", "relevant_items")
_OTHER_NAMES: Mapping[str, tuple[str, ...]] = {
    "systems": (*_RANKED, "rankings", "models", "runs", "results"),
    "rankings": (*_RANKED, "run", "ranking", "results", "lists", "scores"),
    "scores": (*_RANKED, "logits", "y_score", "rankings"),
    "ranks": (*_RANKED, "rank", "rankings"),
    "truth": (*_JUDGED, "test", "target", "targets"),
    "target": (*_JUDGED, "targets"),
    "metrics": ("metric", "measures", "measure"),
    "metric": ("metrics", "measure"),
    "filters": ("known", "train", "filter", "valid", "true_triples"),
    "triples": ("test", "test_triples"),
    "max_k": _CUTOFFS,
}
"""What parameters are called elsewhere."""

_GROUPED = (
    "for the candidates of one query after the other, with the size or the query of each, call "
    "rm.evaluate(*rm.grouped(scores, labels, group=sizes), metrics), or qid= in place of group=; "
    "a label for each row of a matrix of scores is groups="
)
_OPTIONS: Mapping[tuple[str, str], str] = {
    **{
        (function, name): _GROUPED
        for function in ("evaluate", "evaluate_scores")
        for name in ("group", "groups", "qid", "group_id", "sizes")
    },
    ("Comparison.report", "segments"): "pass segments= to rm.compare, and the page has them",
}
"""By function and option that it does not have, what to do instead."""


def option_remedy(name: str) -> str:
    """What to do instead of an option that rankmeter does not have; empty for other names."""
    return next((remedy for names, remedy in REMEDIES.items() if name in names), "")


def answers_calls(function: F, known: Collection[str] = ()) -> F:
    """Let a function answer arguments that it does not have with the call that is right.

    `known` are options in addition to those of its signature, which it refuses itself.
    """
    signature = inspect.signature(function)
    parameters = signature.parameters
    is_open = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    names = {*parameters, *known}
    takes_any = inspect.unwrap(function).__code__.co_flags & inspect.CO_VARKEYWORDS

    @functools.wraps(function)
    def answering(*args: Any, **options: Any) -> Any:
        if takes_any and not is_open and not options.keys() <= names:
            from rankmeter.errors._removed import refuse_removed_options

            refuse_removed_options(options, parameters)
            raise _wrong_call_error(function, signature, args, options, names)
        try:
            return function(*args, **options)
        except TypeError:
            try:
                signature.bind(*args, **{n: v for n, v in options.items() if n not in known})
            except TypeError:
                error = _wrong_call_error(function, signature, args, options, names)
            else:
                raise
        raise error

    return cast("F", answering)


def answer_calls_of(cls: type[Any]) -> None:
    """Let the public methods of a class answer arguments that they do not have.

    Its constructor, too, unless it is that of a dataclass, which only rankmeter calls.
    """
    for name, method in [*vars(cls).items()]:
        is_public = not name.startswith("_") or (name == "__init__" and not is_dataclass(cls))
        is_own = getattr(method, "__qualname__", "") == f"{cls.__qualname__}.{name}"
        if isinstance(method, FunctionType) and is_public and is_own:
            setattr(cls, name, answers_calls(method))


def _wrong_call_error(
    function: Callable[..., Any],
    signature: inspect.Signature,
    args: Sequence[Any],
    options: Mapping[str, Any],
    names: Collection[str],
) -> UsageError:
    """Build the error for a call that does not fit the signature."""
    title = function.__qualname__.removesuffix(".__init__")
    own = [p for p in signature.parameters.values() if p.name != "self"]
    given = args[len(signature.parameters) - len(own) :]
    by_place = [p.name for p in own if p.kind is p.POSITIONAL_OR_KEYWORD]
    by_name = [p.name for p in own if p.kind is p.KEYWORD_ONLY]
    unknown = [name for name in options if name not in names]
    if not unknown and len(given) > len(by_place):
        places = f" ({', '.join(by_place)})" if by_place else ""
        example = [*by_place, *(f"{name}=…" for name in by_name[:3])]
        example += ["…"] if len(by_name) > 3 else []
        return UsageError(
            f"{title} takes {counted(len(by_place), 'argument')} by position{places}, got "
            f"{len(given)}: write {_with_owner(title)}({', '.join(example)})"
        )
    written = {**dict(zip(by_place, by_place[: len(given)], strict=False))}
    written |= {name: name for name in options if name in by_place}
    said, cutoff = [], None
    for name in unknown:
        place = next((p for p in by_place if p not in written and _means(name, p)), None)
        place = place or next((p for p in by_name if _means(name, p)), None)
        remedy = _OPTIONS.get((title, name)) or option_remedy(name)
        if place is not None:
            written[place] = name
            said.append(f"`{name}` is called `{place}`")
        elif remedy:
            said.append(remedy)
            cutoff = options[name] if name in _CUTOFFS else cutoff
        else:
            said.append(suggest_words(name, sorted(names)).removeprefix("; "))
    metrics = next((name for name in ("metrics", "metric") if name in by_place), None)
    if cutoff is not None and metrics is not None:
        wanted = options.get(metrics, given[by_place.index(metrics) :][:1] or "ndcg")
        wanted = wanted[0] if isinstance(wanted, list | tuple) and wanted else wanted
        named = wanted.partition("@")[0] if isinstance(wanted, str) else "ndcg"
        written[metrics] = repr(f"{named}@{cutoff if isinstance(cutoff, int) else 10}")
    required = [p.name for p in own if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    call = _write_call(title, by_place, written, required)
    if not unknown:
        missing = [name for name in required if name not in written]
        return UsageError(f"{title} lacks {', '.join(missing)}: write {call}")
    noun = "unknown option" if len(unknown) == 1 else "unknown options"
    hints = [hint for hint in said if hint]
    if not hints:
        hints = [f"known: {', '.join((*by_place, *by_name))}"]
    elif len(written) and (cutoff is not None or any(" is called " in hint for hint in hints)):
        hints.append(f"write {call}")
    mark = ";" if hints[0].startswith(("did you", "known:")) else ":"
    return UsageError(
        f"{noun} {', '.join(map(brief, unknown))}{mark} {'; '.join(hints)}",
        option=unknown[0],
        allowed=tuple(sorted(names)),
        got=unknown[0],
    )


def _means(name: str, parameter: str) -> bool:
    return name in _OTHER_NAMES.get(parameter, ())


def _write_call(
    title: str, by_place: Sequence[str], written: Mapping[str, str], required: Collection[str]
) -> str:
    """Write a call with the names of arguments that were given, or else of the parameters."""
    places, gap = [], False
    for name in by_place:
        if name not in written and name not in required:
            gap = True
        else:
            text = written.get(name, name)
            places.append(f"{name}={text}" if gap else text)
    places += [f"{name}={text}" for name, text in written.items() if name not in by_place]
    places += [
        f"{name}={name}" for name in required if name not in by_place and name not in written
    ]
    return f"{_with_owner(title)}({', '.join(places)})"


def _with_owner(title: str) -> str:
    """``evaluate`` → ``rm.evaluate``, ``Comparison.report`` → ``comparison.report``."""
    owner, _, method = title.rpartition(".")
    return f"{owner.lower() or 'rm'}.{method}"
