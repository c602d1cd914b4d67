"""Schemas of values, as people write them: Spark's DDL, read without Spark.

``id BIGINT NOT NULL, name STRING, tags ARRAY<STRING>, at TIMESTAMP`` becomes an Arrow
schema. The types are those that JSON can say and that all table formats have.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from odradek.pipeline.errors import did_you_mean
from odradek.pipeline.job_errors import JobError

if TYPE_CHECKING:
    import pyarrow

_TOKEN = re.compile(r"\s*(?:(`[^`]+`|[A-Za-z_][\w]*)|(\d+)|([<>(),:])|(\S))")
_SYNONYMS = {
    "long": "bigint",
    "integer": "int",
    "real": "float",
    "bool": "boolean",
    "dec": "decimal",
    "numeric": "decimal",
    "text": "string",
    "varchar": "string",
}
_NUMBERS = ("bigint", "int", "smallint", "tinyint", "double", "float")
_OTHERS = ("boolean", "string", "binary", "date", "timestamp", "timestamp_ntz")
_SIMPLE = (*_NUMBERS, *_OTHERS)
_NESTED = ("decimal", "array", "struct")


def read_schema(text: str) -> pyarrow.Schema:
    """The Arrow schema that a text like ``id BIGINT, name STRING`` describes.

    Raises:
        JobError: says what cannot be read, and where.
    """
    import pyarrow as pa

    reader = _Reader(text)
    fields = reader.fields(end="")
    names = [field.name for field in fields]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise JobError(f"schema: the column {twice[0]} is there twice")
    return pa.schema(fields)


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = [match[0].strip() for match in _TOKEN.finditer(text)]
        self._tokens = [token for token in self._tokens if token]
        self._next = 0

    def fields(self, end: str) -> list[pyarrow.Field]:
        import pyarrow as pa

        found = []
        while True:
            name = self._name("the name of a column")
            if self._peek() == ":":
                self._take()
            kind = self._type()
            nullable = True
            if self._peek().lower() == "not":
                self._take()
                self._expect("null")
                nullable = False
            found.append(pa.field(name, kind, nullable=nullable))
            if self._peek() == ",":
                self._take()
                continue
            self._expect(end)
            return found

    def _type(self) -> pyarrow.DataType:
        import pyarrow as pa

        word = self._name("a type").lower()
        word = _SYNONYMS.get(word, word)
        if word == "array":
            self._expect("<")
            element = self._type()
            self._expect(">")
            return pa.list_(pa.field("element", element))
        if word == "struct":
            self._expect("<")
            return pa.struct(self.fields(end=">"))
        if word == "decimal":
            return self._decimal()
        return _simple_type(word)

    def _decimal(self) -> pyarrow.DataType:
        import pyarrow as pa

        precision, scale = 10, 0
        if self._peek() == "(":
            self._take()
            precision = self._number()
            if self._peek() == ",":
                self._take()
                scale = self._number()
            self._expect(")")
        if not 0 <= scale <= precision <= 38 or not precision:
            raise JobError(
                f"schema: no DECIMAL({precision}, {scale}); at most (38, 38)"
            )
        return pa.decimal128(precision, scale)

    def _name(self, what: str) -> str:
        token = self._take()
        if not (token.startswith("`") or token.isidentifier()):
            raise JobError(f"schema: expected {what}, found {token or 'the end'!r}")
        return token.strip("`")

    def _number(self) -> int:
        token = self._take()
        if not token.isdigit():
            raise JobError(f"schema: expected a number, found {token or 'the end'!r}")
        return int(token)

    def _expect(self, token: str) -> None:
        found = self._take()
        if found.lower() != token:
            raise JobError(
                f"schema: expected {token or 'a comma or the end'!r}, found "
                f"{found or 'the end'!r}; write it like: id BIGINT, name STRING"
            )

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self) -> str:
        token = self._peek()
        self._next += 1
        return token


def _simple_type(word: str) -> pyarrow.DataType:
    import pyarrow as pa

    types = {
        "bigint": pa.int64(),
        "int": pa.int32(),
        "smallint": pa.int16(),
        "tinyint": pa.int8(),
        "double": pa.float64(),
        "float": pa.float32(),
        "boolean": pa.bool_(),
        "string": pa.string(),
        "binary": pa.binary(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", tz="UTC"),
        "timestamp_ntz": pa.timestamp("us"),
    }
    if word in types:
        return types[word]
    if word == "map":
        raise JobError("schema: JSON objects are read as STRUCT<...>; MAP is not read")
    meant = did_you_mean(word, [*_SIMPLE, *_NESTED])
    raise JobError(
        f"schema: there is no type {word.upper()}.{meant} There are "
        f"{', '.join([*_SIMPLE, *_NESTED]).upper()}"
    )
