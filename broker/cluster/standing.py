"""How this broker stands in its cluster, for those who watch it: metrics and health."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .registration.membership import Stage

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .fetchers.fetchers import Fetchers
    from .peers import IsrCounts
    from .registration.member import Member

# As Apache Kafka numbers what a broker does.
_STATES: Final = {
    Stage.REGISTERING: 1,
    Stage.CATCHING_UP: 1,
    Stage.RECOVERING: 2,
    Stage.UNFENCING: 2,
    Stage.SERVING: 3,
    Stage.LEAVING: 6,
    Stage.GONE: 7,
}


class Standing:
    """What there is to tell of a broker of a cluster."""

    def __init__(
        self, member: Member, isr_counts: IsrCounts, fetchers: Fetchers
    ) -> None:
        self.member = member
        self.isr_counts = isr_counts
        self.fetchers = fetchers

    @property
    def state(self) -> int:
        """What it does, by Apache Kafka's number."""
        return _STATES[self.member.membership.stage]

    def why_not_ready(self) -> Iterator[str]:
        """What keeps clients away, a line each."""
        member, membership = self.member, self.member.membership
        stale = member.why_stale
        if stale:
            yield f"what the controllers have decided is not applied: {stale}"
        if membership.stage in (Stage.LEAVING, Stage.GONE):
            yield "it is stopping, and gives others what it leads"
        elif membership.stage is not Stage.SERVING:
            trouble = f": {membership.trouble}" if membership.trouble else ""
            yield f"the controllers keep clients away from it (it is fenced){trouble}"
