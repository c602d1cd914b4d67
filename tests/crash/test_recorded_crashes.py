"""R3: a crash after every change that a broker's logs make to their files.

Whatever part of what was not synced is on the disk: every partition opens, what was
acknowledged is there, once and in order, what was deleted is gone, and recovering
twice changes nothing. A crash while that is being recovered is no different.
"""

import os
import random
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import pytest

from odradek.protocol.errors import InconsistentTopicId
from odradek.protocol.record_batch import read_header, scan
from odradek.protocol.records import iterate
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.files import preallocation
from odradek.storage.log.unified_log import UnifiedLog
from odradek.storage.values.log_read import AbortedTransaction, FetchIsolation
from tests.crash.recording import Crash, Recording, RecordingFiles, Write
from tests.crash.session import (
    CONFIG,
    NOW,
    PartitionAccount,
    Promised,
    Promises,
    Session,
    manager_on,
)
from tests.sampling import sampled

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
# Of how many moments one is tried; how many random parts of what is not synced; of how
# many crashes one is followed by another.
STRIDE, RANDOMS, AGAIN = (1, 8, 5) if IS_LONG else (31, 1, 60)
PARTS = 8
A, B = TopicPartition("a", 0), TopicPartition("b-c", 3)
A_ID, B_ID, NEW_ID = bytes(range(16)), bytes(range(1, 17)), bytes(range(2, 18))


def fill(account: PartitionAccount, rounds: int) -> None:
    """Plain, idempotent and transactional batches, committed and aborted."""
    for number in range(rounds):
        account.produce(2)
        account.produce(3, producer_id=1)
        account.produce(1, producer_id=7, is_transactional=True)
        account.sync(number % 2 == 0, meanwhile=lambda: account.produce(1, 2))
        account.produce(2, producer_id=7, is_transactional=True)
        account.end_transaction(7, commits=number % 2 == 1)
    account.sync()


@cache
def recorded() -> Recording[Promises]:
    return recording_of(Session())


