"""The streaming job: topics flow into a table, exactly once, until somebody stops it.

Spark plans the micro-batches and keeps their offsets; the `JobCommitter` makes each of
them one commit. What is said here is how they meet, and when a failure is worth another
try; what they have to agree on before is in `start`.
"""

from __future__ import annotations

import json
import logging
import time
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from odradek.client.address import parse_addresses
from odradek.client.cluster import Cluster
from odradek.pipeline.job_errors import JobError
from odradek.pipeline.jobs.batch_writer import BatchWriter, folders
from odradek.pipeline.jobs.continuity import Continuity
from odradek.pipeline.jobs.job_committer import JobCommitter, JobTables
from odradek.pipeline.jobs.row_files import Shape
from odradek.pipeline.jobs.stream_failure import JVM_ENDED, StreamFailure, failure_of
from odradek.pipeline.records.columns import RecordColumns
from odradek.pipeline.security.refusals import stopping
from odradek.pipeline.source.log_view import BrokerView
from odradek.pipeline.spark.executors import context_of, describe
from odradek.pipeline.spark.session import register_source
from odradek.pipeline.spark.task_failures import text_of
from odradek.pipeline.tables.table import open_table, open_upserts
from odradek.pipeline.tables.upserts.last_rows import KeyColumns, with_deleted
from odradek.pipeline.values.dead_letters import DeadLetterLimit
from odradek.pipeline.values.decoding import HEADERS, RowMaker
from odradek.terminal.progress import Progress

from .checkpoint import Checkpoint
from .pinned_schema import pinned, sampled
from .start import SinkStart
from .telling import Telling
from .upkeep import Upkeep

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from odradek.pipeline.jobs.job_committer import Written
    from odradek.pipeline.jobs.job_file import Job
    from odradek.pipeline.tables.places.place import StagingFolder
    from odradek.pipeline.tables.table import Table
    from odradek.protocol.topic_partition import TopicPartition

    from .large_batches import LargeBatches
    from .small_batches import SmallBatches

_log = logging.getLogger(__name__)
_PAUSE_S = 0.5
_PAUSE_S_MAX = 15.0


