"""The metrics that clients push, and what they are asked for (KIP-714).

A client gets an id with its first question. What it is asked for follows from the
subscriptions that match it; a change of these gives another subscription id, and a
push under the old one is refused, so that the client asks again. Of each client the
newest numbers are kept, for as many clients as there is room.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple
from zlib import crc32

from odradek.broker.config.client_metrics_config import (
    ALL_METRICS,
    CLIENT_METRICS_OPTIONS,
    INTERVAL_MS,
    subscription,
)
from odradek.protocol.compression import DecompressedTooLarge, decompress
from odradek.protocol.errors import (
    InvalidRequest,
    KafkaError,
    TelemetryTooLarge,
    ThrottlingQuotaExceeded,
    UnknownSubscriptionId,
    UnsupportedCompressionType,
)
from odradek.protocol.otlp_metrics import Sample, read_metrics
from odradek.protocol.record_batch import (
    COMPRESSION_GZIP,
    COMPRESSION_LZ4,
    COMPRESSION_NONE,
    COMPRESSION_SNAPPY,
    COMPRESSION_ZSTD,
)
from odradek.protocol.uuids import ZERO_UUID, random_uuid, to_text

from .resource_options import ResourceKind

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from odradek.broker.config.client_metrics_config import Subscription
    from odradek.broker.runtime.clock import Clock

    from .resource_options import Resource, ResourceOptions

CLIENTS_MAX: Final = 16_384
# In the order in which they are wanted.
ACCEPTED_CODECS: Final = (
    COMPRESSION_ZSTD,
    COMPRESSION_LZ4,
    COMPRESSION_GZIP,
    COMPRESSION_SNAPPY,
)
_UNPACKED_PER_PACKED = 16

_logger = logging.getLogger(__name__)


class Wanted(NamedTuple):
    """What a client is asked for: beginnings of names (one empty: all), how often."""

    client_instance_id: bytes
    subscription_id: int
    metrics: tuple[str, ...]
    interval_ms: int


@dataclass(slots=True)
class TelemetryClient:
    """A client that pushes, or may: who it says it is, and its newest numbers."""

    client_instance_id: bytes
    selectors: Mapping[str, str]
    wanted: Wanted
    samples: list[Sample] = field(default_factory=list)
    pushed_ms: int | None = None
    has_ended: bool = False


class ClientTelemetry:
    """Subscriptions, and the clients that know of them."""

    def __init__(
        self, resources: ResourceOptions, clock: Clock, bytes_max: int
    ) -> None:
        self.bytes_max = bytes_max
        self._resources = resources
        self._clock = clock
        self._clients: OrderedDict[bytes, TelemetryClient] = OrderedDict()
        self._subscriptions = self._read_subscriptions()
        resources.watch(self._follow)

    def __iter__(self) -> Iterator[TelemetryClient]:
        """The clients that are known, the one that was heard last at the end."""
        return iter(self._clients.values())

    @property
    def is_wanted(self) -> bool:
        """Whether anybody has asked for metrics: else clients need not know of it."""
        return bool(self._subscriptions)

    def subscribe(
        self, client_instance_id: bytes, selectors: Mapping[str, str]
    ) -> Wanted:
        """What a client is asked for; one without an id gets one."""
        if client_instance_id == ZERO_UUID:
            client_instance_id = random_uuid()
        wanted = self._wanted(client_instance_id, selectors)
        known = self._clients.pop(client_instance_id, None)
        client = known or TelemetryClient(client_instance_id, selectors, wanted)
        client.wanted, client.selectors = wanted, selectors
        self._clients[client_instance_id] = client
        while len(self._clients) > CLIENTS_MAX:
            self._clients.popitem(last=False)
        return wanted

    def push(
        self,
        client_instance_id: bytes,
        subscription_id: int,
        packed: memoryview,
        codec: int,
        *,
        terminating: bool,
    ) -> None:
        """Take the numbers of a client.

        Raises:
            UnknownSubscriptionId: it must ask again what is wanted.
            ThrottlingQuotaExceeded: it pushes more often than it was asked to.
            TelemetryTooLarge, UnsupportedCompressionType, InvalidRecord: what it
                pushes cannot be taken.
            InvalidRequest: it has said that this would not come.
        """
        client = self._clients.get(client_instance_id)
        if client is None:
            raise UnknownSubscriptionId("This client has not asked what is wanted")
        self._check(client, subscription_id, terminating)
        client.has_ended = client.has_ended or terminating
        if len(packed) > self.bytes_max:
            raise TelemetryTooLarge(f"{len(packed)} bytes, at most {self.bytes_max}")
        if len(packed):
            client.samples = read_metrics(self._unpack(packed, codec))
        self._clients.move_to_end(client_instance_id)
        _logger.debug(
            "client %s (%s) pushed %d metrics",
            to_text(client_instance_id),
            client.selectors.get("client_id"),
            len(client.samples),
        )

    def _check(
        self, client: TelemetryClient, subscription_id: int, terminating: bool
    ) -> None:
        wanted = self._wanted(client.client_instance_id, client.selectors)
        if client.has_ended:
            raise InvalidRequest("The client has said that this was its last push")
        if subscription_id != wanted.subscription_id:
            raise UnknownSubscriptionId("What is wanted has changed")
        now_ms = self._clock.monotonic_ms()
        if client.pushed_ms is not None and not terminating:
            # A client may be early: it is asked for an interval, give or take half.
            earliest_ms = client.pushed_ms + wanted.interval_ms // 2
            if now_ms < earliest_ms:
                raise ThrottlingQuotaExceeded(
                    f"The next push is awaited in {earliest_ms - now_ms} ms"
                )
        client.pushed_ms = now_ms

    def _unpack(self, packed: memoryview, codec: int) -> memoryview:
        if codec == COMPRESSION_NONE:
            return packed
        if codec not in ACCEPTED_CODECS:
            raise UnsupportedCompressionType(f"There is no compression type {codec}")
        try:
            return memoryview(
                decompress(codec, packed, self.bytes_max * _UNPACKED_PER_PACKED)
            )
        except DecompressedTooLarge as error:
            raise TelemetryTooLarge(str(error)) from error

    def _wanted(
        self, client_instance_id: bytes, selectors: Mapping[str, str]
    ) -> Wanted:
        matching = [each for each in self._subscriptions if each.matches(selectors)]
        names = {name for each in matching for name in each.metrics}
        metrics = ("",) if ALL_METRICS in names else tuple(sorted(names))
        default_ms = CLIENT_METRICS_OPTIONS[INTERVAL_MS].default
        interval_ms = min((each.interval_ms for each in matching), default=default_ms)
        what = f"{metrics}{interval_ms}".encode() + client_instance_id
        subscription_id = crc32(what) - (1 << 31)
        return Wanted(client_instance_id, subscription_id, metrics, interval_ms)

    def _follow(self, resource: Resource) -> None:
        if resource.kind is ResourceKind.CLIENT_METRICS:
            self._subscriptions = self._read_subscriptions()

    def _read_subscriptions(self) -> list[Subscription]:
        found = []
        for name, options in self._resources.all_of(ResourceKind.CLIENT_METRICS):
            try:
                found.append(subscription(name, options))
            except KafkaError as error:  # of another version of this broker
                _logger.error("the subscription %s is not used: %s", name, error)
        return found
