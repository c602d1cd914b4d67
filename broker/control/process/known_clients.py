"""Who is connected: the client id of each connection, and where members were heard.

Noted by the handlers, around each of which something stands that notes it. The short
ways of producers and readers have no handler: their clients have said who they are
before, with the first request of their connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odradek.broker.requests.context import ConnectionInfo, RequestContext
    from odradek.broker.requests.registry import Answer, Handler, HandlerFunction

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

    def note(self, connection: ConnectionInfo, client_id: str, request: Any) -> None:
        """A request has come."""
        known = self._client_ids.get(id(connection))
        if known is None or known[1] != client_id:
            self._client_ids[id(connection)] = connection, client_id
        member_id = getattr(request, "member_id", "")
        if member_id and hasattr(request, "group_id"):
            self._members[request.group_id, member_id] = connection
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


class NotingHandlers(Mapping[int, "Handler"]):
    """The handlers of ``others``, whose requests are noted."""

    def __init__(self, others: Mapping[int, Handler], clients: KnownClients) -> None:
        self._others = others
        self._clients = clients

    def __getitem__(self, api_key: int) -> Handler:
        handler = self._others[api_key]
        function = partial(_noted, handler.function, self._clients)
        return handler._replace(function=function)

    def __iter__(self) -> Iterator[int]:
        return iter(self._others)

    def __len__(self) -> int:
        return len(self._others)


def _noted(
    function: HandlerFunction, clients: KnownClients, ctx: RequestContext, request: Any
) -> Answer:
    clients.note(ctx.connection, ctx.client_id or "", request)
    return function(ctx, request)
