"""R3 for checkpoints: many partitions are synced by two syncs of their file system.

A crash after every change: before the first sync, between the two, while small files
have their names and nothing is known of it. Recovery begins at a recovery point that
mostly has no snapshot of the producers beside it.
"""

import random
from collections.abc import Iterator
from functools import cache

import pytest

from odradek.broker.durability.sync_strategy import SyncStrategy
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.files.files import StorageFailure
from odradek.storage.local import unsynced
from odradek.storage.producers.snapshot import list_snapshots
from tests.crash.recording import Recording, RecordingFiles
from tests.crash.session import PartitionAccount, Promises, Session
from tests.crash.test_recorded_crashes import IS_LONG, RANDOMS, survive_one
from tests.sampling import sampled

PARTITIONS, PARTS = 5, 4
STRIDE = 1 if IS_LONG else 83
SNAPSHOT_BYTES = 400  # some rounds have one, others do not


class SyncedFileSystem:
    """The fake file system of a recording, synced as a whole."""

    number = -1

    def __init__(self, files: RecordingFiles) -> None:
        self.sync_count = 0
        self._files = files

    def __call__(self) -> None:
        self.sync_count += 1
        self._files.sync_all()

    def failure(self, error_number: int) -> StorageFailure:
        raise AssertionError("it works")


def checkpoint(session: Session, strategy: SyncStrategy) -> None:
    """A round of the broker's: one sync for all, and where a recovery begins."""
    accounts = list(session.partitions.values())
    drawn = [(each, each.log.syncing.begin_checkpoint()) for each in accounts]
    for account in accounts[::2]:
        account.produce(1, 2)  # meanwhile: of this nothing is promised
    strategy.sync([ticket for _, ticket in drawn if ticket is not None])
    for account, ticket in drawn:
        if ticket is not None:
            account.log.syncing.finish(ticket)
        account.log.visibility.raise_to(account.log.recovery_point)
        account.acknowledge()
    session.checkpoint()


def fill(account: PartitionAccount, number: int) -> None:
    account.produce(1 + number % 2)
    account.produce(2, producer_id=1)
    account.produce(1, producer_id=7, is_transactional=True)
    if number % 2:
        account.end_transaction(7, commits=number % 4 == 1)


@pytest.fixture(autouse=True)
def snapshots_are_rare(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unsynced, "SNAPSHOT_BYTES", SNAPSHOT_BYTES)


def session_of(rounds: int) -> Iterator[tuple[Session, SyncedFileSystem]]:
    """A session after each of its rounds."""
    session = Session()
    file_system = SyncedFileSystem(session.files)
    strategy = SyncStrategy(file_system, lambda: 0)
    for number in range(PARTITIONS):
        place = TopicPartition("t", number)
        session.create(place, bytes([number] * 16))
    for number in range(rounds):
        if number == rounds - 2:
            session.kill()
        for account in session.partitions.values():
            fill(account, number)
        checkpoint(session, strategy)
        yield session, file_system


@cache
def recorded() -> Recording[Promises]:
    *_, (session, _) = session_of(6)
    return session.recording


@pytest.mark.parametrize("part", sampled(range(PARTS), 0))
def test_a_crash_after_every_change_of_a_checkpoint(part: int) -> None:
    recording, chance = recorded(), random.Random(part)
    end = len(recording.changes) + 1
    counts = range(recording.start + STRIDE * part, end, STRIDE * PARTS)
    survived = sum(
        survive_one(recording, crash, chance)
        for crash in recording.all_crashes(counts, RANDOMS, chance)
    )
    print(f"{survived} crashes, {len(recording.changes)} changes")  # shown by -s
    assert survived > 10


def test_two_syncs_do_for_all_of_them_and_few_write_a_snapshot() -> None:
    written: set[int] = set()
    rounds = list[int]()
    for session, file_system in session_of(3):
        rounds.append(file_system.sync_count)
        log = session.partitions[TopicPartition("t", 0)].log
        written.update(list_snapshots(session.files, log.directory))
        assert log.recovery_point > 0
    # New files, then nothing but bytes, and snapshots after that.
    assert rounds[0] == 2
    assert len(written) < 3
