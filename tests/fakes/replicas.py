"""A replica manager with everything around it, on a disk in memory.

Syncs happen when the test says so: ``sync()`` is one group commit, ``commit()``
also waits for the catalogue.
"""

import contextlib
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any, cast

from odradek.broker.config.live_config import LiveConfig
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.durability.sync_waiters import SyncWaiters
from odradek.broker.metadata.catalog.catalog import Catalog
from odradek.broker.metadata.found_directories import compare_directories
from odradek.broker.metadata.resource_options import ResourceOptions
from odradek.broker.metadata.topics import Topics
from odradek.broker.node.parts import Parts
from odradek.broker.replica.replica_manager import ReplicaManager
from odradek.broker.requests.context import ConnectionInfo, RequestContext
from odradek.broker.runtime.bugs import Bugs
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.broker.runtime.memory.answer_memory import AnswerMemory
from odradek.broker.runtime.scheduler import Scheduler
from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.record_batch import read_header
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.files.files import StorageFailure
from odradek.storage.log.unified_log import UnifiedLog
from tests.fakes.clock import FakeClock
from tests.fakes.files import FakeFiles

LOG_DIR = Path("/logs")
NOW_MS = 1_700_000_000_000


class FakeLock:
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def release(self) -> None:
        """Nobody else wants it."""


class FakeDirectoryCommitter:
    """Collects what is dirty, until the test syncs."""

    def __init__(self, directory: Path, owner: "FakeCommitter") -> None:
        self.directory = directory
        self.failure: StorageFailure | None = None
        self.dirty: dict[Any, None] = {}
        self.requested: list[Any] = []
        self.syncs_at_once = True
        self.waiters = SyncWaiters()
        self._owner = owner

    def mark_dirty(self, partition: Any) -> None:
        self.dirty[partition] = None

    def request_sync(self, partition: Any) -> None:
        self.dirty[partition] = None
        self.requested.append(partition)

    async def flush(self) -> None:
        if self.failure is None:
            self.sync()
        if self.failure is not None:
            raise self.failure

    def hand_over(self, partition: Any) -> None:
        self.waiters.hand_over(partition)

    def fail(self, error: StorageFailure) -> None:
        self.failure = error
        self._owner.on_failure(self.directory, error)
        self.waiters.release(error)

    def sync(self) -> None:
        dirty, self.dirty = self.dirty, {}
        tickets = [(each, each.begin_sync()) for each in dirty]
        try:
            for partition, ticket in tickets:
                if ticket is not None:
                    ticket.run()
                    partition.finish_sync(ticket)
        except StorageFailure as error:
            self.fail(error)
            return
        for partition, ticket in tickets:
            if ticket is not None:
                partition.on_durable()
        waiters, self.waiters = self.waiters, SyncWaiters()
        waiters.release(None)


class FakeCommitter:
    def __init__(self) -> None:
        self.on_failure: Any = None
        self.directories: dict[Path, FakeDirectoryCommitter] = {}

    def for_directory(self, directory: Path) -> FakeDirectoryCommitter:
        if directory not in self.directories:
            self.directories[directory] = FakeDirectoryCommitter(directory, self)
        return self.directories[directory]

    def sync(self) -> None:
        for directory in self.directories.values():
            directory.sync()

    async def flush(self) -> None:
        self.sync()

    async def checkpoint(self) -> None:
        self.sync()


