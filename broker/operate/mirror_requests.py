"""What is asked of mirrors on the admin socket.

``mirror-add`` (``name``, ``bootstrap``, ``topics``, perhaps ``commandConfig``): an item
with what is kept. ``mirror-status`` (perhaps ``name``): an item for each mirror, and
behind it one for each of its partitions. ``mirror-promote`` (``name``, perhaps
``topics``, ``timeoutMs`` or null): an item for each topic that is promoted.
``mirror-remove`` (``name``): an item with its name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.mirror.mirror_error import MirrorError
from odradek.broker.mirror.settings import MirrorSettings
from odradek.protocol.errors import KafkaError

from .admin_socket import AdminError

if TYPE_CHECKING:
    from odradek.broker.mirror.mirror import Mirror
    from odradek.broker.mirror.mirrors import Mirrors
    from odradek.broker.requests.services import Services

    from .admin_socket import AdminRequest, Items, Request

NAMES = ("mirror-add", "mirror-status", "mirror-promote", "mirror-remove")
TIMEOUT_MS = 60_000
_NOT_IN_A_CLUSTER = (
    "this broker is one of a cluster, whose topics are its controllers' to make: a "
    "mirror is for a broker that is a cluster by itself"
)


def mirror_requests(services: Services) -> dict[str, AdminRequest]:
    """What answers each of them, by its name."""
    asked = _Asked(services)
    answers = (asked.add, asked.status, asked.promote, asked.remove)
    return {
        name: _with_words(answer) for name, answer in zip(NAMES, answers, strict=True)
    }


class _Asked:
    """The requests, each of which is answered by a method."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def add(self, request: Request) -> Items:
        settings = MirrorSettings(
            _text(request, "name"),
            _text(request, "bootstrap"),
            _text(request, "topics"),
            _text(request, "commandConfig", ""),
        )
        if self._services.cluster is not None:
            raise AdminError("mirror", _NOT_IN_A_CLUSTER)
        mirrors = self._services.mirrors
        yield _shown(mirrors, (await mirrors.add(settings)).name)

    async def status(self, request: Request) -> Items:
        mirrors, name = self._services.mirrors_in_use, _text(request, "name", "")
        if mirrors is None:
            if name:
                raise AdminError("mirror", f"there is no mirror {name}; there is none")
            return
        for mirror in [mirrors.known(name)] if name else list(mirrors):
            yield _shown(mirrors, mirror.settings.name)
            for item in _of_topics(mirror):
                yield item

    async def promote(self, request: Request) -> Items:
        timeout_ms = request.get("timeoutMs", TIMEOUT_MS)
        name, topics = _text(request, "name"), request.get("topics", [])
        if not (timeout_ms is None or isinstance(timeout_ms, int)):
            raise AdminError("malformed", "timeoutMs must be a number or null")
        if not (isinstance(topics, list) and all(isinstance(x, str) for x in topics)):
            raise AdminError("malformed", "topics must be a list of names")
        mirrors = self._services.mirrors
        async for topic, ends in mirrors.promote(name, topics, timeout_ms=timeout_ms):
            yield {"topic": topic, "ends": list(ends.values())}

    async def remove(self, request: Request) -> Items:
        name = _text(request, "name")
        await self._services.mirrors.remove(name)
        yield {"mirror": name}


def _with_words(answer: AdminRequest) -> AdminRequest:
    """What cannot be done is the asker's to know, and no bug."""

    async def answered(request: Request) -> Items:
        try:
            async for item in answer(request):
                yield item
        except (MirrorError, KafkaError) as error:
            raise AdminError("mirror", str(error)) from None

    return answered


def _text(request: Request, name: str, default: str | None = None) -> str:
    value = request.get(name, default)
    if not isinstance(value, str):
        raise AdminError("malformed", f"{name} must be a text")
    return value


def _shown(mirrors: Mirrors, name: str) -> dict[str, Any]:
    mirror = mirrors.known(name)
    settings = mirror.settings
    troubles = [mirror.trouble] if mirror.trouble else []
    troubles += [
        f"broker {node_id}: {trouble}"
        for node_id, trouble in mirror.fetcher_troubles.items()
    ]
    return {
        "mirror": name,
        "bootstrap": settings.bootstrap,
        "clusterId": settings.cluster_id,
        "topics": settings.topics,
        "isKnown": mirror.has_looked,
        "followed": len(mirrors.topics_of(name)),
        "promoted": mirrors.promoted_count(name),
        "groups": mirror.group_copies.count,
        "lag": sum(copy.lag for copy in mirror.copies.values()),
        "troubles": troubles,
    }


def _of_topics(mirror: Mirror) -> list[dict[str, Any]]:
    items = []
    named = set()
    for place, copy in sorted(mirror.copies.items()):
        trouble = mirror.topic_copies.troubles.get(place.topic)
        named.add(place.topic)
        items.append(
            {
                "mirror": mirror.settings.name,
                "topic": place.topic,
                "partition": place.partition,
                "end": copy.durable_end,
                "sourceEnd": copy.source_end,
                "lag": copy.lag,
                "isStopped": copy.stop_reason is not None,
                "trouble": copy.stop_reason or trouble or copy.trouble,
            }
        )
    for topic, trouble in sorted(mirror.topic_copies.troubles.items()):
        if topic not in named:
            items.append(
                {
                    "mirror": mirror.settings.name,
                    "topic": topic,
                    "partition": None,
                    "trouble": trouble,
                }
            )
    return items
