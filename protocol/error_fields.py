"""The error codes in a message, however deep they stand in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .schema import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator


def is_error_code(name: str) -> bool:
    """Whether a field of this name has one."""
    return name.endswith("error_code")


def error_codes(part: Any) -> Iterator[int]:
    """The values of all such fields in a message, or a part of one; 0 is no error."""
    if isinstance(part, list):
        for each in part:
            yield from error_codes(each)
    elif isinstance(part, Struct):
        for field in part.fields:
            value = getattr(part, field.name)
            if is_error_code(field.name):
                yield value
            else:
                yield from error_codes(value)
