import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.checksum import crc32c
from odradek.protocol.record_batch import check_crc, read_header
from odradek.storage.formats.checkpoint import CheckpointError
from odradek.storage.formats.quarantine_entry import (
    QuarantineEntry,
    empty_batch,
    format_quarantine,
    parse_quarantine,
)

ENTRY = QuarantineEntry(0, 4096, 5120, 30, 39, "the checksum is wrong", 2)
HOLE = QuarantineEntry(40, 900, 900, 50, 99, "the batches are missing")
NOTHING_LOST = QuarantineEntry(40, 900, 950, 50, 49, "no batch")


def line(text: str) -> str:
    return f"{crc32c(text.encode()):08x} {text}\n"


def test_line_with_its_checksum_is_read() -> None:
    text = "0\n1\n" + line("0 0 1 0 0 -1 x")
    assert parse_quarantine(text) == [QuarantineEntry(0, 0, 1, 0, 0, "x")]


def test_text_is_read_as_it_was_written() -> None:
    text = format_quarantine([ENTRY, HOLE, NOTHING_LOST])
    assert text.splitlines()[:3] == [
        "0",
        "3",
        "685b29ec 0 4096 5120 30 39 2 the checksum is wrong",
    ]
    assert parse_quarantine(text) == [ENTRY, HOLE, NOTHING_LOST]
    assert parse_quarantine("") == []


@pytest.mark.parametrize(
    "text",
    [
        "1\n0\n",
        "0\n2\n" + line("0 0 1 0 0 -1 x"),
        "0\n1\n" + line("0 0 1 0 0"),
        "0\n1\n" + line("0 0 1 0 zero -1 x"),
        "0\n1\n" + line("0 9 1 0 0 -1 x"),
        "0\n1\n" + line("0 0 1 5 3 -1 x"),
        "0\n1\n" + line("9 0 1 5 6 -1 x"),
        "0\n1\n00000000 0 0 1 0 0 -1 x\n",
        "0\n1\n\n",
    ],
)
def test_what_makes_no_sense_is_refused(text: str) -> None:
    with pytest.raises(CheckpointError):
        parse_quarantine(text)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        entries = parse_quarantine(text)
    except CheckpointError:
        return
    assert parse_quarantine(format_quarantine(entries)) == entries


def test_empty_batch_spans_the_offsets() -> None:
    batch = empty_batch(ENTRY)
    header = read_header(batch)
    assert check_crc(batch, header)
    assert (header.base_offset, header.last_offset) == (30, 39)
    assert (header.records_count, header.size, header.magic) == (0, 61, 2)
    assert (header.partition_leader_epoch, header.producer_id) == (2, -1)


def test_span_that_no_batch_has_goes_on_from_the_reader() -> None:
    wide = ENTRY._replace(last_offset=2**40)
    assert read_header(empty_batch(wide, 0)).base_offset == 30
    header = read_header(empty_batch(wide, 2**40 - 5))
    assert (header.base_offset, header.last_offset) == (2**40 - 5, 2**40)
    assert read_header(empty_batch(wide, 77)).next_offset == 77 + 2**31
