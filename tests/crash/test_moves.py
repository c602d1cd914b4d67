"""A crash after every change that a move to another log directory makes.

Whatever part of what was not synced is on the disks: the partition is in one of the two
directories, whole, with all that was acknowledged; a start and a second one agree.
"""

import os
import random
from bisect import bisect_right
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.log_directories import KnownPartition
from odradek.storage.directory.log_directory import DirectoryKind, parse_directory_name
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.directory.log_move import LogMove
from odradek.storage.values.log_config import LogConfig
from tests.crash.recording import Crash, Recording, RecordingFiles
from tests.crash.session import NOW, ROOT, NoLock, PartitionAccount, Promises, Session
from tests.crash.test_recorded_crashes import CONFIG, check, check_retries, found_in

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
# Of how many moments one is tried; how many random parts of what is not synced.
STRIDE, RANDOMS = (1, 6) if IS_LONG else (19, 1)
PARTS = 2
OTHER = Path("/other")
A = TopicPartition("a", 0)
A_ID = bytes(range(16))


def two_directories(files: RecordingFiles, log_dir: Path | None) -> LogManager:
    """The logs, by a catalogue that says in which directory the partition is."""
    manager = LogManager(
        [ROOT, OTHER], files, cluster_id="c", node_id=1, take_lock=NoLock
    )
    manager.open(lambda _: KnownPartition(A_ID, log_dir))
    return manager


class MovingSession(Session):
    """One partition, and a catalogue that is durable at once."""

    def __init__(self, config: LogConfig) -> None:
        self.config = config
        self.files = RecordingFiles()
        self.recording: Recording[Promises] = self.files.record()  # type: ignore[assignment]
        self.recording.promise({})
        self.value_count = 0
        self.partitions: dict[TopicPartition, PartitionAccount] = {}
        self.first_moment = 0
        self.log_dirs: list[tuple[int, Path | None]] = [(0, None)]
        self.manager = two_directories(self.files, None)
        self.files.sync_directory(Path("/"))

    def commit(self, log_dir: Path) -> None:
        """The catalogue says that the partition is there."""
        self.log_dirs.append((len(self.recording.changes), log_dir))

    def log_dir(self, count: int) -> Path | None:
        """What it said after ``count`` changes."""
        place = bisect_right(self.log_dirs, count, key=lambda each: each[0])
        return self.log_dirs[place - 1][1]

    def begin(self, target: Path) -> LogMove:
        account = self.partitions[A]
        self.commit(account.log.directory.parent)
        move = self.manager.begin_move(account.log, target)
        move.future.create()
        return move

    def move(self, target: Path) -> None:
        """All of a move, with records that come between any two steps."""
        account = self.partitions[A]
        move = self.begin(target)
        plan = move.future.plan()
        while not move.future.copy(plan, 300):
            account.produce(2, producer_id=1)
            account.sync()
        account.produce(1, producer_id=7, is_transactional=True)
        account.sync(with_snapshot=True)
        move.future.sync()
        prepare = move.hold()
        account.produce(2)
        account.sync()
        assert prepare()
        self.commit(target)
        account.produce(3, producer_id=1)
        assert move.last_plan() is None
        self.manager.exchange(move, NOW)
        account.produce(1)
        move.sync_old_name()
        account.produce(1, producer_id=1)
        move.finish()
        account.end_transaction(7, commits=False)
        account.sync()
        assert account.promised.end == account.log.log_end_offset


@cache
def recorded(preallocate: bool) -> MovingSession:
    session = MovingSession(replace(CONFIG, preallocate=preallocate))
    account = session.create(A, A_ID)
    for number in range(4):
        account.produce(2)
        account.produce(3, producer_id=1)
        account.sync(number == 1)
    session.commit(account.log.directory.parent)
    account._promise(start_max=3)
    account.log.increment_log_start(3)
    session.manager.checkpoint_job()()
    account._promise(start=3)
    session.first_moment = len(session.recording.changes)
    session.move(OTHER if account.log.directory.parent == ROOT else ROOT)
    session.remove_files()
    account.produce(2, producer_id=1)
    session.manager.checkpoint_job()()
    account.sync()
    abandoned = session.begin(ROOT if account.log.directory.parent == OTHER else OTHER)
    abandoned.future.copy(abandoned.future.plan(), 500)
    abandoned.abandon()()
    account.produce(2)
    account.sync()
    return session


def opened(files: RecordingFiles, log_dir: Path | None) -> LogManager:
    manager = two_directories(files, log_dir)
    kinds = [
        parsed.kind
        for root in (ROOT, OTHER)
        for name in files.listdir(root)
        if (parsed := parse_directory_name(name)) is not None
    ]
    # Never two that are current, nothing set aside, and no half copy is left.
    assert kinds.count(DirectoryKind.LOG) <= 1
    assert DirectoryKind.STRAY not in kinds
    assert DirectoryKind.FUTURE not in kinds
    if manager.has_directory(A):
        manager.register(manager.load(A, A_ID, CONFIG, NOW))
    return manager


def survive(session: MovingSession, crash: Crash) -> None:
    recording = session.recording
    promises, log_dir = (
        recording.promised(crash.moment),
        session.log_dir(crash.moment),
    )
    files = recording.disk(crash)
    for root in (ROOT, OTHER):  # the directories themselves are not what is tested
        files.mkdir(root)
    before = {
        root: [
            name
            for name in files.listdir(root)
            if (parsed := parse_directory_name(name)) is not None
            and parsed.kind is DirectoryKind.LOG
        ]
        for root in (ROOT, OTHER)
    }
    assert sum(map(len, before.values())) <= 1
    manager = opened(files, log_dir)
    log = manager.get(A)
    if log is None:
        assert not promises.get(A) or not promises[A].end
        return
    found = check(log, promises[A])
    files.power_cut()
    again = opened(files, log_dir)
    log = again.get(A)
    assert log is not None
    assert found_in(log) == found
    check_retries(again, promises)


@pytest.mark.parametrize("preallocate", [False, True])
@pytest.mark.parametrize("part", range(PARTS))
def test_what_was_acknowledged_is_in_one_directory(
    part: int, preallocate: bool
) -> None:
    session = recorded(preallocate)
    recording, chance = session.recording, random.Random(part)
    first, end = session.first_moment, len(recording.changes) + 1
    counts = range(first + part, end, STRIDE * PARTS)
    survived = 0
    for crash in recording.all_crashes(counts, RANDOMS, chance):
        try:
            survive(session, crash)
        except Exception as error:
            error.add_note(f"{crash}")
            raise
        survived += 1
    assert survived
