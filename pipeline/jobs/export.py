"""A topic, or a part of it, becomes a table: one batch, with one commit.

An export is a job whose only batch is number 0. One that died is run again and leaves
nothing of the first behind; one that was committed is found committed.
"""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.client.address import parse_addresses
from odradek.client.cluster import Cluster
from odradek.pipeline.errors import SourceError
from odradek.pipeline.job_errors import JobError, PositionLost
from odradek.pipeline.records.columns import RecordColumns
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.security.refusals import stopping
from odradek.pipeline.source.data_source import BatchReader, Decoding
from odradek.pipeline.source.log_view import BrokerView
from odradek.pipeline.source.options import RECORDS, read_options
from odradek.pipeline.source.path_view import DirectoryView
from odradek.pipeline.spark.executors import context_of, describe
from odradek.pipeline.tables.commit import NO_EPOCH, CommittedRange
from odradek.pipeline.tables.partitions.partitioning import read_partitioning
from odradek.pipeline.tables.table import check_apart, local_path, open_table
from odradek.pipeline.values.dead_letters import DeadLetterLimit
from odradek.pipeline.values.decoding import HEADERS, RowMaker
from odradek.protocol.topic_partition import TopicPartition

from .batch_writer import BatchWriter, folders
from .continuity import Continuity
from .direct_tasks import DirectTasks
from .job_committer import JobCommitter, JobTables
from .lost_position import check_nothing_twice
from .row_files import Shape
from .starting_offsets import moment_ms
from .stream_failure import in_one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    from odradek.pipeline.source.log_view import LogView
    from odradek.pipeline.source.options import SourceOptions
    from odradek.pipeline.tables.commit import Commit
    from odradek.pipeline.tables.partitions.partitioning import Partitioning
    from odradek.pipeline.tables.places.place import Location, StagingFolder
    from odradek.pipeline.values.decoding import ValueFormat
    from odradek.terminal.progress import Progress

    from .job_committer import Log, Written
    from .job_source import Source

_TELL_S = 1.0
_INSTEAD = (
    "Export to another folder. `odradek pipeline sink once` adds to a table what came "
    "since"
)
_HAS_EXPORT = f"an export of this topic already, of other offsets. {_INSTEAD}"


@dataclass(frozen=True)
class Export:
    """What is exported, from where on, up to where, and how it is written.

    ``starting`` and ``ending`` are ``earliest``, ``latest``, an offset, or a time. A
    source without brokers is the data directory of one that was stopped cleanly.
    ``store`` are options of the store where the table lies, if it lies in one.
    """

    source: Source
    value: ValueFormat
    table_path: str
    table_format: str = "parquet"
    partitions: tuple[int, ...] = ()
    starting: str = "earliest"
    ending: str = "latest"
    compression: str = "zstd"
    catalog: tuple[tuple[str, str], ...] = ()
    dead_letters: str | None = None
    dlq_max_ratio: float = 0.5
    min_partitions: int | None = None
    partition_by: tuple[str, ...] = ()
    store: tuple[tuple[str, str], ...] = ()

    @property
    def partitioning(self) -> Partitioning:
        """What divides the table.

        Raises:
            JobError: it is said wrongly.
        """
        return read_partitioning("--partition-by", self.partition_by, self.table_format)

    @property
    def name(self) -> str:
        """The name of the job."""
        return f"export-{self.source.topics[0]}"


def run_export(
    export: Export, open_spark: Callable[[], SparkSession], progress: Progress
) -> Commit:
    """Write the table; returns its commit.

    Raises:
        JobError: it cannot be done, or has been done with other offsets.
        KafkaError: a leader does not answer in time.
    """
    options = dict(export.catalog), dict(export.store)
    table = open_table(export.table_format, export.table_path, export.name, *options)
    dead = None
    if export.dead_letters is not None:
        path = export.dead_letters
        check_apart(export.table_path, path)
        dead = open_table(export.table_format, path, export.name, *options)
    tables = JobTables(table, dead)
    try:
        with _logs(export.source) as (view, log):
            planned = plan(export, view)
            return _run(export, planned, log, tables, open_spark, progress)
    except SourceError as error:
        raise JobError(str(error)) from error
    finally:
        for each in tables:
            if each is not None:
                each.close()


