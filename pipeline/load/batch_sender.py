"""What a Spark task does with its rows of a batch: send them in the transaction.

It is pickled with the job. A task writes whole topic partitions, so that each begins
with sequence 0 of the batch's epoch; it answers how many records went into each. Rows
are handed to it by Spark, or it reads ``files`` itself.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from odradek.client.cluster import Cluster
from odradek.client.delivery import DeliveryFailed
from odradek.client.producer import Producer, ProducerSettings
from odradek.pipeline.records.row_encoding import encoded
from odradek.pipeline.security.access import OPEN, Access
from odradek.pipeline.security.refusals import refusal_of
from odradek.pipeline.workers.garbage_collection import freeze_once
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from odradek.client.address import Address
    from odradek.client.batch_builder import ProducerIdentity
    from odradek.client.transaction_steps import TransactionName

    from .attempt_registry import Registration
    from .file_rows import FileRows

COUNTS_SCHEMA = "partition int, records long"


@dataclass(frozen=True)
class BatchSender:
    """Sends rows of `record_rows` to a topic with a given identity."""

    bootstrap: Sequence[Address]
    topic: str
    name: TransactionName
    identity: ProducerIdentity
    registration: Registration
    settings: ProducerSettings
    timeout_s: float
    access: Access = OPEN
    files: FileRows | None = None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """The number of records by topic partition; for ``mapInArrow``."""
        import pyarrow as pa

        if self.files is not None:
            batches = self._read(self.files, batches)
        first = next((batch for batch in batches if batch.num_rows), None)
        if first is None:
            return
        freeze_once()
        self._register()
        counts: Counter[int] = Counter()
        try:
            self._send_all(first, batches, counts)
        except DeliveryFailed as error:
            # Spark tells the driver its name and its text.
            raise refusal_of(error) or error from None
        yield pa.record_batch(
            {
                "partition": pa.array(counts.keys(), pa.int32()),
                "records": pa.array(counts.values(), pa.int64()),
            }
        )

    def _read(
        self, files: FileRows, tasks: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        """The rows of tasks of which there is nothing but their numbers."""
        for batch in tasks:
            for task in batch.column(0).to_pylist():
                yield from files.batches(task)

    def _send_all(
        self,
        first: pa.RecordBatch,
        batches: Iterator[pa.RecordBatch],
        counts: Counter[int],
    ) -> None:
        with Cluster(
            list(self.bootstrap),
            timeout_s=self.timeout_s,
            security=self.access.security(),
        ) as cluster:
            producer = Producer(
                cluster,
                self.settings,
                transaction=self.name,
                identity=self.identity,
            )
            with producer:
                self._send(producer, first, counts)
                for batch in batches:
                    self._send(producer, batch, counts)

    def _register(self) -> None:
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None
        self.registration.register(context.partitionId(), context.taskAttemptId())

    def _send(
        self, producer: Producer, rows: pa.RecordBatch, counts: Counter[int]
    ) -> None:
        for partition, records in encoded(rows, self.settings.batch_size):
            producer.send_encoded(TopicPartition(self.topic, partition), records)
            counts[partition] += records.records_count
