"""What all results do."""

from __future__ import annotations

import json
import math
import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from rankmeter._annexes import annex
from rankmeter._reading.table import to_pandas
from rankmeter._results.estimates import Estimate
from rankmeter._results.wording import to_json_value
from rankmeter.conventions._plan import Plan
from rankmeter.errors import UsageError
from rankmeter.errors._calls import answer_calls_of
from rankmeter.errors._checks import USERS, Words, check_integer, check_text, use_words_of_result

if TYPE_CHECKING:
    import pandas as pd

    from rankmeter._results.answer import Answer
    from rankmeter._results.citation import CitationForm
    from rankmeter._results.tables import TextTable


BATCH = 1000
"""The most metrics that MLflow takes in one request."""


def safe_name(label: str) -> str:
    """Convert a label to letters, digits and underscores, for all trackers: ``ndcg_at_10``."""
    return re.sub(r"\W+", "_", label.replace("@", "_at_")).strip("_").replace("__", "_") or "_"


def flatten_numbers(
    groups: Iterable[tuple[tuple[str, ...], Mapping[str, float]]],
) -> dict[str, float]:
    """Put numbers in one dict with names that trackers accept; all but ``mean`` have a suffix.

    A group is the parts of a name, and numbers by kind. NaN is left out: a tracker would draw it as
    a number. It is an error if different names become the same.
    """
    values: dict[str, float] = {}
    origins: dict[str, tuple[str, ...]] = {}
    for names, numbers in groups:
        stem = "_".join(safe_name(part) for part in names if part)
        stem = f"_{stem}" if stem[0].isdigit() else stem
        for kind, number in numbers.items():
            name = stem if kind == "mean" else f"{stem}_{kind}"
            if origins.setdefault(name, names) != names:
                raise UsageError(
                    f"{' '.join(origins[name])!r} and {' '.join(names)!r} would both be logged as "
                    f"{name!r}: give one of them another name"
                )
            if math.isfinite(number):
                values[name] = float(number)
    return values


def send_to_tracker(
    values: Mapping[str, float], to: Any, *, step: int | None, run_id: str | None
) -> None:
    """Pass numbers to a tracker of any kind in `Summary.log`, without importing trackers."""
    options = {} if step is None else {"step": step}
    client = hasattr(to, "log_metric") and not hasattr(to, "log_metrics")
    if client != (run_id is not None):
        raise UsageError(
            "run_id= is the run that an MlflowClient writes to: "
            + ("client.create_run(experiment_id).info.run_id" if client else "pass it with one")
        )
    if client:
        for name, value in values.items():
            to.log_metric(run_id, name, value, **options)
    elif hasattr(to, "log_metrics"):
        names = list(values)
        for start in range(0, len(names), BATCH):
            to.log_metrics({name: values[name] for name in names[start : start + BATCH]}, **options)
    elif _is_wandb(to):
        to.log(dict(values), **options)
    elif hasattr(to, "add_scalar"):
        for name, value in values.items():
            to.add_scalar(name, value, step)
    elif callable(to):
        for name, value in values.items():
            to(name, value, **options)
    else:
        raise UsageError(
            "`to` must be mlflow, an MlflowClient, a wandb run, an object with add_scalar or a "
            f"callable(name, value), got {type(to).__name__}"
        )


def _is_wandb(to: Any) -> bool:
    home = to.__name__ if isinstance(to, ModuleType) else type(to).__module__
    return home.partition(".")[0] == "wandb"


def pages_of_data() -> Any:
    """The module that draws and writes data sets, for results of annexes."""
    return annex("_report.description_page")


class UnavailableMethod:
    """A method that a result does not have; access raises AttributeError with the reason."""

    def __init__(self, reason: str) -> None:
        self.reason = reason

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, result: object, owner: type) -> Any:
        raise AttributeError(f"{owner.__name__} has no {self.name}: {self.reason}")


