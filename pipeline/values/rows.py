"""Values that are read one by one, by a library: rows first, columns from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.pipeline.job_errors import JobError

from .json import Decoded

if TYPE_CHECKING:
    from collections.abc import Callable

    import pyarrow

_REASON_MAX = 200


def decode_rows(
    values: pyarrow.Array,
    schema: pyarrow.Schema,
    read: Callable[[bytes], dict[str, Any]],
) -> Decoded:
    """The columns of what ``read`` makes of each value; what it raises is a reason.

    A null value (a tombstone) is a row of nulls.

    Raises:
        JobError: as ``read`` does, where it is not the value that is wrong.
    """
    import pyarrow as pa

    kind = pa.struct([(field.name, field.type) for field in schema])
    rows: list[dict[str, Any]] = []
    places: list[int] = []
    reasons: dict[int, str] = {}
    for place, value in enumerate(values.to_pylist()):
        try:
            rows.append({} if value is None else read(value))
            places.append(place)
        except JobError:
            raise  # the registry is away: nothing is known of the value
        except Exception as error:  # libraries raise whatever they like
            reasons[place] = _reason(error)
    try:
        columns = pa.array(rows, kind)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError):
        rows, places = _fitting(rows, places, kind, reasons)
        columns = pa.array(rows, kind)
    return Decoded(columns, pa.array(places, pa.uint64()), reasons)


def _fitting(
    rows: list[dict[str, Any]],
    places: list[int],
    kind: pyarrow.StructType,
    reasons: dict[int, str],
) -> tuple[list[dict[str, Any]], list[int]]:
    """The rows that fit the columns, found one by one."""
    import pyarrow as pa

    kept, kept_places = [], []
    for row, place in zip(rows, places, strict=True):
        try:
            pa.array([row], kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, ValueError) as error:
            reasons[place] = _reason(error)
            continue
        kept.append(row)
        kept_places.append(place)
    return kept, kept_places


def _reason(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text[:_REASON_MAX]
