"""A blocking producer: records become batches, batches go to the leaders.

It has no thread: `send` takes a record and now and then sends what is full, `flush`
sends the rest and waits for every answer. Batches of a partition stay in order; with
an identity (idempotence, the default) each is written once, however often it is sent.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from odradek.protocol.errors import (
    KafkaError,
    LeaderNotAvailable,
    UnknownTopicOrPartition,
)
from odradek.protocol.murmur2 import partition_of_key
from odradek.protocol.record_batch import next_sequence
from odradek.protocol.topic_partition import TopicPartition

from .batch_builder import (
    NOBODY,
    BatchBuilder,
    BatchFormat,
    EncodedRecords,
    ProducerIdentity,
    SealedBatch,
    seal_records,
)
from .delivery import Delivery, DeliveryFailed
from .errors import UnknownPartition
from .partitioner import StickyPartition
from .produce_link import (
    LAST_VERSION_WITH_NAMES,
    LAST_VERSION_WITHOUT_ADDING,
    ProduceTerms,
    Written,
)
from .topics import NewTopic, create_topic
from .transaction_steps import TransactionName, add_partitions, init_producer_id

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from types import TracebackType
    from typing import Self

    from odradek.protocol.records import NewRecord

    from .cluster import Cluster
    from .metadata import Topic

__all__ = ["DeliveryFailed", "Producer", "ProducerSettings", "Written"]

_RECORD_OVERHEAD = 12  # lengths, deltas and attributes, of a short record
_UNKNOWN_TOPIC_S = 3.0  # a topic made a moment ago may not be known everywhere


@dataclass(frozen=True)
class ProducerSettings:
    """How a producer writes; sizes in bytes, before compression."""

    acks: int = -1  # -1 all in-sync replicas, 1 the leader, 0 nobody answers
    compression: int = 0
    compression_level: int | None = None
    idempotent: bool = True  # only with acks=-1
    batch_size: int = 128 << 10
    request_size_max: int = 1 << 20
    linger_ms: int = 50  # how long `send` lets a batch grow; `flush` does not wait
    in_flight_max: int = 5  # requests to one leader
    request_timeout_ms: int = 30_000
    delivery_timeout_ms: int = 120_000
    creates_topics: bool = False  # where the broker makes those that are named


class Producer:
    """Writes records to topics of one cluster; see the module."""

    def __init__(
        self,
        cluster: Cluster,
        settings: ProducerSettings | None = None,
        *,
        transaction: TransactionName | None = None,
        identity: ProducerIdentity | None = None,
        on_written: Callable[[Written], None] | None = None,
    ) -> None:
        """Nothing is asked yet.

        In a ``transaction`` the identity is given by its owner, who alone ends it,
        and the first batch of each partition has sequence 0.
        """
        self._cluster = cluster
        self._settings = settings = settings or ProducerSettings()
        self._name = transaction
        self._is_given = identity is not None
        self._identity = identity
        if not self._is_given and not (settings.idempotent and settings.acks == -1):
            self._identity = NOBODY
        self._format = BatchFormat(
            settings.compression, settings.compression_level, transaction is not None
        )
        self._delivery = Delivery(
            cluster,
            self._terms(),
            self,
            in_flight_max=settings.in_flight_max,
            request_size_max=settings.request_size_max,
            timeout_s=settings.delivery_timeout_ms / 1000,
            compression_level=settings.compression_level,
            on_written=on_written,
        )
        self._builders: dict[TopicPartition, BatchBuilder] = {}
        self._sequences: dict[TopicPartition, int] = {}
        self._taking_part: set[TopicPartition] = set()
        self._topics: dict[str, Topic] = {}
        self._sticky: dict[str, StickyPartition] = {}

    def _terms(self) -> ProduceTerms:
        is_explicit = self._name is not None and not self._name.is_implicit
        return ProduceTerms(
            self._settings.acks,
            self._settings.request_timeout_ms,
            self._name and self._name.transactional_id,
            LAST_VERSION_WITHOUT_ADDING if is_explicit else LAST_VERSION_WITH_NAMES,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        try:
            if kind is None:
                self.flush()
        finally:
            self.close()

    def close(self) -> None:
        """Drop what was not flushed, and close the connections to the leaders."""
        self._builders.clear()
        self._delivery.close()

    def renew(self, identity: ProducerIdentity) -> None:
        """Another transaction begins; its identity may be that of the last one."""
        if identity != self._identity:
            self._sequences.clear()
        self._identity = identity
        self._taking_part.clear()

    @property
    def taking_part(self) -> bool:
        """Whether anything was written since the transaction began."""
        return bool(self._taking_part)

    def send(
        self, topic: str, record: NewRecord, partition: int | None = None
    ) -> TopicPartition:
        """Take a record; where it will go. May send, and wait for older answers.

        Raises:
            DeliveryFailed: earlier records were not written.
            KafkaError: there is no such topic or partition.
        """
        place = self._place(topic, record, partition)
        now_s = time.monotonic()
        builder = self._builders.get(place)
        if builder is None or not builder.try_add(record):
            if builder is not None:
                place = self._next_place(place, record, partition)
            builder = self._builders.get(place)
            if builder is None:
                builder = BatchBuilder(place, self._settings.batch_size, now_s)
                self._builders[place] = builder
            if not builder.try_add(record):
                self._send_with(place)
                return self.send(topic, record, partition)
        if partition is None and record.key is None:
            self._sticky[topic].took(_size_of(record))
        if (now_s - builder.since_s) * 1000 > self._settings.linger_ms:
            self._send_with(place)
        return place

    def send_encoded(self, place: TopicPartition, records: EncodedRecords) -> None:
        """Send a batch of records, behind those that its partition was given before.

        May wait for older answers.

        Raises:
            DeliveryFailed: earlier records were not written.
            KafkaError: there is no such topic or partition.
        """
        self._check_partition(place)
        if place in self._builders:
            self._send_with(place)
        self._submit([self._with_sequence(place, records)])

    def _next_place(
        self, place: TopicPartition, record: NewRecord, partition: int | None
    ) -> TopicPartition:
        """Send a batch that is full; where the record that had no room goes."""
        self._send_with(place)
        if partition is None and record.key is None:
            self._sticky[place.topic].move_on(self._available(place.topic))
            return self._place(place.topic, record, None)
        return place

    def send_waiting(self) -> None:
        """Send what lingers, without waiting for the answers.

        Raises:
            DeliveryFailed: earlier records were not written.
        """
        while self._builders:
            self._send_with(next(iter(self._builders)))

    def flush(self) -> None:
        """Return when everything is written.

        Raises:
            DeliveryFailed: something is not. It is dropped; what comes next begins
                anew.
        """
        self.send_waiting()
        try:
            self._delivery.settle()
        except DeliveryFailed:
            self._begin_anew()
            raise

    def _send_with(self, place: TopicPartition) -> None:
        """Send the open batch of a partition, and what else its leader will take."""
        self._submit([self._seal(each) for each in self._of_same_leader(place)])

    def _submit(self, batches: list[SealedBatch]) -> None:
        try:
            self._delivery.submit(batches)
        except DeliveryFailed:
            self._begin_anew()
            raise

    def _of_same_leader(self, place: TopicPartition) -> list[TopicPartition]:
        leader = self._known_leader(place)
        places = [place]
        size = self._builders[place].size
        for other, builder in self._builders.items():
            if other == place or self._known_leader(other) != leader:
                continue
            size += builder.size
            if size > self._settings.request_size_max:
                break
            places.append(other)
        return places if leader is not None else [place]

    def _known_leader(self, place: TopicPartition) -> int | None:
        topic = self._topics.get(place.topic)
        return topic.leaders.get(place.partition) if topic else None

    def _seal(self, place: TopicPartition) -> SealedBatch:
        return self._with_sequence(place, self._builders.pop(place).records())

    def _with_sequence(
        self, place: TopicPartition, records: EncodedRecords
    ) -> SealedBatch:
        if self._identity is None:
            self._identity = init_producer_id(self._cluster)
        sequence = self._sequences.get(place, 0)
        batch = seal_records(place, records, self._format, self._identity, sequence)
        self._sequences[place] = next_sequence(sequence, batch.records_count)
        return batch

    def _begin_anew(self) -> None:
        """Nobody knows which sequence is the next: another producer has no past."""
        self._sequences.clear()
        if not self._is_given and self._identity != NOBODY:
            self._identity = None

    # Where records go.

    def _place(
        self, topic: str, record: NewRecord, partition: int | None
    ) -> TopicPartition:
        if partition is None:
            leaders = self._topic(topic).leaders
            if record.key is not None:
                partition = partition_of_key(record.key, len(leaders))
            else:
                sticky = self._sticky.setdefault(topic, StickyPartition())
                partition = sticky.current(self._available(topic))
            return TopicPartition(topic, partition)
        place = TopicPartition(topic, partition)
        self._check_partition(place)
        return place

    def _check_partition(self, place: TopicPartition) -> None:
        if place.topic not in self._topics and self._settings.creates_topics:
            self._check_new(place)
        topic = self._topic(place.topic)
        if place.partition not in topic.leaders:
            raise UnknownPartition(topic.lacks(place.partition))

    def _check_new(self, place: TopicPartition) -> None:
        """Make no topic for the sake of a partition that it would not have."""
        known = self._cluster.metadata([place.topic])
        if not isinstance(known.failed.get(place.topic), UnknownTopicOrPartition):
            return
        try:
            made = create_topic(
                self._cluster, NewTopic(place.topic), validate_only=True
            )
        except KafkaError:  # to ask this may not be allowed to who may write
            return
        if 0 <= made.partitions <= place.partition:
            raise UnknownTopicOrPartition(
                f"There is no topic {place.topic}, and with the broker's"
                f" num.partitions={made.partitions} a new one would have no partition"
                f" {place.partition}."
            )

    def _available(self, topic: str) -> list[int]:
        leaders = self._topic(topic).leaders
        led = [number for number, leader in leaders.items() if leader >= 0]
        return led or list(leaders)

    def _topic(self, name: str) -> Topic:
        return self._topics.get(name) or self._look_up(name)

    def _look_up(self, name: str) -> Topic:
        def ask() -> Topic:
            creates = self._settings.creates_topics
            metadata = self._cluster.metadata([name], creates_topics=creates)
            if name not in metadata.topics:
                raise metadata.failed.get(name) or UnknownTopicOrPartition()
            return metadata.topics[name]

        passing = (LeaderNotAvailable, UnknownTopicOrPartition)
        self._topics[name] = self._cluster.retry.run(
            ask, lambda error: isinstance(error, passing), _UNKNOWN_TOPIC_S
        )
        return self._topics[name]

    def leader_of(self, place: TopicPartition) -> int:
        """See `delivery.Routes`."""
        leader = self._topic(place.topic).leaders.get(place.partition, -1)
        if leader < 0:
            raise LeaderNotAvailable
        return leader

    def forget(self, topic: str) -> None:
        """See `delivery.Routes`."""
        self._topics.pop(topic, None)

    def announce(self, batches: Sequence[SealedBatch]) -> None:
        """See `delivery.Routes`."""
        if self._name is None:
            return
        places = {batch.place for batch in batches} - self._taking_part
        if places and not self._name.is_implicit:
            assert self._identity is not None
            add_partitions(self._cluster, self._name, self._identity, places)
        self._taking_part |= places


def _size_of(record: NewRecord) -> int:
    """About what a record without a key takes in a batch."""
    return memoryview(record.value or b"").nbytes + _RECORD_OVERHEAD
