"""The walks of the pipeline in C or in plain Python, and what they make of logs."""

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import strategies as st

from odradek.pipeline.records import (
    record_arrays,
    records_arrow,
    small_answers,
    sound_batches,
)
from odradek.pipeline.records.columns import RecordColumns
from odradek.pipeline.records.damage import OnCorrupt
from odradek.pipeline.records.records_arrow import RecordsToArrow
from odradek.protocol.plain import batch_columns as batch_columns_plain
from odradek.protocol.plain import record_columns as record_columns_plain
from odradek.protocol.record_batch import scan
from odradek.protocol.records import NewRecord, Record, build_batch, iterate
from odradek.protocol.topic_partition import TopicPartition
from tests.protocol.walked_batches import laid_out

PLACE = TopicPartition("topic", 3)
ALL = RecordColumns.of(include_headers=True)
END = 2**62

Row = tuple[int, int | None, int, bytes | None, bytes | None, tuple[Any, ...]]

nullable = st.none() | st.binary(max_size=60)
names = st.text(max_size=6).filter(lambda text: text.isprintable())
new_records = st.builds(
    NewRecord,
    nullable,
    nullable,
    st.sampled_from([-1, 0, 1_700_000_000_000, 2**62]) | st.integers(0, 2**40),
    st.lists(st.tuples(names, nullable), max_size=3),
)


@st.composite
def logs(draw: st.DrawFn) -> bytes:
    """Batches of mixed shapes and codecs, with gaps between their offsets."""
    made = []
    for _ in range(draw(st.integers(0, 5))):
        records = draw(st.lists(new_records, min_size=1, max_size=5))
        made.append(
            build_batch(
                records,
                compression=draw(st.sampled_from([0, 0, 1, 2, 3, 4])),
                log_append_time_ms=draw(st.sampled_from([None, None, 77])),
                is_control=draw(st.sampled_from([False, False, False, True])),
            )
        )
    return laid_out(made)


def use_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have everything walked over in Python from here on."""
    plain = record_columns_plain
    for module in (sound_batches, small_answers):
        monkeypatch.setattr(module, "walk_batches", batch_columns_plain.walk_batches)
    for module in (records_arrow, small_answers):
        monkeypatch.setattr(module, "walk_records", plain.walk_records)
    monkeypatch.setattr(record_arrays, "walk_headers", plain.walk_headers)
    monkeypatch.setattr(record_arrays, "gather", plain.gather)


def decoded(
    data: bytes,
    start: int = 0,
    end: int = END,
    *,
    aborted: Any = None,
    on_corrupt: OnCorrupt = OnCorrupt.FAIL,
) -> list[Row]:
    decoder = RecordsToArrow(PLACE, ALL, aborted=aborted, on_corrupt=on_corrupt)
    return rows_of(decoder.decode(memoryview(data), start, end))


def rows_of(batches: Iterable[Any]) -> list[Row]:
    """Offset, time in ms, its type, key, value and headers of each record."""
    rows: list[Row] = []
    for batch in batches:
        batch.validate(full=True)
        times = batch.column("timestamp").cast("int64").to_pylist()
        columns = ("offset", "timestampType", "key", "value", "headers")
        lists = (batch.column(name).to_pylist() for name in columns)
        for time, (offset, *fields, headers) in zip(
            times, zip(*lists, strict=True), strict=True
        ):
            assert headers is None or headers
            pairs = tuple((each["key"], each["value"]) for each in headers or ())
            milliseconds = None if time is None else time // 1000
            rows.append((offset, milliseconds, *fields, pairs))
    return rows


def expected(data: bytes, start: int = 0, end: int = END) -> list[Row]:
    """What `protocol.records` reads there."""
    rows = []
    for position, header in scan(data):
        if header.is_control:
            continue
        batch = data[position : position + header.size]
        kind = int(header.is_log_append_time)
        rows += [
            row_of(record, kind)
            for record in iterate(batch)
            if start <= record.offset < end
        ]
    return rows


def row_of(record: Record, timestamp_type: int = 0) -> Row:
    fields = record.key, record.value, record.headers
    is_too_late = record.timestamp > (2**63 - 1) // 1000
    timestamp = None if is_too_late else record.timestamp
    return (record.offset, timestamp, timestamp_type, *fields)


def next_offset_of(data: bytes) -> int:
    """The offset behind the last batch."""
    ends = [header.next_offset for _, header in scan(data)]
    return ends[-1] if ends else 0
