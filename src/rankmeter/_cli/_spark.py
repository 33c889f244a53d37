"""The cluster of ``--engine spark``."""

from __future__ import annotations

from rankmeter._cli._command import LARGE, Option
from rankmeter._ingest import spark_session
from rankmeter.errors import UsageError


def master_option() -> Option:
    """The option ``--master``."""
    return Option(
        "--master",
        "The cluster of --engine spark: local[4], spark://HOST:7077, yarn, sc://HOST. "
        "Default: that of spark-submit, or all cores of this machine.",
        metavar="URL",
        group=LARGE,
    )


def start_spark(master: str | None, engine: str | None) -> None:
    """Start the session of Spark that reads and counts."""
    if master is None:
        return
    if engine != "spark":
        raise UsageError("--master has no effect without --engine spark")
    spark_session(master)
