"""Stock consumers of committed records skip what was aborted, and see the rest.

Nobody can produce to transactions yet: their batches, and the markers that end them,
are appended as a coordinator would.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from broker.server import Server
from protocol.topic_partition import TopicPartition
from storage.append_info import AppendOrigin
from tests.broker.test_server import running
from tests.fakes.replicas import batch_of, marker_of

from .adapters import CLIENTS, COMMITTED, UNCOMMITTED, Client, by_name

TOPIC = TopicPartition("transactions", 0)


class Transactions:
    """Producers with open transactions in one partition."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._sequences: dict[int, int] = {}

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._server.listeners[0].port}"

    async def produce(self, producer_id: int, *values: bytes) -> None:
        sequence = self._sequences.get(producer_id, 0)
        self._sequences[producer_id] = sequence + len(values)
        await self._append(
            batch_of(
                *values,
                producer_id=producer_id,
                producer_epoch=0,
                base_sequence=sequence,
                is_transactional=True,
            )
        )

    async def plain(self, *values: bytes) -> None:
        await self._append(batch_of(*values))

    async def end(self, producer_id: int, *, commits: bool) -> None:
        await self._append(marker_of(producer_id, commits=commits))

    async def _append(self, batch: memoryview) -> None:
        results = await self._server.services.replica_manager.append_records(
            {TOPIC: batch}, acks=-1, timeout_ms=20_000, origin=AppendOrigin.COORDINATOR
        )
        assert results[TOPIC].error_code == 0

    async def read(
        self, client: Client, count: int, isolation: str
    ) -> list[tuple[int, bytes | None]]:
        reads = await asyncio.to_thread(
            client.consume, self.address, TOPIC.topic, 0, count, isolation
        )
        return [(read.offset, read.message.value) for read in reads]


@asynccontextmanager
async def transactions(data_dir: Path) -> AsyncIterator[Transactions]:
    # The batches below show no guards: nobody asks a coordinator here.
    unverified = {"transaction_partition_verification_enable": False}
    async with running(data_dir, log_retention_ms=-1, **unverified) as server:
        options = {"internal.segment.bytes": "500"}
        await server.services.metadata.create_topic(TOPIC.topic, 1, options)
        yield Transactions(server)


@pytest.mark.parametrize("client", CLIENTS, ids=by_name)
async def test_aborted_records_are_skipped(tmp_path: Path, client: Client) -> None:
    async with transactions(tmp_path / "data") as log:
        await log.plain(b"plain")  # 0
        await log.produce(7, b"kept", b"kept too")  # 1, 2
        await log.produce(8, b"aborted")  # 3
        await log.plain(*[b"between" for _ in range(20)])  # 4 to 23
        await log.produce(8, b"aborted far behind", b"and this")  # 24, 25
        await log.end(7, commits=True)  # 26
        await log.end(8, commits=False)  # 27
        await log.produce(8, b"kept of the same producer")  # 28
        await log.end(8, commits=True)  # 29
        await log.produce(9, b"undecided")  # 30
        await log.plain(b"behind it")  # 31
        between = [(offset, b"between") for offset in range(4, 24)]
        decided = [(0, b"plain"), (1, b"kept"), (2, b"kept too"), *between]
        decided += [(28, b"kept of the same producer")]
        found = await log.read(client, len(decided), COMMITTED)
        assert found == decided
        await log.end(9, commits=True)  # 32
        decided += [(30, b"undecided"), (31, b"behind it")]
        found = await log.read(client, len(decided), COMMITTED)
        assert found == decided
        aborted = {3: b"aborted", 24: b"aborted far behind", 25: b"and this"}
        everything = sorted({**dict(decided), **aborted}.items())
        found = await log.read(client, len(everything), UNCOMMITTED)
        assert found == everything
