"""An option that a group may have of its own, kept to what the broker allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.config.options.broker_config import BrokerConfig

    from .state.shard import GroupShard

NO_LIMIT = 1 << 62


class Brokers(NamedTuple):
    """What the broker says of it: its own value, and the bounds of a group's."""

    value: int
    least: int = 0
    most: int = NO_LIMIT


class OwnOption(NamedTuple):
    """A number that a group may set itself; asked of a group, it is what holds for it.

    A group's own was checked when it was set. The bounds may have changed since, so it
    is kept to them again.
    """

    name: str
    brokers: Callable[[BrokerConfig], Brokers]

    def __call__(self, shard: GroupShard, group_id: str) -> int:
        """The group's own value, or else the broker's."""
        own = shard.options_of(group_id).get(self.name)
        value, least, most = self.brokers(shard.config)
        return value if own is None else max(least, min(int(own), most))
