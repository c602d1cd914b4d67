"""Partitions move between log directories while they are used (KIP-113).

Each move is a task: it copies the log in pieces, in disk threads, follows what is
appended, and exchanges the two when little is missing; `storage.directory.log_move`
has the steps, and what a crash between them leaves. Meanwhile the log is not compacted,
as in Apache Kafka. A move that a stop interrupts begins anew with the next start.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from odradek.broker.replica.logs.free_space import free_bytes
from odradek.protocol.errors import KafkaError, KafkaStorageError
from odradek.storage.files.files import MISSING, DiskFull, StorageFailure
from odradek.storage.segment.copy import Uncopyable

from .compaction.cleaning import NotCleaned

if TYPE_CHECKING:
    from pathlib import Path

    from odradek.broker.config.live_config import LiveConfig
    from odradek.broker.durability.committer import Committer
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.replica.partition.partition import Partition
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.disk_threads import DiskThreads
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.storage.directory.future_log import CopyPlan, FutureLog
    from odradek.storage.directory.log_manager import LogManager
    from odradek.storage.directory.log_move import LogMove
    from odradek.storage.log.unified_log import UnifiedLog

    from .compaction.cleaning import Cleaning

CHUNK_BYTES = 16 << 20
# So little is missing that copying and syncing it is a matter of milliseconds.
NEARLY_BYTES = 8 << 20
MISSES_MAX = 1000
LAST_ROUNDS_MAX = 20

_logger = logging.getLogger(__name__)


class _Abandoned(Exception):
    """The move has no purpose any more; the message says why."""


class Move:
    """One partition on its way to ``directory``."""

    def __init__(self, partition: Partition, log: UnifiedLog, directory: Path) -> None:
        self.partition = partition
        self.log = log
        self.directory = directory
        self.is_wanted = True
        self.step: LogMove | None = None  # until it has begun
        self.started_ms = 0
        self.copied_bytes = 0
        self.misses_left = MISSES_MAX
        self.clean_up_to: int | None = None

    @property
    def size(self) -> int:
        """The bytes that were copied."""
        return 0 if self.step is None else self.step.future.size

    @property
    def offset_lag(self) -> int:
        """How many offsets the copy is behind the log."""
        end = 0 if self.step is None else self.step.future.end_offset
        return max(self.log.log_end_offset - end, 0)


class Moving:
    """The moves that are under way; ``moves`` has those that will end where they go."""

    def __init__(  # noqa: PLR0913 - the broker's parts, by their names
        self,
        *,
        live: LiveConfig,
        clock: Clock,
        topics: Topics,
        replica_manager: ReplicaManager,
        log_manager: LogManager,
        committer: Committer,
        cleaning: Cleaning,
        disk_threads: DiskThreads,
        bugs: Bugs,
    ) -> None:
        self.moves: dict[TopicPartition, Move] = {}
        self._live = live
        self._clock = clock
        self._topics = topics
        self._replica_manager = replica_manager
        self._log_manager = log_manager
        self._committer = committer
        self._cleaning = cleaning
        self._disk_threads = disk_threads
        self._bugs = bugs
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def place(self, partition: Partition, directory: Path) -> None:
        """Have ``partition`` live in ``directory``: begin to move it, if it does not.

        It ends a move to anywhere else. A partition without records is made there when
        the first comes.

        Raises:
            KafkaError: it cannot be served, or the catalogue not be written.
        """
        topic_partition = partition.topic_partition
        under_way = self.moves.get(topic_partition)
        if under_way is not None:
            if under_way.directory == directory:
                return
            under_way.is_wanted = False
            del self.moves[topic_partition]
        partition.leadership.check_replica()
        log = partition.log
        if log is None:
            await self._topics.move(topic_partition, str(directory))
            return
        if log.is_failed:
            raise KafkaStorageError(f"{topic_partition} takes no more writes")
        if log.directory.parent == directory or self._is_closed:
            return
        move = self.moves[topic_partition] = Move(partition, log, directory)
        task = asyncio.get_running_loop().create_task(
            self._run(move), name=f"move {topic_partition}"
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def resume(self) -> None:
        """Begin the moves anew that the last stop has interrupted."""
        manager = self._replica_manager
        unfinished = self._log_manager.directories.unfinished
        while unfinished:
            topic_partition, directory = unfinished.popitem()
            with suppress(KafkaError):  # offline, or deleted
                await self.place(manager.partition(topic_partition), directory)

    async def close(self) -> None:
        """Leave the moves as they are; return when nothing is being copied."""
        self._is_closed = True
        if self._tasks:
            await asyncio.wait(set(self._tasks))

    async def _run(self, move: Move) -> None:
        topic_partition = move.partition.topic_partition
        try:
            async with self._cleaning.pause(topic_partition):
                await self._move(move)
        except _Abandoned as reason:
            move.log.lines(_logger).info("it is not moved: %s", reason)
        except (KafkaError, OSError) as error:
            move.log.lines(_logger).error("it stays where it is: %s", error)
        except Exception as error:
            self._bugs.record(f"move {topic_partition}", error)
        finally:
            if self.moves.get(topic_partition) is move:
                del self.moves[topic_partition]

    async def _move(self, move: Move) -> None:
        log = move.log
        await self._make_known(move)
        self._check(move)
        step = self._log_manager.begin_move(log, move.directory)
        move.started_ms = self._clock.monotonic_ms()
        origin = log.directory
        try:
            await self._disk_threads.run(step.future.create)
            move.step = step
            while True:
                await self._catch_up(move, step.future)
                if await self._exchange(move, step):
                    break
        except BaseException:
            remove = step.abandon()
            if not self._is_closed:  # else the next start begins it anew
                await self._disk_threads.run(remove)
            raise
        await self._settle(move, step)
        elapsed_ms = self._clock.monotonic_ms() - move.started_ms
        log.lines(_logger).info(
            "it is here now, and no longer in %s: %d bytes in %d ms",
            origin.parent,
            move.copied_bytes,
            elapsed_ms,
        )

    async def _make_known(self, move: Move) -> None:
        """See that the catalogue knows where the log is: a start must not believe that
        an unfinished copy is the log.
        """
        partition = move.partition
        if not partition.is_written:
            await self._committer.flush()
            await self._replica_manager.recorded()
        if not partition.is_written:
            raise _Abandoned("nothing in it is durable")
        self._check(move)
        await self._topics.move(
            partition.topic_partition, str(move.log.directory.parent)
        )

    async def _catch_up(self, move: Move, future: FutureLog) -> None:
        """Copy until nearly all of the log is there, and durable."""
        plan = future.plan()
        while True:
            self._check(move)
            try:
                before = future.size
                is_done = await self._disk_threads.run(
                    self._copy, future, plan, move.directory
                )
                if is_done:
                    await self._disk_threads.run(future.sync)
            except Uncopyable:
                self._roll(move, future)
                plan = future.plan()
                continue
            except MISSING:
                self._note_miss(move)
                plan = future.plan()
                continue
            move.copied_bytes += max(future.size - before, 0)
            if is_done:
                plan = future.plan()
                if future.missing(plan) <= NEARLY_BYTES:
                    return
            await self._pace(move)

    def _copy(self, future: FutureLog, plan: CopyPlan, directory: Path) -> bool:
        """In a disk thread: one piece, if that leaves room for others."""
        room = free_bytes(directory) - self._live.current.log_min_free_bytes
        missing = future.missing(plan)
        if room < missing:
            raise DiskFull(f"{directory} has no room for {missing} bytes more")
        return future.copy(plan, self._chunk)

    @property
    def _rate(self) -> float:
        """The bytes a second that each move may copy."""
        config = self._live.current
        return config.replica_alter_log_dirs_io_max_bytes_per_second

    @property
    def _chunk(self) -> int:
        return max(int(min(CHUNK_BYTES, self._rate / 4)), 1)

    async def _pace(self, move: Move) -> None:
        clock = self._clock
        due_ms = move.started_ms + move.copied_bytes * 1000 / self._rate
        wait_ms = due_ms - clock.monotonic_ms()
        if wait_ms > 1:
            await clock.sleep(min(wait_ms, 1000))

    def _note_miss(self, move: Move) -> None:
        """A segment has gone, by retention: planned anew, but not for ever."""
        move.misses_left -= 1
        if move.misses_left < 0:
            raise KafkaStorageError("files of it are gone")

    def _roll(self, move: Move, future: FutureLog) -> None:
        """Seal a damaged segment, which then is copied as it is."""
        base_offset = move.log.local.active.base_offset
        future.forget(base_offset)
        try:
            move.log.roll(self._clock.now_ms())
        except StorageFailure as error:
            self._fail(move.log.directory.parent, error)
            raise

    async def _exchange(self, move: Move, step: LogMove) -> bool:
        """Let the copy be the log. False: something went meanwhile, to be tried again.

        Nothing becomes durable until `_settle`, or until it is given up.
        """
        partition, log = move.partition, move.log
        topic_partition, home = partition.topic_partition, log.directory.parent
        log_starts = self._replica_manager.log_starts
        self._check(move)
        log_starts.hold(partition)
        run, is_decided = self._disk_threads.run, False
        try:
            if await run(step.hold()):
                self._check(move)
                is_decided = True
                await self._topics.move(topic_partition, str(move.directory))
                for _ in range(LAST_ROUNDS_MAX):
                    if step.is_cut or (plan := step.last_plan()) is None:
                        break
                    await run(step.future.copy, plan, plan.size)
                self._check(move)
                if not step.is_cut:
                    checkpoint = self._log_manager.cleaner_checkpoint(log)
                    move.clean_up_to = checkpoint.get(topic_partition)
                    self._log_manager.exchange(step, self._clock.now_ms())
                    return True
        except Uncopyable:
            pass
        except MISSING:
            self._note_miss(move)
        except StorageFailure as error:
            self._fail(getattr(error, "directory", None), error)
            await self._stay(partition, log, home, is_decided)
            raise
        except BaseException:
            await self._stay(partition, log, home, is_decided)
            raise
        await self._stay(partition, log, home, is_decided)
        return False

    async def _stay(
        self, partition: Partition, log: UnifiedLog, home: Path, is_decided: bool
    ) -> None:
        """Go on where the log is."""
        if is_decided:
            with suppress(KafkaError):
                await self._topics.move(partition.topic_partition, str(home))
        log.syncing.release()
        self._replica_manager.log_starts.release(partition)
        if partition.committer is not None:
            partition.committer.request_sync(partition)

    async def _settle(self, move: Move, step: LogMove) -> None:
        """The log is the copy: give it its name, and let it become durable."""
        partition, log = move.partition, move.log
        assert partition.committer is not None
        partition.committer.forget(partition)
        partition.committer = self._committer.for_directory(move.directory)
        try:
            await self._disk_threads.run(step.sync_old_name)
        except (KafkaStorageError, *MISSING) as error:
            self._fail(step.home.path, error)
        if self._log_manager.get(log.topic_partition) is log:
            try:
                step.finish()
            except (KafkaStorageError, *MISSING) as error:
                self._fail(move.directory, error)
        self._replica_manager.log_starts.release(partition)
        partition.committer.request_sync(partition)
        if move.clean_up_to is not None:
            with suppress(NotCleaned, KafkaError):  # else it is cleaned once more
                await self._cleaning.note(log, move.clean_up_to)

    def _check(self, move: Move) -> None:
        """Raises `_Abandoned` when there is no reason to go on."""
        topic_partition, log = move.partition.topic_partition, move.log
        if self._is_closed:
            raise _Abandoned("the broker is stopping")
        if not move.is_wanted:
            raise _Abandoned(f"it is wanted elsewhere than in {move.directory}")
        if self._log_manager.get(topic_partition) is not log:
            raise _Abandoned("it was deleted")
        if log.is_failed:
            raise _Abandoned("its log directory is offline")
        if self._committer.for_directory(move.directory).failure is not None:
            raise _Abandoned(f"{move.directory} is offline")

    def _fail(self, directory: Path | None, error: Exception) -> None:
        if directory is not None:
            if not isinstance(error, StorageFailure):
                error = StorageFailure(str(error))
            self._committer.for_directory(directory).fail(error)
