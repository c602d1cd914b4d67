"""Which requests somebody wants to see."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.errors import KafkaError, MalformedRequest

if TYPE_CHECKING:
    from odradek.broker.requests.dispatch import Dispatcher
    from odradek.broker.requests.services import Services

API_OF = {
    "produce": ApiKey.PRODUCE,
    "fetch": ApiKey.FETCH,
    "commit": ApiKey.OFFSET_COMMIT,
}


class Wanted(NamedTuple):
    """Requests of one API; None for what does not matter."""

    api: ApiKey
    topic: str | None = None
    group: str | None = None
    client_id: str | None = None

    def is_meant(
        self, frame: memoryview, dispatcher: Dispatcher, services: Services
    ) -> bool:
        """Whether the request in ``frame`` is one of them. Changes nothing."""
        if int.from_bytes(frame[:2], "big") != self.api:
            return False
        try:
            _, header, request = dispatcher.read(frame)
        except (MalformedRequest, KafkaError):
            return False  # whoever answers it will say so
        return (
            self.client_id in (None, header.client_id)
            and self.group in (None, getattr(request, "group_id", None))
            and self.topic in (None, *topics_of(request, services))
        )


def topics_of(request: Any, services: Services) -> set[str]:
    """The names of the topics of a Produce, Fetch or OffsetCommit.

    A Fetch in a session names what has changed alone: the session knows the others.
    """
    metadata, names = services.metadata, set()
    listed = request.topic_data if hasattr(request, "topic_data") else request.topics
    for each in listed:
        name = each.topic if hasattr(each, "topic") else each.name
        known = None if name else metadata.by_id(each.topic_id)
        names.add(known.name if known is not None else name)
    session_id = getattr(request, "session_id", 0)
    if session_id and request.session_epoch > 0:
        names.update(services.fetch_sessions.topics_of(session_id))
    return names
