"""The options of one log, as values with units; names and bounds are the broker's."""

from dataclasses import dataclass, field

from odradek.protocol.compression import DECOMPRESSED_SIZE_MAX

UNLIMITED = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class LogConfig:
    """What a topic's options say to its logs. Immutable: a change replaces it.

    ``compression_type`` is ``"producer"``, ``"uncompressed"`` or a codec's name;
    retention of -1 is unlimited, and so is ``decompressed_ratio_max`` of 0.
    """

    cleanup_policy: frozenset[str] = field(default=frozenset({"delete"}))
    compression_type: str = "producer"
    compression_gzip_level: int = -1
    compression_lz4_level: int = 9
    compression_zstd_level: int = 3
    delete_retention_ms: int = 86_400_000
    file_delete_delay_ms: int = 60_000
    flush_messages: int = UNLIMITED
    flush_ms: int = UNLIMITED
    index_interval_bytes: int = 4096
    segment_index_bytes: int = 10 << 20
    max_compaction_lag_ms: int = UNLIMITED
    min_compaction_lag_ms: int = 0
    min_cleanable_dirty_ratio: float = 0.5
    max_message_bytes: int = 1_048_588
    decompressed_max_bytes: int = DECOMPRESSED_SIZE_MAX
    decompressed_ratio_max: int = 0
    message_timestamp_type: str = "CreateTime"
    message_timestamp_before_max_ms: int = UNLIMITED
    message_timestamp_after_max_ms: int = 3_600_000
    min_insync_replicas: int = 1
    preallocate: bool = False
    retention_bytes: int = -1
    retention_ms: int = 604_800_000
    segment_bytes: int = 1 << 30
    segment_ms: int = 604_800_000
    segment_jitter_ms: int = 0

    @property
    def is_compacted(self) -> bool:
        """Whether keys are required and the cleaner keeps only the last of each."""
        return "compact" in self.cleanup_policy

    @property
    def is_log_append_time(self) -> bool:
        """Whether the broker's clock, not the client's, stamps the records."""
        return self.message_timestamp_type == "LogAppendTime"

    @property
    def max_segment_ms(self) -> int:
        """The age at which a segment rolls; compaction may want it younger."""
        if self.is_compacted:
            return min(self.segment_ms, self.max_compaction_lag_ms)
        return self.segment_ms
