"""What a shell may complete beside commands, options, choices and files."""

from __future__ import annotations

import click

__all__ = ["conventions", "metrics"]


def metrics(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of metrics."""
    from rankmeter.metrics import METRICS

    return [name for name in METRICS if name.startswith(incomplete.lower())]


def conventions(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Names of conventions."""
    from rankmeter.conventions import convention_names

    return [name for name in convention_names() if name.startswith(incomplete.lower())]
