"""A heartbeat that says nothing new, as nearly all do: who lives, in which epoch.

Each protocol has a module `steady`. Its ``is_steady`` says whether a member may go on
as it is, so that all there is to do is to put off the end of its session. It changes
nothing, and where it is in doubt the whole decision about a heartbeat is made.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Hashable


@dataclass(frozen=True, slots=True)
class Steady:
    """What such a heartbeat says; of the classic protocol the epoch is a generation.

    ``session_key`` is that of the timer which ends the session in ``timeout_ms``.
    """

    group_id: str
    member_id: str
    epoch: int
    instance_id: str | None
    client_id: str
    client_host: str
    session_key: Hashable
    timeout_ms: int