@contextmanager
def _logs(source: Source) -> Iterator[tuple[LogView, Log]]:
    """How far the logs go, and whether their offsets stay what they are."""
    committed = source.is_committed
    if not source.bootstrap_servers:
        path = local_path(source.path)
        yield DirectoryView(path, committed=committed), _StoppedLog()
        return
    bootstrap = parse_addresses(source.bootstrap_servers)
    security = source.security()
    with (
        Cluster(bootstrap, client_id="odradek-export", security=security) as cluster,
        stopping(security, source.needs),
    ):
        yield BrokerView(cluster, committed=committed), Continuity(cluster)


class _StoppedLog:
    """The log of a broker that is stopped: nobody changes it."""

    def confirm(
        self, last: Commit | None, planned: Sequence[OffsetRange]
    ) -> tuple[CommittedRange, ...]:
        """As they are planned; of ids and epochs nothing is known."""
        return tuple(CommittedRange(*each, "", NO_EPOCH) for each in planned)


def _run(
    export: Export,
    planned: Sequence[OffsetRange],
    log: Log,
    tables: JobTables,
    open_spark: Callable[[], SparkSession],
    progress: Progress,
) -> Commit:
    table, dead = tables
    has_headers = HEADERS in export.value.columns
    records = RecordColumns.of(include_headers=has_headers).arrow_schema()
    maker = RowMaker(export.value, records)
    partitioning = export.partitioning
    table.create(maker.schema, partitioning=partitioning)
    if dead is not None:
        dead.create(maker.dead_schema)
    limit = DeadLetterLimit(export.dlq_max_ratio)
    committer = JobCommitter(export.name, tables, log, limit)
    try:
        last = committer.recover()
    except PositionLost as error:
        raise JobError(f"{table.location} has {_HAS_EXPORT}") from error
    if last is not None:
        return _done_before(last, planned, table.location)
    check_nothing_twice(table, export.name, export.value, planned, _INSTEAD)
    count = sum(each.count for each in planned)
    options = _options(export, planned)
    decoding = Decoding(RECORDS, RecordColumns.of(include_headers=has_headers), options)
    progress.note("export", offsets=count, partitions=len(planned))
    spark = open_spark()
    describe(spark, f"{export.name}: {count:,} offsets to {export.table_path}")
    progress.begin()
    size = 0

    def write(staging: StagingFolder, dead_staging: StagingFolder | None) -> Written:
        nonlocal size
        shape = Shape(export.compression, partitioning=partitioning)
        writer = BatchWriter(export.value, *folders(staging, dead_staging), shape)
        partitions = BatchReader(options, decoding).partitions()
        tasks = DirectTasks(partitions, options, decoding, writer)
        with telling(spark, staging, progress), in_one_line():
            written = tasks.write(spark)
        size = sum(file.size for file in written.files + written.dead_letters)
        return written

    commit = committer.run(0, planned, write)
    assert commit is not None
    written_count = commit.row_count + commit.dead_letter_count
    progress.done("exported", written_count, size, remaining=0)
    progress.end()
    return commit


def _done_before(
    last: Commit, planned: Sequence[OffsetRange], location: Location
) -> Commit:
    before = {each.place: (each.start, each.end) for each in last.ranges}
    if before == {each.place: (each.start, each.end) for each in planned}:
        return last
    raise JobError(f"{location} has {_HAS_EXPORT}")


