"""How a command fails: one line of what is wrong, and an exit code.

Where the answer is to be JSON, the standard output has the same as an object with
``error``. That a command's arguments ask for it is known here, once for the process: a
failure may come up where nobody has the arguments, or while they are read.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

FAILED = 1
USAGE_ERROR = 2
USAGE = "USAGE"  # the name of such an error
_NAMES = {FAILED: "FAILED", USAGE_ERROR: USAGE}


class _Form:
    """How this process answers."""

    is_json = False


def answer_in_json(is_json: bool) -> None:
    """Say failures as JSON, too, from now on."""
    _Form.is_json = is_json


def fail(  # noqa: PLR0913 - the parts of a failure, by their names
    command: str,
    code: int,
    message: object,
    *,
    what: str = "",
    name: str = "",
    kafka_name: str = "",
    row: Mapping[str, Any] | None = None,
) -> int:
    """Say in one line why a command fails, and return its exit code.

    ``what`` is the thing that it is about, a topic perhaps. The error has the name that
    Kafka has for it, which people see too, or a ``name`` of ours for programs. ``row``
    is what the JSON has before the error.
    """
    from .screen import Style, styled  # a broker that starts needs none of it
    from .table import printable

    text = one_line(message)
    line = printable(": ".join(filter(None, (what, kafka_name, text))))
    who = styled(f"odradek {command}:", Style.ERROR, sys.stderr)
    print(f"{who} {line}", file=sys.stderr)
    name = kafka_name or name or _NAMES.get(code, _NAMES[FAILED])
    tell_error(text, what=what, name=name, row=row)
    return code


def tell_error(
    message: str, *, what: str = "", name: str, row: Mapping[str, Any] | None = None
) -> None:
    """Print the object of a failure, where the answer is JSON."""
    if _Form.is_json:
        import json

        error = {"code": name, "message": message, "what": what or None}
        print(json.dumps({**(row or {}), "error": error}, ensure_ascii=False))


def one_line(message: object) -> str:
    """A message without its line breaks."""
    return " ".join(str(message).split())