@cache
def recorded_with_zeros() -> Recording[Promises]:
    """The same with files that are written ahead, several times in each segment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preallocation, "STEP_MIN", 200)
        patch.setattr(preallocation, "APPENDS_MIN", 1)
        return recording_of(Session(replace(CONFIG, preallocate=True)))


def recording_of(session: Session) -> Recording[Promises]:
    a = session.create(A, A_ID)
    fill(a, 2)
    b = session.create(B, B_ID)
    fill(b, 1)
    session.checkpoint()
    fill(a, 2)
    a.delete_records(9)
    for _ in range(12):  # over the end of a segment, and nothing of it is synced
        a.produce(2)
    session.kill()
    fill(a, 3)
    a.retain()
    session.checkpoint()
    a.delete_records(a.log.high_watermark)
    fill(a, 1)
    a.retain()
    session.stop()
    fill(a, 2)
    fill(b, 2)
    session.checkpoint()
    b.truncate(b.promised.end // 2)
    b.produce(3, producer_id=1)
    b.sync()
    fill(b, 1)
    b.truncate(100, is_fully=True)
    fill(b, 1)
    session.checkpoint()
    session.delete(A)
    a = session.create(A, NEW_ID)
    a.produce(2)
    a.produce(2, producer_id=1)
    a.sync()
    session.remove_files()
    fill(a, 1)
    session.kill()
    fill(a, 1)
    session.stop()
    return session.recording


class Found(NamedTuple):
    """What is in a partition, and what is known of it."""

    records: list[tuple[int, bytes | None, bytes | None]]
    start: int
    end: int
    aborted: set[AbortedTransaction]
    epochs: list[tuple[int, int]]
    producers: list[tuple[int, int, int, int, int]]
    quarantined: list[tuple[int, int]]


def found_in(log: UnifiedLog) -> Found:
    records: list[tuple[int, bytes | None, bytes | None]] = []
    aborted: set[AbortedTransaction] = set()
    offset = log.log_start_offset
    while len(data := log.read(offset, 1 << 20, may_block=True).records):
        for position, header in scan(data):
            batch = memoryview(data)[position : position + header.size]
            records += [
                (each.offset, each.key, each.value)
                for each in iterate(batch)
                if each.offset >= offset
            ]
            offset = header.next_offset
            end = position + header.size
        assert end == len(data)  # nothing but batches
    offset = log.log_start_offset
    while True:
        seen = log.read(offset, 1 << 20, FetchIsolation.TXN_COMMITTED, may_block=True)
        if not len(seen.records):
            break
        aborted.update(seen.aborted or ())
        *_, (_, header) = scan(seen.records)
        offset = header.next_offset
    return Found(
        records,
        log.log_start_offset,
        log.log_end_offset,
        aborted,
        [(each.epoch, each.start_offset) for each in log.epochs.entries],
        sorted(
            (
                each.producer_id,
                each.producer_epoch,
                each.last_sequence,
                each.last_offset,
                each.current_txn_first_offset,
            )
            for each in log.producers
        ),
        [(each.base_offset, each.last_offset) for each in log.quarantine],
    )


def opened(files: RecordingFiles, promises: Promises) -> LogManager:
    """What a broker makes of the disk; every partition that it knows is open."""
    manager = manager_on(files)
    strange = set(manager.directories_of()) - set(promises)
    assert not strange
    for partition, promised in promises.items():
        if not manager.has_directory(partition):
            assert not promised.end or promised.is_being_deleted
            continue
        try:
            log = manager.load(partition, promised.topic_id, CONFIG, NOW)
        except InconsistentTopicId:
            assert not promised.end
            manager.set_aside(partition)
            continue
        manager.register(log)
    return manager


def check(log: UnifiedLog, promised: Promised) -> Found:
    found = found_in(log)
    offsets = [offset for offset, _, _ in found.records]
    assert offsets == sorted(set(offsets))
    assert promised.start <= found.start <= promised.start_max
    values = {offset: value for offset, _, value in found.records}
    assert {
        offset: value
        for offset, value in promised.records.items()
        if promised.start_max <= offset < promised.end
    }.items() <= values.items()
    for offset, value in values.items():
        assert value in promised.written[offset]
    assert found.end >= promised.end
    assert log.latest_epoch >= promised.leader_epoch
    # Of what is being deleted a log may be left whose transaction index is gone: names
    # that reach the disk in another order than they were changed in.
    visible = {
        AbortedTransaction(each.producer_id, each.first_offset)
        for each in promised.aborts
        if each.last_offset >= promised.start_max
    }
    assert visible <= found.aborted
    return found


def check_retries(manager: LogManager, promises: Promises) -> None:
    """What was acknowledged is not written again; new records are."""
    for partition, promised in promises.items():
        log = manager.get(partition)
        if log is None:
            continue
        end = log.log_end_offset
        for batch in promised.retries:
            header = read_header(batch)
            if header.base_offset >= promised.start_max:
                again = memoryview(bytearray(8) + batch[8:])  # as the client sent it
                info = log.appender.append_as_leader(again, log.latest_epoch, NOW)
                assert info.is_duplicate
                assert info.base_offset == header.base_offset
        assert log.log_end_offset == end


def survive(files: RecordingFiles, promises: Promises) -> Recording[object]:
    """Open it, twice. Returns what the first opening changed."""
    recording = files.record()
    manager = opened(files, promises)
    found = {
        partition: check(log, promises[partition])
        for partition in promises
        if (log := manager.get(partition)) is not None
    }
    changed, files.recording = files.recording, None
    assert changed is recording
    files.power_cut()
    again = opened(files, promises)
    for partition, expected in found.items():
        log = again.get(partition)
        assert log is not None
        assert found_in(log) == expected
    check_retries(again, promises)
    return recording


def survive_all(recording: Recording[Promises], part: int, parts: int = PARTS) -> int:
    chance = random.Random(part)
    first, end = recording.start, len(recording.changes) + 1
    counts = range(first + STRIDE * part, end, STRIDE * parts)
    survived = 0
    for crash in recording.all_crashes(counts, RANDOMS, chance):
        survived += survive_one(recording, crash, chance)
    return survived


def survive_one(
    recording: Recording[Promises], crash: Crash, chance: random.Random
) -> int:
    promises = recording.promised(crash.moment)
    try:
        recovery = survive(recording.disk(crash), promises)
    except Exception as error:
        error.add_note(f"{crash}")
        raise
    if chance.random() * AGAIN >= 1:
        return 1
    count = chance.randint(recovery.start, len(recovery.changes))
    *_, again = recovery.crashes(count, 1, chance)
    try:
        survive(recovery.disk(again), promises)
    except Exception as error:
        error.add_note(f"{crash}, and while it was recovered {again}")
        raise
    return 2


@pytest.mark.parametrize("part", sampled(range(PARTS), 0, 4))
def test_r3_crash_after_every_change(part: int) -> None:
    survived = survive_all(recorded(), part)
    print(f"{survived} crashes, {len(recorded().changes)} changes")  # shown by -s
    assert survived > 10


@pytest.mark.parametrize("part", sampled(range(PARTS), 0, 4))
def test_r3_crash_with_zeros_behind_the_log(part: int) -> None:
    recording = recorded_with_zeros()
    zeros = [
        change
        for change in recording.changes
        if isinstance(change, Write) and not change.data.strip(b"\0")
    ]
    assert len(zeros) > 30
    survived = survive_all(recording, part)
    print(f"{survived} crashes, {len(recording.changes)} changes")  # shown by -s
    assert survived > 10
