"""``odradek version``: what runs here, for bug reports."""

from __future__ import annotations

import json
import platform
import sys
from importlib.util import find_spec

import odradek
from odradek.terminal.parser import Parser, json_argument

from .extensions import EXTENSIONS, expected, is_here

_EXAMPLES = ("odradek version", "odradek version --json", "odradek --version")


def command(arguments: list[str]) -> int:
    """Say which odradek this is, and what it runs on."""
    what = "Say which odradek this is, and what it runs on."
    parser = Parser("version", what, _EXAMPLES)
    json_argument(parser, "one JSON object")
    options = parser.parse(arguments)
    python = f"{platform.python_implementation()} {platform.python_version()}"
    found = {
        "odradek": odradek.__version__,
        "python": f"{python} on {platform.system()} {platform.machine()}",
        "loop": _loop(),
        **{purpose: _language(purpose) for purpose in EXTENSIONS},
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


def _language(purpose: str) -> str:
    if is_here(purpose):
        return "C extension"
    if purpose not in expected():
        return "plain Python (the C extension is for Linux)"
    return "plain Python (the C extension was not built)"
