"""The name by which Spark finds ``format("odradek")``.

Spark looks for data sources in top-level modules named ``pyspark_*``, so that nothing
has to be registered. All else is in `odradek.pipeline`, and is loaded when somebody
asks for the source.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.pipeline.source.data_source import DefaultSource

__all__ = ["DefaultSource"]


def __getattr__(name: str) -> type[DefaultSource]:
    """The class that Spark looks for, loaded when it does.

    Raises:
        AttributeError: there is nothing else to be found.
    """
    if name != "DefaultSource":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from odradek.pipeline.source.data_source import DefaultSource

    return DefaultSource
