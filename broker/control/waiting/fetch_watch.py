"""Sees which clients fetch which partitions, as long as somebody wants to know.

While nobody does nothing of this is in the way of any request. While somebody does,
`FetchWatch` is a layer around the dispatcher: it passes every request on, and then
looks at the fetches among them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.network.entry import Layers
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.messages.fetch import FetchRequest
from odradek.protocol.topic_partition import TopicPartition

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.broker.network.listener import Listener
    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.dispatch import Entry, Exchange
    from odradek.broker.requests.services import Services

    Seen = Callable[["Fetching"], object]

_FETCH = int(ApiKey.FETCH).to_bytes(2, "big")


class Fetching(NamedTuple):
    """A fetch: of which connection, under which client id, from which offsets.

    Only of partitions that have these offsets.
    """

    peer: tuple[str, int]
    client_id: str
    offsets: dict[TopicPartition, int]


class FetchWatch:
    """Between the connections of a broker and its dispatcher, from time to time."""

    def __init__(self, services: Services, listeners: Sequence[Listener]) -> None:
        self._services = services
        self._listeners = listeners
        self._seen: Seen | None = None

    @property
    def is_watching(self) -> bool:
        """Whether fetches are seen."""
        return self._seen is not None

    def begin(self, seen: Seen) -> None:
        """Call ``seen`` with every fetch, when it has been handled."""
        if self._seen is None and self._listeners:
            self._layers().put(self._dispatch)
        self._seen = seen

    def end(self) -> None:
        """See nothing any more."""
        was_seen, self._seen = self._seen, None
        if was_seen is not None and self._listeners:
            self._layers().take_away(self._dispatch)

    def _layers(self) -> Layers:
        return Layers(self._listeners[0].network.dispatcher, self._listeners)

    def _dispatch(
        self, inner: Entry, connection: ConnectionInfo, frame: memoryview
    ) -> Exchange | bytes:
        exchange = inner(connection, frame)
        if frame[:2] == _FETCH and self._seen is not None:
            try:
                self._seen(self._fetching(connection, frame))
            except Exception as error:  # the client has its answer all the same
                self._services.bugs.record("a fetch that was looked at", error)
        return exchange

    def _fetching(self, connection: ConnectionInfo, frame: memoryview) -> Fetching:
        dispatcher = self._listeners[0].network.dispatcher
        _, header, request = dispatcher.read(frame)
        assert isinstance(request, FetchRequest)
        offsets: dict[TopicPartition, int] = {}
        sessions, metadata = self._services.fetch_sessions, self._services.metadata
        for each in sessions.wanted_of(request.session_id):
            offsets[each.topic_partition] = each.fetch_offset
        for topic in request.topics:
            known = metadata.by_id(topic.topic_id) or metadata.get(topic.topic)
            if known is not None:
                for partition in topic.partitions:
                    place = TopicPartition(known.name, partition.partition)
                    offsets[place] = partition.fetch_offset
        return Fetching(
            (connection.peer_host, connection.peer_port),
            header.client_id or "",
            {place: at for place, at in offsets.items() if self._has(place, at)},
        )

    def _has(self, place: TopicPartition, offset: int) -> bool:
        """Else the client is told so, and asks where to read instead."""
        if self._services.metadata.partition(place) is None:
            return False
        view = self._services.replica_manager.partition(place).view
        return view.log_start_offset <= offset <= view.log_end_offset
