"""Ids that another broker gives anew: who had which, and who has it now.

Invariant: a recorded id stands for one of ours, and no two of them for the same.
"""

from __future__ import annotations

from typing import Any, Final

from odradek.protocol.uuids import ZERO_UUID

# The fields that have such ids, of which kind they are, and what means that there is
# none. The id of a leader is one of a member, where it is a text.
_KINDS: Final = {
    "topic_id": ("topic", ZERO_UUID),
    "topic_ids": ("topic", ZERO_UUID),
    "producer_id": ("producer", -1),
    "ongoing_txn_producer_id": ("producer", -1),
    "v3_and_below_producer_id": ("producer", -1),
    "member_id": ("member", ""),
    "leader": ("member", ""),
    "session_id": ("fetch session", 0),
    "client_instance_id": ("client instance", ZERO_UUID),
}


class Ids:
    """Recorded ids, and ours."""

    def __init__(self) -> None:
        self._ours: dict[tuple[str, Any], Any] = {}
        self._taken: set[tuple[str, Any]] = set()

    def is_id(self, field: str, value: Any) -> bool:
        """Whether this field has such an id."""
        if field == "leader":
            return isinstance(value, str)
        return field in _KINDS

    def ours(self, field: str, recorded: Any) -> Any:
        """The id that stands for a recorded one: itself, when none does yet."""
        kind, _ = _KINDS[field]
        return self._ours.get((kind, recorded), recorded)

    def knows(self, field: str, recorded: Any) -> bool:
        """Whether it has been seen in an answer."""
        kind, none = _KINDS[field]
        return recorded == none or (kind, recorded) in self._ours

    def is_pair(self, field: str, recorded: Any, ours: Any) -> bool:
        """Whether they are the same; seen for the first time they are from now on."""
        kind, none = _KINDS[field]
        if none in (recorded, ours):
            return bool(recorded == ours)
        if (kind, recorded) not in self._ours:
            if (kind, ours) in self._taken:
                return False
            self._ours[kind, recorded] = ours
            self._taken.add((kind, ours))
        return bool(self._ours[kind, recorded] == ours)
