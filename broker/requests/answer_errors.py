"""What an answer says went wrong: for people who watch, not for clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.protocol.errors import ErrorCode
from odradek.protocol.schema import Struct

from .registry import NO_RESPONSE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .dispatch import Route


def errors_in(route: Route, answer: Any, is_framed: bool = False) -> list[str]:
    """The names of the errors in an answer, each once; none when all went well.

    ``answer`` is what a handler returns: a response or its body. With ``is_framed``
    bytes are the whole frame. It is decoded: too slow for each request.
    """
    if answer is NO_RESPONSE:
        return []
    if isinstance(answer, list):
        answer = b"".join(answer)
    if isinstance(answer, bytes):
        body = answer[route.head_size :] if is_framed else answer
        answer = route.response_class.decode(body, route.api_version)
    codes = dict.fromkeys(code for code in _codes_in(answer) if code)
    return [_name(code) for code in codes]


def _codes_in(part: Any) -> Iterator[int]:
    if isinstance(part, list):
        for each in part:
            yield from _codes_in(each)
    elif isinstance(part, Struct):
        for name in type(part).__slots__:
            value = getattr(part, name)
            if name == "error_code":
                yield value
            else:
                yield from _codes_in(value)


def _name(code: int) -> str:
    try:
        return ErrorCode(code).name
    except ValueError:
        return str(code)