class Replicas:
    def __init__(
        self,
        catalog: Catalog,
        files: FakeFiles,
        threads: DiskThreads | None = None,
        answers: AnswerMemory | None = None,
        **options: Any,
    ) -> None:
        options.setdefault("log_min_free_bytes", 0)
        # Else every batch of a transaction takes a guard, and a coordinator's word.
        options.setdefault("transaction_partition_verification_enable", False)
        self.config = BrokerConfig(log_dirs=(LOG_DIR,), **options)
        self.clock = FakeClock(NOW_MS)
        self.files = files
        self.catalog = catalog
        self.topics = Topics(catalog)
        self.threads = threads or DiskThreads(2)
        self.logs = LogManager(
            [LOG_DIR],
            files,
            cluster_id=self.topics.cluster_id,
            node_id=1,
            verifies_transactions=self.config.transaction_partition_verification_enable,
            take_lock=FakeLock,
        )
        self.logs.open()
        compare_directories(self.topics, self.logs)
        self.committer = FakeCommitter()
        self.answers = answers or AnswerMemory()
        self.manager = ReplicaManager(
            config=self.config,
            clock=self.clock,
            topics=self.topics,
            log_manager=self.logs,
            disk_threads=self.threads,
            committer=cast("Any", self.committer),
            answers=self.answers,
        )
        self.connection = ConnectionInfo(close=self.note_close)
        self.closed_count = 0
        self.bugs: list[BaseException] = []
        bugs = Bugs(self.bugs.append)
        self.services = Parts(
            config=self.config,
            clock=self.clock,
            log_manager=self.logs,
            disk_threads=self.threads,
            committer=cast("Any", self.committer),
            metadata=self.topics,
            resources=ResourceOptions(catalog),
            live=LiveConfig(self.config),
            scheduler=Scheduler(self.clock, bugs),
            cluster_id=self.topics.cluster_id,
            node_id=1,
            bugs=bugs,
        )
        self.services.replica_manager = self.manager

    def note_close(self) -> None:
        self.closed_count += 1

    async def create_topic(
        self, name: str = "t", partitions: int = 1, **options: str
    ) -> TopicPartition:
        """Make a topic; options with ``_`` for the dots. Gives its first partition."""
        dotted = {key.replace("_", "."): value for key, value in options.items()}
        await self.topics.create_topic(name, partitions, dotted)
        return TopicPartition(name, 0)

    def context(self, api_version: int, client_id: str = "test") -> RequestContext:
        return RequestContext(
            self.services, self.connection, 0, api_version, client_id=client_id
        )

    def sync(self) -> None:
        self.committer.sync()

    async def commit(self) -> None:
        """One group commit, after which everything that waited can be answered."""
        self.sync()
        await self.manager._written_partitions.recorded()

    def log_of(self, topic_partition: TopicPartition) -> UnifiedLog:
        log = self.logs.get(topic_partition)
        assert log is not None, topic_partition
        return log

    async def close(self) -> None:
        await self.manager.close()
        self.threads.close()


@contextlib.asynccontextmanager
async def replicas(
    directory: Path,
    files: FakeFiles | None = None,
    *,
    stops_cleanly: bool = True,
    **options: Any,
) -> AsyncIterator[Replicas]:
    """A broker's replica manager; the catalogue is in ``directory``.

    The next one on the same ``files`` finds what this one left.
    """
    catalog = Catalog.open(directory)
    fixture = Replicas(catalog, files or FakeFiles(), **options)
    try:
        yield fixture
    finally:
        await fixture.close()
        await catalog.close()
    if stops_cleanly:
        fixture.logs.close()


@contextlib.contextmanager
def full_catalog(catalog: Catalog) -> Iterator[None]:
    """The catalogue has no room for what it is told of partitions."""

    def refuse(rows: Any) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    store: Any = catalog.store
    store.put_partitions = refuse
    try:
        yield
    finally:
        del store.put_partitions


def batch_of(
    *values: bytes,
    key: bytes | None = b"k",
    timestamp: int = NOW_MS,
    step_ms: int = 0,
    **options: Any,
) -> memoryview:
    """A client's batch, in a buffer that the log may stamp."""
    records = [
        NewRecord(timestamp=timestamp + index * step_ms, key=key, value=value)
        for index, value in enumerate(values)
    ]
    return memoryview(bytearray(build_batch(records, **options)))


def marker_of(producer_id: int, epoch: int = 0, *, commits: bool) -> memoryview:
    """The end of a producer's transaction, as a coordinator writes it."""
    kind = ControlType.COMMIT if commits else ControlType.ABORT
    marker = EndTxnMarker(kind, coordinator_epoch=0)
    return memoryview(build_marker_batch(marker, producer_id, epoch, NOW_MS))


def base_offsets(data: Any) -> list[int]:
    """The base offsets of the whole batches in ``data``."""
    offsets = []
    view = memoryview(data)
    while len(view) >= 61 and len(view) >= (header := read_header(view)).size:
        offsets.append(header.base_offset)
        view = view[header.size :]
    return offsets
