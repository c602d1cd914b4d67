"""``odradek version``: what runs here, for bug reports."""

from __future__ import annotations

import platform
import sys
from importlib.util import find_spec

from .parser import Parser


def command(arguments: list[str]) -> int:
    """Say which odradek this is, and what it runs on."""
    what = "Say which odradek this is, and what it runs on."
    Parser("version", what, ("odradek version", "odradek --version")).parse(arguments)
    print(f"odradek {odradek_version()}")
    python = f"{platform.python_implementation()} {platform.python_version()}"
    print(f"python  {python} on {platform.system()} {platform.machine()}")
    print(f"loop    {_loop()}")
    print(f"records {_records()}")
    return 0


def odradek_version() -> str:
    """The version of the installed distribution."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("odradek")
    except PackageNotFoundError:
        return "(not installed)"


def _loop() -> str:
    if sys.platform == "win32" or find_spec("uvloop") is None:
        return "asyncio"
    from importlib.metadata import version

    return f"uvloop {version('uvloop')}"


def _records() -> str:
    try:
        import protocol.speedups  # noqa: F401 - whether it can be imported is the answer
    except ImportError:
        return "plain Python (the C extension was not built)"
    return "C extension"
