"""Transactions in a log that is cleaned: markers outlive their data."""

from odradek.protocol.control_records import ControlType, encode_key
from odradek.storage.values.log_read import AbortedTransaction, FetchIsolation
from tests.storage.cleaner.cleaning import (
    RETENTION_MS,
    clean,
    compacted_log,
    content,
    end,
    headers,
    put,
    write,
)
from tests.storage.logs import NOW, reopened

P = {"producer_id": 1, "producer_epoch": 0, "is_transactional": True}
Q = {"producer_id": 2, "producer_epoch": 0, "is_transactional": True}


def offsets(log: object) -> list[int]:
    return [header.last_offset for header in headers(log)]  # type: ignore[arg-type]


def test_t112_aborted_data_dropped_markers_later() -> None:
    log = compacted_log()
    put(log, (b"a", b"1"), base_sequence=0, **P)
    put(log, (b"b", b"1"), base_sequence=0, **Q)
    end(log, 1, commits=False)
    end(log, 2, commits=True)
    write(log, "| z1")
    next_dirty, _ = clean(log)
    assert content(log) == "1b1 4z1"
    # What was aborted is kept as a header: the last sequence of its producer.
    assert offsets(log) == [0, 1, 2, 3, 4]
    assert headers(log)[2].delete_horizon_ms is None, "its data were met"
    # The next round meets that one, the second none any more.
    put(log, (b"c", b"1"), base_sequence=1, **P)
    end(log, 1, commits=True)
    put(log, (b"d", b"1"), base_sequence=1, **Q)
    end(log, 2, commits=True)
    write(log, "| y1")
    next_dirty, _ = clean(log, next_dirty)
    assert offsets(log) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert headers(log)[1].delete_horizon_ms is None
    write(log, "| x1")
    next_dirty, _ = clean(log, next_dirty)
    assert headers(log)[1].delete_horizon_ms == NOW + RETENTION_MS
    write(log, "| w1")
    clean(log, next_dirty, NOW + RETENTION_MS)
    assert offsets(log) == [1, 3, 4, 5, 6, 7, 8, 9, 10, 11]
    assert content(log) == "1b1 4z1 5c1 7d1 9y1 10x1 11w1"


def test_readers_are_told_what_was_aborted_while_there_are_batches_of_it() -> None:
    log = compacted_log()
    put(log, (b"a", b"1"), base_sequence=0, **P)
    end(log, 1, commits=False)
    write(log, "| z1")
    for each in (log, reopened(log)):
        next_dirty, _ = clean(each)
        data = each.read(0, 10_000, FetchIsolation.TXN_COMMITTED, may_block=True)
        assert data.aborted == [AbortedTransaction(1, 0)]
    put(log, (b"c", b"1"), base_sequence=1, **P)
    end(log, 1, commits=True)
    write(log, "| y1")
    next_dirty, _ = clean(log, next_dirty)
    write(log, "| x1")
    clean(log, next_dirty)
    data = log.read(0, 10_000, FetchIsolation.TXN_COMMITTED, may_block=True)
    assert data.aborted == []


def test_the_marker_of_a_transaction_without_records_waits_for_its_horizon() -> None:
    log = compacted_log()
    put(log, (b"a", b"1"), base_sequence=0, **P)
    end(log, 1, commits=True)
    end(log, 2, commits=True)
    end(log, 2, commits=True, epoch=1)
    write(log, "| z1")
    next_dirty, _ = clean(log)
    marked = [header.delete_horizon_ms is not None for header in headers(log)]
    assert marked == [False, False, True, True, False]
    write(log, "| y1")
    clean(log, next_dirty, NOW + RETENTION_MS)
    # The last marker alone says what epoch producer 2 has: it stays as a header.
    assert offsets(log) == [0, 1, 3, 4, 5]
    assert headers(log)[2].records_count == 0
    assert offsets(reopened(log)) == offsets(log)


def test_an_aborted_value_does_not_hide_an_older_one() -> None:
    log = compacted_log()
    write(log, "a1")
    put(log, (b"a", b"2"), base_sequence=0, **P)
    end(log, 1, commits=False)
    write(log, "| z1")
    clean(log)
    assert content(log) == "0a1 3z1"


def test_t122_key_equal_to_marker_key_bytes_not_confused() -> None:
    log = compacted_log()
    key = encode_key(ControlType.COMMIT)
    put(log, (key, b"1"))
    put(log, (b"a", b"1"), base_sequence=0, **P)
    end(log, 1, commits=True)
    write(log, "| z1")
    clean(log)
    assert offsets(log) == [0, 1, 2, 3]
    assert not headers(log)[0].is_control


def test_a_transaction_over_several_segments_is_one() -> None:
    log = compacted_log(segment_bytes=200)
    write(log, "a1 |")
    put(log, (b"a", b"2"), base_sequence=0, **P)
    log.roll(NOW)
    put(log, (b"b", b"2"), base_sequence=1, **P)
    log.roll(NOW)
    end(log, 1, commits=False)
    write(log, "| z1")
    clean(log)
    assert content(log) == "0a1 4z1"


def test_what_was_aborted_long_ago_hides_no_newer_transaction() -> None:
    """The map is made of the dirty part alone, without the older markers."""
    log = compacted_log(segment_bytes=150)
    put(log, (b"a", b"1"), base_sequence=0, **P)
    end(log, 1, commits=False)
    write(log, "b1 |")
    next_dirty, _ = clean(log)
    put(log, (b"b", b"2"), base_sequence=1, **P)
    end(log, 1, commits=True)
    write(log, "| z1")
    clean(log, next_dirty)
    assert content(log) == "3b2 5z1"


def test_committed_readers_come_to_their_end_while_a_transaction_is_open() -> None:
    """Though what is there is aborted, and the round ends before it."""
    log = compacted_log()
    write(log, "a1 b1 c1")
    put(log, (b"d", b"1"), base_sequence=0, **P)
    log.roll(NOW)
    put(log, (b"e", b"1"), base_sequence=0, **Q)
    end(log, 1, commits=False)
    put(log, (b"f", b"1"), base_sequence=1, **P)
    end(log, 1, commits=True)
    write(log, "| z1")
    assert clean(log, map_size=0)[0] == 1
    assert log.last_stable_offset == 4
    assert content(log).startswith("0a1 1b1 2c1 4e1")
    data = log.read(3, 1000, FetchIsolation.TXN_COMMITTED, may_block=True)
    assert len(data.records)