class Result(ABC):
    """Base class of results; a subclass provides the table, the content and the frame."""

    plot: ClassVar[Any] = UnavailableMethod("this kind of result has no chart")
    show: ClassVar[Any] = UnavailableMethod(
        "this kind of result is about no user, or is shown as it is"
    )
    log: ClassVar[Any] = UnavailableMethod("it has no means to write")
    report: ClassVar[Any] = UnavailableMethod("only evaluations and comparisons write a page")

    def __init_subclass__(cls) -> None:
        answer_calls_of(cls)

    @property
    def _words(self) -> Words:
        """The vocabulary of tables and sentences: words for users and items."""
        return getattr(getattr(self, "plan", None), "words", USERS)

    @abstractmethod
    def table(self) -> TextTable:
        """The result as a table that can be rendered: text, Markdown, LaTeX, HTML."""

    @abstractmethod
    def _dict_content(self) -> dict[str, Any]:
        """The content of `to_dict`: mappings, lists, strings and numbers."""

    @abstractmethod
    def to_polars(self) -> pl.DataFrame:
        """The numbers as a frame."""

    def _tables(self) -> list[TextTable]:
        """All tables, in display order."""
        return [self.table()]

    @use_words_of_result
    def to_dict(self) -> dict[str, Any]:
        """The whole result as plain values, as the command line prints it with ``--json``.

        A number that does not exist is None.
        """
        return {"schema": 1, **to_json_value(self._dict_content())}

    def to_json(self, *, indent: int | None = 2) -> str:
        """`to_dict` as JSON text; a number that does not exist is null."""
        if indent is not None:
            check_integer("indent", indent, least=0, most=100)
        text = json.dumps(self.to_dict(), indent=indent, ensure_ascii=False, allow_nan=False)
        from rankmeter._results.tables import escape_json

        return escape_json(text)

    def to_pandas(self) -> pd.DataFrame:
        """`to_polars` as a pandas frame, without pyarrow.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.
        """
        return to_pandas(self.to_polars(), "to_pandas() needs")

    def to_csv(self) -> str:
        """`to_polars` as CSV text, at full precision.

        A name that a spreadsheet would take for a formula, because it begins with one of
        ``= + - @``, a tab or a carriage return, gets an apostrophe in front. Files of values by
        user keep their ids unchanged.
        """
        formula = pl.col(pl.String).str.replace(r"^([=+\-@\t\r])", "'${1}")
        return self.to_polars().with_columns(formula).write_csv()

    @use_words_of_result
    def to_markdown(self) -> str:
        """All tables in Markdown."""
        return "\n\n".join(table.to_markdown() for table in self._tables())

    @use_words_of_result
    def to_latex(self) -> str:
        """The table in LaTeX, with the rules of the booktabs package."""
        return self.table().to_latex()

    @use_words_of_result
    def __repr__(self) -> str:
        return "\n\n".join(table.to_text() for table in self._tables())

    @use_words_of_result
    def _repr_html_(self) -> str:
        import html

        tables = "".join(table.to_html() for table in self._tables())
        if (plan := self._plan_text()) is None:
            return tables
        return f"{tables}<details><summary>plan</summary><pre>{html.escape(plan)}</pre></details>"

    def _plan_text(self) -> str | None:
        """Text of the choices behind the result; None if not shown."""
        return None


