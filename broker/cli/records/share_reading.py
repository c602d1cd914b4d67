"""Reading for ``consume --share``: what a share group hands out, accepted when written.

What was not written when the command ends is given back, and others may have it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.group.plan import scope
from odradek.client.share_consumer import ShareConsumer
from odradek.terminal.ending import Ending

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from types import TracebackType
    from typing import Self

    from odradek.client.cluster import Cluster
    from odradek.client.fetcher import FetchLimits
    from odradek.protocol.records import Record
    from odradek.protocol.topic_partition import TopicPartition

# Who is told to end waits no longer for a broker that does not answer.
_LEAVE_TIMEOUT_S = 5.0


class ShareReading:
    """Records that a share group hands to this member."""

    def __init__(
        self,
        cluster: Cluster,
        options: argparse.Namespace,
        limits: FetchLimits,
        ending: Ending | None = None,
    ) -> None:
        """Join nothing yet. ``ending`` is asked whether to go on.

        Raises:
            Refused: a topic is not there.
        """
        scope(cluster, options.topic, {})
        self._cluster = cluster
        self._limits = limits
        self._ending = ending or Ending()
        self._ends_when_idle = options.exit
        topics = [name for name, _ in options.topic]
        self._member = ShareConsumer(cluster, options.share, topics)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.leave(is_told=kind is not None)

    def leave(self, *, is_told: bool) -> None:
        """Accept what was written, give back the rest, and leave the group."""
        self._ending.is_leaving = not is_told
        try:
            if is_told:
                timeout_s = min(self._cluster.timeout_s, _LEAVE_TIMEOUT_S)
                self._cluster.timeout_s = timeout_s
            if not self._ending.is_urgent:
                self._member.leave()
        finally:
            self._ending.is_leaving = False

    def answers(self) -> Iterator[Iterator[tuple[TopicPartition, Record]]]:
        """The records of one answer after the other; with ``-e`` until none come."""
        while True:
            self._ending.check()
            is_idle = True
            for records in self._member.fetch(self._limits):
                is_idle = False
                yield records
            if is_idle and self._ends_when_idle and self._member.assignment:
                return

    def written(self) -> None:
        """All that was yielded is written, and accepted."""
        self._member.accept()
