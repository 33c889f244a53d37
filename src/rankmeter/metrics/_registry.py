"""What is known about each metric beside its formula; lookup, help, docs and tests read it here.

The signature is the schema: the keyword-only parameters of a metric function are its options,
their annotations the permitted values, their defaults the convention ``rankmeter``.
"""

from __future__ import annotations

import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from rankmeter._hits import FloatArray, Hits, IntArray

__all__ = ["METRICS", "SYNONYMS", "MetricFunction", "Option", "Spec", "register"]

MetricFunction = Callable[..., FloatArray]
"""``(hits, k, **options) -> float64 array of shape (n_users,)``, or without ``k``."""


@dataclass(frozen=True)
class Option:
    """One keyword-only parameter of a metric.

    Attributes
    ----------
    name : str
    default : object
        `inspect.Parameter.empty` where the caller must choose.
    choices : tuple of str
        The permitted words; empty for a number.
    type : type or None
        ``int``, ``float`` or ``bool`` where a number (or flag) is permitted.
    optional : bool
        Whether ``none`` is permitted.
    """

    name: str
    default: Any
    choices: tuple[str, ...]
    type: type | None
    optional: bool

    @property
    def required(self) -> bool:
        """Whether the option has no default."""
        return self.default is inspect.Parameter.empty


@dataclass(frozen=True)
class Spec:
    """A metric and the facts about it that can be checked.

    Attributes
    ----------
    name : str
        The canonical name, in lower case.
    title : str
        What a person calls it.
    function : callable
    low, high : float
        The range of its values (of nonnegative gains).
    increasing : bool
        Whether larger is better.
    synonyms : tuple of str
        Other names, in lower case without separators other than ``_``.
    cutoff : bool
        Whether it takes ``@k``.
    needs_judged : bool
        Whether it looks at items judged as not relevant.
    at : str
        The option that a number after ``@`` means, for a metric without cutoff.
    whole : callable, optional
        Of a metric that is a share: what its hits are divided by, called as `function` is.
    options : mapping of str to Option
    """

    name: str
    title: str
    function: MetricFunction
    low: float = 0.0
    high: float = 1.0
    increasing: bool = True
    synonyms: tuple[str, ...] = ()
    cutoff: bool = True
    needs_judged: bool = False
    at: str = ""
    whole: Callable[..., IntArray] | None = None
    options: Mapping[str, Option] = field(default_factory=dict)

    @property
    def summary(self) -> str:
        """The first line of the docstring."""
        return inspect.getdoc(self.function).split("\n", 1)[0]  # type: ignore[union-attr]


METRICS: dict[str, Spec] = {}
"""Every metric by its canonical name."""

SYNONYMS: dict[str, str] = {}
"""Canonical name by synonym."""


def register(
    title: str,
    *,
    low: float = 0.0,
    high: float = 1.0,
    increasing: bool = True,
    synonyms: tuple[str, ...] = (),
    needs_relevant: bool = True,
    needs_judged: bool = False,
    at: str = "",
    whole: Callable[..., IntArray] | None = None,
) -> Callable[[MetricFunction], MetricFunction]:
    """Make a function from hits to numbers a metric that can be asked for by name.

    Parameters
    ----------
    title : str
    low, high : float
        Range of the values.
    increasing : bool
        Whether larger is better.
    synonyms : tuple of str
        Other names under which people look for it.
    needs_relevant : bool
        Whether the metric is undefined (NaN) for a user whose truth holds nothing relevant.
    needs_judged : bool
        Whether it looks at ``hits.judged``.
    at : str
        The option that a number after ``@`` means, for a metric without cutoff.
    whole : callable, optional
        Of a metric that is a share: what its hits are divided by. Without it the metric cannot be
        pooled over users (``aggregate="micro"``).
    """

    def decorate(function: MetricFunction) -> MetricFunction:
        @functools.wraps(function)
        def metric(hits: Hits, *args: Any, **options: Any) -> FloatArray:
            values = function(hits, *args, **options)
            return np.where(hits.n_relevant > 0, values, np.nan) if needs_relevant else values

        name = function.__name__
        METRICS[name] = Spec(
            name,
            title,
            metric,
            low,
            high,
            increasing,
            synonyms,
            cutoff="k" in inspect.signature(function).parameters,
            needs_judged=needs_judged,
            at=at,
            whole=whole,
            options=_options(function),
        )
        for synonym in synonyms:
            if SYNONYMS.setdefault(synonym, name) != name or synonym in METRICS:
                raise ValueError(f"{synonym!r} already means {SYNONYMS[synonym]!r}")
        return metric

    return decorate


def _options(function: MetricFunction) -> dict[str, Option]:
    """The keyword-only parameters of a metric, read from its signature."""
    hints = typing.get_type_hints(function)
    options = {}
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind is not parameter.KEYWORD_ONLY:
            continue
        hint = hints[parameter.name]
        union = isinstance(hint, types.UnionType) or typing.get_origin(hint) is typing.Union
        parts = typing.get_args(hint) if union else (hint,)
        choices: tuple[str, ...] = ()
        number: type | None = None
        for part in parts:
            if typing.get_origin(part) is Literal:
                choices += typing.get_args(part)
            elif part is not types.NoneType:
                number = part
        options[parameter.name] = Option(
            parameter.name, parameter.default, choices, number, types.NoneType in parts
        )
    return options