class Sink:
    """One driver of a job."""

    def __init__(
        self,
        job: Job,
        open_spark: Callable[[], SparkSession],
        *,
        progress: Progress | None = None,
        give_up_after_s: float = 600,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self._job = job
        # It takes seconds: what is wrong is said before.
        self._open_spark = open_spark
        self._progress = progress or Progress()
        self._give_up_after_s = give_up_after_s
        self._pause = pause
        bootstrap = parse_addresses(job.source.bootstrap_servers)
        self._security = job.source.security()
        self._cluster = Cluster(
            bootstrap,
            client_id=f"odradek-sink-{job.name}",
            security=self._security,
        )
        self._checkpoint = Checkpoint(job.checkpoint)
        self._table = table_of(job)
        self._dead_letters = None
        if job.dead_letters is not None:
            self._dead_letters = open_table(
                job.table_format,
                job.dead_letters,
                job.name,
                job.dead_letters_catalog,
                job.store,
            )
        self._continuity = Continuity(self._cluster)
        self._committer = JobCommitter(
            job.name,
            JobTables(self._table, self._dead_letters),
            self._continuity,
            DeadLetterLimit(job.dlq_max_ratio),
        )
        self._small_batches: SmallBatches | None = None
        self._large_batches: LargeBatches | None = None
        self._shape = Shape(job.compression, partitioning=job.partitioning)
        self._upkeep = Upkeep(job, self._progress)
        self._telling = Telling(job, self._cluster, self._progress)
        self._failure: BaseException | None = None
        self._last_progress = time.monotonic()
        self._is_stopped = False

    def close(self) -> None:
        """Let others have the table."""
        self._cluster.close()
        if self._small_batches is not None:
            self._small_batches.close()
        for table in (self._table, self._dead_letters):
            if table is not None:
                table.close()

    def stop(self) -> None:
        """End soon; may be called by a handler of signals."""
        self._is_stopped = True

    def prepare(self, *, rebuild_checkpoint: bool = False) -> None:
        """Make what is missing, and compare the checkpoint with the table.

        Raises:
            JobError: they do not fit each other, or the job.
        """
        includes_headers = HEADERS in self._job.value.columns
        records = RecordColumns.of(include_headers=includes_headers).arrow_schema()
        with stopping(self._security, self._job.source.needs):
            value = pinned(self._job.value, self._sampled, self._progress)
        self._job = replace(self._job, value=value)
        maker = RowMaker(self._job.value, records)
        schema = self._table.create(
            maker.schema,
            evolves=self._job.evolves,
            partitioning=self._job.partitioning,
            renamed=self._job.renamed,
        )
        if not schema.equals(maker.schema):
            files = with_deleted(schema) if self._job.upserts else schema
            self._shape = replace(self._shape, schema=bytes(files.serialize()))
        if self._dead_letters is not None:
            self._dead_letters.create(maker.dead_schema)
        start = SinkStart(
            self._job,
            self._cluster,
            self._checkpoint,
            self._table,
            self._dead_letters,
            self._progress,
        )
        with stopping(self._security, self._job.source.needs):
            start.agree(self._committer, self._continuity, rebuild=rebuild_checkpoint)

    def _sampled(self) -> Iterator[bytes | None]:
        source = self._job.source
        return sampled(self._cluster, source, self._stream_options())

    def run(self, *, once: bool) -> None:
        """Run until it is stopped; with ``once``, until it has what there is now.

        What may pass, like a broker that is away, is tried again; a fault of our own,
        or a setting that is found wrong now, ends it at once.

        Raises:
            JobError: it cannot go on, and says why.
        """
        pause_s = _PAUSE_S
        self._last_progress = time.monotonic()
        while not self._is_stopped:
            before = self._last_progress
            try:
                self._run_query(once)
                return
            except StreamFailure as failure:
                if self._last_progress > before:
                    pause_s = _PAUSE_S
                waited_s = time.monotonic() - self._last_progress
                if not failure.may_pass:
                    _log.error("This was not expected.", exc_info=failure)
                    raise JobError(str(failure)) from failure
                if waited_s > self._give_up_after_s:
                    raise JobError(str(failure)) from failure
                self._progress.note("retry", after_s=pause_s, reason=str(failure))
            self._pause(pause_s)
            pause_s = min(pause_s * 2, _PAUSE_S_MAX)

    def _run_query(self, once: bool) -> None:
        from py4j.protocol import Py4JError, Py4JJavaError
        from pyspark.errors import PySparkException

        self._failure = None
        self._progress.begin()
        try:
            query = self._start(once)
            while not query.awaitTermination(1):
                if self._is_stopped:
                    self._stop(query)
                    return
        except (PySparkException, Py4JJavaError) as error:
            found = failure_of(self._failure, text_of(error))
            if self._is_stopped and not isinstance(found, JobError):
                return  # who ends all processes of a job ends Spark's too
            raise found from self._failure or error
        except (Py4JError, ConnectionError) as error:
            if self._is_stopped:
                return
            raise JobError(
                f"{JVM_ENDED}; start the job again, it goes on where the table ends"
            ) from error
        finally:
            self._progress.end()

    def _start(self, once: bool) -> StreamingQuery:
        job = self._job
        source = job.source
        spark = self._open_spark()
        register_source(spark)
        reader = spark.readStream.format(source.format)
        for name, value in self._source_options().items():
            reader = reader.option(name, value)
        columns = RecordColumns.of(include_headers=HEADERS in job.value.columns)
        writer = (
            reader.load()
            .select(*columns.names)
            .writeStream.foreachBatch(self._run_batch)
            .option("checkpointLocation", str(self._checkpoint.path))
            .queryName(job.name)
        )
        if once:
            writer = writer.trigger(availableNow=True)
        else:
            writer = writer.trigger(processingTime=f"{job.trigger_ms} milliseconds")
        return writer.start()

    def _source_options(self) -> dict[str, str]:
        starts = self._checkpoint.start()
        begin = _offsets_text(starts) if starts else "earliest"
        options = self._stream_options() | {"startingOffsets": begin}
        return options | self._job.source.options

    def _stream_options(self) -> dict[str, str]:
        """Those that say what is read, and how."""
        source = self._job.source
        options = {
            "kafka.bootstrap.servers": source.bootstrap_servers,
            "kafka.isolation.level": source.isolation_level,
            "maxOffsetsPerTrigger": str(source.max_offsets_per_trigger),
            "failOnDataLoss": "true",
        }
        if source.topics:
            options["subscribe"] = ",".join(source.topics)
        else:
            options["subscribePattern"] = source.topic_pattern
        if source.path:
            options["path"] = source.path
        if source.command_config and source.format == "odradek":
            options["commandConfig"] = source.command_config
        if HEADERS in self._job.value.columns:
            options["includeHeaders"] = "true"
        return options

    def _stop(self, query: StreamingQuery) -> None:
        """End at once: a batch in the middle is as if it had not begun."""
        self._progress.note("stopping")
        with suppress(Exception):  # its tasks fail, and Spark would tell of each
            if (context := context_of(self._open_spark())) is not None:
                context.setLogLevel("OFF")
            query.stop()

    def _run_batch(self, records: DataFrame, batch: int) -> None:
        """One micro-batch; in a thread of Spark's."""
        try:
            planned = self._checkpoint.planned(batch)
            describe(self._open_spark(), self._telling.description(batch, planned))
            sizes = 0

            def write(
                staging: StagingFolder, dead_staging: StagingFolder | None
            ) -> Written:
                nonlocal sizes
                writer = BatchWriter(
                    self._job.value,
                    *folders(staging, dead_staging),
                    self._shape,
                    self._job.upserts,
                )
                written, small = None, self._small()
                topic_ids = self._checkpoint.topic_ids(batch)
                if small is not None:
                    written = small.write(planned, topic_ids, writer)
                if written is None and self._job.source.format != "odradek":
                    written = writer.write(records)
                if written is None:
                    tasks = self._large().tasks(planned, topic_ids, writer)
                    written = tasks.write(self._open_spark())
                sizes = sum(f.size for f in written.files + written.dead_letters)
                self._telling.dead_letters(written)
                return written

            commit = self._committer.run(batch, planned, write)
            self._last_progress = time.monotonic()
            if commit is not None:
                self._telling.committed(commit, sizes)
                self._upkeep.after_batch()
                self._last_progress = time.monotonic()
        except BaseException as error:
            self._failure = error
            # Spark would add both tracebacks to the message; we have the error.
            raise RuntimeError(f"{type(error).__name__}: {error}"[:500]) from None

    def _large(self) -> LargeBatches:
        """What makes the tasks of large batches."""
        if self._large_batches is None:
            from .large_batches import LargeBatches

            includes_headers = HEADERS in self._job.value.columns
            self._large_batches = LargeBatches(
                self._source_options(),
                RecordColumns.of(include_headers=includes_headers),
                BrokerView(self._cluster, committed=self._job.source.is_committed),
            )
        return self._large_batches

    def _small(self) -> SmallBatches | None:
        """What writes small batches here; None where Spark has to read them."""
        source = self._job.source
        if source.format != "odradek" or source.path:
            return None
        if self._small_batches is None:
            from .small_batches import SmallBatches

            includes_headers = HEADERS in self._job.value.columns
            self._small_batches = SmallBatches(
                self._source_options(),
                RecordColumns.of(include_headers=includes_headers),
                source.small_batch_records,
            )
        return self._small_batches


def table_of(job: Job) -> Table:
    """The table of a job, as its mode has it.

    Raises:
        JobError, ModuleNotFoundError: as `open_table`.
    """
    given = job.table_format, job.table_path, job.name
    if not job.upserts:
        return open_table(*given, job.catalog, job.store)
    columns = KeyColumns.of("_" if job.value.is_typed else "")
    return open_upserts(*given, columns, job.catalog, job.store)


def _offsets_text(offsets: Mapping[TopicPartition, int]) -> str:
    topics: dict[str, dict[str, int]] = {}
    for place in sorted(offsets):
        topics.setdefault(place.topic, {})[str(place.partition)] = offsets[place]
    return json.dumps(topics)
