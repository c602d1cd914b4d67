"""A broker with mirrors of a cluster that a test makes, and changes as it likes."""

import asyncio
import contextlib
import struct
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from odradek.broker.mirror.mirror import Mirror
from odradek.broker.mirror.settings import MirrorSettings, may_be_mirrored
from odradek.broker.mirror.source import SourceTopic, SourceView, Wanted
from odradek.client.group_offsets import CommittedOffset
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import EpochEndOffset, PartitionData
from odradek.protocol.record_batch import read_header
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import random_uuid
from odradek.storage.log.unified_log import UnifiedLog
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, batch_of, replicas
from tests.patience import PATIENCE_S

SETTINGS = MirrorSettings("m", "source:9092", "t.*")
T0 = TopicPartition("t", 0)
_WAIT_S = 0.01  # for something new: the real one waits for half a second


class SourceLog:
    """The batches of a partition there."""

    def __init__(self) -> None:
        self.batches: list[bytes] = []
        self.start = self.end = 0

    def append(
        self, batch: memoryview, epoch: int = 0, offset: int | None = None
    ) -> None:
        """At the end, or further on: compaction leaves gaps."""
        self.end = self.end if offset is None else offset
        struct.pack_into(">q", batch, 0, self.end)
        struct.pack_into(">i", batch, 12, epoch)
        self.batches.append(bytes(batch))
        self.end = read_header(batch).next_offset

    def cut(self, end: int) -> None:
        """An unclean election: what is behind is lost."""
        self.end = end  # first: a thread of the mirror may look at any moment
        self.batches = [x for x in self.batches if read_header(x).next_offset <= end]

    @property
    def data(self) -> bytes:
        return b"".join(self.batches)

    def epoch_end(self, epoch: int) -> EpochEndOffset:
        """The newest epoch up to this one, and where it ends."""
        epochs = [read_header(x).partition_leader_epoch for x in self.batches]
        newest = max((each for each in epochs if each <= epoch), default=-1)
        later = [
            read_header(x).base_offset
            for x, each in zip(self.batches, epochs, strict=True)
            if each > newest
        ]
        return EpochEndOffset(epoch=newest, end_offset=min(later, default=self.end))

    def answer(self, wanted: Wanted) -> PartitionData:
        answer = PartitionData(
            partition_index=wanted.partition,
            error_code=0,
            high_watermark=self.end,
            log_start_offset=self.start,
            aborted_transactions=None,
            records=b"",
        )
        if wanted.last_epoch >= 0:
            end = self.epoch_end(wanted.last_epoch)
            if end.epoch < 0:
                answer.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
                return answer
            if end.epoch < wanted.last_epoch or end.end_offset < wanted.offset:
                answer.diverging_epoch = end
                return answer
        if not self.start <= wanted.offset <= self.end:
            answer.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
            return answer
        answer.records = b"".join(
            x for x in self.batches if read_header(x).next_offset > wanted.offset
        )
        return answer


class SourceCluster:
    """What is there; each source of a mirror is a view of it."""

    def __init__(self) -> None:
        self.cluster_id = "source"
        self.topics: dict[str, SourceTopic] = {}
        self.logs: dict[tuple[bytes, int], SourceLog] = {}
        self.groups: dict[str, dict[TopicPartition, CommittedOffset]] = {}
        self.error: Exception | None = None
        self.code = 0  # what every partition answers
        self.asked_count = 0

    def add_topic(self, name: str = "t", partitions: int = 1, **options: str) -> bytes:
        topic_id = random_uuid()
        dotted = {key.replace("_", "."): value for key, value in options.items()}
        self.topics[name] = SourceTopic(name, topic_id, {}, dotted)
        self.widen(name, partitions)
        return topic_id

    def widen(self, name: str, partitions: int) -> None:
        topic = self.topics[name]
        self.topics[name] = topic._replace(leaders=dict.fromkeys(range(partitions), 1))
        for number in range(partitions):
            self.logs.setdefault((topic.topic_id, number), SourceLog())

    def log(self, place: TopicPartition = T0) -> SourceLog:
        return self.logs[self.topics[place.topic].topic_id, place.partition]

    def append(self, *values: bytes, place: TopicPartition = T0, **more: Any) -> None:
        epoch, offset = more.pop("epoch", 0), more.pop("offset", None)
        self.log(place).append(batch_of(*values, **more), epoch, offset)


