"""What the parts of one log share: what it is made of, and whether it still works.

Invariants: those of `Watermarks`; and after `LogState.fail` nothing is written any
more, and nothing is shown beyond what was durable before.
"""

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from odradek.protocol.errors import KafkaError, KafkaStorageError
from odradek.storage.files.files import StorageFailure
from odradek.storage.local.leader_epochs import LeaderEpochs
from odradek.storage.local.local_log import LocalLog
from odradek.storage.local.quarantine import Quarantine
from odradek.storage.local.unsynced import Unsynced
from odradek.storage.local.watermarks import Watermarks
from odradek.storage.producers.states import ProducerStates
from odradek.storage.values.log_lines import LogLines

if TYPE_CHECKING:
    from odradek.protocol.topic_partition import TopicPartition

_log = logging.getLogger(__name__)


@dataclass(slots=True, eq=False)
class LogState:
    """The record of one log that all of its parts get.

    Batches, epochs, producers, what is not durable, what is damaged, and the
    watermarks; why it takes no more writes, if it does not; and the bytes that were
    appended since it was opened. Only ``unsynced`` is ever another object.
    """

    topic_partition: "TopicPartition"
    local: LocalLog
    epochs: LeaderEpochs
    producers: ProducerStates
    unsynced: Unsynced
    quarantine: Quarantine
    watermarks: Watermarks
    failure: KafkaError | None = None
    appended_bytes: int = 0

    def lines(self, logger: logging.Logger) -> LogLines:
        """What ``logger`` is told of this log."""
        return LogLines(logger, self.local.directory)

    def check_writable(self) -> None:
        """See that the log takes writes.

        Raises:
            KafkaStorageError: it has failed, or is closed.
        """
        if self.failure is not None:
            raise KafkaStorageError(
                f"{self.topic_partition} takes no more writes: {self.failure}"
            )

    def fail(self, error: KafkaError) -> None:
        """Write nothing any more; what is not durable is not shown any more either.

        The disk may keep what was written since, or not: nobody can know.
        """
        if self.failure is not None:
            return
        # The reason is reported once, for the whole log directory.
        self.lines(_log).debug("no more writes are taken: %s", error)
        self.failure = error
        self.watermarks.fall_to_durable()

    def fail_without_files(self, error: OSError) -> StorageFailure:
        """`fail`, because somebody has removed the files. Returns what to raise."""
        gone = StorageFailure(f"{self.local.directory}: {error}")
        self.fail(gone)
        return gone

    def roll(self, now_ms: int, expected_next_offset: int = 0) -> None:
        """Seal the active segment and begin another, at the log end or later.

        The producers as they are now are kept beside the new segment, so that they
        need not be read from the segments before it. The next sync writes them down.
        """
        sealed = self.local.active
        active = self.local.roll(expected_next_offset, now_ms)
        # Before anything else can fail: the new names are to be synced.
        self.unsynced.note_roll(None if sealed is active else sealed)
        self.watermarks.follow_roll()
        self.unsynced.note_snapshot_due(active.base_offset, self.producers.picture())
