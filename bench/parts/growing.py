"""What the growth of a broker is measured by: one function for each kind of thing.

Each starts a broker of its own for so many of them; {row: figure}.
"""

import random
import signal
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from struct import unpack, unpack_from
from typing import NamedTuple

import bare_client
from group_members import Member, alone
from long_log import LATER_MS, make_long_log
from starts import idle, started
from targets import Broker, odradek

from odradek.client.connection import Connection
from odradek.protocol.errors import ErrorCode, error_class
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from odradek.protocol.messages.offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
)
from odradek.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.schema import Request

Figures = dict[str, float]
Measure = Callable[[int, Path], Figures]

REQUESTS = 4_000
AT_ONCE = 16
PLACES = 500  # of a log: fewer than its cache of the system has room for
FAR = 7919  # a prime: that many further on is the next one to be asked for
SETTLED_S, IDLE_S = 1.0, 5.0
CHECKPOINTED_S = 6.0  # longer than checkpoints are apart
PRODUCE_VERSION, FETCH_VERSION, LIST_OFFSETS_VERSION = 9, 12, 6
HEARTBEAT_VERSION, OFFSET_FETCH_VERSION = 4, 9
COUNTS = (1, 10, 100, 1_000, 10_000)
GIGABYTES = (1, 10, 100)


class Asked(NamedTuple):
    """The bytes of a request, and where in its answer the error code stands."""

    frame: bytes
    error_at: int


class Row(NamedTuple):
    """One kind of figure, by how many there were."""

    name: str
    figures: dict[int, float]


@contextmanager
def _broker(root: Path) -> Iterator[Broker]:
    with started(odradek("none"), root) as (broker, _):
        yield broker


def partitions(count: int, root: Path) -> Figures:
    """A topic of so many."""
    with _broker(root) as broker:
        with bare_client.connect(broker.port) as connection:
            _first_record(connection)
            memory, cpu = _settled(broker)
            bare_client.create_topic(connection, "wide", count)
            _, created = _settled(broker)
            bare_client.produce_to_each(connection, "wide", count)
            grown, written = _settled(broker)
            to_each = [_produce("wide", number) for number in range(count)]
            produce_us = _cost_of_some(broker, to_each)
        cpu_then = broker.cpu_seconds()
        _until_idle(broker)
        # Of all, not of those that had a request at last: few have had theirs before.
        checkpointed = (broker.cpu_seconds() - cpu_then) / count
        idle_ms = _idle_ms(broker)
        broker.stop()
        broker.start()
        with bare_client.connect(broker.port) as connection:
            bare_client.first_ack(connection, "wide", count - 1)
            acked = broker.cpu_seconds()
            _until_idle(broker)
            opened = broker.cpu_seconds()
    return {
        "partition, created: µs each": (created - cpu) / count * 1e6,
        "partition, its first record: µs each": (written - created) / count * 1e6,
        "partition, with a record: KB each": (grown - memory) / count / 1e3,
        "partitions, produce to any of them: µs a request": produce_us,
        "partition, checkpoint behind that: µs each": checkpointed * 1e6,
        "partitions, idle: ms a second": idle_ms,
        "partitions, start to the first record: ms of all": acked * 1e3,
        "partitions, opened behind that: µs each": (opened - acked) / count * 1e6,
    }


def connections(count: int, root: Path) -> Figures:
    """So many of them, most of them idle."""
    with _broker(root) as broker:
        with bare_client.connect(broker.port) as connection:
            _first_record(connection)
        memory, cpu = _settled(broker)
        with idle(broker, count) as sockets:
            grown, connected = _settled(broker)
            idle_ms = _idle_ms(broker)
            produce_us = _cost_of_some(broker, [_produce("first", 0)], sockets)
    return {
        "connection, made: µs each": (connected - cpu) / count * 1e6,
        "connection, idle: KB each": (grown - memory) / count / 1e3,
        "connections, produce on any of them: µs a request": produce_us,
        "connections, idle: ms a second": idle_ms,
    }


