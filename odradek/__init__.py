"""A Kafka broker in Python, and a pipeline that turns topics into tables.

In a checkout the folders of this package are links to those beside it, which are where
the code is.
"""

from __future__ import annotations

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    """``__version__``, that of the installed distribution: read when it is asked for.

    Raises:
        AttributeError: there is nothing else to be found.
    """
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("odradek")
    except PackageNotFoundError:
        return "(not installed)"
