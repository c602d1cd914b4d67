"""JSON values become typed columns, many at once.

Mostly `usual_json` reads them. Where it has a doubt, or a type that it does not know,
the values of a batch are joined to lines and read by Arrow's parser, which is five
times faster than one call per value. It reads documents, not lines, so a value is
only given to it when it begins with ``{`` and ends with ``}``. What it leaves open is
then an error: behind ``}`` no line can go on with ``{``, and within a string none can
end. So each line is one document or more, and as many rows as values say that each is
one. Nothing is put around a value, which could close that and go on behind it.

An error says nothing of the other values: they are then read in ever smaller parts,
until the bad ones stand alone.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow

_WHITESPACE = " \t\n\r"
# What Arrow takes for numbers beside NaN, Infinity and -Infinity, and nobody else does.
_STRANGE = ("Inf", "-NaN")
_PARTS = 16
_BLOCK_MIN = 1 << 20
# Offsets in a binary array are 32 bits; what is joined stays far below.
_JOINED_SIZE_MAX = 256 << 20


class Decoded(NamedTuple):
    """Columns of the good rows; where they stood; the reasons for the others."""

    columns: pyarrow.StructArray
    rows: pyarrow.Array
    reasons: dict[int, str]


class JsonDecoder:
    """Reads JSON objects into the columns of a schema.

    Fields that the schema does not have are passed over; those that a value does not
    have are null, and a reason against it where the schema says NOT NULL. A null value
    (a tombstone) is a row of nulls.
    """

    def __init__(self, schema: pyarrow.Schema) -> None:
        import pyarrow as pa

        from .usual_json import UsualJson

        self.schema = schema
        # What is missing is found out behind the parser, for the reason's sake.
        self._type = _nullable(pa.struct(list(schema)))
        # Arrow's parser reads no dates, but moments.
        self._parsed = _nullable(self._type, date=pa.timestamp("s"))
        self._usual = UsualJson(self._type) if UsualJson.reads(self._type) else None
        self._required = [field.name for field in schema if not field.nullable]

    def decode(self, values: pyarrow.Array) -> Decoded:
        """The typed columns of binary ``values``."""
        import pyarrow as pa
        import pyarrow.compute as pc

        reasons: dict[int, str] = {}
        present = values.is_valid()
        rows = pc.indices_nonzero(present)
        good, parts = [], []
        for part in _by_size(rows, values):
            for found_rows, found in self._read(values, part, reasons):
                good.append(found_rows)
                parts.append(found)
        nulls = pc.indices_nonzero(pc.invert(present))
        if len(nulls):
            good.append(nulls)
            parts.append(_null_rows(self._type, len(nulls)))
        if not parts:
            return Decoded(pa.array([], self._type), pa.array([], pa.uint64()), reasons)
        all_rows = pa.concat_arrays([each.cast(pa.uint64()) for each in good])
        columns = pa.concat_arrays(parts)
        if len(parts) > 1:
            order = pc.sort_indices(all_rows)
            all_rows, columns = all_rows.take(order), columns.take(order)
        return self._check_required(Decoded(columns, all_rows, reasons))

    def _read(
        self, values: pyarrow.Array, rows: pyarrow.Array, reasons: dict[int, str]
    ) -> Iterator[tuple[pyarrow.Array, pyarrow.StructArray]]:
        """Rows that are good, with their columns; the reasons of the others."""
        import pyarrow as pa

        some = values if len(rows) == len(values) else values.take(rows)
        try:
            yield rows, self._parse(some)
            return
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ValueError) as error:
            if len(rows) == 1:
                reasons[rows[0].as_py()] = _reason(error)
                return
        size = -(-len(rows) // _PARTS)
        for start in range(0, len(rows), size):
            yield from self._read(values, rows.slice(start, size), reasons)

    def _parse(self, values: pyarrow.Array) -> pyarrow.StructArray:
        import pyarrow as pa
        from pyarrow import json as arrow_json

        texts = values.cast(pa.string())  # is it UTF-8? The parser does not look
        usual = None if self._usual is None else self._usual.read(values)
        if usual is not None:
            return usual
        _check_ends(texts)
        joined = _joined(values)
        table = arrow_json.read_json(
            pa.BufferReader(joined),
            read_options=arrow_json.ReadOptions(
                use_threads=False, block_size=max(len(joined) + 1, _BLOCK_MIN)
            ),
            parse_options=arrow_json.ParseOptions(
                explicit_schema=pa.schema(list(self._parsed)),
                unexpected_field_behavior="ignore",
            ),
        )
        if len(table) != len(values):
            raise ValueError(_NO_OBJECT)
        _check_numbers(texts)
        column = table.to_struct_array()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks)
        return column if self._parsed == self._type else column.cast(self._type)

    def _check_required(self, decoded: Decoded) -> Decoded:
        import pyarrow as pa
        import pyarrow.compute as pc

        bad: pyarrow.Array | None = None
        for name in self._required:
            missing = decoded.columns.field(name).is_null()
            if not missing.true_count:
                continue
            for row in pc.filter(decoded.rows, missing).to_pylist():
                decoded.reasons.setdefault(row, f"{name} is missing, and NOT NULL")
            bad = missing if bad is None else pc.or_(bad, missing)
        if bad is None:
            return decoded
        keep = pc.invert(bad)
        columns = decoded.columns.filter(keep)
        assert isinstance(columns, pa.StructArray)
        return Decoded(columns, decoded.rows.filter(keep), decoded.reasons)


def _null_rows(kind: pyarrow.StructType, count: int) -> pyarrow.StructArray:
    import pyarrow as pa

    fields = list(kind)
    arrays = [pa.nulls(count, field.type) for field in fields]
    return pa.StructArray.from_arrays(arrays, fields=fields)


def _by_size(rows: pyarrow.Array, values: pyarrow.Array) -> Iterator[pyarrow.Array]:
    """The rows in parts whose values are not too large together."""
    if not len(rows):
        return
    count = -(-values.nbytes // _JOINED_SIZE_MAX)
    size = -(-len(rows) // max(count, 1))
    for start in range(0, len(rows), size):
        yield rows.slice(start, size)


def _check_ends(values: pyarrow.Array) -> None:
    """Raise ValueError where one does not begin and end as an object does."""
    import pyarrow.compute as pc

    if not _has_ends(values) and not _has_ends(pc.ascii_trim(values, _WHITESPACE)):
        raise ValueError(_NO_OBJECT)


def _has_ends(values: pyarrow.Array) -> bool:
    import pyarrow.compute as pc

    begins, ends = pc.starts_with(values, "{"), pc.ends_with(values, "}")
    return bool(begins.true_count == ends.true_count == len(values))


_NO_OBJECT = "JSON parse error: it is not one object"
_TOO_DEEP = "JSON parse error: it is nested too deeply"


def _check_numbers(values: pyarrow.Array) -> None:
    """Raise ValueError where one has a number that JSON does not know."""
    import pyarrow.compute as pc

    for token in _STRANGE:
        if not _contains(values, token.encode()):
            continue
        for text in values.filter(pc.match_substring(values, token)).to_pylist():
            try:
                json.loads(text)
            except RecursionError:
                raise ValueError(_TOO_DEEP) from None


def _contains(values: pyarrow.Array, part: bytes) -> bool:
    """Whether the values, one behind the other, have these bytes; faster than Arrow."""
    import numpy as np

    content = np.frombuffer(_content(values), np.uint8)
    places = np.flatnonzero(content[: max(len(content) - len(part) + 1, 0)] == part[0])
    for step, byte in enumerate(part[1:], 1):
        places = places[content[places + step] == byte]
    return bool(len(places))


def _content(values: pyarrow.Array) -> pyarrow.Buffer:
    offsets = memoryview(values.buffers()[1]).cast("i")
    start, end = offsets[values.offset], offsets[values.offset + len(values)]
    return values.buffers()[2].slice(start, end - start)


def _joined(values: pyarrow.Array) -> pyarrow.Buffer:
    """One line for each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def text(content: bytes) -> pyarrow.Scalar:
        return pa.scalar(content, pa.binary())

    if _contains(values, b"\n"):
        # Between tokens a tab means the same; within a string both are errors.
        values = pc.replace_substring(values, b"\n", b"\t")
    lines = pc.binary_join_element_wise(values, text(b""), text(b"\n"))
    if isinstance(lines, pa.ChunkedArray):
        lines = lines.combine_chunks()
    return _content(lines)


def _nullable(
    kind: pyarrow.DataType, date: pyarrow.DataType | None = None
) -> pyarrow.DataType:
    """The type without NOT NULL in it, and with another type for dates."""
    import pyarrow as pa

    if pa.types.is_date32(kind):
        return date or kind
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _nullable(field.type, date)) for field in kind])
    if pa.types.is_list(kind):
        element = _nullable(kind.value_type, date)
        return pa.list_(pa.field(kind.value_field.name, element))
    return kind


def _reason(error: Exception) -> str:
    """The parser's words, without the place in what was joined for it."""
    if isinstance(error, UnicodeDecodeError):
        return "JSON parse error: not UTF-8"
    if isinstance(error, json.JSONDecodeError):
        return f"JSON parse error: {error}"
    return str(error).removesuffix(" in row 0")[:200]