def groups(count: int, root: Path) -> Figures:
    """So many of one member each, and an offset."""
    with _broker(root) as broker:
        with bare_client.connect(broker.port) as connection:
            _first_record(connection)
            alone(broker.port, "the first of all").connection.close()
            memory, cpu = _settled(broker)
            members = [_join(connection, number) for number in range(count)]
            grown, joined = _settled(broker)
            commit_us = _cost_of_some(broker, [_commit(each) for each in members])
            beat_us = _cost_of_some(broker, [_heartbeat(each) for each in members])
            idle_ms = _idle_ms(broker)
        broker.stop(signal.SIGKILL)
        broker.start()
        with bare_client.connect(broker.port) as connection:
            for member in members:
                _until_loaded(connection, member.group)
            loaded = broker.cpu_seconds()
    return {
        "group of one, joined: µs each": (joined - cpu) / count * 1e6,
        "group of one: KB each": (grown - memory) / count / 1e3,
        "groups, heartbeat of any: µs a request": beat_us,
        "groups, commit of any: µs a request": commit_us,
        "groups, idle: ms a second": idle_ms,
        "groups, start until each has its offset: ms of all": loaded * 1e3,
    }


def log(gigabytes: int, root: Path) -> Figures:
    """One partition with a log of so many GB, in segments of one."""
    with _broker(root) as broker:
        end_offset, oldest_ms = make_long_log(broker, "long", gigabytes)
        broker.start()
        ready = broker.cpu_seconds()
        with bare_client.connect(broker.port) as connection:
            bare_client.end_offsets(connection, "long", 1)
        memory, opened = _settled(broker)
        offsets = random.sample(range(end_offset), PLACES)
        fetch_us = _cost_of_some(broker, [_fetch("long", each) for each in offsets])
        times = random.sample(range(gigabytes * LATER_MS), PLACES)
        lookup_us = _cost_of_some(
            broker, [_list_offsets("long", oldest_ms + each) for each in times]
        )
        idle_ms = _idle_ms(broker)
    return {
        "GB of log, start until ready: ms of all": ready * 1e3,
        "GB of log, opened: ms of all": (opened - ready) * 1e3,
        "GB of log, broker with it: MB of all": memory / 1e6,
        "GB of log, fetch at any offset: µs a request": fetch_us,
        "GB of log, offset of a time: µs a request": lookup_us,
        "GB of log, idle: ms a second": idle_ms,
    }


SCENARIOS: dict[str, tuple[Measure, Sequence[int]]] = {
    "partitions": (partitions, COUNTS),
    "connections": (connections, COUNTS),
    "groups": (groups, COUNTS),
    "log": (log, GIGABYTES),
}


def _first_record(connection: Connection) -> None:
    """What the first request of a kind imports is not what one more costs."""
    bare_client.create_topic(connection, "first", 1)
    bare_client.first_ack(connection, "first", 0)


def _settled(broker: Broker) -> tuple[int, float]:
    """Memory in bytes and CPU seconds, once what was asked for is over."""
    time.sleep(SETTLED_S)
    return broker.memory_bytes(), broker.cpu_seconds()


def _cost_of_some(
    broker: Broker, asked: Sequence[Asked], sockets: Sequence[socket.socket] = ()
) -> float:
    """CPU of a request in µs, once each of them was asked before.

    Each has a connection that it keeps, and `AT_ONCE` are under way; neighbours in time
    are far apart.
    """
    with ExitStack() as stack:
        if not sockets:
            address = "127.0.0.1", broker.port
            sockets = [
                stack.enter_context(socket.create_connection(address))
                for _ in range(AT_ONCE)
            ]
        places = max(len(asked), len(sockets))
        _ask(asked, sockets, range(places))
        cpu = broker.cpu_seconds()
        _ask(asked, sockets, [number * FAR % places for number in range(REQUESTS)])
        return (broker.cpu_seconds() - cpu) / REQUESTS * 1e6


