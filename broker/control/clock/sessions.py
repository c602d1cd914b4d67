"""While time is moved: whoever is connected counts as just heard.

Clients beat in real time. An hour that passes in a moment would end the sessions of all
members, and close their connections as idle.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.coordinator.group.classic.rebalance import keep_session

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.broker.coordinator.group.state.shard import GroupShard
    from odradek.broker.network.listener import Listener
    from odradek.broker.requests.services import Services

    IsConnected = Callable[[str, str], bool]


class Sessions:
    """What is timed of clients, and would not be over if they had been heard."""

    def __init__(
        self,
        services: Services,
        listeners: Sequence[Listener],
        is_connected: IsConnected,
    ) -> None:
        """``is_connected`` is asked for group and member."""
        self._services = services
        self._listeners = listeners
        self._is_connected = is_connected

    def keep(self, rest_ms: int) -> None:
        """Let what belongs to an open connection last as if it began in ``rest_ms``.

        Sessions have timers: none of them has to run before then.
        """
        services = self._services
        now_ms = services.clock.monotonic_ms()
        for listener in self._listeners:
            for connection in listener.connections:
                connection.deadlines.begin_anew(now_ms)
        for shard in services.groups.runtime.shards():
            state = shard.state
            for group in state.groups.values():
                for member in group.members.values():
                    if self._is_connected(group.group_id, member.member_id):
                        keep_session(state, group, member, rest_ms)
            if state.consumer_groups:
                self._keep_consumers(state, rest_ms)
            if state.share_groups:
                self._keep_sharers(state, rest_ms)
            if state.streams_groups:
                self._keep_streams(state, rest_ms)

    def _keep_consumers(self, shard: GroupShard, rest_ms: int) -> None:
        from odradek.broker.coordinator.group.consumer.sessions import keep_session

        for group_id, group in shard.consumer_groups.items():
            for member_id, member in group.members.items():
                if self._is_connected(group_id, member_id):
                    keep_session(shard, group_id, member_id, member.info, rest_ms)

    def _keep_sharers(self, shard: GroupShard, rest_ms: int) -> None:
        from odradek.broker.coordinator.group.share.sessions import keep_session

        for group_id, group in shard.share_groups.items():
            for member_id in group.members:
                if self._is_connected(group_id, member_id):
                    keep_session(shard, group_id, member_id, rest_ms)

    def _keep_streams(self, shard: GroupShard, rest_ms: int) -> None:
        from odradek.broker.coordinator.group.streams.sessions import keep_session

        for group_id, group in shard.streams_groups.items():
            for member_id in group.members:
                if self._is_connected(group_id, member_id):
                    keep_session(shard, group_id, member_id, rest_ms)
