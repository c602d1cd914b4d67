"""A Spark that runs its tasks here, as machines that may see other files would."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.pipeline.audit.run import Unread
    from odradek.pipeline.audit.span import AuditSpan
    from odradek.pipeline.segments.planning import SegmentRange

    Read = Callable[[Sequence[SegmentRange]], list[AuditSpan | Unread]]


class FakeExecutors:
    """Runs what is asked of pieces; ``see`` is what an executor makes of one."""

    core_count = 2

    def __init__(self, see: Callable[[SegmentRange], SegmentRange]) -> None:
        self._see = see

    def run(
        self, function: Read, items: Sequence[Sequence[SegmentRange]]
    ) -> list[list[AuditSpan | Unread]]:
        return [function(list(map(self._see, item))) for item in items]