class FakeSource:
    """Asks it, as `Source` asks a real one."""

    def __init__(self, cluster: SourceCluster, settings: MirrorSettings) -> None:
        self.is_connected = False
        self._there = cluster
        self._settings = settings

    def _check(self) -> None:
        self._there.asked_count += 1
        if self._there.error is not None:
            raise self._there.error
        self.is_connected = True

    def close(self) -> None:
        self.is_connected = False

    def find_brokers(self) -> None:
        self._check()

    def look(self) -> SourceView:
        self._check()
        wanted = {
            name: topic
            for name, topic in list(self._there.topics.items())
            if self._settings.pattern.fullmatch(name) and may_be_mirrored(name)
        }
        return SourceView(self._there.cluster_id, wanted)

    def fetch(
        self, node_id: int, wanted: list[Wanted]
    ) -> dict[tuple[bytes, int], PartitionData]:
        self._check()
        found = {}
        for each in wanted:
            key = each.topic_id, each.partition
            log, code = self._there.logs.get(key), self._there.code
            if log is None:
                code = ErrorCode.UNKNOWN_TOPIC_ID
            if log is None or code:
                found[key] = PartitionData(
                    partition_index=each.partition,
                    error_code=code,
                    high_watermark=-1,
                    aborted_transactions=None,
                    records=None,
                )
            else:
                found[key] = log.answer(each)
        if not any(each.records for each in found.values()):
            threading.Event().wait(_WAIT_S)
        return found

    def ends(
        self, places: list[TopicPartition]
    ) -> dict[TopicPartition, tuple[int, int]]:
        self._check()
        return {
            place: (self._there.log(place).start, self._there.log(place).end)
            for place in places
        }

    def group_offsets(self) -> dict[str, dict[TopicPartition, CommittedOffset]]:
        self._check()
        return {name: dict(each) for name, each in list(self._there.groups.items())}


class Rig:
    """The broker, its mirrors, and the cluster that they copy."""

    def __init__(self, broker: Replicas, source: SourceCluster) -> None:
        self.broker, self.source = broker, source
        services: Any = broker.services
        self.mirrors = services.mirrors
        self.mirrors._make_source = self.make_source

    def make_source(self, settings: MirrorSettings) -> Any:
        return FakeSource(self.source, settings)

    @property
    def mirror(self) -> Mirror:
        return self.mirrors.known("m")

    def log(self, place: TopicPartition = T0) -> UnifiedLog:
        return self.broker.log_of(place)

    def data(self, place: TopicPartition = T0) -> bytes:
        """What is in the log here."""
        log = self.log(place)
        found, offset = b"", log.log_start_offset
        while offset < log.high_watermark:
            data = bytes(log.read(offset, 1 << 20, may_block=True).records)
            found += data
            while data:
                header = read_header(data)
                offset, data = header.next_offset, data[header.size :]
        return found

    async def until(self, condition: Callable[[], Any]) -> None:
        """Return when it is so; time goes on, and what is written is synced."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                await self.turn()

    async def turn(self) -> None:
        self.broker.sync()
        self.broker.clock.advance(100)
        await asyncio.sleep(0.001)

    async def waiting(self, future: asyncio.Future[Any]) -> Any:
        """What it returns; time goes on."""
        await self.until(future.done)
        return await future

    def is_copied(self, place: TopicPartition = T0) -> bool:
        """Whether all that is there can be read here."""
        log = self.broker.logs.get(place)
        return log is not None and log.high_watermark == self.source.log(place).end

    async def add(self, settings: MirrorSettings = SETTINGS) -> None:
        await self.mirrors.add(settings)

    async def promote(self, *topics: str, timeout_ms: int | None = 10_000) -> list[Any]:
        async def all_of() -> list[Any]:
            promoted = self.mirrors.promote("m", topics, timeout_ms=timeout_ms)
            return [each async for each in promoted]

        found: list[Any] = await self.waiting(asyncio.ensure_future(all_of()))
        return found


@contextlib.asynccontextmanager
async def mirror_rig(
    directory: Path,
    source: SourceCluster | None = None,
    files: FakeFiles | None = None,
    **options: Any,
) -> AsyncIterator[Rig]:
    """A broker; the mirrors that are in ``directory`` are started."""
    async with replicas(directory, files, **options) as broker:
        rig = Rig(broker, source or SourceCluster())
        rig.mirrors.start()
        rig.broker.services.groups.load_all()
        rig.broker.services.transactions.load_all()
        try:
            yield rig
        finally:
            assert not broker.bugs, broker.bugs
            await rig.mirrors.close()
            await rig.broker.services.transactions.close()
            await rig.broker.services.groups.close()
