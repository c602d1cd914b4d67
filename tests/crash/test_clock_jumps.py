"""R9: the wall clock leaps; offsets go on, nobody is expelled and nothing deleted.

In the process, with a clock that is moved by hand; and in the long run a broker as its
users start it, whose clock is set through libfaketime while it works.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.node.server import Server
from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.records import NewRecord, build_batch
from tests.broker.node.test_server import BEFORE_TOPIC_IDS, config, create_topic, fetch
from tests.broker_process import BrokerProcess
from tests.fakes.clock import FakeClock
from tests.patience import PATIENCE_S

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
YEAR_MS = 365 * 86_400_000
LEAPS = (YEAR_MS, -2 * YEAR_MS, 3_600_000, -3_600_000, 30 * YEAR_MS, -29 * YEAR_MS)
SESSION_MS = 6_000
FAKETIME = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
SEGMENT = "1048576"


class Client:
    """A producer that is also the one member of a group."""

    def __init__(self, link: Connection) -> None:
        self.link = link
        self.member_id = ""
        self.generation_id = -1
        self.next_offset = 0

    def join(self) -> None:
        request = FindCoordinatorRequest(coordinator_keys=["g"])
        found = self.link.request(request, FindCoordinatorResponse)
        assert found.coordinators[0].error_code == 0
        for _ in range(2):  # the first answer gives the id of the member
            answer = self.link.request(
                JoinGroupRequest(
                    group_id="g",
                    session_timeout_ms=SESSION_MS,
                    rebalance_timeout_ms=60_000,
                    member_id=self.member_id,
                    protocol_type="consumer",
                    protocols=[JoinGroupRequestProtocol(name="range", metadata=b"m")],
                ),
                JoinGroupResponse,
            )
            self.member_id, self.generation_id = answer.member_id, answer.generation_id
        assert answer.error_code == 0
        synced = self.link.request(
            SyncGroupRequest(
                group_id="g",
                generation_id=self.generation_id,
                member_id=self.member_id,
                protocol_type="consumer",
                protocol_name="range",
                assignments=[
                    SyncGroupRequestAssignment(
                        member_id=self.member_id, assignment=b"all"
                    )
                ],
            ),
            SyncGroupResponse,
        )
        assert synced.error_code == 0

    def beat(self) -> int:
        request = HeartbeatRequest(
            group_id="g", generation_id=self.generation_id, member_id=self.member_id
        )
        code: int = self.link.request(request, HeartbeatResponse).error_code
        return code

    def produce(self, timestamp: int) -> None:
        batch = build_batch([NewRecord(b"k", b"v" * 400_000, timestamp)])
        data = PartitionProduceData(index=0, records=bytes(batch))
        request = ProduceRequest(
            acks=-1,
            timeout_ms=20_000,
            topic_data=[TopicProduceData(name="t", partition_data=[data])],
        )
        answer = self.link.request(request, ProduceResponse, BEFORE_TOPIC_IDS)
        (partition,) = answer.responses[0].partition_responses
        assert partition.error_code == 0
        assert partition.base_offset == self.next_offset
        assert partition.log_start_offset == 0
        self.next_offset += 1

    def commit(self) -> None:
        partition = OffsetCommitRequestPartition(
            partition_index=0, committed_offset=self.next_offset
        )
        request = OffsetCommitRequest(
            group_id="g",
            generation_id_or_member_epoch=self.generation_id,
            member_id=self.member_id,
            topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])],
        )
        answer = self.link.request(request, OffsetCommitResponse, 8)
        assert answer.topics[0].partitions[0].error_code == 0

    def committed(self) -> int:
        topic = OffsetFetchRequestTopics(name="t", partition_indexes=[0])
        group = OffsetFetchRequestGroup(group_id="g", topics=[topic])
        request = OffsetFetchRequest(groups=[group])
        answer = self.link.request(request, OffsetFetchResponse, 8)
        offset: int = answer.groups[0].topics[0].partitions[0].committed_offset
        return offset

    def check(self, timestamp: int) -> None:
        """All is as it was, and goes on."""
        assert self.beat() == ErrorCode.NONE
        assert self.committed() == self.next_offset
        assert fetch(self.link), "the first record is gone"
        self.produce(timestamp)
        self.commit()


async def asked(clock: FakeClock, function: Callable[..., Any], *given: Any) -> Any:
    """What ``function`` returns, in a thread, while the clock goes on a little."""
    task = asyncio.ensure_future(asyncio.to_thread(function, *given))
    while not task.done():
        await clock.tick(1)
        await asyncio.sleep(0.001)
    return await task


async def test_leaps_of_the_clock_change_nothing(tmp_path: Path) -> None:
    clock = FakeClock()
    options = {
        "log_segment_bytes": int(SEGMENT),
        "log_retention_check_interval_ms": 1000,
        "offsets_retention_check_interval_ms": 1000,
        "offsets_topic_num_partitions": 1,
    }
    server = Server(config(tmp_path, **options), clock=clock)
    await server.start()
    port = server.listeners[0].port
    link = await asyncio.to_thread(Connection, "127.0.0.1", port, timeout_s=PATIENCE_S)
    try:
        client = Client(link)
        await asked(clock, create_topic, link)
        await asked(clock, client.join)
        for _ in range(5):
            await asked(clock, client.produce, clock.now_ms())
        await asked(clock, client.commit)
        for leap_ms in LEAPS:
            clock.jump_wall(leap_ms)
            for _ in range(3):  # retention and the expiry of offsets look at it
                await clock.tick(SESSION_MS // 2)
                assert await asked(clock, client.beat) == ErrorCode.NONE
            for _ in range(2):
                await clock.tick(SESSION_MS - 1000)
                await asked(clock, client.check, clock.now_ms())
        # The control: with a session that is really over the member is expelled.
        await clock.tick(SESSION_MS + 1000)
        assert await asked(clock, client.beat) == ErrorCode.UNKNOWN_MEMBER_ID
    finally:
        link.close()
        stopping = asyncio.ensure_future(server.stop())
        while not stopping.done():
            await clock.tick(10)
            await asyncio.sleep(0.001)
        await stopping
    assert server.bugs.count == 0


class FakeTime:
    """The file that says what time it is, which libfaketime reads."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.leap(0)

    def leap(self, offset_s: int) -> None:
        aside = self.path.with_suffix(".new")
        aside.write_text(f"{offset_s:+d}\n")
        aside.rename(self.path)


