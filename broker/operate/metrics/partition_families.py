"""What is told of topics and partitions, under the names of the usual exporters.

``kafka_log_*`` and ``kafka_server_brokertopicmetrics_*`` are those that the JMX
exporter makes of Apache Kafka's own, ``kafka_topic_*`` those of kafka_exporter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.replica.partition.traffic import NO_TRAFFIC
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.validation.validator import Flaw
from odradek.storage.values.log_read import FetchIsolation

from .exposition import Family, counter, gauge
from .replica_families import ReplicaFamilies

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.metadata.topic import Topic
    from odradek.broker.replica.partition.refusals import Refusals
    from odradek.broker.requests.services import Services

_PARTITION = 'topic="{}",partition="{}"'
# In the order of `Traffic`.
_TRAFFIC = {
    "bytesin": "Bytes that were appended.",
    "bytesout": "Bytes that consumers were given.",
    "messagesin": "Records that were appended.",
    "bytesrejected": "Bytes of batches that were refused as too large.",
    "totalproducerequests": "Produces: a request counts once for each partition.",
    "failedproducerequests": "Those that failed: for other reasons than that the batch"
    " was too large or corrupt, the topic internal, or the partition not led.",
    "totalfetchrequests": "Fetches: a request counts once for each partition.",
    "failedfetchrequests": "Those that failed: for other reasons than that the offset,"
    " the partition or the leader epoch is not there.",
}
_FLAWS = {
    Flaw.MAGIC: "Batches of a format that is unknown, or no longer supported: refused.",
    Flaw.CHECKSUM: "Batches with a wrong checksum: refused.",
    Flaw.OFFSET_OR_SEQUENCE: "Batches whose header contradicts itself: refused.",
}


class PartitionFamilies:
    """Samples of the topics that were added; in order, once all were."""

    def __init__(self, services: Services) -> None:
        self._services = services
        timeout_max_ms = services.config.transaction_max_timeout_ms
        self._now_and_timeout_max_ms = services.clock.now_ms(), timeout_max_ms
        self._replicas = ReplicaFamilies(services)
        self.size = gauge("kafka_log_log_size", "Bytes of a partition.")
        self.start = gauge("kafka_log_log_logstartoffset", "Its first offset.")
        self.end = gauge("kafka_log_log_logendoffset", "The offset of its next record.")
        self.segments = gauge("kafka_log_log_numlogsegments", "Its segments.")
        self.partitions = gauge("kafka_topic_partitions", "Partitions of a topic.")
        self.current = gauge(
            "kafka_topic_partition_current_offset", "Where consumers find its end."
        )
        self.oldest = gauge("kafka_topic_partition_oldest_offset", "Its first offset.")
        self.unstable = gauge(
            "odradek_partition_last_stable_offset_lag",
            "Offsets that wait for the end of a transaction.",
        )
        self.undurable = gauge(
            "odradek_partition_undurable_offsets",
            "Offsets that a power cut could take back.",
        )
        self.quarantined = gauge(
            "odradek_partition_quarantined_batches",
            "Damaged batches that readers pass over; no sample without any.",
        )
        self._traffic = tuple(
            counter(f"kafka_server_brokertopicmetrics_{name}_total", meaning)
            for name, meaning in _TRAFFIC.items()
        )
        self._sum = NO_TRAFFIC
        self._producer_id_count = self._late_count = 0

    def add(self, topic: Topic) -> Iterator[None]:
        """What there is to tell of one topic; one item for each of its partitions.

        Whoever asks may do something else in between.
        """
        label_text = f'{{topic="{topic.name}"}}'
        self.partitions.add(len(topic.partitions), label_text)
        manager = self._services.replica_manager
        traffic = NO_TRAFFIC
        for info in topic.partitions:
            place = TopicPartition(topic.name, info.partition)
            self._add_partition(topic, place)
            traffic = traffic.plus(manager.traffic(place))
            yield
        for family, count in zip(self._traffic, traffic, strict=True):
            family.add(count, label_text)
        self._sum = self._sum.plus(traffic)

    def _add_partition(self, topic: Topic, place: TopicPartition) -> None:
        label_text = f"{{{_PARTITION.format(*place)}}}"
        is_told = self._replicas.add(topic, place, label_text)
        log = self._services.log_manager.get(place)
        if log is None:  # never written, or not opened yet
            if is_told:
                self.current.add(0, label_text)
                self.oldest.add(0, label_text)
            return
        start, end = log.log_start_offset, log.log_end_offset
        high_watermark = log.high_watermark
        if is_told:
            self.current.add(high_watermark, label_text)
            self.oldest.add(start, label_text)
        self.size.add(log.local.size, label_text)
        self.start.add(start, label_text)
        self.end.add(end, label_text)
        self.segments.add(len(log.local.segments), label_text)
        stable = log.visibility.end_offset(FetchIsolation.TXN_COMMITTED).offset
        self.unstable.add(high_watermark - stable, label_text)
        self.undurable.add(max(end - log.recovery_point, 0), label_text)
        quarantined = len(log.damage)
        if quarantined:
            self.quarantined.add(quarantined, label_text)
        self._producer_id_count += len(log.producers)
        self._late_count += log.producers.has_late_transaction(
            *self._now_and_timeout_max_ms
        )

    def _add_copies(self) -> None:
        """The copies that moves to another log directory have made so far."""
        for place, move in self._services.moving.moves.items():
            if move.step is None:
                continue
            copy = move.step.future
            label_text = f'{{{_PARTITION.format(*place)},is_future="true"}}'
            bases = copy.segment_bases
            self.size.add(copy.size, label_text)
            self.end.add(copy.end_offset, label_text)
            self.segments.add(len(bases), label_text)
            if bases:
                start = max(bases[0], move.log.log_start_offset)
                self.start.add(start, label_text)

    def __iter__(self) -> Iterator[Family]:
        self._add_copies()
        manager = self._services.replica_manager
        total = self._sum.plus(manager.past_traffic)
        for family, count in zip(self._traffic, total, strict=True):
            family.add(count)
        yield from self._replicas
        for value in vars(self).values():
            if isinstance(value, Family):
                yield value
        yield from self._traffic
        yield from self._of_producers()
        yield from flaw_families(manager.appends.refusals)

    def _of_producers(self) -> Iterator[Family]:
        producers = gauge(
            "kafka_server_replicamanager_produceridcount",
            "Producers that logs remember, in each partition.",
        )
        producers.add(self._producer_id_count)
        late = gauge(
            "kafka_server_replicamanager_partitionswithlatetransactionscount",
            "Partitions with a transaction whose end should have come long ago:"
            " odradek txn find-hanging names them.",
        )
        late.add(self._late_count)
        return iter((producers, late))


def flaw_families(refusals: Refusals) -> Iterator[Family]:
    """What was wrong with batches that no correct client sends."""
    for name, meaning, count in (
        (
            "nokeycompactedtopic",
            "Records without a key for a compacted topic: refused.",
            refusals.keyless_count,
        ),
        *(
            (flaw.value, meaning, refusals.flaws[flaw])
            for flaw, meaning in _FLAWS.items()
        ),
    ):
        found = counter(f"kafka_server_brokertopicmetrics_{name}records_total", meaning)
        found.add(count)
        yield found