def _ask(
    asked: Sequence[Asked], sockets: Sequence[socket.socket], order: Sequence[int]
) -> None:
    for first in range(0, len(order), AT_ONCE):
        together = [
            (sockets[place % len(sockets)], asked[place % len(asked)])
            for place in order[first : first + AT_ONCE]
        ]
        for sock, each in together:
            sock.sendall(each.frame)
        for sock, each in together:
            _take_answer(sock, each.error_at)


def _take_answer(sock: socket.socket, error_at: int) -> None:
    (size,) = unpack(">i", sock.recv(4, socket.MSG_WAITALL))
    answer = sock.recv(size, socket.MSG_WAITALL)
    (code,) = unpack_from(">h", answer, error_at)
    if code:
        raise error_class(code)


def _idle_ms(broker: Broker) -> float:
    """CPU of a second in which nobody asks for anything, and all is written."""
    _until_idle(broker)
    cpu = broker.cpu_seconds()
    time.sleep(IDLE_S)
    return (broker.cpu_seconds() - cpu) / IDLE_S * 1e3


def _until_idle(broker: Broker) -> None:
    cpu = broker.cpu_seconds()
    while True:
        time.sleep(CHECKPOINTED_S)
        last, cpu = cpu, broker.cpu_seconds()
        if cpu - last < CHECKPOINTED_S / 50:
            return


def _join(connection: Connection, number: int) -> Member:
    member = Member(connection, f"group-{number}")
    member.join()
    member.sync(member.member_id)
    return member


def _until_loaded(connection: Connection, group: str) -> None:
    asked = OffsetFetchRequestGroup(group_id=group, topics=None)
    request = OffsetFetchRequest(groups=[asked])
    while True:
        answer = connection.request(request, OffsetFetchResponse, OFFSET_FETCH_VERSION)
        (found,) = answer.groups
        if not found.error_code:
            assert found.topics, group
            return
        assert found.error_code in (
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
            ErrorCode.NOT_COORDINATOR,
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ), found
        time.sleep(0.01)


def _produce(topic: str, partition: int) -> Asked:
    batch = build_batch([NewRecord(None, b"x" * 100, time.time_ns() // 1_000_000)])
    data = PartitionProduceData(index=partition, records=batch)
    request = ProduceRequest(
        acks=-1,
        timeout_ms=30_000,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )
    return _asked(request, PRODUCE_VERSION, 4 + 1 + 1 + 1 + len(topic) + 1 + 4)


def _fetch(topic: str, offset: int) -> Asked:
    partition = FetchPartition(
        partition=0, fetch_offset=offset, partition_max_bytes=1 << 10
    )
    request = FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        max_bytes=1 << 10,
        topics=[FetchTopic(topic=topic, partitions=[partition])],
    )
    return _asked(request, FETCH_VERSION, 5 + 4 + 2 + 4 + 1 + 1 + len(topic) + 1 + 4)


def _list_offsets(topic: str, timestamp_ms: int) -> Asked:
    asked = ListOffsetsPartition(partition_index=0, timestamp=timestamp_ms)
    request = ListOffsetsRequest(
        replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[asked])]
    )
    at = 4 + 1 + 4 + 1 + 1 + len(topic) + 1 + 4
    return _asked(request, LIST_OFFSETS_VERSION, at)


def _commit(member: Member) -> Asked:
    topic = "first"
    frame = member.commit_frame(topic, range(1), 7)
    return Asked(frame, 4 + 1 + 4 + 1 + 1 + len(topic) + 1 + 4)


def _heartbeat(member: Member) -> Asked:
    return _asked(member.heartbeat_request(), HEARTBEAT_VERSION, 4 + 1 + 4)


def _asked(request: Request, version: int, error_at: int) -> Asked:
    return Asked(encode_request(request, version, 1, "load"), error_at)