@contextlib.contextmanager
def faked_broker(root: Path, fake: FakeTime) -> Iterator[BrokerProcess]:
    options = [
        *("-o", f"log.segment.bytes={SEGMENT}"),
        *("-o", "log.retention.check.interval.ms=200"),
        *("-o", "offsets.retention.check.interval.ms=200"),
        *("-o", "offsets.topic.num.partitions=1"),
    ]
    broker = BrokerProcess(root / "data", options)
    broker.environment |= {
        "LD_PRELOAD": str(FAKETIME),
        "FAKETIME_TIMESTAMP_FILE": str(fake.path),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "DONT_FAKE_MONOTONIC": "1",
    }
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()


@pytest.mark.long
@pytest.mark.skipif(not FAKETIME.exists(), reason="libfaketime is not installed")
def test_leaps_of_a_real_clock_change_nothing(tmp_path: Path) -> None:
    fake = FakeTime(tmp_path / "time")
    with (
        faked_broker(tmp_path, fake) as broker,
        Connection("127.0.0.1", broker.port, timeout_s=PATIENCE_S) as link,
    ):
        client = Client(link)
        create_topic(link)
        client.join()
        offset_s = 0
        for _ in range(5):
            client.produce(time.time_ns() // 1_000_000)
        client.commit()
        for leap_ms in LEAPS:
            offset_s += leap_ms // 1000
            fake.leap(offset_s)
            for _ in range(20):
                time.sleep(0.2)
                now_ms = time.time_ns() // 1_000_000 + offset_s * 1000
                client.check(now_ms)
        assert "leapt" in broker.log()
        # The control: the clock has really moved.
        assert (
            time.strftime("%Y", time.localtime(time.time() + offset_s)) in broker.log()
        )
        broker.terminate()
        assert "Traceback" not in broker.log()
        assert "deleted because" not in broker.log()
