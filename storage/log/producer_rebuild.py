"""The producers of a truncated log: from a snapshot, and from the log behind it."""

from odradek.storage.local.local_log import LocalLog
from odradek.storage.producers.replay import ProducerReplay
from odradek.storage.producers.states import ProducerStates


def rebuild_producers(
    local: LocalLog, producers: ProducerStates, log_start_offset: int, now_ms: int
) -> None:
    """Let ``producers`` be as the log has them at its end, which has fallen.

    Snapshots above it are removed. What is damaged is not believed.

    Raises:
        CorruptIndex: a transaction index cannot be believed.
    """
    end = local.end.offset
    producers.truncate_and_reload(
        local.files, local.directory, log_start_offset, end, now_ms
    )
    start = producers.map_end_offset
    if start < end:
        replay = ProducerReplay(producers)
        for segment in local.segments.values(start, end):
            recovery = replay.read(segment, start, end)
            replay.end(segment, recovery.next_offset)
        replay.report_uncertain(local.directory)
    producers.map_end_offset = end
