"""The broker-wide options of logs: a topic's own options have these as defaults."""

from dataclasses import dataclass

from .option import LONG_MAX, Kind, option

CODECS = ("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer")


@dataclass(frozen=True, init=False, repr=False, eq=False)
class LogOptions:
    """How logs are written, rolled, kept, cleaned and synced."""

    log_segment_bytes: int = option(
        1 << 30,
        "log.segment.bytes",
        "Size at which a segment rolls.",
        at_least=1 << 20,
        is_dynamic=True,
    )
    log_roll_ms: int | None = option(
        None,
        "log.roll.ms",
        "Age at which one rolls.",
        kind=Kind.LONG,
        at_least=1,
        is_dynamic=True,
    )
    log_roll_hours: int = option(
        168, "log.roll.hours", "The same in hours; log.roll.ms wins.", at_least=1
    )
    log_roll_jitter_ms: int | None = option(
        None,
        "log.roll.jitter.ms",
        "Random time that a segment rolls earlier.",
        kind=Kind.LONG,
        at_least=0,
        is_dynamic=True,
    )
    log_roll_jitter_hours: int = option(
        0,
        "log.roll.jitter.hours",
        "The same in hours; log.roll.jitter.ms wins.",
        at_least=0,
    )
    log_retention_ms: int | None = option(
        None,
        "log.retention.ms",
        "How long records are kept. -1: for ever.",
        kind=Kind.LONG,
        is_dynamic=True,
    )
    log_retention_minutes: int | None = option(
        None,
        "log.retention.minutes",
        "The same in minutes; log.retention.ms wins.",
        kind=Kind.INT,
    )
    log_retention_hours: int = option(
        168, "log.retention.hours", "The same in hours; ms and minutes win."
    )
    log_retention_bytes: int = option(
        -1,
        "log.retention.bytes",
        "Bytes of a partition that are kept. -1: all.",
        kind=Kind.LONG,
        is_dynamic=True,
    )
    log_retention_check_interval_ms: int = option(
        300_000,
        "log.retention.check.interval.ms",
        "How often logs are looked at for records to delete.",
        kind=Kind.LONG,
        at_least=1,
    )
    log_scrub_interval_ms: int = option(
        0,
        "log.scrub.interval.ms",
        "How often sealed segments are read again and compared with their checksums"
        " and indexes. 0: never.",
        kind=Kind.LONG,
        at_least=0,
    )
    log_scrub_bytes_per_second: int = option(
        16 << 20,
        "log.scrub.bytes.per.second",
        "How fast that is done.",
        kind=Kind.LONG,
        at_least=1024,
    )
    log_cleanup_policy: tuple[str, ...] = option(
        ("delete",),
        "log.cleanup.policy",
        "What happens to old records: delete, compact, or both.",
        choices=("compact", "delete"),
        is_dynamic=True,
    )
    log_segment_delete_delay_ms: int = option(
        60_000,
        "log.segment.delete.delay.ms",
        "How long a deleted file stays, renamed.",
        kind=Kind.LONG,
        at_least=0,
        is_dynamic=True,
    )
    log_index_size_max_bytes: int = option(
        10 << 20,
        "log.index.size.max.bytes",
        "Largest index of a segment.",
        at_least=4,
        is_dynamic=True,
    )
    log_index_interval_bytes: int = option(
        4096,
        "log.index.interval.bytes",
        "Bytes between index entries.",
        at_least=0,
        is_dynamic=True,
    )
    log_preallocate: bool = option(
        False,
        "log.preallocate",
        "Write zeros ahead of each log, which makes its syncs cheaper.",
        is_dynamic=True,
    )
    log_flush_interval_messages: int = option(
        LONG_MAX,
        "log.flush.interval.messages",
        "Records of a partition that may wait for a sync, whatever the durability.",
        kind=Kind.LONG,
        at_least=1,
        is_dynamic=True,
    )
    log_flush_interval_ms: int | None = option(
        None,
        "log.flush.interval.ms",
        "How long they may wait. Unset: log.flush.scheduler.interval.ms.",
        kind=Kind.LONG,
        is_dynamic=True,
    )
    log_flush_scheduler_interval_ms: int = option(
        LONG_MAX,
        "log.flush.scheduler.interval.ms",
        "How often logs are looked at for records to sync.",
        kind=Kind.LONG,
    )
    log_flush_offset_checkpoint_interval_ms: int = option(
        5_000,
        "log.flush.offset.checkpoint.interval.ms",
        "How often logs are synced and their recovery point is written.",
        at_least=1,
    )
    log_flush_offset_checkpoint_bytes: int = option(
        256 << 20,
        "log.flush.offset.checkpoint.bytes",
        "The same after so many bytes: what a recovery reads at most, besides 1 MiB of "
        "each partition.",
        kind=Kind.LONG,
        at_least=1 << 20,
    )
    log_flush_start_offset_checkpoint_interval_ms: int = option(
        60_000,
        "log.flush.start.offset.checkpoint.interval.ms",
        "How often the logs' start offsets are written, besides at every checkpoint "
        "and for every DeleteRecords.",
        at_least=1,
    )
    replica_high_watermark_checkpoint_interval_ms: int = option(
        5_000,
        "replica.high.watermark.checkpoint.interval.ms",
        "How often high watermarks are written: here, with the recovery points, see "
        "log.flush.offset.checkpoint.interval.ms.",
        kind=Kind.LONG,
        at_least=1,
        is_used=False,
    )
    message_max_bytes: int = option(
        1_048_588,
        "message.max.bytes",
        "Largest batch that is taken.",
        at_least=0,
        is_dynamic=True,
    )
    compression_type: str = option(
        "producer",
        "compression.type",
        "Codec that batches are stored with; producer: as they came.",
        choices=CODECS,
        is_dynamic=True,
    )
    compression_gzip_level: int = option(
        -1,
        "compression.gzip.level",
        "Level when the broker compresses with gzip; -1: the library's own.",
        at_least=-1,
        at_most=9,
        is_dynamic=True,
    )
    compression_lz4_level: int = option(
        9,
        "compression.lz4.level",
        "Level when the broker compresses with lz4.",
        at_least=1,
        at_most=17,
        is_dynamic=True,
    )
    compression_zstd_level: int = option(
        3,
        "compression.zstd.level",
        "Level when the broker compresses with zstd.",
        at_least=-131_072,
        at_most=22,
        is_dynamic=True,
    )
    log_message_timestamp_type: str = option(
        "CreateTime",
        "log.message.timestamp.type",
        "Whether the client's or the broker's clock stamps records.",
        choices=("CreateTime", "LogAppendTime"),
        is_dynamic=True,
    )
    log_message_timestamp_before_max_ms: int = option(
        LONG_MAX,
        "log.message.timestamp.before.max.ms",
        "How far behind the broker's clock a timestamp may be.",
        kind=Kind.LONG,
        at_least=0,
        is_dynamic=True,
    )
    log_message_timestamp_after_max_ms: int = option(
        3_600_000,
        "log.message.timestamp.after.max.ms",
        "How far ahead of the broker's clock a timestamp may be.",
        kind=Kind.LONG,
        at_least=0,
        is_dynamic=True,
    )
    min_insync_replicas: int = option(
        1,
        "min.insync.replicas",
        "Replicas that must have a record before acks=all is answered.",
        at_least=1,
        is_dynamic=True,
    )
    log_cleaner_enable: bool = option(
        True,
        "log.cleaner.enable",
        "Whether compacted topics are cleaned by themselves.",
    )
    log_cleaner_threads: int = option(
        1,
        "log.cleaner.threads",
        "Logs that are cleaned at a time, each in a process of its own; with 0 only "
        "those that somebody asks for (`odradek compact`).",
        at_least=0,
        is_dynamic=True,
    )
    log_cleaner_dedupe_buffer_size: int = option(
        128 << 20,
        "log.cleaner.dedupe.buffer.size",
        "Memory of the maps from keys to offsets, of all logs that are cleaned at a "
        "time together: 24 bytes for each key.",
        kind=Kind.LONG,
        at_least=1 << 20,
        is_dynamic=True,
    )
    log_cleaner_io_buffer_size: int = option(
        512 << 10,
        "log.cleaner.io.buffer.size",
        "Bytes that Kafka's cleaner reads at a time; here a segment is read in pieces "
        "of up to 4 MiB, and a batch of any size.",
        at_least=1024,
        is_used=False,
        is_dynamic=True,
    )
    log_cleaner_io_buffer_load_factor: float = option(
        0.9,
        "log.cleaner.io.buffer.load.factor",
        "How full the map of keys may get.",
        at_least=0.01,
        at_most=1.0,
        is_dynamic=True,
    )
    log_cleaner_io_max_bytes_per_second: float = option(
        1.7976931348623157e308,
        "log.cleaner.io.max.bytes.per.second",
        "Most bytes a second that cleaning reads and writes, all logs together.",
        at_least=1.0,
        is_dynamic=True,
    )
    replica_alter_log_dirs_io_max_bytes_per_second: int = option(
        LONG_MAX,
        "replica.alter.log.dirs.io.max.bytes.per.second",
        "Most bytes a second that each move of a partition between directories copies.",
        kind=Kind.LONG,
        at_least=1,
        is_dynamic=True,
    )
    log_cleaner_backoff_ms: int = option(
        15_000,
        "log.cleaner.backoff.ms",
        "Pause when no log needs cleaning.",
        kind=Kind.LONG,
        at_least=0,
        is_dynamic=True,
    )
    log_cleaner_min_cleanable_ratio: float = option(
        0.5,
        "log.cleaner.min.cleanable.ratio",
        "Share of a log that must be uncleaned before it is cleaned.",
        at_least=0.0,
        at_most=1.0,
        is_dynamic=True,
    )
    log_cleaner_delete_retention_ms: int = option(
        86_400_000,
        "log.cleaner.delete.retention.ms",
        "How long a deletion marker stays in a compacted log.",
        kind=Kind.LONG,
        at_least=0,
        is_dynamic=True,
    )
    log_cleaner_min_compaction_lag_ms: int = option(
        0,
        "log.cleaner.min.compaction.lag.ms",
        "Records younger than this are not compacted.",
        kind=Kind.LONG,
        at_least=0,
        is_dynamic=True,
    )
    log_cleaner_max_compaction_lag_ms: int = option(
        LONG_MAX,
        "log.cleaner.max.compaction.lag.ms",
        "Records older than this are compacted, however few.",
        kind=Kind.LONG,
        at_least=1,
        is_dynamic=True,
    )
