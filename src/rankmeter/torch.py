"""A metric for torchmetrics, which Lightning and others reset, synchronize and log."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any

import numpy as np

from rankmeter._training.accumulator import Accumulator, accumulator
from rankmeter.errors import MissingDependencyError
from rankmeter.metrics import Metric

__all__ = ["RankMetric"]


def RankMetric(  # noqa: N802 - users call it like a class
    metrics: str | Metric | Iterable[str | Metric], **options: Any
) -> Any:
    """A ``torchmetrics.Metric`` that computes any metrics of rankmeter.

    Parameters
    ----------
    metrics : str, Metric or iterable of them
        As in `rankmeter.evaluate`.
    **options
        Those of `rankmeter.accumulator`, such as ``keep="moments"``.

    Returns
    -------
    torchmetrics.Metric
        Its ``update(scores, target, exclude, ...)`` takes what `Accumulator.update` takes,
        ``compute()`` gives a dictionary of tensors, and ``summary()`` the whole result.

    Raises
    ------
    MissingDependencyError
        If torchmetrics is not installed.

    Examples
    --------
    The true item of the only row is second::

        metric = RankMetric(["mrr", "hits@1"])
        metric.update(torch.tensor([[0.1, 0.9]]), torch.tensor([0]))
        metric.compute()  # {'mrr': tensor(0.5000), 'hits@1': tensor(0.)}
    """
    return _metric_class()(metrics, **options)


class _RankCounts:
    """Counts of ranks as bytes: a state that torchmetrics gathers from all processes."""

    is_differentiable = False
    full_state_update = False
    parts: Any
    add_state: Any
    device: Any

    def __init__(self, metrics: Any, **options: Any) -> None:
        super().__init__()
        self.options = (metrics, options)
        accumulator(metrics, **options)  # mistakes are errors here
        self.add_state("parts", default=[], dist_reduce_fx="cat")

    def update(
        self, scores: Any = None, target: Any = None, exclude: Any = None, **inputs: Any
    ) -> None:
        """Count a batch."""
        import torch

        metrics, options = self.options
        sums = options.get("keep") == "moments"  # which stay as small as those of one batch
        acc = self._merge_batches() if sums else accumulator(metrics, **options)
        acc.update(scores=scores, target=target, exclude=exclude, **inputs)
        data = acc.to_bytes()
        framed = len(data).to_bytes(8, "little") + data
        if sums:
            self.parts = []
        self.parts.append(torch.frombuffer(bytearray(framed), dtype=torch.uint8))

    def sync(self, *args: Any, **options: Any) -> None:
        """Gather the states, also of processes that have no batch."""
        import torch

        if isinstance(self.parts, list) and not self.parts:
            self.parts = [torch.zeros(0, dtype=torch.uint8, device=self.device)]
        super().sync(*args, **options)  # type: ignore[misc]

    def _merge_batches(self) -> Accumulator:
        """Merge all batches so far into an accumulator."""
        tensors = self.parts if isinstance(self.parts, list) else [self.parts]
        metrics, options = self.options
        acc = accumulator(metrics, **options)
        for part in tensors:
            for data in _split_states(part.cpu().numpy()):
                acc.merge(Accumulator.from_bytes(data))
        return acc

    def extra_repr(self) -> str:
        """Names of the metrics, for the parentheses of ``repr``."""
        metrics = self.options[0]
        single = isinstance(metrics, str | Metric)
        return str(metrics) if single else ", ".join(map(str, metrics))

    def summary(self) -> Any:
        """The result with intervals, values by user and notes."""
        return self._merge_batches().compute()

    def compute(self) -> dict[str, Any]:
        """The means as tensors."""
        import torch

        return {name: torch.tensor(e.mean) for name, e in self.summary().items()}


@functools.cache
def _metric_class() -> Any:
    try:
        from torchmetrics import Metric as Base
    except ImportError:
        raise MissingDependencyError(
            "RankMetric needs torchmetrics: pip install torchmetrics"
        ) from None
    return type(
        "RankMetric", (_RankCounts, Base), {"__module__": __name__, "__qualname__": _PICKLED}
    )


_PICKLED = "_RankMetric"
"""Where pickle finds the class, which is made when it is first needed."""


def __getattr__(name: str) -> Any:
    if name == _PICKLED:
        return _metric_class()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _split_states(data: Any) -> Iterable[bytes]:
    """Yield the states in a sequence of bytes; the length of each state precedes the state."""
    data, start = np.asarray(data, dtype=np.uint8).tobytes(), 0
    while start < len(data):
        size = int.from_bytes(data[start : start + 8], "little")
        yield data[start + 8 : start + 8 + size]
        start += 8 + size
