"""JSON values become typed columns, many at once.

The values of a batch are joined to lines and read by Arrow's parser, which is five
times faster than one call per value. It reads documents, not lines: each value is
therefore wrapped as ``{"v":VALUE}``, so that a value which is no single document is
an error or changes the number of rows. An error says nothing of the other values:
they are then read in ever smaller parts, until the bad ones stand alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow

_VALUE = "v"
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

        self.schema = schema
        # What is missing is found out behind the parser, for the reason's sake.
        self._type = _nullable(pa.struct(list(schema)))
        # Arrow's parser reads no dates, but moments.
        self._parsed = _nullable(self._type, date=pa.timestamp("s"))
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
        from pyarrow import json

        values.cast(pa.string())  # is it UTF-8? The parser does not look
        joined = _joined(values)
        table = json.read_json(
            pa.BufferReader(joined),
            read_options=json.ReadOptions(
                use_threads=False, block_size=max(len(joined) + 1, _BLOCK_MIN)
            ),
            parse_options=json.ParseOptions(
                explicit_schema=pa.schema([(_VALUE, self._parsed)]),
                unexpected_field_behavior="ignore",
            ),
        )
        column = table.column(_VALUE).combine_chunks()
        if isinstance(column, pa.ChunkedArray):
            column = pa.concat_arrays(column.chunks)
        if len(column) != len(values):
            raise ValueError("it is not one JSON object")
        if column.null_count:
            raise ValueError("it is JSON's null, not an object")
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


def _joined(values: pyarrow.Array) -> pyarrow.Buffer:
    """One line ``{"v":VALUE}`` for each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def text(content: bytes) -> pyarrow.Scalar:
        return pa.scalar(content, pa.binary())

    if pc.any(pc.match_substring(values, b"\n")).as_py():
        # Between tokens a tab means the same; within a string both are errors.
        values = pc.replace_substring(values, b"\n", b"\t")
    lines = pc.binary_join_element_wise(
        text(b'{"%s":' % _VALUE.encode()), values, text(b"}\n"), text(b"")
    )
    if isinstance(lines, pa.ChunkedArray):
        lines = lines.combine_chunks()
    offsets = memoryview(lines.buffers()[1]).cast("i")
    start, end = offsets[lines.offset], offsets[lines.offset + len(lines)]
    return lines.buffers()[2].slice(start, end - start)


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
    text = str(error).removesuffix(" in row 0").replace("Column(/v/", "Column(/")
    return text.replace("Column(/v)", "the value")[:200]
