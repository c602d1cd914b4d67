"""Rows become records of a topic, exactly once: a batch is one transaction.

The job's name is the transactional id. To take it shuts out an earlier run, and aborts
what that left open; so whatever happens to a driver, the next one finds the number of
the last batch that was committed, in the job's notes (`notes`): it is written in
the same transaction as the batch. Whatever happens to a task, the batch is aborted and
done again under the next epoch, which shuts out attempts that still run.

A topic that has records, and of which there is no note, may have been loaded before:
by whom, and how far, nobody knows any more. Then nothing is written.
"""

from __future__ import annotations

import contextlib
import logging
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from odradek.client.address import parse_addresses
from odradek.client.batch_builder import NOBODY
from odradek.client.cluster import Cluster
from odradek.client.group_offsets import committed_offsets
from odradek.client.producer import DeliveryFailed, Producer, ProducerSettings
from odradek.client.transaction_steps import (
    CommittedNote,
    commit_offsets_in_transaction,
    end_transaction,
    init_producer_id,
    transaction_name,
)
from odradek.pipeline.job_errors import JobError, JobStopped
from odradek.pipeline.security.access import OPEN, Access
from odradek.pipeline.security.refusals import stopped_by, stopping
from odradek.pipeline.spark.executors import Executors, describe
from odradek.protocol.errors import (
    InvalidProducerEpoch,
    InvalidProducerIdMapping,
    InvalidTransactionTimeout,
    KafkaError,
    ProducerFenced,
    UnknownTopicOrPartition,
)
from odradek.protocol.topic_partition import TopicPartition

from .attempt_registry import attempt_registry
from .batch_sender import BatchSender
from .file_rows import PlainFiles
from .notes import LoadNotes, Note, first_note, notes_topic, was_written
from .record_rows import RecordColumns, record_rows
from .rights import needs_of
from .sent_counts import SparkFailure, sent_counts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from pyspark.sql import DataFrame, SparkSession

    from odradek.client.address import Address
    from odradek.client.batch_builder import ProducerIdentity
    from odradek.client.metadata import Topic
    from odradek.client.transaction_steps import TransactionName

    from .file_rows import FileRows

_log = logging.getLogger(__name__)
_FENCED = (ProducerFenced, InvalidProducerEpoch, InvalidProducerIdMapping)
_TASKS_MAX = 64
_NO_ID = bytes(16).hex()


@dataclass(frozen=True)
class LoadJob:
    """Where a job writes to, and how; its name is that of its transactions.

    ``bootstrap_servers`` are like ``kafka-1:9092,kafka-2:9092``. ``begins`` says that
    whatever is in a topic without a note of this job is of others. Executors find
    the driver at ``driver_address``, like ``host:port``; empty is a free port.
    """

    name: str
    topic: str
    bootstrap_servers: str = "127.0.0.1:9092"
    settings: ProducerSettings = field(default_factory=ProducerSettings)
    transaction_timeout_ms: int = 900_000
    timeout_s: float = 30
    tries: int = 3
    begins: bool = False
    access: Access = OPEN
    driver_address: str = ""

    @property
    def addresses(self) -> tuple[Address, ...]:
        """The brokers to ask first; raises ValueError where one is none."""
        return tuple(parse_addresses(self.bootstrap_servers))

    @property
    def group(self) -> str:
        """The group that shows the last batch, as its committed offset."""
        return f"load-{self.name}"


class LastBatch(NamedTuple):
    """The batch that was committed last, with the note that it was given."""

    number: int
    note: str


class Loaded(NamedTuple):
    """A batch in the topic; ``records`` is None where it was there already."""

    batch: int
    records: int | None


class Prepared(NamedTuple):
    """What tasks get from Spark: rows, or nothing but numbers where they read files."""

    rows: DataFrame
    files: FileRows | None = None


