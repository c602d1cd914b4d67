"""R8: no space left, on a real file system: refused at once, and nothing is harmed.

A disk is filled by a broker that keeps back ``log.min.free.bytes`` for itself, and by
one that keeps back nothing; and by somebody else, while clients come with what the
broker has not seen yet. Mounting it needs root.
"""

import os
import random
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from odradek.broker.cli.admin.admin_client import ask
from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from odradek.protocol.messages.groups import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from odradek.protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from odradek.protocol.record_batch import check_crc, scan
from odradek.protocol.records import NewRecord, build_batch, iterate
from tests.broker_process import BrokerProcess
from tests.crash.newcomers import (
    Newcomer,
    alters,
    begins,
    commits,
    creates,
    deletes,
    writes,
)
from tests.crash.small_disk import Filler, broker_on, small_disk, wait_for_room
from tests.patience import PATIENCE_S

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
ROUNDS = 6 if IS_LONG else 1
KEPT_BACK = 8 << 20
WITH_NAMES = 9
OPTIONS = (
    *("-o", "log.segment.bytes=1048576"),
    *("-o", "log.retention.check.interval.ms=100"),
    *("-o", "log.segment.delete.delay.ms=0"),
    *("-o", "offsets.topic.num.partitions=1"),
)

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")


class Client:
    """One producer of numbered records, which also reads, commits and deletes."""

    def __init__(self, broker: BrokerProcess) -> None:
        self.link = Connection("127.0.0.1", broker.port, timeout_s=PATIENCE_S)
        self.slowest_ms = 0.0

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.link.close()

    def reconnect(self, broker: BrokerProcess) -> None:
        self.link.close()
        self.link = Connection("127.0.0.1", broker.port, timeout_s=PATIENCE_S)

    def create(self) -> None:
        topics = [MetadataRequestTopic(name="t")]
        request = MetadataRequest(topics=topics)
        answer = self.link.request(request, MetadataResponse, WITH_NAMES)
        assert answer.topics[0].error_code == 0
        for key_type in (0, 1):  # of a group, and of a transactional id
            find = FindCoordinatorRequest(key_type=key_type, coordinator_keys=["g"])
            found = self.link.request(find, FindCoordinatorResponse)
            assert found.coordinators[0].error_code == 0

    def produce(self, value: bytes) -> tuple[int, int]:
        """Error code and base offset; notes how long a refusal took."""
        record = NewRecord(b"k", value, time.time_ns() // 1_000_000)
        data = PartitionProduceData(index=0, records=bytes(build_batch([record])))
        request = ProduceRequest(
            acks=-1,
            timeout_ms=PATIENCE_S * 1000,
            topic_data=[TopicProduceData(name="t", partition_data=[data])],
        )
        began = time.perf_counter()
        answer = self.link.request(request, ProduceResponse, WITH_NAMES)
        (partition,) = answer.responses[0].partition_responses
        if partition.error_code:
            took_ms = (time.perf_counter() - began) * 1000
            self.slowest_ms = max(self.slowest_ms, took_ms)
        return partition.error_code, partition.base_offset

    def commit(self, offset: int) -> int:
        partition = OffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset
        )
        request = OffsetCommitRequest(
            group_id="g",
            topics=[OffsetCommitRequestTopic(name="t", partitions=[partition])],
        )
        answer = self.link.request(request, OffsetCommitResponse, 8)
        code: int = answer.topics[0].partitions[0].error_code
        return code

    def delete_before(self, offset: int) -> int:
        partition = DeleteRecordsPartition(partition_index=0, offset=offset)
        request = DeleteRecordsRequest(
            topics=[DeleteRecordsTopic(name="t", partitions=[partition])],
            timeout_ms=PATIENCE_S * 1000,
        )
        answer = self.link.request(request, DeleteRecordsResponse)
        code: int = answer.topics[0].partitions[0].error_code
        return code

    def read(self, offset: int, end: int) -> dict[int, bytes | None]:
        """The values from ``offset`` to ``end``, every batch whole and sound."""
        found: dict[int, bytes | None] = {}
        while offset < end:
            partition = FetchPartition(
                partition=0, fetch_offset=offset, partition_max_bytes=1 << 20
            )
            request = FetchRequest(
                max_wait_ms=0,
                min_bytes=1,
                max_bytes=1 << 20,
                topics=[FetchTopic(topic="t", partitions=[partition])],
            )
            answer = self.link.request(request, FetchResponse, 12)
            (partition_answer,) = answer.responses[0].partitions
            assert partition_answer.error_code == 0
            records = memoryview(partition_answer.records or b"")
            for position, header in scan(records):
                batch = records[position : position + header.size]
                assert check_crc(batch, header)
                for record in iterate(batch):
                    found[record.offset] = record.value
                    offset = record.offset + 1
            assert len(records), f"nothing at {offset}, before {end}"
        return found


