"""Transactions of a broker on a recorded disk, and what was promised when.

The catalogue lies on the real disk; a copy of it is kept for each of its commits, which
has a place among the changes of the files.
"""

import shutil
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from odradek.broker.coordinator.transaction.records import TransactionRecord
from odradek.broker.coordinator.transaction.transaction import LAST_EPOCH, Transaction
from odradek.broker.metadata.catalog.recovery import BACKUP, CATALOG
from odradek.broker.metadata.catalog.store import CatalogStore
from odradek.broker.metadata.topic_names import TRANSACTION_STATE
from odradek.broker.replica.appends import OF_A_COORDINATOR
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.schema import Request
from odradek.protocol.topic_partition import TopicPartition
from tests.crash.recording import Recording, RecordingFiles, Sync
from tests.crash.transaction_account import Account, Promised, Sent
from tests.crash.transaction_broker import TransactionBroker, transaction_broker
from tests.crash.transaction_producer import NOW_MS, SOURCE, TIMEOUT_MS, Producer
from tests.fakes.replicas import LOG_DIR

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
PARTITIONS = (A0, A1, B0)
PLAIN_VERSION = 11
# Small enough that transactions reach over the ends of segments.
SEGMENT_BYTES = 1500
# A node that no file has: syncing it changes nothing, and takes a place.
CATALOG_NODE = -1
ROTATING_ID = 500


@dataclass(frozen=True)
class Setting:
    """What a session is about. ``is_durable`` is the default durability."""

    protocol: int
    is_durable: bool = True
    seed: int = 0

    @property
    def options(self) -> dict[str, Any]:
        if self.is_durable:
            return {}
        return {"durability": "none", "syncs": False}


class RecordedCatalog:
    """A catalogue on the real disk, of which each commit leaves a copy.

    ``on_copy`` is given the directory of the copy; the commit has its place among the
    changes of the files.
    """

    def __init__(
        self,
        root: Path,
        recording: Recording[Any],
        on_copy: Callable[[Path], object],
    ) -> None:
        self.directory = root / "catalog"
        self._copies = root / "copies"
        self._copy_count = 0
        self._recording = recording
        self.on_copy = on_copy

    @contextmanager
    def watched(self) -> Iterator[None]:
        """See every commit."""
        transaction = CatalogStore._transaction

        @contextmanager
        def watched(store: CatalogStore) -> Iterator[Any]:
            with transaction(store) as database:
                yield database
            if store.path.parent == self.directory:
                self._copy()

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(CatalogStore, "_transaction", watched)
            yield

    def _copy(self) -> None:
        self._copy_count += 1
        target = self._copies / str(self._copy_count)
        target.mkdir(parents=True)
        for name in (CATALOG, f"{CATALOG}-wal", BACKUP):
            if (self.directory / name).exists():
                shutil.copy(self.directory / name, target / name)
        self._recording.changes.append(Sync(CATALOG_NODE))
        self.on_copy(target)


class Session:
    """One broker after the other on one disk, and the account of their clients."""

    def __init__(self, directory: Path, setting: Setting) -> None:
        self.setting = setting
        self.chance = Random(setting.seed)
        self.files = RecordingFiles()
        self.files.mkdir(LOG_DIR)
        self.recording: Recording[Promised] = self.files.record()  # type: ignore[assignment]
        self.broker: TransactionBroker
        self._now_ms: Callable[[], int] = lambda: NOW_MS
        self.catalog = RecordedCatalog(directory, self.recording, self._note_catalog)
        self._number = 0
        self.promised = Promised(directory, NOW_MS)

    def _note_catalog(self, copy: Path) -> None:
        self._promise(catalog=copy)

    # Brokers

    @asynccontextmanager
    async def life(self) -> AsyncIterator[TransactionBroker]:
        """A broker, until it is killed."""
        async with transaction_broker(
            self.catalog.directory, self.files, self.chance, **self.setting.options
        ) as broker:
            broker.clock.advance(self.promised.now_ms - broker.clock.now_ms())
            self.broker, self._now_ms = broker, broker.clock.now_ms
            if broker.topics.get(TRANSACTION_STATE) is not None:
                await broker.open_logs()
                await broker.load()
            yield broker
            self._promise()
            count = len(self.recording.changes)
        assert len(self.recording.changes) == count, "it writes while it is killed"

    async def set_up(self) -> None:
        """Topics, and a transactional id whose epochs are nearly used up."""
        broker = self.broker
        small = {"internal_segment_bytes": str(SEGMENT_BYTES)}
        await broker.create_topic("a", 2, **small)
        await broker.create_topic("b", 1, **small)
        await broker.create_topic(SOURCE.topic, 1)
        await broker.services.groups.create_topic()
        await broker.services.transactions.create_topic()
        await broker.load()
        old = Transaction("rotating", ROTATING_ID, LAST_EPOCH - 2, TIMEOUT_MS, NOW_MS)
        runtime = broker.services.transactions.runtime
        where = TopicPartition(TRANSACTION_STATE, runtime.partition_of("rotating"))
        key, value = TransactionRecord.of(old).encode()
        batch = build_batch([NewRecord(key, value, NOW_MS)])
        broker.manager.append_records(
            {where: memoryview(batch)},
            acks=-1,
            timeout_ms=1000,
            terms=OF_A_COORDINATOR,
        )
        await broker.settle()
        broker.sync()
        await broker.settle()
        self.note_given(ROTATING_ID, LAST_EPOCH - 2)

    # What producers are given (`Desk`)

    async def ask(self, request: Request, version: int) -> Any:
        return await self.broker.ask(request, version)

    def send(self, request: Request, version: int) -> object:
        return self.broker.send(request, version)

    async def back_off(self) -> None:
        await self.broker.step()

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def note(self, account: Account) -> None:
        self._promise(accounts={**self.promised.accounts, account.number: account})

    def note_given(self, producer_id: int, epoch: int) -> None:
        highest = max(epoch, self.promised.epochs.get(producer_id, -1))
        self._promise(epochs={**self.promised.epochs, producer_id: highest})

    def producer(self, transactional_id: str) -> Producer:
        return Producer(self, transactional_id, self.setting.protocol)

    async def produce_plainly(self, where: TopicPartition) -> None:
        """A record of no transaction."""
        value = b"plain %d" % self.next_number()
        batch = build_batch([NewRecord(b"k", value, NOW_MS)])
        data = PartitionProduceData(index=where.partition, records=batch)
        request = ProduceRequest(
            acks=-1,
            timeout_ms=30_000,
            topic_data=[TopicProduceData(name=where.topic, partition_data=[data])],
        )
        response = await self.ask(request, PLAIN_VERSION)
        assert not response.responses[0].partition_responses[0].error_code
        self._promise(plain=(*self.promised.plain, Sent(where, value)))

    def _promise(self, **changes: Any) -> None:
        self.promised = replace(self.promised, now_ms=self._now_ms(), **changes)
        self.recording.promise(self.promised)
