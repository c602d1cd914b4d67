"""Members of share groups have records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.runtime.logs import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from odradek.broker.requests.services import Services
    from odradek.protocol.topic_partition import TopicPartition


class HasAcquired:
    """The members of a share group have so many records, and work on them."""

    def __init__(
        self, services: Services, group_id: str, count: int, tell: Callable[[], object]
    ) -> None:
        self._group_id = group_id
        self._count = count
        self._tell = tell
        self._sharing = services.sharing
        self._sharing.watchers.append(tell)

    def end(self) -> None:
        """Nobody waits for it any more."""
        self._sharing.watchers.remove(self._tell)

    def places(self) -> Iterable[TopicPartition]:
        """None: what is handed out is in no log."""
        return ()

    def missing(self) -> str:
        """How many they have instead."""
        held = sum(
            served.state.held_count
            for served in self._sharing.served()
            if served.is_loaded and served.key.group_id == self._group_id
        )
        have = f"members of {self._group_id} have {counted(held, 'record')}"
        if not self._count:
            return f"{have} still" if held else ""
        return "" if held >= self._count else f"{have} of {self._count}"
