"""Batches become the rows that `protocol.records` reads, in C and in plain Python."""

import logging
from collections.abc import Iterator

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.pipeline.records.columns import TYPES, RecordColumns
from odradek.pipeline.records.damage import CorruptData, OnCorrupt
from odradek.pipeline.records.records_arrow import RecordsToArrow
from odradek.pipeline.records.sound_batches import SoundWalk
from odradek.pipeline.segments.planning import AbortedRange
from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.record_batch import (
    BATCH_OVERHEAD,
    CODEC_NAMES,
    COMPRESSION_ZSTD,
    HAS_DELETE_HORIZON,
    pack_header,
    read_header,
    restamp_crc,
    scan,
)
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.formats.quarantine_entry import QuarantineEntry, empty_batch
from tests.pipeline.walks import (
    ALL,
    END,
    PLACE,
    decoded,
    expected,
    logs,
    rows_of,
    use_plain,
)
from tests.protocol.walked_batches import laid_out

SKIP = OnCorrupt.SKIP


@pytest.fixture(params=["C", "plain"])
def _walks(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as monkeypatch:
        if request.param == "plain":
            use_plain(monkeypatch)
        yield


BOTH = pytest.mark.usefixtures("_walks")


def batch(*values: bytes | None, **fields: object) -> bytearray:
    records = [NewRecord(None, value, 1000) for value in values]
    return build_batch(records, **fields)  # type: ignore[arg-type]


@given(data=logs(), plain=st.booleans())
def test_rows_are_what_records_read(data: bytes, plain: bool) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        if plain:
            use_plain(monkeypatch)
        assert decoded(data) == expected(data)


@given(data=logs(), start=st.integers(0, 30), size=st.integers(0, 30))
def test_only_the_offsets_asked_for(data: bytes, start: int, size: int) -> None:
    end = start + size
    assert decoded(data, start, end) == expected(data, start, end)


@given(data=logs(), cut=st.integers(1, 200))
def test_a_cut_last_batch_is_ignored(data: bytes, cut: int) -> None:
    positions = [position for position, _ in scan(data)]
    if len(positions) < 2:
        return
    whole = data[: max(positions[-1] + 1, len(data) - cut)]
    decoder = RecordsToArrow(PLACE, ALL)
    rows = rows_of(decoder.decode(memoryview(whole), 0, END))
    assert rows == expected(data[: positions[-1]])
    assert decoder.next_offset == read_header(data, positions[-1]).base_offset


@BOTH
@pytest.mark.parametrize("codec", range(len(CODEC_NAMES)))
def test_every_codec(codec: int) -> None:
    made = [batch(b"a" * 300, None, b"", compression=codec) for _ in range(40)]
    data = laid_out(made)
    assert decoded(data) == expected(data)
    assert len(decoded(data)) == 120


@BOTH
def test_more_than_a_window_and_more_than_a_row_group() -> None:
    values = [bytes([n % 251]) * (n % 40) for n in range(20_000)]
    data = laid_out([batch(*values), batch(b"x" * (3 << 20)), batch(*values[:9])])
    assert decoded(data) == expected(data)


@BOTH
def test_the_time_of_the_broker_is_that_of_every_record() -> None:
    data = laid_out([batch(b"a", b"b", log_append_time_ms=77), batch(b"c")])
    assert [(row[1], row[2]) for row in decoded(data)] == [(77, 1), (77, 1), (1000, 0)]


@BOTH
def test_a_time_that_spark_cannot_hold_is_null() -> None:
    data = laid_out([build_batch([NewRecord(None, None, n) for n in (2**62, -1, 5)])])
    decoder = RecordsToArrow(PLACE, RecordColumns(("timestamp",)))
    (found,) = decoder.decode(memoryview(data), 0, END)
    assert found.column(0).cast("int64").to_pylist() == [None, -1000, 5000]


@BOTH
def test_a_delete_horizon_does_not_move_the_times() -> None:
    one = batch(b"a")
    header = read_header(one)
    pack_header(one, header._replace(attributes=HAS_DELETE_HORIZON))
    restamp_crc(one)
    assert [row[1] for row in decoded(bytes(one))] == [1000]


@BOTH
def test_a_header_name_that_is_not_utf8_is_replaced() -> None:
    record = NewRecord(b"k", b"v", 1, [("\udcff", b"x"), ("\u00e9", None)])
    data = laid_out([build_batch([record, NewRecord()])])
    assert [row[5] for row in decoded(data)] == [
        (("\ufffd", b"x"), ("\u00e9", None)),
        (),
    ]


@pytest.mark.parametrize("name", TYPES)
def test_each_column_alone_has_sparks_type(name: str) -> None:
    columns = RecordColumns((name,))
    data = laid_out([batch(b"a", None), batch(b"b", compression=COMPRESSION_ZSTD)])
    found = list(RecordsToArrow(PLACE, columns).decode(memoryview(data), 0, END))
    assert {each.schema for each in found} == {columns.arrow_schema()}
    whole = RecordsToArrow(PLACE, ALL).decode(memoryview(data), 0, END)
    table = pa.Table.from_batches(whole)
    assert pa.Table.from_batches(found).column(0) == table.column(name)


def test_place_is_in_every_row() -> None:
    (found,) = RecordsToArrow(PLACE, ALL).decode(memoryview(batch(b"a", b"b")), 0, END)
    assert found.column("topic").to_pylist() == ["topic"] * 2
    assert found.column("partition").to_pylist() == [3] * 2


@BOTH
def test_empty_and_control_batches_are_passed() -> None:
    entry = QuarantineEntry(0, 0, 9, 1, 6, "damaged")
    marker = build_marker_batch(EndTxnMarker(ControlType.COMMIT, 0), 7, 0, 5, 7)
    after = bytearray(laid_out([batch(b"z")]))
    after[:8] = (8).to_bytes(8, "big")
    data = bytes(batch(b"a")) + empty_batch(entry) + bytes(marker) + bytes(after)
    decoder = RecordsToArrow(PLACE, ALL)
    assert [r[0] for r in rows_of(decoder.decode(memoryview(data), 0, END))] == [0, 8]
    assert decoder.next_offset == 9


def transactions() -> bytes:
    """Producers 7 and 8 in turn; the first transaction of 7 is aborted at offset 3."""

    def end(producer: int, kind: ControlType) -> bytearray:
        return build_marker_batch(EndTxnMarker(kind, 0), producer, 0, 5)

    seven, eight = (
        {"producer_id": n, "producer_epoch": 0, "is_transactional": True}
        for n in (7, 8)
    )
    return laid_out(
        [
            batch(b"aborted", **seven),
            batch(b"committed", **eight),
            batch(b"aborted", compression=COMPRESSION_ZSTD, **seven),
            end(7, ControlType.ABORT),
            batch(b"plain"),
            batch(b"committed", **seven),
            end(8, ControlType.COMMIT),
            end(7, ControlType.COMMIT),
        ]
    )


@BOTH
def test_committed_readers_do_not_see_what_was_aborted() -> None:
    data, aborted = transactions(), [AbortedRange(7, 0)]
    assert [row[0] for row in decoded(data)] == [0, 1, 2, 4, 5]
    assert [row[0] for row in decoded(data, aborted=aborted)] == [1, 4, 5]
    assert [row[0] for row in decoded(data, aborted=())] == [0, 1, 2, 4, 5]


def test_an_aborted_transaction_goes_on_in_the_next_piece() -> None:
    data = transactions()
    starts = [position for position, _ in scan(data)]
    decoder = RecordsToArrow(PLACE, ALL, aborted=[AbortedRange(7, 0)])
    found = []
    for start, end in zip(starts, [*starts[1:], len(data)], strict=True):
        piece = memoryview(data)[start:end]
        found += rows_of(decoder.decode(piece, decoder.next_offset, END))
    assert [row[0] for row in found] == [1, 4, 5]


def test_damage_fails_with_its_place() -> None:
    data = bytearray(laid_out([batch(b"a"), batch(b"b"), batch(b"c")]))
    size = len(data) // 3
    data[2 * size - 2] ^= 1
    with pytest.raises(CorruptData) as caught:
        decoded(bytes(data))
    text = str(caught.value)
    assert f"topic-3: the broker's answer, bytes {size} to {2 * size}" in text
    assert "the checksum is wrong" in text
    assert "offsets from 1 on" in text


@BOTH
def test_damage_is_skipped_or_reported(caplog: pytest.LogCaptureFixture) -> None:
    data = bytearray(laid_out([batch(b"a"), batch(b"b"), batch(b"c")]))
    data[len(data) // 3 + 30] ^= 0x40
    with caplog.at_level(logging.WARNING):
        assert [row[0] for row in decoded(bytes(data), on_corrupt=SKIP)] == [0, 2]
        assert not caplog.records
        rows = decoded(bytes(data), on_corrupt=OnCorrupt.REPORT)
        assert [row[0] for row in rows] == [0, 2]
    assert "bytes" in caplog.text


@BOTH
def test_a_length_that_looks_cut_costs_one_more_answer() -> None:
    data = bytearray(laid_out([batch(b"a"), batch(b"b"), batch(b"c")]))
    size = len(data) // 3
    data[size + 8] ^= 0x40
    decoder = RecordsToArrow(PLACE, ALL, on_corrupt=SKIP)
    assert len(rows_of(decoder.decode(memoryview(data), 0, END))) == 1
    assert decoder.next_offset == 1
    rows = rows_of(decoder.decode(memoryview(data)[size:], 1, END))
    assert [row[0] for row in rows] == [2]
    assert decoder.next_offset == 3


@pytest.mark.parametrize(
    ("position", "next_offset"), [(80, 2), (26, 1), (16, 1), (9, 2)]
)
def test_answers_with_nothing_but_damage_come_to_an_end(
    position: int, next_offset: int
) -> None:
    data = bytearray(laid_out([batch(b"a" * 40, b"b")]))
    data[position] ^= 0x40
    decoder = RecordsToArrow(PLACE, ALL, on_corrupt=SKIP)
    assert not rows_of(decoder.decode(memoryview(data), 0, END))
    assert decoder.next_offset == next_offset


def malformed() -> bytearray:
    """Its checksum is right; the records are not."""
    made = batch(b"m")
    made[BATCH_OVERHEAD] += 2
    restamp_crc(made)
    return made


def undecompressable() -> bytearray:
    made = batch(b"m" * 99, compression=COMPRESSION_ZSTD)
    made[BATCH_OVERHEAD : BATCH_OVERHEAD + 4] = b"nope"
    restamp_crc(made)
    return made


def miscounted() -> bytearray:
    made = batch(b"m")
    pack_header(made, read_header(made)._replace(records_count=2**31 - 1))
    restamp_crc(made)
    return made


@BOTH
@pytest.mark.parametrize("make", [malformed, undecompressable, miscounted])
@pytest.mark.parametrize("codec", [0, COMPRESSION_ZSTD])
def test_a_batch_that_its_producer_broke(make: object, codec: int) -> None:
    good = [batch(b"a", compression=codec) for _ in range(3)]
    data = laid_out([good[0], make(), good[1], make(), good[2]])  # type: ignore[operator]
    with pytest.raises(CorruptData, match="offsets from 1 on"):
        decoded(data)
    rows = decoded(data, on_corrupt=SKIP)
    assert [row[0] for row in rows] == [0, 2, 4]


@given(logs(), st.data())
def test_hostile_bytes_lose_no_sound_batch_and_add_nothing(
    data: bytes, draws: st.DataObject
) -> None:
    """Offset and epoch are not covered by the checksum; everything else is."""
    changed, sound = bytearray(data), []
    for position, header in scan(data):
        end = position + header.size
        places = st.integers(position + 16, end - 1) | st.integers(
            position + 8, position + 11
        )
        found = draws.draw(st.none() | st.tuples(places, st.integers(1, 255)))
        if found is None:
            sound.append(data[position:end])
        else:
            changed[found[0]] ^= found[1]
    decoder = RecordsToArrow(PLACE, ALL, on_corrupt=SKIP)
    walk = SoundWalk(PLACE, "log")
    rows = []
    for part in walk.piece(memoryview(changed), 0, len(changed)):
        rows += rows_of(decoder.rows(part, 0, END))
    assert rows == [row for each in sound for row in expected(each)]


@given(st.binary(max_size=400))
def test_noise_is_damage_and_nothing_else(data: bytes) -> None:
    assert decoded(data, on_corrupt=SKIP) == []
