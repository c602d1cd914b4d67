"""How fast a broker takes and gives records, without what a client makes of them.

Batches are made once and sent again and again, without an identity, and fetched
batches are only counted: it is the broker that is measured.
"""

from __future__ import annotations

import random
import string
import time
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.record_batch import scan
from odradek.protocol.records import NewRecord
from odradek.protocol.topic_partition import TopicPartition

from .batch_builder import NOBODY, BatchBuilder, BatchFormat
from .fetcher import Fetcher, FetchLimits
from .produce_link import ProduceLink, ProduceTerms, Refused

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from .batch_builder import SealedBatch
    from .cluster import Cluster

    Watch = Callable[[int, int], None]  # records and bytes so far

_LETTERS = (string.ascii_letters + string.digits).encode()
_REQUEST_SIZE = 1 << 20


class Load(NamedTuple):
    """What is written: so many records of a size, in batches, by so many requests."""

    records_count: int = 200_000
    record_size: int = 1000
    batch_size: int = 128 << 10
    compression: int = 0
    acks: int = -1
    in_flight_max: int = 5
    timeout_s: float = 30


class Measured(NamedTuple):
    """Records and bytes on the wire, how long they took, and each answer, in s."""

    records_count: int
    size: int
    elapsed_s: float
    latencies_s: Sequence[float]

    def latency_ms(self, quantile: float) -> float | None:
        """The time within which so many of the answers came."""
        if not self.latencies_s:
            return None
        ordered = sorted(self.latencies_s)
        place = min(int(len(ordered) * quantile), len(ordered) - 1)
        return ordered[place] * 1000


def measure_produce(cluster: Cluster, topic: str, load: Load, watch: Watch) -> Measured:
    """Write the load, spread over the partitions.

    Raises:
        KafkaError: the broker refuses a batch.
    """
    leaders = cluster.metadata([topic]).topics[topic].leaders
    terms = ProduceTerms(load.acks, int(load.timeout_s * 1000), None)
    links = {
        leader: ProduceLink(cluster.open_connection(leader), terms)
        for leader in set(leaders.values())
    }
    writing = _Writing(load, watch)
    try:
        rounds = _requests(topic, leaders, load)
        begun_s = time.monotonic()
        while writing.sent < load.records_count:
            for leader, batches in rounds:
                writing.send(links[leader], batches)
                if writing.sent >= load.records_count:
                    break
        for link in links.values():
            writing.finish(link)
        elapsed_s = time.monotonic() - begun_s
    finally:
        for link in links.values():
            link.close()
    return Measured(writing.written, writing.size, elapsed_s, writing.latencies_s)


class _Writing:
    def __init__(self, load: Load, watch: Watch) -> None:
        self.sent = self.written = self.size = 0
        self.latencies_s: list[float] = []
        self._load = load
        self._watch = watch
        self._since_s: dict[ProduceLink, list[float]] = {}

    def send(self, link: ProduceLink, batches: Sequence[SealedBatch]) -> None:
        since_s = self._since_s.setdefault(link, [])
        while link.in_flight >= self._load.in_flight_max:
            self._receive(link, since_s)
        since_s.append(time.monotonic())
        for done in link.send(batches):
            self._count(done.batch)
        self.sent += sum(batch.records_count for batch in batches)

    def finish(self, link: ProduceLink) -> None:
        while link.in_flight:
            self._receive(link, self._since_s[link])

    def _receive(self, link: ProduceLink, since_s: list[float]) -> None:
        outcomes = link.receive()
        self.latencies_s.append(time.monotonic() - since_s.pop(0))
        for outcome in outcomes:
            if isinstance(outcome, Refused):
                raise outcome.error
            self._count(outcome.batch)
        self._watch(self.written, self.size)

    def _count(self, batch: SealedBatch) -> None:
        self.written += batch.records_count
        self.size += len(batch.data)


def _requests(
    topic: str, leaders: Mapping[int, int], load: Load
) -> list[tuple[int, list[SealedBatch]]]:
    """A batch for each partition, as many in a request as a usual limit lets pass."""
    requests: list[tuple[int, list[SealedBatch]]] = []
    for leader in sorted(set(leaders.values())):
        batches: list[SealedBatch] = []
        size = 0
        for partition in (n for n, led_by in leaders.items() if led_by == leader):
            batch = _batch(TopicPartition(topic, partition), load)
            if batches and size + len(batch.data) > _REQUEST_SIZE:
                requests.append((leader, batches))
                batches, size = [], 0
            batches.append(batch)
            size += len(batch.data)
        requests.append((leader, batches))
    return requests


def _batch(place: TopicPartition, load: Load) -> SealedBatch:
    builder = BatchBuilder(place, load.batch_size, 0)
    chance = random.Random(place.partition)
    now_ms = int(time.time() * 1000)
    while len(builder) < load.records_count:
        value = bytes(chance.choices(_LETTERS, k=load.record_size))
        if not builder.try_add(NewRecord(None, value, now_ms)):
            break
    return builder.seal(BatchFormat(load.compression), NOBODY, 0)


def measure_consume(cluster: Cluster, topic: str, count: int, watch: Watch) -> Measured:
    """Read that many records of a topic, from its beginning on.

    Raises:
        KafkaError: it cannot be read.
    """
    partitions = cluster.metadata([topic]).topics[topic].leaders
    offsets = {TopicPartition(topic, number): 0 for number in partitions}
    fetcher = Fetcher(cluster)
    limits = FetchLimits(max_bytes=8 << 20)
    seen = size = 0
    latencies_s = []
    begun_s = time.monotonic()
    while seen < count:
        asked_s = time.monotonic()
        fetched = fetcher.fetch_many(offsets, limits)
        latencies_s.append(time.monotonic() - asked_s)
        for place, each in fetched.items():
            offsets[place] = each.next_offset(offsets[place])
            for _, header in scan(each.records):
                seen += header.records_count
                size += header.size
        watch(seen, size)
    return Measured(seen, size, time.monotonic() - begun_s, latencies_s)
