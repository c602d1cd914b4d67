"""What is measured of brokers that are started for it. See ``scenarios`` for the rest.

A scenario starts its broker in a directory of its own, and returns {row: figure}.
"""

import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from struct import unpack

import bare_client
from confluent_kafka import Consumer, Producer
from processes import machine_busy_seconds
from sizes import Size
from targets import ASK_VERSIONS, Broker, Target
from work import RAW, Figures, disturbances, measure

SETTLING_S = 1.0
PATIENCE_S = 60
RECOVERED_PARTITIONS = 10
CONNECTED_TOGETHER = 100


@contextmanager
def started(target: Target, root: Path) -> Iterator[tuple[Broker, float]]:
    """A broker on an empty directory, and the seconds until its first answer."""
    began, busy, ours = time.monotonic(), machine_busy_seconds(), _our_seconds()
    broker = Broker(target, root)
    try:
        yield broker, broker.start()
    finally:
        broker.remove()
        others = machine_busy_seconds() - busy - (_our_seconds() - ours)
        disturbances.append(max(0.0, others) / (time.monotonic() - began))


def _our_seconds() -> float:
    """CPU time of this process and of those it started that have ended."""
    times = os.times()
    return sum((times.user, times.system, times.children_user, times.children_system))


def startup(target: Target, root: Path, _: Size) -> Figures:
    """On an empty directory: an answer, then a record through a group of librdkafka."""
    with started(target, root) as (broker, answered_s):
        figures = {"start to first answer, s": answered_s}
        with bare_client.connect(broker.port) as connection:
            bare_client.create_topic(connection, "first", 1)
        _produce_one(broker, "first")
        consumed_s = _consume_one(broker, "first")
        figures["start to first record of a new group, s"] = consumed_s
        time.sleep(SETTLING_S)
        figures["RSS when idle then, MB"] = broker.memory_bytes() / 1e6
        figures["clean stop, s"] = broker.stop()
    return figures


def _produce_one(broker: Broker, topic: str) -> None:
    config = {"bootstrap.servers": broker.address, "linger.ms": 0, "log_level": 2}
    errors: list[object] = []
    producer = Producer(config)
    producer.produce(topic, b"x" * 100, on_delivery=lambda e, _: errors.append(e))
    producer.flush(PATIENCE_S)
    if errors != [None]:
        raise RuntimeError(f"the first record was not acknowledged: {errors}")


def _consume_one(broker: Broker, topic: str) -> float:
    """The seconds from the start of the broker until a new group had a record."""
    consumer = Consumer(
        {
            "bootstrap.servers": broker.address,
            "group.id": "first",
            "auto.offset.reset": "earliest",
            "log_level": 2,
        }
    )
    try:
        consumer.subscribe([topic])
        message = consumer.poll(PATIENCE_S)
        seconds = broker.since_start()
    finally:
        consumer.close()
    if message is None or message.error():
        raise RuntimeError(f"nothing consumed: {message and message.error()}")
    return seconds


def partitions(target: Target, root: Path, size: Size) -> Figures:
    """A topic of many: made, and there again after a clean stop."""
    count, last = size.partitions, size.partitions - 1
    row = f"{count:,} partitions"
    with started(target, root) as (broker, _):
        with bare_client.connect(broker.port) as connection:
            bare_client.create_topic(connection, "first", 1)
            bare_client.first_ack(connection, "first", 0)
            time.sleep(SETTLING_S)
            memory = broker.memory_bytes()
            began = time.monotonic()
            bare_client.create_topic(connection, "wide", count)
            bare_client.first_ack(connection, "wide", last)
            figures = {f"{row}: create to ack on the last, s": time.monotonic() - began}
            bare_client.produce_to_each(connection, "wide", count)
        grown = broker.memory_bytes() - memory
        figures[f"{row} with a record each: RSS grown, MB"] = grown / 1e6
        if target.is_durable:
            broker.stop()
            broker.start()
            with bare_client.connect(broker.port) as connection:
                bare_client.first_ack(connection, "wide", last)
                acked_s = broker.since_start()
            figures[f"{row}: clean restart to first ack, s"] = acked_s
    return figures


def recovery(target: Target, root: Path, size: Size) -> Figures:
    """Killed with everything just written, and started again."""
    if not target.is_durable:
        return {}
    count, records = RECOVERED_PARTITIONS, 100
    batches = size.recovered_megabytes * 10
    row = f"{size.recovered_megabytes:,} MB, kill -9"
    with started(target, root) as (broker, _):
        with bare_client.connect(broker.port) as connection:
            bare_client.create_topic(connection, "data", count)
        filled = {"connections": count, "partitions": count, "depth": 2}
        filled |= {"count": batches, "records": records, "size": 1000}
        measure(broker, RAW, "produce", topic="data", **filled)
        broker.stop(signal.SIGKILL)
        broker.start()
        with bare_client.connect(broker.port) as connection:
            bare_client.first_ack(connection, "data", 0)
            acked_s = broker.since_start()
            ends = bare_client.end_offsets(connection, "data", count)
            all_s = broker.since_start()
        return {
            f"{row}: restart to first ack, s": acked_s,
            f"{row}: restart to all {count} partitions, s": all_s,
            f"{row}: RSS then, MB": broker.memory_bytes() / 1e6,
            f"{row}: acknowledged records lost": batches * records + 1 - ends,
        }


def connections(target: Target, root: Path, size: Size) -> Figures:
    """Idle ones, each of which has asked for the versions."""
    count = size.connections
    with started(target, root) as (broker, _):
        with bare_client.connect(broker.port) as connection:
            bare_client.create_topic(connection, "first", 1)
            bare_client.first_ack(connection, "first", 0)
        time.sleep(SETTLING_S)
        memory, cpu = broker.memory_bytes(), broker.cpu_seconds()
        with idle(broker, count):
            time.sleep(SETTLING_S)
            grown = broker.memory_bytes() - memory
            spent = broker.cpu_seconds() - cpu
    row = f"{count:,} idle connections"
    return {
        f"{row}: RSS each, KB": grown / count / 1e3,
        f"{row}: broker CPU to connect, µs": spent / count * 1e6,
    }


@contextmanager
def idle(broker: Broker, count: int) -> Iterator[list[socket.socket]]:
    """Connections that have asked for the versions, closed at the end."""
    links: list[socket.socket] = []
    try:
        while len(links) < count:
            first = len(links)
            for _ in range(min(CONNECTED_TOGETHER, count - first)):
                link = socket.create_connection(("127.0.0.1", broker.port), PATIENCE_S)
                links.append(link)
                link.sendall(ASK_VERSIONS)
            for link in links[first:]:
                (left,) = unpack(">i", link.recv(4, socket.MSG_WAITALL))
                while left:
                    left -= len(link.recv(left)) or left
        yield links
    finally:
        for link in links:
            with suppress(OSError):
                link.close()


STARTING: dict[str, Callable[[Target, Path, Size], Figures]] = {
    "startup": startup,
    "partitions": partitions,
    "recovery": recovery,
    "connections": connections,
}
