"""What is known of a partition from outside of its directory."""

from dataclasses import dataclass


@dataclass(frozen=True)
class TopicFacts:
    """What the catalogue says of a topic; None: nothing."""

    topic_id: bytes | None
    is_compacted: bool | None


@dataclass(frozen=True)
class Known:
    """What the checkpoints and the catalogue say of a partition; None: nothing.

    ``was_clean`` says that the broker had stopped in order, so that every byte of
    the partition should be what it was.
    """

    was_clean: bool = False
    recovery_point: int | None = None
    high_watermark: int | None = None
    log_start_offset: int | None = None
    is_compacted: bool | None = None
    topic_id: bytes | None = None

    def is_durable(self, offset: int) -> bool:
        """Whether what lies at ``offset`` was synced, or closed in order."""
        return self.was_clean or offset < (self.recovery_point or 0)
