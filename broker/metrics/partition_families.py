"""What is told of topics and partitions, under the names of the usual exporters.

``kafka_log_*`` and ``kafka_server_brokertopicmetrics_*`` are those that the JMX
exporter makes of Apache Kafka's own, ``kafka_topic_*`` those of kafka_exporter.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from protocol.topic_partition import TopicPartition
from storage.log_read import FetchIsolation

from .exposition import Family, counter, gauge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from storage.unified_log import UnifiedLog

    from ..metadata.topic import Topic
    from ..services import Services

_PARTITION = 'topic="{}",partition="{}"'


class PartitionFamilies:
    """Samples of the topics that were added; in order, once all were."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._node_id = services.node_id
        self.size = gauge("kafka_log_log_size", "Bytes of a partition.")
        self.start = gauge("kafka_log_log_logstartoffset", "Its first offset.")
        self.end = gauge("kafka_log_log_logendoffset", "The offset of its next record.")
        self.segments = gauge("kafka_log_log_numlogsegments", "Its segments.")
        self.partitions = gauge("kafka_topic_partitions", "Partitions of a topic.")
        self.current = gauge(
            "kafka_topic_partition_current_offset", "Where consumers find its end."
        )
        self.oldest = gauge("kafka_topic_partition_oldest_offset", "Its first offset.")
        self.leader = gauge("kafka_topic_partition_leader", "The node that leads it.")
        self.replicas = gauge("kafka_topic_partition_replicas", "Its replicas.")
        self.in_sync = gauge(
            "kafka_topic_partition_in_sync_replica", "Its replicas that are in sync."
        )
        self.preferred = gauge(
            "kafka_topic_partition_leader_is_preferred", "Always: there is one."
        )
        self.under_replicated = gauge(
            "kafka_topic_partition_under_replicated_partition",
            "Whether replicas lag behind: never, there is one.",
        )
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
        self.bytes_in = counter(
            "kafka_server_brokertopicmetrics_bytesin_total", "Bytes that were appended."
        )
        self.bytes_out = counter(
            "kafka_server_brokertopicmetrics_bytesout_total",
            "Bytes that consumers were given.",
        )
        self.messages_in = counter(
            "kafka_server_brokertopicmetrics_messagesin_total",
            "Records that were appended.",
        )
        self._sums = [0, 0, 0]

    def add(self, topic: Topic) -> Iterator[None]:
        """What there is to tell of one topic; one item for each of its partitions.

        Whoever asks may do something else in between.
        """
        label_text = f'{{topic="{topic.name}"}}'
        self.partitions.add(len(topic.partitions), label_text)
        bytes_in = bytes_out = messages_in = 0
        for info in topic.partitions:
            place = TopicPartition(topic.name, info.partition)
            log = self._services.log_manager.get(place)
            self._add_partition(place, log)
            if log is not None:
                bytes_in += log.appended_bytes
                bytes_out += log.fetched_bytes
                messages_in += log.log_end_offset - log.opened_end_offset
            yield
        counted = bytes_in, bytes_out, messages_in
        for index, family in enumerate(self._traffic):
            family.add(counted[index], label_text)
            self._sums[index] += counted[index]

    @property
    def _traffic(self) -> tuple[Family, Family, Family]:
        return self.bytes_in, self.bytes_out, self.messages_in

    def _add_partition(self, place: TopicPartition, log: UnifiedLog | None) -> None:
        label_text = f"{{{_PARTITION.format(*place)}}}"
        self.leader.add(self._node_id, label_text)
        self.replicas.add(1, label_text)
        self.in_sync.add(1, label_text)
        self.preferred.add(1, label_text)
        self.under_replicated.add(0, label_text)
        if log is None:  # never written, or not opened yet
            self.current.add(0, label_text)
            self.oldest.add(0, label_text)
            return
        start, end = log.log_start_offset, log.log_end_offset
        high_watermark = log.high_watermark
        self.current.add(high_watermark, label_text)
        self.oldest.add(start, label_text)
        self.size.add(log.local.size, label_text)
        self.start.add(start, label_text)
        self.end.add(end, label_text)
        self.segments.add(len(log.local.segments), label_text)
        stable = log.end_offset(FetchIsolation.TXN_COMMITTED).offset
        self.unstable.add(high_watermark - stable, label_text)
        self.undurable.add(max(end - log.recovery_point, 0), label_text)
        quarantined = log.quarantined_batches
        if quarantined:
            self.quarantined.add(quarantined, label_text)

    def __iter__(self) -> Iterator[Family]:
        for family, total in zip(self._traffic, self._sums, strict=True):
            family.add(total)
        for value in vars(self).values():
            if isinstance(value, Family):
                yield value
