"""What can be asked on the admin socket.

``compact`` (``topic``, and ``partitions`` if not all): an item for each partition, when
it is compacted or it is known why not. ``uncleanable``: an item for each log that
cleaning leaves alone. ``health``: an item for each reason why the broker is not ready.
``listeners``: an item for each address that clients on this machine can connect to.
``client-metrics``: an item for each number that clients have pushed last (KIP-714).
``reload-certificates``: an item for each listener with TLS.
``users``, ``set-user``, ``remove-user``: see `admin_users`.
``mirror-add`` and others: see `mirror_requests`.
``trace`` (``what``, and what `tracing/asked.py` says): an item for each request that
was watched.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.config.options.listener import Listener as Address
from odradek.broker.upkeep.compaction.requested import Compacted, Compaction
from odradek.protocol.topic_partition import TopicPartition
from odradek.protocol.uuids import to_text
from odradek.terminal.spelling import did_you_mean

from .admin_socket import AdminError
from .readiness import why_not_ready

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.network.listener import Listener
    from odradek.broker.requests.services import Services
    from odradek.broker.upkeep.compaction.cleaning import Cleaning

    from .admin_socket import AdminRequest, Items, Request
    from .tracing.tracer import Tracer


# Those that end when nobody is there to see it.
WATCHING = ("trace",)
_OF_USERS = ("users", "set-user", "remove-user")
_OF_MIRRORS = ("mirror-add", "mirror-status", "mirror-promote", "mirror-remove")


def admin_requests(
    services: Services, cleaning: Cleaning, listeners: Sequence[Listener]
) -> dict[str, AdminRequest]:
    """What answers each request, by its name."""
    compaction = Compaction(
        services.replica_manager, services.committer, services.clock, cleaning
    )

    async def compact(request: Request) -> Items:
        places = _places(services, request)
        for place in places:
            yield _compacted(place, await compaction.compact(place))

    async def uncleanable(request: Request) -> Items:
        _check_names(request, ())
        for place, reason in list(cleaning.uncleanable.items()):
            yield {"topic": place.topic, "partition": place.partition, "reason": reason}

    async def health(request: Request) -> Items:
        _check_names(request, ())
        for reason in why_not_ready(services, listeners):
            yield {"reason": reason}

    async def client_metrics(request: Request) -> Items:
        _check_names(request, ())
        for client in list(services.telemetry):
            for sample in client.samples:
                yield {
                    "client": client.selectors.get("client_id"),
                    "instance": to_text(client.client_instance_id),
                    "name": sample.name,
                    "attributes": dict(sample.attributes),
                    "value": sample.value,
                }

    return {
        "compact": compact,
        "uncleanable": uncleanable,
        "health": health,
        "listeners": _listening(listeners),
        "client-metrics": client_metrics,
        "trace": _trace_of(services, listeners),
        "reload-certificates": _reloading(services),
        **{name: _of_users(name, services) for name in _OF_USERS},
        **{name: _of_mirrors(name, services) for name in _OF_MIRRORS},
    }


def _listening(listeners: Sequence[Listener]) -> AdminRequest:
    async def listening(request: Request) -> Items:
        _check_names(request, ())
        for each in listeners:
            address = Address(each.name, each.host, each.port)
            host, port = address.reached_at, address.port
            yield {"name": each.name, "host": host, "port": port}

    return listening


def _reloading(services: Services) -> AdminRequest:
    def reload(request: Request) -> Items:
        from .certificate_requests import reload_certificates  # few brokers have them

        return reload_certificates(services.certificates, request)

    return reload


def _of_users(name: str, services: Services) -> AdminRequest:
    async def of_users(request: Request) -> Items:
        from .admin_users import user_requests  # most brokers are never asked

        async for item in user_requests(services)[name](request):
            yield item

    return of_users


def _of_mirrors(name: str, services: Services) -> AdminRequest:
    async def of_mirrors(request: Request) -> Items:
        from .mirror_requests import mirror_requests  # most brokers have none

        async for item in mirror_requests(services)[name](request):
            yield item

    return of_mirrors


def _trace_of(services: Services, listeners: Sequence[Listener]) -> AdminRequest:
    tracer: Tracer | None = None

    async def trace(request: Request) -> Items:
        from .tracing.asked import traced  # most brokers are never asked
        from .tracing.tracer import Tracer

        nonlocal tracer
        if tracer is None:
            tracer = Tracer(services, listeners)
        async for item in traced(request, tracer, services):
            yield item

    return trace


def _places(services: Services, request: Request) -> list[TopicPartition]:
    """The partitions that are meant."""
    _check_names(request, ("topic", "partitions"))
    name, wanted = request.get("topic"), request.get("partitions")
    if not isinstance(name, str):
        raise AdminError("malformed", "topic must be a name")
    if not (wanted is None or (isinstance(wanted, list) and all(map(_is_id, wanted)))):
        raise AdminError("malformed", "partitions must be a list of numbers")
    topic = services.metadata.get(name)
    if topic is None:
        meant = did_you_mean(name, [each.name for each in services.metadata])
        hint = f"; did you mean {meant}?" if meant else ""
        raise AdminError("unknown-topic", f"there is no topic {name}{hint}")
    known = [each.partition for each in topic.partitions]
    strange = sorted(set(wanted or ()) - set(known))
    if strange:
        has = f"0 to {known[-1]}" if len(known) > 1 else "only 0"
        text = ", ".join(map(str, strange))
        raise AdminError(
            "unknown-partition", f"no partition {text} in {name}: it has {has}"
        )
    numbers = known if wanted is None else list(dict.fromkeys(wanted))
    return [TopicPartition(name, number) for number in numbers]


def _is_id(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _check_names(request: Request, known: tuple[str, ...]) -> None:
    strange = [name for name in request if name not in known]
    if strange:
        raise AdminError("malformed", f"unknown: {', '.join(strange)}")


def _compacted(place: TopicPartition, done: Compacted) -> dict[str, Any]:
    return {
        "topic": place.topic,
        "partition": place.partition,
        "outcome": str(done.outcome),
        "reason": done.reason,
        "recordsBefore": done.records_before,
        "recordsAfter": done.records_after,
        "bytesBefore": done.bytes_before,
        "bytesAfter": done.bytes_after,
        "nextDirtyOffset": done.next_dirty_offset,
        "elapsedMs": done.elapsed_ms,
    }
