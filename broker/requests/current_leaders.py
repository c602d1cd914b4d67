"""Whom to ask instead, told with errors that say that another one leads (KIP-951)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.current_leader import NodeEndpoint

if TYPE_CHECKING:
    from odradek.broker.cluster.view import ClusterView

    from .context import RequestContext

# Of reads; writes are told with the first of them alone.
LEADS_NO_MORE: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
)


def current_leaders(ctx: RequestContext) -> CurrentLeaders | None:
    """Those that an answer may name. None: this broker is all of its cluster."""
    cluster = ctx.services.cluster
    return None if cluster is None else CurrentLeaders(cluster, ctx.listener_name)


class CurrentLeaders:
    """The leaders that one answer names, and where they are on the asker's listener."""

    def __init__(self, cluster: ClusterView, listener_name: str) -> None:
        self._cluster = cluster
        self._listener_name = listener_name
        self._endpoints: dict[int, NodeEndpoint] = {}

    @property
    def endpoints(self) -> list[NodeEndpoint]:
        """Of those that were named."""
        return list(self._endpoints.values())

    def of(self, topic_id: bytes, number: int) -> tuple[int, int] | None:
        """The leader of a partition and its epoch. None: nobody could be asked."""
        found = self._cluster.placed(topic_id, number)
        if found is None or found.leader < 0:
            return None
        broker = self._cluster.broker(found.leader, self._listener_name)
        if broker is not None and found.leader not in self._endpoints:
            self._endpoints[found.leader] = NodeEndpoint(
                node_id=found.leader,
                host=broker.host,
                port=broker.port,
                rack=broker.rack,
            )
        return found.leader, found.leader_epoch
