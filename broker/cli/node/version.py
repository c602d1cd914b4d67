"""``odradek version``: what runs here, for bug reports."""

from __future__ import annotations

import json
import platform
import sys
from importlib import import_module
from importlib.util import find_spec

import odradek
from odradek.terminal.parser import Parser

_EXAMPLES = ("odradek version", "odradek version --json", "odradek --version")


def command(arguments: list[str]) -> int:
    """Say which odradek this is, and what it runs on."""
    what = "Say which odradek this is, and what it runs on."
    parser = Parser("version", what, _EXAMPLES)
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse(arguments)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    found = {
        "odradek": odradek.__version__,
        "python": f"{python} on {platform.system()} {platform.machine()}",
        "loop": _loop(),
        "records": _in_c("odradek.protocol.speedups"),
        "syncs": _in_c("odradek.broker.durability.sync_thread"),
    }
    if options.json:
        print(json.dumps(found))
    else:
        print("\n".join(f"{name:<7} {value}" for name, value in found.items()))
    return 0


def _loop() -> str:
    if sys.platform == "win32" or find_spec("uvloop") is None:
        return "asyncio"
    from importlib.metadata import version

    return f"uvloop {version('uvloop')}"


def _in_c(name: str) -> str:
    try:
        import_module(name)  # whether it can be is the answer
    except ImportError:
        return "plain Python (the C extension was not built)"
    return "C extension"
