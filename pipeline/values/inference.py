"""The columns of JSON values, as some of them show them: Spark's DDL for `read_schema`.

It is a guess, made once, for people to look at. Whole numbers are BIGINT, others
DOUBLE, texts STRING, also where they look like times: a text that is none would come
one day. A field that is always null is left out. Where values contradict each other
there is no guess.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from odradek.pipeline.job_errors import JobError

if TYPE_CHECKING:
    from collections.abc import Iterable

INFER = "infer"
_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_BIGINT_MAX = (1 << 63) - 1
_DEPTH_MAX = 20
_SAY = 'write schema = "..." yourself'


class _Kind:
    """What the values of a field were: a simple type, an object, or a list."""

    def __init__(self) -> None:
        self.simple: set[str] = set()
        self.fields: dict[str, _Kind] = {}
        self.element: _Kind | None = None
        self.is_object = False

    def add(self, where: str, value: Any, depth: int = 0) -> None:
        if depth > _DEPTH_MAX:
            raise JobError(f"schema: {where} is nested too deeply; {_SAY}")
        if isinstance(value, dict):
            self.is_object = True
            for name, each in value.items():
                inside = self.fields.setdefault(name, _Kind())
                inside.add(f"{where}.{name}" if where else name, each, depth + 1)
        elif isinstance(value, list):
            self.element = self.element or _Kind()
            for each in value:
                self.element.add(f"{where}[]", each, depth + 1)
        elif value is not None:
            self.simple.add(_simple(where, value))

    def ddl(self, where: str) -> str:
        """The type; empty where nothing but null was seen."""
        kinds = [*sorted(self.simple)]
        if self.simple == {"BIGINT", "DOUBLE"}:
            kinds = ["DOUBLE"]
        kinds += ["STRUCT"] if self.is_object else []
        kinds += ["ARRAY"] if self.element else []
        if len(kinds) > 1:
            raise JobError(
                f"schema: values of {where} are {' and '.join(kinds)} in one record or"
                f" another; {_SAY}"
            )
        if self.is_object:
            inside = self.columns(where)
            return f"STRUCT<{', '.join(inside)}>" if inside else ""
        if self.element is not None:
            element = self.element.ddl(f"{where}[]")
            return f"ARRAY<{element}>" if element else ""
        return kinds[0] if kinds else ""

    def columns(self, where: str) -> list[str]:
        """The fields with their types."""
        found = []
        for name, kind in self.fields.items():
            text = kind.ddl(f"{where}.{name}" if where else name)
            if text and "`" not in name and name:
                found.append(f"{_quoted(name)} {text}")
        return found


def infer(values: Iterable[bytes | None]) -> str:
    """The columns of JSON objects; what is none is passed over.

    Raises:
        JobError: none is one, or they contradict each other.
    """
    whole, count = _Kind(), 0
    for value in values:
        try:
            found = json.loads(value or b"")
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            whole.add("", found)
            count += 1
    columns = whole.columns("")
    if not columns:
        seen = f"{count} objects without a field" if count else "no JSON object"
        raise JobError(f"schema: among the records looked at is {seen}; {_SAY}")
    return ", ".join(columns)


def _simple(where: str, value: object) -> str:
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, int):
        if not -_BIGINT_MAX - 1 <= value <= _BIGINT_MAX:
            raise JobError(f"schema: {where} has numbers beyond BIGINT; {_SAY}")
        return "BIGINT"
    return "DOUBLE" if isinstance(value, float) else "STRING"


def _quoted(name: str) -> str:
    return name if _PLAIN_NAME.fullmatch(name) else f"`{name}`"
