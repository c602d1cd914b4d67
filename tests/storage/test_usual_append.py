"""Two logs that are sent the same, one by the short way, one by the long one."""

import errno
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.errors import KafkaError
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.files.files import DiskFull, StorageFailure
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_read import FetchIsolation
from tests.fakes.files import FakeFiles
from tests.storage.logs import (
    ANYBODY,
    DIRECTORY,
    EPOCH,
    NOW,
    Producer,
    append,
    new_log,
    produce,
)

IDEMPOTENT = Producer(7, 0, 0)

sent = st.fixed_dictionaries(
    {
        "producer": st.sampled_from(
            [Producer()] * 4
            + [Producer(7, 0, sequence) for sequence in (0, 1, 2, 3, 3)]
            + [Producer(7, 1, 0), Producer(8, 0, 0)]
            + [Producer(9, 0, sequence) for sequence in (2**31 - 1, 0, 1)]
        ),
        "count": st.sampled_from([1, 1, 2]),
        "size": st.sampled_from([1, 60, 300, 5000]),
        "time_ms": st.sampled_from([NOW] * 3 + [NOW - 5, NOW + 700, NOW + 2000, -1]),
        "compression": st.sampled_from([0] * 7 + [4]),
        "is_transactional": st.sampled_from([False] * 7 + [True]),
        "epoch": st.sampled_from([EPOCH] * 4 + [EPOCH + 1]),
        "flipped": st.sampled_from([None] * 9 + [3, 9, 14, 30, 70]),
    }
)
OPTIONS = st.sampled_from(
    [
        {"segment_bytes": 1500},
        {"segment_bytes": 1 << 20, "segment_ms": 1000},
        {"segment_bytes": 1 << 20, "segment_index_bytes": 40},
        {"max_message_bytes": 200},
        {"message_timestamp_type": "LogAppendTime"},
        {"message_timestamp_after_max_ms": 1000},
        {"cleanup_policy": frozenset({"compact"})},
    ]
)


USUAL: dict[str, Any] = {
    "producer": ANYBODY,
    "count": 1,
    "size": 60,
    "time_ms": NOW,
    "compression": 0,
    "is_transactional": False,
    "flipped": None,
}


def batch_of(each: dict[str, Any]) -> bytearray:
    batch = build_batch(
        [NewRecord(b"k", b"v" * each["size"], each["time_ms"])] * each["count"],
        producer_id=each["producer"].producer_id,
        producer_epoch=each["producer"].producer_epoch,
        base_sequence=each["producer"].sequence,
        compression=each["compression"],
        is_transactional=each["is_transactional"],
    )
    if each["flipped"] is not None:
        batch[each["flipped"] % len(batch)] ^= 1
    return batch


def outcome(log: UnifiedLog, each: dict[str, Any], *, is_short: bool) -> Any:
    """Where the batch is, or what was said against it."""
    batch = memoryview(batch_of(each))
    try:
        if is_short and (
            placed := log.appender.append_usual(batch, each["epoch"], NOW)
        ):
            return placed
        info = log.appender.append_as_leader(batch, each["epoch"], NOW)
    except KafkaError as error:
        return type(error), str(error)
    return info.base_offset, info.last_offset + 1, info.log_start_offset


def all_of(log: UnifiedLog, files: FakeFiles) -> Any:
    """Everything that an append may change."""
    local = log.local
    return (
        {name: files.content(DIRECTORY / name) for name in files.listdir(DIRECTORY)},
        (local.end, len(local.segments), log.appended_bytes, log.latest_epoch),
        (log.producers.encode(), log.producers.map_end_offset),
        [bytes(local.active.indexes.offsets.entries())],
        (local.active.max_timestamp, local.active.offset_of_max_timestamp),
        bytes(log.read(0, 1 << 20, FetchIsolation.LOG_END).records),
    )


@given(st.lists(sent, max_size=30), OPTIONS)
def test_the_short_way_does_what_the_long_one_does(
    asked: list[dict[str, Any]], options: dict[str, Any]
) -> None:
    both = FakeFiles(), FakeFiles()
    options = {"index_interval_bytes": 300, **options}
    short, long = (new_log(files, **options) for files in both)
    for each in asked:
        assert outcome(short, each, is_short=True) == outcome(
            long, each, is_short=False
        )
        assert all_of(short, both[0]) == all_of(long, both[1])


@pytest.mark.parametrize("producer", [ANYBODY, IDEMPOTENT])
def test_what_clients_send_takes_the_short_way(producer: Producer) -> None:
    log, batches = new_log(segment_bytes=1 << 20), []
    for count in range(3):
        _, epoch, sequence = producer
        who = producer._replace(sequence=sequence + count if epoch >= 0 else -1)
        batches.append(batch_of({**USUAL, "producer": who}))
    append(log, batches[0])  # the segment's first
    for offset in (1, 2):
        placed = log.appender.append_usual(memoryview(batches[offset]), EPOCH, NOW)
        assert placed == (offset, offset + 1, 0)
    assert log.appender.append_usual(memoryview(bytes(batches[0])), EPOCH, NOW) is None
    assert log.log_end_offset == 3


def test_a_write_of_the_short_way_that_fails_changes_nothing() -> None:
    files = FakeFiles()
    log = new_log(files)
    produce(log)
    before = all_of(log, files)
    files.fail("append", error=errno.ENOSPC)
    with pytest.raises(DiskFull):
        log.appender.append_usual(memoryview(batch_of(USUAL)), EPOCH, NOW)
    assert all_of(log, files) == before
    files.fail("append", error=errno.EIO)
    with pytest.raises(StorageFailure):
        log.appender.append_usual(memoryview(batch_of(USUAL)), EPOCH, NOW)
    assert log.is_failed
    assert log.appender.append_usual(memoryview(batch_of(USUAL)), EPOCH, NOW) is None


def test_a_producer_of_whom_something_is_awaited_takes_the_long_way() -> None:
    log = new_log(segment_bytes=1 << 20)
    produce(log, producer=IDEMPOTENT)
    follows = log.producers.follows
    assert follows(7, 0, 1) is log.producers.get(7)
    assert follows(7, 0, 2) is follows(8, 0, 0) is None
    log.producers.start_verification(8, 0, 0, NOW)
    assert follows(7, 0, 1) is None


@pytest.mark.parametrize(
    ("options", "before", "special"),
    [
        ({}, {}, {"compression": 4}),
        ({}, {}, {"producer": Producer(7, 0, 1), "is_transactional": True}),
        ({"segment_ms": 1000}, {"time_ms": -1}, {"time_ms": -1}),  # by our clock
        ({"segment_ms": 1000}, {}, {"time_ms": NOW + 1001}),
        ({"segment_index_bytes": 12}, {}, {}),  # one entry in each index
        ({"segment_bytes": 300}, {}, {"size": 200}),
        ({"max_message_bytes": 200}, {}, {"size": 200}),
    ],
)
def test_what_is_special_is_left_to_the_long_way(
    options: dict[str, Any], before: dict[str, Any], special: dict[str, Any]
) -> None:
    files = FakeFiles()
    log = new_log(files, **{"segment_bytes": 1 << 20, **options})
    who = Producer(7, 0, 0) if "producer" in special else ANYBODY
    append(log, batch_of({**USUAL, "producer": who, **before}))
    earlier = all_of(log, files)
    batch = batch_of({**USUAL, **special})
    as_sent = bytes(batch)
    assert log.appender.append_usual(memoryview(batch), EPOCH, NOW + 1001) is None
    assert all_of(log, files) == earlier
    assert batch == as_sent
