"""A member of a classic group: what it said, what it was given, what it waits for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from odradek.broker.runtime.parked import Parked

Protocols = tuple[tuple[str, bytes], ...]


@dataclass(slots=True)
class ClassicMember:
    """One member. Its bytes are its own: not views into a request.

    ``protocols`` are the assignors that it supports, best first, each with its
    subscription. ``awaiting_join`` and ``awaiting_sync`` are its parked answers.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    assignment: bytes = b""
    is_new: bool = False
    awaiting_join: Parked | None = field(default=None, repr=False)
    awaiting_sync: Parked | None = field(default=None, repr=False)

    @property
    def label(self) -> str:
        """What people are told that it is."""
        if self.group_instance_id is None:
            return self.member_id
        return f"static member {self.group_instance_id} ({self.member_id})"

    @property
    def is_static(self) -> bool:
        """Whether it has a name that survives its restarts (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def is_waiting(self) -> bool:
        """Whether an answer of it is parked, so that it need not beat meanwhile."""
        return self.awaiting_join is not None or self.awaiting_sync is not None

    def metadata_for(self, protocol: str) -> bytes:
        """Its subscription for an assignor; empty for one that it does not support."""
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        return b""

    def supports(self, protocol: str) -> bool:
        """Whether an assignor is among its own."""
        return any(name == protocol for name, _ in self.protocols)

    def vote(self, candidates: set[str]) -> str:
        """The first of its assignors that all members support.

        Raises:
            ValueError: there is none.
        """
        for name, _ in self.protocols:
            if name in candidates:
                return name
        raise ValueError(f"{self.member_id} supports none of {sorted(candidates)}")