class Written:
    """What was acknowledged, by its offset."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.values: dict[int, bytes] = {}
        self.number = 0

    @property
    def end(self) -> int:
        return max(self.values, default=-1) + 1

    def fill(self, size: int, count_max: int = 10_000) -> int:
        """Write until it is refused; returns the code."""
        for _ in range(count_max):
            code = self.write(size)
            if code:
                return code
        raise AssertionError("never full")

    def write(self, size: int) -> int:
        self.number += 1
        value = b"%d " % self.number + os.urandom(size)
        code, offset = self.client.produce(value)
        if not code:
            assert offset == self.end
            self.values[offset] = value
        return code

    def stay_refused(self) -> None:
        """Until five refusals follow each other: deleted segments may yet go."""
        refusals = 0
        while refusals < 5:
            code = self.write(10)
            refusals = refusals + 1 if code else 0
            assert code in (0, ErrorCode.KAFKA_STORAGE_ERROR)

    def resume(self, size: int) -> None:
        """Write until it is taken: there is space again."""
        deadline = time.monotonic() + PATIENCE_S
        while self.write(size):
            assert time.monotonic() < deadline, "does not go on"
            time.sleep(0.02)

    def check(self, start: int) -> None:
        found = self.client.read(start, self.end)
        assert found == {
            offset: value for offset, value in self.values.items() if offset >= start
        }


KINDS = ("tmpfs", "ext4") if IS_LONG else ("tmpfs",)


@pytest.mark.parametrize("kind", KINDS)
def test_space_is_kept_back_and_deletion_makes_room(tmp_path: Path, kind: str) -> None:
    with small_disk(tmp_path, kind) as disk:
        options = (*OPTIONS, "-o", f"log.min.free.bytes={KEPT_BACK}")
        with (
            broker_on(disk, *options) as broker,
            Client(broker) as client,
        ):
            client.create()
            written = Written(client)
            start = 0
            for turn in range(ROUNDS):
                # Slowly: the space is measured four times a second.
                assert written.fill(4_000) == ErrorCode.KAFKA_STORAGE_ERROR
                written.stay_refused()
                assert client.commit(turn) == 0
                written.check(start)
                start = written.end
                assert client.delete_before(start) == 0
                written.resume(10)
            written.check(start)
            print(
                f"{kind}: {written.end} records, refused in {client.slowest_ms:.0f} ms"
            )
            assert "log.min.free.bytes" in broker.log()
            assert "has space again" in broker.log()
            broker.terminate()
            assert "Traceback" not in broker.log()


@pytest.mark.parametrize("kind", KINDS)
def test_not_one_byte_left_tears_no_batch(tmp_path: Path, kind: str) -> None:
    with small_disk(tmp_path, kind) as disk:
        options = (*OPTIONS, "-o", "log.min.free.bytes=0")
        with (
            broker_on(disk, *options) as broker,
            Client(broker) as client,
        ):
            client.create()
            written = Written(client)
            start = 0
            for turn in range(ROUNDS):
                assert written.fill(200_000) == ErrorCode.KAFKA_STORAGE_ERROR
                for size in (50_000, 5_000, 500):  # into what is left
                    written.fill(size)
                written.check(start)
                if turn % 2 or not IS_LONG:
                    broker.kill()
                    broker.start()
                    client.reconnect(broker)
                    written.check(start)
                start = written.end
                assert client.delete_before(start) == 0
                written.resume(10)
                wait_for_room(disk)
                written.check(start)
                assert client.commit(turn) == 0
            print(
                f"{kind}: {written.end} records, refused in {client.slowest_ms:.0f} ms"
            )
            assert "Traceback" not in broker.log()
            broker.terminate()


# How much is left when it begins, and what comes free now and then: a batch finds
# room where a change of the catalogue, which takes several pages, does not.
LEFT_BYTES = (0, 72 << 10, 8 << 10, 200 << 10)
TURNS = len(LEFT_BYTES) * ROUNDS if IS_LONG else 2
GIVEN_BYTES = (0, 4 << 10, 8 << 10)
NEW_TOPICS, NEW_GROUPS, NEW_IDS = 12, 12, 4


def newcomers(port: int, turn: int) -> list[Newcomer]:
    """All that a turn brings, in any order."""
    found = [writes(port, f"new-{turn}-{number}") for number in range(NEW_TOPICS)]
    found += [commits(port, f"g-{turn}-{each}", "t") for each in range(NEW_GROUPS)]
    found += [begins(port, f"x-{turn}-{number}") for number in range(NEW_IDS)]
    found += [creates(port, f"made-{turn}"), deletes(port, f"gone-{turn}")]
    found.append(alters(port, f"new-{turn}-0"))
    random.Random(turn).shuffle(found)
    return found


def wait_for_health(broker: BrokerProcess, *, is_full: bool) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while is_full is not any("no room" in each for each in health(broker)):
        assert time.monotonic() < deadline, health(broker)
        time.sleep(0.02)
    assert is_full or health(broker) == []


def health(broker: BrokerProcess) -> list[str]:
    """What ``odradek health`` says."""
    answer = ask(broker.data_dir, {"request": "health"}, PATIENCE_S)
    return [item["reason"] for item in answer]


def insist(newcomer: Newcomer) -> None:
    newcomer.insist()
    newcomer.close()


def prepare(port: int, turn: int) -> None:
    names = [f"new-{turn}-{number}" for number in range(NEW_TOPICS)]
    for name in [*names, f"gone-{turn}"]:
        insist(creates(port, name))


def full_turn(broker: BrokerProcess, client: Client, filler: Filler, turn: int) -> None:
    """All of it is asked for while there is no room, and done when there is some."""
    found = newcomers(broker.port, turn)
    with ExitStack() as links:
        filler.fill()
        filler.give(LEFT_BYTES[turn % len(LEFT_BYTES)])
        for number, each in enumerate(found):
            links.callback(each.close)
            each.ask()
            filler.give(GIVEN_BYTES[number % len(GIVEN_BYTES)])
            health(broker)  # which is answered behind it
        filler.fill()
        while not client.produce(bytes(4096))[0]:
            pass
        wait_for_health(broker, is_full=True)
        filler.remove()
        for each in found:
            each.answer()  # which comes by itself, whatever it is
        for each in found:
            each.insist()
        wait_for_health(broker, is_full=False)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_new_on_a_full_disk_goes_on_when_there_is_room(
    tmp_path: Path, kind: str
) -> None:
    """Partitions, groups, transactional ids, topics: without a restart."""
    options = (
        *("-o", "log.min.free.bytes=0"),
        *("-o", f"offsets.topic.num.partitions={NEW_GROUPS * TURNS}"),
        *("-o", f"transaction.state.log.num.partitions={NEW_IDS * TURNS}"),
    )
    with small_disk(tmp_path, kind) as disk, broker_on(disk, *options) as broker:
        filler = Filler(disk)
        with Client(broker) as client:
            client.create()
            assert client.produce(b"first")[0] == 0
            for turn in range(TURNS):
                prepare(broker.port, turn)
                full_turn(broker, client, filler, turn)
        if IS_LONG and kind == "tmpfs":  # whose pages go to who asks first
            assert "wait for room in the catalogue" in broker.log()
        assert "Traceback" not in broker.log()
        broker.terminate()
        broker.start()
        for turn in range(TURNS):
            for number in range(NEW_TOPICS):
                insist(writes(broker.port, f"new-{turn}-{number}"))
        assert "Traceback" not in broker.log()