class Loader:
    """One driver of a job; another one with the same name shuts it out."""

    def __init__(self, spark: SparkSession, job: LoadJob) -> None:
        """Takes the name.

        Raises:
            JobError: there is no such topic, or the broker refuses the job.
            JobStopped: nobody knows what the job has written before.
            OSError: no broker can be reached.
        """
        self._spark, self._executors = spark, Executors(spark)
        self._job = job
        self._security = job.access.security()
        self._cluster = Cluster(
            job.addresses, timeout_s=job.timeout_s, security=self._security
        )
        notes = notes_topic(job.name)
        self._needs = needs_of(job.name, job.topic, job.group, notes)
        try:
            self._registry = attempt_registry(spark, job.driver_address)
            try:
                with stopping(self._security, self._needs):
                    self._take_name()
            except BaseException:
                self._registry.close()
                raise
        except BaseException:
            self._cluster.close()
            raise

    def _take_name(self) -> None:
        found = self._find_topic()
        self._partition_count = len(found.leaders)
        self._name: TransactionName = transaction_name(self._cluster, self._job.name)
        self._identity: ProducerIdentity = NOBODY
        self._began_s = time.monotonic()
        self._next_epoch()
        self._notes = LoadNotes(self._cluster, self._job.name, self._job.topic)
        self._note = self._find_note(found)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the connections go."""
        self._registry.close()
        self._cluster.close()

    def last_batch(self) -> LastBatch:
        """What was committed last; number -1 when nothing was."""
        return LastBatch(self._note.batch, self._note.note)

    def parts(self) -> set[str]:
        """What the batches that are committed were made of, by their ``parts``."""
        return self._notes.parts(self._note.life)

    def adopt(self, note: str, parts: Sequence[str]) -> None:
        """Note what the last batch, and those before it, were made of."""
        self._note = self._write_alone(self._note._replace(note=note), parts)

    def _find_note(self, topic: Topic) -> Note:
        """How far the job is: from its notes, or from what was before there were any.

        Raises:
            JobStopped: neither is there, and the topic has been written to.
        """
        note, place = self._notes.last(), TopicPartition(topic.name, 0)
        topic_id = topic.topic_id.hex()
        if note is not None and len({note.topic_id, topic_id, _NO_ID}) == 3:
            note = None  # of a topic that was deleted, and has no rows any more
            shown = None
        else:
            shown = committed_offsets(self._cluster, self._job.group).get(place)
        if shown is not None and (note is None or note.batch < shown.offset):
            # Written by a version that knew of no notes.
            life = note or first_note(topic.topic_id)
            note = life._replace(batch=shown.offset, note=shown.metadata)
            return self._write_alone(note)
        if note is not None:
            return note
        if not self._job.begins and was_written(self._cluster, topic):
            raise JobStopped(
                f"topic {topic.name} has been written to, and nothing says which of it"
                f" job {self._job.name} wrote: there is no note in"
                f" {self._notes.place.topic}, and group {self._job.group} has no"
                " offset (deleted, or expired). To go on might write rows again."
                " No record was written. If none of those there are of this job, begin"
                " with --begin; else load into a new topic"
            )
        return self._write_alone(first_note(topic.topic_id))

    def _write_alone(self, note: Note, parts: Sequence[str] = ()) -> Note:
        """A note in a transaction of its own."""
        try:
            self._write(note, parts)
            self._end()
        except _FENCED as error:
            raise self._shut_out() from error
        except DeliveryFailed as error:
            raise self._refused(error) or JobStopped(
                f"a note could not be written: {error}"
            ) from error
        return note

    def _write(self, note: Note, parts: Sequence[str]) -> None:
        """A note in the transaction that is open."""
        notes = self._notes
        with Producer(
            self._cluster, transaction=self._name, identity=self._identity
        ) as producer:
            for record in notes.records(note, parts):
                producer.send(notes.place.topic, record, notes.place.partition)

    def _end(self) -> None:
        self._identity = end_transaction(
            self._cluster, self._name, self._identity, commit=True
        )
        if not self._name.is_implicit:
            self._next_epoch()  # sequences begin with 0 again

    def load(
        self,
        rows: DataFrame | PlainFiles,
        batch: int,
        columns: RecordColumns | None = None,
        note: str = "",
        parts: Sequence[str] = (),
    ) -> Loaded:
        """Write a batch, unless it was: also when its writer died on the way.

        ``parts`` name what it is made of, to be kept for as long as the job.

        Raises:
            JobStopped: another driver has the job, or every try failed.
            JobError: the rows cannot be records.
        """
        prepared = self._prepared(rows, columns or RecordColumns())
        failure: Exception | None = None
        for number in range(self._job.tries):
            if number:
                _log.warning("batch %d is done again: %s", batch, _line(failure))
                self._next_epoch()
                # Whether it was committed, an end without an answer leaves open.
                self._note = self._notes.last() or self._note
            if batch <= self._note.batch:
                return Loaded(batch, None)
            try:
                return Loaded(batch, self._try(prepared, batch, note, parts))
            except _FENCED as error:
                raise self._shut_out() from error
            except (KafkaError, OSError, DeliveryFailed, SparkFailure) as error:
                failure = error
                if self._refused(error) is not None:
                    break
                if too_long := self._too_long():
                    raise too_long from error
            finally:
                self._registry.end()
        with contextlib.suppress(KafkaError, OSError):
            self._next_epoch()  # aborts what is open, for who reads committed
        assert failure is not None
        raise self._refused(failure) or JobStopped(
            f"batch {batch} could not be written in {self._job.tries} tries: "
            f"{_line(failure)}"
        ) from failure

    def _try(
        self, prepared: Prepared, batch: int, note: str, parts: Sequence[str]
    ) -> int:
        self._began_s = time.monotonic()
        written = self._note._replace(batch=batch, note=note)
        sender = BatchSender(
            self._job.addresses,
            self._job.topic,
            self._name,
            self._identity,
            self._registry.begin(),
            self._job.settings,
            self._job.timeout_s,
            self._job.access,
            prepared.files,
        )
        where = f"{self._job.name}: batch {written.batch} to topic {self._job.topic}"
        describe(self._spark, where)
        counts = sent_counts(prepared.rows, sender)
        self._registry.end()
        self._write(written, parts)
        # For people, and for who looks at the lag of groups: nothing relies on it.
        place = TopicPartition(self._job.topic, 0)
        commit_offsets_in_transaction(
            self._cluster,
            self._name,
            self._identity,
            self._job.group,
            {place: CommittedNote(batch, note)},
        )
        self._end()
        self._note = written
        return sum(counts.values())

    def _next_epoch(self) -> None:
        """Shut out who writes with the present epoch, and abort what is open."""
        try:
            self._identity = init_producer_id(
                self._cluster,
                self._name,
                self._job.transaction_timeout_ms,
                self._identity,
            )
        except _FENCED as error:
            raise self._shut_out() from error
        except InvalidTransactionTimeout as error:
            raise JobError(
                f"the broker allows no transactions of"
                f" {self._job.transaction_timeout_ms} ms (its"
                " transaction.max.timeout.ms); give a shorter --transaction-timeout"
            ) from error

    def _refused(self, error: Exception) -> JobStopped | None:
        if isinstance(error, SparkFailure):
            error = error.refusal or error
        return stopped_by(error, self._security, self._needs)

    def _shut_out(self) -> JobStopped:
        return self._too_long() or JobStopped(
            f"another run of job {self._job.name} has begun: it goes on from what this"
            " one has committed. Give each load a --job of its own"
        )

    def _too_long(self) -> JobStopped | None:
        """Why to try again is no use, where it is: the broker ends what takes long."""
        took_ms = (time.monotonic() - self._began_s) * 1000
        if took_ms <= self._job.transaction_timeout_ms:
            return None
        return JobStopped(
            f"a batch took {took_ms / 1000:.0f} s, longer than its transaction may"
            f" ({self._job.transaction_timeout_ms / 1000:g} s), so the broker aborted"
            " it. Give a smaller --batch-size, or a longer --transaction-timeout"
        )

    def _find_topic(self) -> Topic:
        topic = self._job.topic
        metadata = self._cluster.metadata([topic])
        if topic not in metadata.topics:
            error = metadata.failed.get(topic) or UnknownTopicOrPartition()
            if self._refused(error) is not None:
                raise error
            raise JobError(
                f"topic {topic}: {error} odradek topic create {topic} makes one"
            )
        return metadata.topics[topic]

    def _prepared(
        self, rows: DataFrame | PlainFiles, columns: RecordColumns
    ) -> Prepared:
        count = self._partition_count
        if isinstance(rows, PlainFiles):
            files = rows.divided(count, self._executors.core_count_max)
            return Prepared(files.tasks(self._spark), files)
        return Prepared(record_rows(rows, columns, count, min(count, _TASKS_MAX)))


def _line(error: Exception | None) -> str:
    return " ".join(str(error).split())