def plan(export: Export, view: LogView) -> list[OffsetRange]:
    """The offsets of each partition.

    Raises:
        JobError: there is no such partition, or nothing between start and end.
        SourceError: there is no such topic.
    """
    places = []
    for name, topic in view.topics(export.source.topics).items():
        numbers = sorted(topic.partitions)
        for number in export.partitions or numbers:
            if number not in numbers:
                raise JobError(
                    f"topic {name} has no partition {number}; it has 0 to {numbers[-1]}"
                )
            places.append(TopicPartition(name, number))
    first = dict(view.starts(places))
    last = {place: end.offset for place, end in view.ends(places).items()}
    starts = _offsets(export, view, "--from", export.starting, first, last)
    ends = _offsets(export, view, "--to", export.ending, first, last)
    ranges = []
    for place in sorted(places):
        start, end = starts[place], ends[place]
        if start < first[place] and export.starting.isdigit():
            raise JobError(
                f"{place} begins at offset {first[place]}; --from {start} is gone"
            )
        ranges.append(OffsetRange(*place, start, max(start, min(end, last[place]))))
    return ranges


def _offsets(
    export: Export,
    view: LogView,
    option: str,
    wanted: str,
    first: Mapping[TopicPartition, int],
    last: Mapping[TopicPartition, int],
) -> Mapping[TopicPartition, int]:
    if wanted in ("earliest", "latest"):
        return first if wanted == "earliest" else last
    if wanted.isascii() and wanted.isdigit():
        return dict.fromkeys(first, int(wanted))
    times = dict.fromkeys(first, moment_ms(option, wanted))
    if not export.source.bootstrap_servers:
        raise JobError(
            f"{option} {wanted}: a broker finds offsets by time; start it, or say "
            "offsets"
        )
    return {
        place: last[place] if offset is None else offset
        for place, offset in view.offsets_since(times).items()
    }


def _options(export: Export, planned: Sequence[OffsetRange]) -> SourceOptions:
    """How tasks read these offsets.

    Raises:
        SourceError: an option cannot be so.
    """
    source = export.source
    has_headers = HEADERS in export.value.columns
    given = {
        "kafka.isolation.level": source.isolation_level,
        "includeHeaders": str(has_headers).lower(),
        "failOnDataLoss": "true",
        "assign": _by_topic({each.place: each.partition for each in planned}, list),
        "startingOffsets": _by_topic({e.place: e.start for e in planned}, dict),
        "endingOffsets": _by_topic({e.place: e.end for e in planned}, dict),
    }
    if source.bootstrap_servers:
        given["kafka.bootstrap.servers"] = source.bootstrap_servers
    if source.path:
        given["path"] = source.path
    if source.command_config:
        given["commandConfig"] = source.command_config
    if export.min_partitions:
        given["minPartitions"] = str(export.min_partitions)
    return read_options({**given, **source.options})


def _by_topic(values: dict[TopicPartition, int], kind: type) -> str:
    topics: dict[str, dict[str, int]] = {}
    for place in sorted(values):
        topics.setdefault(place.topic, {})[str(place.partition)] = values[place]
    if kind is list:
        return json.dumps({t: list(each.values()) for t, each in topics.items()})
    return json.dumps(topics)


@contextmanager
def telling(
    spark: SparkSession, staging: StagingFolder, progress: Progress
) -> Iterator[None]:
    """Show how many tasks are done, and the bytes written, while it lasts."""
    is_done = threading.Event()
    context = context_of(spark)

    def tell() -> None:
        while not is_done.wait(_TELL_S):
            tasks = {} if context is None else _tasks(context)
            progress.show("exporting", **tasks, bytes=_written_size(staging))

    thread = threading.Thread(target=tell, name="export-progress", daemon=True)
    thread.start()
    try:
        yield
    finally:
        is_done.set()
        thread.join()


def _written_size(staging: StagingFolder) -> int:
    """The bytes that tasks have written; a store is not asked every second."""
    with suppress(OSError):
        if isinstance(staging, Path):
            return sum(each.stat().st_size for each in staging.iterdir())
    return 0


def _tasks(context: SparkContext) -> dict[str, int]:
    """How many tasks there are now, and how many of them are done."""
    tracker = context.statusTracker()
    found = map(tracker.getStageInfo, tracker.getActiveStageIds())
    stages = [each for each in found if each is not None]
    return {
        "tasks": sum(each.numTasks for each in stages),
        "tasks_done": sum(each.numCompletedTasks for each in stages),
    }
