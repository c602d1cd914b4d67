"""What Spark asks of ``write`` and ``writeStream``: tasks that send, and a summary.

Each row is in its topic at least once. A producer's own tries write nothing twice; but
a task that fails, or a micro-batch that is done again, is sent again from its first
row. Exactly once would take the number of the batch in the tasks, and one transaction
for all of them; Spark's interface for sinks in Python has neither.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from odradek.client.cluster import Cluster
from odradek.client.delivery import DeliveryFailed
from odradek.client.producer import Producer
from odradek.pipeline.errors import SourceError
from odradek.pipeline.records.row_encoding import KEY, PARTITION, encoded
from odradek.pipeline.security.refusals import refusal_of
from odradek.pipeline.security.words import TOPIC, Need, told
from odradek.pipeline.workers.garbage_collection import freeze_once
from odradek.protocol.errors import (
    KafkaError,
    LeaderNotAvailable,
    UnknownTopicOrPartition,
)
from odradek.protocol.topic_partition import TopicPartition

from .options import read_write_options
from .row_placement import Turns, task_number
from .rows import by_topic, check_schema

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import pyarrow
    from pyspark.sql.types import StructType

    from .options import WriteOptions

_log = logging.getLogger(__name__)
_NEW_TOPIC_S = 3.0  # one that was made a moment ago has no leader yet


@dataclass(frozen=True)
class Sent(WriterCommitMessage):
    """How many records a task has sent."""

    records: int


def batch_writer(
    given: Mapping[str, str], schema: StructType, *, overwrite: bool
) -> RowsToTopics:
    """A writer of the rows of a query.

    Raises:
        SourceError: they cannot be written so.
    """
    return RowsToTopics(_checked(given, schema, overwrite=overwrite))


def stream_writer(
    given: Mapping[str, str], schema: StructType, *, overwrite: bool
) -> StreamToTopics:
    """A writer of the rows of a stream.

    Raises:
        SourceError: they cannot be written so.
    """
    return StreamToTopics(_checked(given, schema, overwrite=overwrite))


def _checked(
    given: Mapping[str, str], schema: StructType, *, overwrite: bool
) -> WriteOptions:
    if overwrite:
        raise SourceError(
            'Records of a topic are not replaced by others: write with mode("append"),'
            ' and streams with outputMode("append") or "update".'
        )
    options = read_write_options(given)
    check_schema(schema, options.topic)
    return options


class RowsToTopics(DataSourceArrowWriter):
    """Of ``write``."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pyarrow.RecordBatch]) -> Sent:
        """Send the rows of one task; they are there when this returns."""
        return send(self._options, iterator)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """What was sent stays."""
        warn_of(messages)


class StreamToTopics(DataSourceStreamArrowWriter):
    """Of ``writeStream``."""

    def __init__(self, options: WriteOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pyarrow.RecordBatch]) -> Sent:
        """Send the rows of one task; they are there when this returns."""
        return send(self._options, iterator)

    def abort(
        self, messages: Sequence[WriterCommitMessage | None], batchId: int
    ) -> None:
        """What was sent stays."""
        warn_of(messages)


def warn_of(messages: Sequence[WriterCommitMessage | None]) -> None:
    """Say what is in the topics of a write that failed."""
    sent = sum(each.records for each in messages if isinstance(each, Sent))
    _log.warning(
        "The write failed. %d records of it are in their topics, and those that failed"
        " tasks have sent; when it is tried again, they are there twice.",
        sent,
    )


def send(options: WriteOptions, batches: Iterator[pyarrow.RecordBatch]) -> Sent:
    """Send rows, and wait until all of them are written.

    Raises:
        SourceError: they are not; says what to look at.
    """
    freeze_once()
    try:
        security = options.access.security()
    except ValueError as error:  # what was right where the query was planned
        raise SourceError(str(error)) from None
    topic = options.topic or "*"
    try:
        with Cluster(
            options.bootstrap,
            client_id=options.client_id,
            timeout_s=options.timeout_s,
            security=security,
        ) as cluster:
            return Sent(_send(options, cluster, batches))
    except DeliveryFailed as error:
        reason = refusal_of(error)
        if reason is None:
            raise SourceError(f"Records were not written: {error}") from error
        raise SourceError(
            told(reason, security, Need("Write", TOPIC, topic))
        ) from error
    except KafkaError as error:
        raise SourceError(told(error, security, Need("Write", TOPIC, topic))) from error
    except OSError as error:
        raise SourceError(f"The broker does not answer: {error}.") from error


def _send(
    options: WriteOptions, cluster: Cluster, batches: Iterator[pyarrow.RecordBatch]
) -> int:
    count, turns = 0, Turns(task_number())
    partitions: dict[str, int] = {}
    with Producer(cluster, options.settings) as producer:
        for batch in batches:
            now_ms = int(time.time() * 1000)
            for topic, rows in by_topic(batch, options.topic, now_ms):
                if topic not in partitions:
                    partitions[topic] = _partition_count(cluster, topic)
                placed = _placed(rows, turns, topic, partitions[topic])
                for partition, records in encoded(placed, options.settings.batch_size):
                    place = TopicPartition(topic, partition)
                    producer.send_encoded(place, records)
                    count += records.records_count
    return count


def _partition_count(cluster: Cluster, topic: str) -> int:
    """Of a topic, which the broker makes where it does so for producers."""

    def look() -> int:
        known = cluster.metadata([topic], creates_topics=True)
        if (error := known.failed.get(topic)) is not None:
            raise error
        return len(known.topics[topic].leaders)

    def may_pass(error: Exception) -> bool:
        return isinstance(error, (LeaderNotAvailable, UnknownTopicOrPartition))

    return cluster.retry.run(look, may_pass, _NEW_TOPIC_S)


def _placed(
    rows: pyarrow.RecordBatch, turns: Turns, topic: str, count: int
) -> pyarrow.RecordBatch:
    import pyarrow as pa

    number = rows.schema.get_field_index(PARTITION)
    try:
        placed = turns.place(rows.column(KEY), rows.column(number), count)
    except ValueError as error:
        raise SourceError(f"Topic {topic}: {error}.") from None
    return rows.set_column(number, PARTITION, pa.array(placed, pa.int32()))
