"""Asks rankmeter for a number and judges the answer: right, right with a caution, or refused."""

from __future__ import annotations

import json
import math
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from command_line import rankmeter
from rankmeter.errors import RankmeterError, RankmeterWarning

REMEDY = re.compile(
    r"\b(pass|name|write|call|use|choose|drop|rename|convert|mask|remove|add|give|put|read|select|"
    r"leave|keep|filter|split|set|make|check|reset_index|mean|meant|try|see|say|needs?|expected|"
    r"must|allow|run|save|belongs)\b|columns=|--|rm\.",
    re.IGNORECASE,
)
"""A word that says what to do; every error has one."""


@dataclass(frozen=True)
class Answer:
    """What a call gave: a number with what was said about it, or an error of rankmeter."""

    value: float | None
    error: str | None
    cautions: tuple[str, ...] = ()
    text: str = ""  # what a reader of the result sees

    @property
    def said(self) -> str:
        return "\n".join((*self.cautions, self.text))


def ask(call: Callable[..., Any], *args: Any, **options: Any) -> Answer:
    """Call, and keep the first number; an exception of another package passes through."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call(*args, **options)
            if isinstance(result, int | float):
                return Answer(float(result), None)
            summary = next(iter(result.summaries.values()), None) if is_comparison(result) else None
            summary = result if summary is None else summary
            value, text = float(summary[next(iter(summary))].mean), f"{result}"
            cautions = [*summary.cautions]
        except RankmeterError as error:
            return Answer(None, str(error))
    cautions += [str(one.message) for one in caught if issubclass(one.category, RankmeterWarning)]
    return Answer(value, None, tuple(dict.fromkeys(cautions)), text)


def is_comparison(result: Any) -> bool:
    return hasattr(result, "summaries")


def ask_command(*args: Any, metric: str = "rr") -> Answer:
    """Run a command that prints JSON; its standard error holds cautions or the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = rankmeter(*args, "--json")
    if not done.out.lstrip().startswith("{"):
        assert done.code not in (0, 1), f"no number, and exit code {done.code}: {done.err}"
        return Answer(None, done.err)
    found = json.loads(done.out)
    row = found["metrics"][metric]
    value = row["mean"] if "mean" in row else next(iter(row.values()))["mean"]  # of one system
    return Answer(value, None, tuple(found.get("cautions", ())), done.out + done.err)


def is_right(answer: Answer, expected: float) -> bool:
    return answer.value is not None and math.isclose(
        answer.value, expected, rel_tol=1e-9, abs_tol=1e-12
    )


def right(answer: Answer, expected: float) -> None:
    assert answer.error is None, f"refused: {answer.error}"
    assert answer.value == pytest.approx(expected, rel=1e-9, abs=1e-12)


def refused(answer: Answer, about: str = "") -> None:
    """An error that says what to do, and speaks of what is wrong."""
    assert answer.error is not None, f"the number {answer.value} without an error"
    assert REMEDY.search(answer.error), f"no remedy: {answer.error}"
    assert re.search(about, answer.error, re.IGNORECASE), f"not about {about}: {answer.error}"


def right_or_refused(answer: Answer, expected: float, about: str = "") -> None:
    if answer.error is None:
        right(answer, expected)
    else:
        refused(answer, about)


def cautioned(answer: Answer, as_read: float | tuple[float, ...], about: str) -> None:
    """The number of the reading, and a caution about it."""
    assert answer.error is None, f"refused: {answer.error}"
    readings = as_read if isinstance(as_read, tuple) else (as_read,)
    assert any(is_right(answer, one) for one in readings), (
        f"{answer.value} is not one of {readings}"
    )
    said = "\n".join(answer.cautions)
    assert said, f"the number {answer.value} without a caution"
    assert re.search(about, said, re.IGNORECASE), f"not about {about}: {said}"


def told(answer: Answer, as_read: float, about: str) -> None:
    """The number of the reading, and words about it, in a caution or in a note."""
    right(answer, as_read)
    assert re.search(about, answer.said, re.IGNORECASE), f"nothing about {about}: {answer.said}"


def not_silent(answer: Answer, expected: float, about: str = "") -> None:
    """The right number, an error, or another reading that a caution speaks of."""
    if answer.error is not None:
        refused(answer, about)
    elif not is_right(answer, expected):
        said = "\n".join(answer.cautions)
        assert said, f"{answer.value} for {expected} without a caution"
        assert re.search(about, said, re.IGNORECASE), f"not about {about}: {said}"


def silent(answer: Answer, expected: float) -> None:
    """The right number, and no caution."""
    right(answer, expected)
    assert answer.cautions == ()


def naive(lists: Any, truth: Any, metric: str = "rr") -> float:
    """Mean over the users with relevant items: sort nothing, look up, divide.

    ``lists`` has the items of each user, best first; ``truth`` the relevant ones.
    """
    name, _, cutoff = metric.partition("@")
    values = []
    for user, relevant in pairs(truth):
        wanted = set(relevant)
        if not wanted:
            continue
        ranking = list(dict(pairs(lists)).get(user, ()))
        top = ranking[: int(cutoff)] if cutoff else ranking
        places = [place for place, item in enumerate(top, 1) if item in wanted]
        values.append(
            {
                "rr": 1 / places[0] if places else 0.0,
                "hr": float(bool(places)),
                "recall": len(places) / len(wanted),
                "precision": len(places) / (int(cutoff) if cutoff else max(len(ranking), 1)),
                "ap": sum(n / place for n, place in enumerate(places, 1)) / len(wanted),
                "ndcg": sum(1 / math.log2(place + 1) for place in places)
                / sum(1 / math.log2(n + 1) for n in range(1, ideal(wanted, cutoff) + 1)),
            }[name]
        )
    return sum(values) / len(values)


def ideal(wanted: set[Any], cutoff: str) -> int:
    return min(len(wanted), int(cutoff)) if cutoff else len(wanted)


def pairs(lists: Any) -> Any:
    return lists.items() if hasattr(lists, "items") else enumerate(lists)


def as_matrix(values: Any) -> Any:
    """The matrix that `todense` returns; `numpy.asmatrix` warns that it will go."""
    return np.asarray(values).view(np.matrix)


def by_score(scores: Any) -> list[Any]:
    """The items of one user, best score first."""
    return [item for item, _ in sorted(scores.items(), key=lambda pair: -pair[1])]