class Logged(Result):
    """A result with means, which has an answer, and which an experiment tracker can take."""

    @abstractmethod
    def conventions(self) -> list[str]:
        """What a paper must say of the convention; empty for values from elsewhere."""

    @abstractmethod
    def _citation(self) -> str:
        """`cite` as plain text."""

    @use_words_of_result
    def cite(self, form: CitationForm = "text") -> str:
        r"""A sentence for a paper: by what, and under which convention, numbers were computed.

        Parameters
        ----------
        form : {"text", "latex", "bibtex"}
            Plain text; LaTeX, which cites the entry ``rankmeter``; or this entry for a list of
            references.

        Raises
        ------
        UsageError
            If there is no such form.

        Examples
        --------
        >>> import rankmeter as rm
        >>> print(rm.evaluate([["b", "a"]], [{"a"}], "rr").cite("latex"))
        rr was computed with rankmeter 1.0.0~\cite{rankmeter} (convention rankmeter: items with a gain above 0 are relevant) over 1 user, with 95 \% intervals.
        """  # noqa: E501
        from rankmeter._results.citation import in_form

        return in_form(self._citation(), form)

    @abstractmethod
    def _answer(self) -> Answer:
        """The headline, the tables and the notes in the order in which all skins draw them."""

    @use_words_of_result
    def details(self) -> Answer:
        """All that the result has to say: the answer, every test, and how it was made.

        Returns
        -------
        Answer
            Shows itself as text or HTML; `to_markdown` is Markdown.
        """
        return self._answer().whole()

    @use_words_of_result
    def to_markdown(self) -> str:
        """The headline, the tables and the notes in Markdown."""
        return self._answer().to_markdown()

    @use_words_of_result
    def __repr__(self) -> str:
        return self._answer().to_text(".details()")

    @use_words_of_result
    def _repr_html_(self) -> str:
        import html

        plan = html.escape(self._plan_text() or "")
        return self._answer().to_html(f"<pre>{plan}</pre>")

    @abstractmethod
    def _numbers_to_log(self) -> Iterable[tuple[tuple[str, ...], Mapping[str, float]]]:
        """Pairs of the parts of a name and numbers by kind, for an experiment tracker."""

    def log(
        self, to: Any, *, prefix: str = "", step: int | None = None, run_id: str | None = None
    ) -> None:
        """Write every mean and every difference, with intervals, to an experiment tracker.

        ``ndcg@10`` becomes ``ndcg_at_10``, ``ndcg_at_10_low``, ``ndcg_at_10_high`` and
        ``ndcg_at_10_n`` (users): names that every tracker accepts. In a comparison, the mean of the
        system BPR is ``BPR_ndcg_at_10``, the difference to it
        ``ALS_vs_BPR_ndcg_at_10_difference``, with ``…_low``, ``…_high``, ``…_p`` (corrected) and
        ``…_n``.

        Parameters
        ----------
        to : object
            The module ``mlflow``, an ``MlflowClient`` together with `run_id`, a run of Weights &
            Biases, a ``SummaryWriter`` of TensorBoard, or any ``callable(name, value)``.
        prefix : str
            Start of all names: ``test`` gives ``test_ndcg_at_10``.
        step : int, optional
            The place on the time axis; a callable gets it as ``step=``.
        run_id : str, optional
            The run that an ``MlflowClient`` writes to.

        Raises
        ------
        UsageError
            If `to` is not one of these, or two names differ only in characters that trackers
            refuse.

        Examples
        --------
        >>> import rankmeter as rm
        >>> rm.evaluate([["b", "a"]], [{"a"}], "rr").log(print)
        rr 0.5
        rr_n 1.0
        """
        checked = check_text("prefix", prefix)
        values = flatten_numbers(
            ((checked, *names), numbers) for names, numbers in self._numbers_to_log()
        )
        send_to_tracker(values, to, step=step, run_id=run_id)


def mean_as_dict(e: Estimate) -> dict[str, float]:
    """Convert a mean to a dictionary for `Result.to_dict`."""
    return {"mean": e.mean, "low": e.low, "high": e.high, "n_users": e.n, **e.bounds()}


class Name(str):
    """The name of a variable in a written call."""

    __slots__ = ()
    __repr__ = str.__str__


def python_call(plan: Plan, function: str, data: str, **extra: Any) -> str:
    """Python call that reproduces a result from the same data, or an empty string.

    Of the `extra` options, those are written that have a value.
    """
    options = plan.options()
    if options is None:
        return ""
    labels = [entry.label for entry in plan.metrics]
    arguments = {name: value for name, value in (options | extra).items() if value is not None}
    words = [f"{name}={value!r}" for name, value in arguments.items()]
    return f"import rankmeter as rm\n\nrm.{function}({', '.join([data, repr(labels), *words])})"


def check_digits(digits: int) -> int:
    """Check the option `digits` of tables for papers: an integer from 0 to 15."""
    return check_integer("digits", digits, least=0, most=15)


answer_calls_of(Result)
