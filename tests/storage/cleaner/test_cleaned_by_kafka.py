"""Logs that Apache Kafka has compacted are cleaned further, and say the same."""

from random import Random

import pytest

from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.cleaner.choice import (
    find_cleanable,
    first_dirty_offset,
    plan_round,
)
from odradek.storage.cleaner.round import CleaningRound
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_read import FetchIsolation
from tests.storage.cleaner.cleaning import MAP_SIZE, take_in
from tests.storage.cleaner.consuming import consume
from tests.storage.test_golden_logs import Case

DAY_MS = 86_400_000
Table = dict[bytes, bytes]


def table_of(log: UnifiedLog) -> Table:
    table: dict[bytes, bytes | None] = {}
    isolation = FetchIsolation.TXN_COMMITTED
    for record in consume(log, log.log_start_offset, isolation, Random(1)):
        assert record.key is not None
        table[bytes(record.key)] = None if record.value is None else bytes(record.value)
    return {key: value for key, value in table.items() if value is not None}


def tombstones(log: UnifiedLog) -> list[int]:
    isolation = FetchIsolation.LOG_END
    found = consume(log, log.log_start_offset, isolation, Random(1))
    return [record.offset for record in found if record.value is None]


def clean(manager: LogManager, log: UnifiedLog, now_ms: int) -> None:
    checkpoint = manager.cleaner_checkpoint(log)
    first_dirty = first_dirty_offset(log, checkpoint.get(log.topic_partition))
    cleanable = find_cleanable(log, first_dirty, now_ms)
    cleaning = CleaningRound(
        log.local.files, plan_round(log, cleanable, now_ms, MAP_SIZE)
    )
    while (cleaned := cleaning.clean_next()) is not None:
        manager.remove_later(log, take_in(log, cleaned, now_ms), now_ms)
    known = manager.directories_of()
    checkpoint.put(log.topic_partition, cleaning.next_dirty_offset, known)


def put(log: UnifiedLog, key: bytes, value: bytes, now_ms: int) -> None:
    batch = build_batch([NewRecord(key, value, now_ms)])
    log.appender.append_as_leader(memoryview(batch), log.latest_epoch or 0, now_ms)
    log.visibility.raise_to(log.end_metadata)


@pytest.mark.parametrize(
    ("name", "has_tombstones"),
    [
        ("compact-tombstones-kept", True),
        ("compact-tombstones-removed", False),
        ("compact-delete", False),
    ],
)
def test_it_is_cleaned_further(name: str, has_tombstones: bool) -> None:
    case = Case(name)
    manager = case.start()
    (log,) = manager.logs()
    now_ms, end = case.now_ms, log.log_end_offset
    log.visibility.raise_to(log.end_metadata)
    before = table_of(log)
    assert before
    assert bool(tombstones(log)) == has_tombstones
    checkpoint = manager.cleaner_checkpoint(log).get(log.topic_partition)
    assert checkpoint is not None
    assert 0 < checkpoint <= end
    changed = sorted(before)[0]
    put(log, changed, b"new", now_ms)
    log.roll(now_ms)
    put(log, b"behind", b"it", now_ms)
    expected = {**before, changed: b"new", b"behind": b"it"}
    assert table_of(log) == expected
    size = log.local.size
    clean(manager, log, now_ms)
    assert log.local.size < size
    assert table_of(log) == expected
    assert bool(tombstones(log)) == has_tombstones
    assert manager.cleaner_checkpoint(log).get(log.topic_partition) == end + 1
    put(log, changed, b"newer", now_ms)
    log.roll(now_ms)
    clean(manager, log, now_ms + DAY_MS)
    expected[changed] = b"newer"
    assert not tombstones(log)
    assert table_of(log) == expected
    assert manager.close()
    (log,) = case.start().logs()
    assert log.log_end_offset == end + 3
    log.visibility.raise_to(log.end_metadata)
    assert table_of(log) == expected
