"""The data pipeline on Spark: topics become tables, and tables become topics.

Spark looks for data sources in top-level modules named ``pyspark_*``, so that
``spark.read.format("odradek")`` needs no registration. Nothing of Spark is loaded
before somebody asks for the source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .source import DefaultSource

__all__ = ["DefaultSource"]


def __getattr__(name: str) -> type[DefaultSource]:
    """The class that Spark looks for, loaded when it does.

    Raises:
        AttributeError: there is nothing else to be found.
    """
    if name != "DefaultSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .source import DefaultSource

    return DefaultSource
