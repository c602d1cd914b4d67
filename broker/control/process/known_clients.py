"""Who is connected: the client id of each connection, and where members were heard.

Nothing of this is in the way of ordinary requests. A connection says who it is with the
first request that takes no short way; of members it is noted what they ask as such
(joining, heartbeats, commits), by something that stands around these handlers alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.broker.requests.dispatch import Dispatcher
from odradek.protocol.errors import KafkaError, MalformedRequest

if TYPE_CHECKING:
    from odradek.broker.requests.context import ConnectionInfo, RequestContext
    from odradek.broker.requests.dispatch import Exchange
    from odradek.broker.requests.registry import Answer, Handler, HandlerFunction
    from odradek.broker.requests.services import Services

_SWEEP_COUNT = 1000


class KnownClients:
    """What connections have said of those behind them."""

    def __init__(self) -> None:
        # By `id`, as they are no keys; beside it what keeps that id from another one.
        self._client_ids: dict[int, tuple[ConnectionInfo, str]] = {}
        self._members: dict[tuple[str, str], ConnectionInfo] = {}
        self._sweeps_at = _SWEEP_COUNT

    def client_id(self, connection: ConnectionInfo) -> str:
        """As whom it speaks; empty, until it has said so."""
        _, client_id = self._client_ids.get(id(connection), (None, ""))
        return client_id

    def is_connected(self, group_id: str, member_id: str) -> bool:
        """Whether the connection is open on which a member was last heard."""
        connection = self._members.get((group_id, member_id))
        return connection is not None and connection.is_open

    def note(self, connection: ConnectionInfo, client_id: str) -> None:
        """A connection has said who it is."""
        self._client_ids[id(connection)] = connection, client_id
        self._sweep_if_many()

    def note_member(
        self, connection: ConnectionInfo, group_id: str, member_id: str
    ) -> None:
        """A member of a group was heard."""
        self._members[group_id, member_id] = connection
        self._sweep_if_many()

    def _sweep_if_many(self) -> None:
        if len(self._client_ids) + len(self._members) > self._sweeps_at:
            self._sweep()

    def _sweep(self) -> None:
        """Forget those that have gone."""
        self._client_ids = {
            key: known for key, known in self._client_ids.items() if known[0].is_open
        }
        self._members = {
            key: known for key, known in self._members.items() if known.is_open
        }
        left = len(self._client_ids) + len(self._members)
        self._sweeps_at = 2 * left + _SWEEP_COUNT


class NotingDispatcher(Dispatcher):
    """Gives every request to its handler, and notes who begins to ask."""

    def __init__(
        self,
        clients: KnownClients,
        services: Services,
        handlers: Mapping[int, Handler],
    ) -> None:
        super().__init__(services, NotingHandlers(handlers, clients))
        self._clients = clients

    def dispatch_first(
        self, connection: ConnectionInfo, frame: memoryview
    ) -> Exchange | bytes:
        """As `Dispatcher.dispatch_first`."""
        if connection.short_ways.is_stale:  # as before the first request of all
            self._note(connection, frame)
        return super().dispatch_first(connection, frame)

    def _note(self, connection: ConnectionInfo, frame: memoryview) -> None:
        try:
            header, _ = self.read_header(frame)
        except (MalformedRequest, KafkaError):
            return  # whoever answers it will say so
        self._clients.note(connection, header.client_id or "")


class NotingHandlers(Mapping[int, "Handler"]):
    """The handlers of ``others``; what members of groups ask is noted."""

    def __init__(self, others: Mapping[int, Handler], clients: KnownClients) -> None:
        self._others = others
        self._clients = clients

    def __getitem__(self, api_key: int) -> Handler:
        handler = self._others[api_key]
        request: Any = handler.request_class()
        if not (hasattr(request, "group_id") and hasattr(request, "member_id")):
            return handler
        function = partial(_noted, handler.function, self._clients)
        return handler._replace(function=function)

    def __iter__(self) -> Iterator[int]:
        return iter(self._others)

    def __len__(self) -> int:
        return len(self._others)


def _noted(
    function: HandlerFunction, clients: KnownClients, ctx: RequestContext, request: Any
) -> Answer:
    if request.member_id:
        clients.note_member(ctx.connection, request.group_id, request.member_id)
    return function(ctx, request)
