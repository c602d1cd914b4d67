"""What clients have done of late, for those that have a quota."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.config.options.option import INT_MAX
from odradek.broker.metadata.client_quotas import QuotaKey

from .rate import Rate, Windows
from .token_bucket import TokenBucket

if TYPE_CHECKING:
    from odradek.broker.metadata.client_quotas import (
        ClientQuotas,
        Quota,
        QuotaEntity,
    )
    from odradek.broker.runtime.clock import Clock

# Who names itself anew with every request must not fill the memory.
METERS_MAX = 10_000


class Meter:
    """What a client does of one kind, beside its limit. Others may share the rate."""

    __slots__ = ("_at_once", "_limit", "_meters", "_name", "_rate", "_wait_max_ms")

    def __init__(
        self, meters: ClientMeters, key: QuotaKey, quota: Quota, windows: Windows
    ) -> None:
        self._meters = meters
        self._name = key, quota.entity
        self._limit = quota.limit
        # Who took too much of the loop's time waits no longer, as in Kafka.
        self._wait_max_ms = windows.size_ms if key is QuotaKey.REQUEST else INT_MAX
        # As much may be done whenever it was done.
        self._at_once = quota.limit * windows.elapsed_min_ms / 1000
        self._rate = meters.rate(self._name)

    def record(self, amount: float, now_ms: int) -> int:
        """Count ``amount``; how many milliseconds the client must be quiet."""
        rate = self._rate
        if rate.record(amount, now_ms):
            # Once in a window is enough to be kept, and to notice another that came
            # in the place of one which was not.
            self._rate = self._meters.rate(self._name, rate)
        if rate.amount <= self._at_once:
            return 0
        wait_ms = rate.excess_ms(self._limit, now_ms)
        return wait_ms if wait_ms < self._wait_max_ms else self._wait_max_ms


class ClientMeters:
    """The meters of all clients; what has no quota is not measured."""

    def __init__(
        self,
        quotas: ClientQuotas,
        clock: Clock,
        windows: Windows,
        mutation_windows: Windows,
    ) -> None:
        """``mutation_windows`` are those of changes of topics."""
        self._windows = windows
        self._burst_s = mutation_windows.span_ms / 1000
        self._quotas = quotas
        self._clock = clock
        # The one that was used last stands last.
        self._rates: dict[tuple[QuotaKey, QuotaEntity], Rate] = {}
        self._buckets: dict[QuotaEntity, TokenBucket] = {}

    def meter(self, key: QuotaKey, user: str, client_id: str) -> Meter | None:
        """What measures a client by its quota as it is now; None: it has none."""
        quota = self._quotas.find(key, user, client_id)
        if quota is None:
            return None
        return Meter(self, key, quota, self._windows)

    def record_connection(self, address: str) -> int:
        """Count a connection; how long there should be none from that address."""
        quota = self._quotas.find_of_address(QuotaKey.CONNECTION, address)
        if quota is None:
            return 0
        rate = self.rate((QuotaKey.CONNECTION, quota.entity))
        now_ms = self._clock.monotonic_ms()
        rate.record(1, now_ms)
        return rate.excess_ms(quota.limit, now_ms)

    def mutation_wait_ms(self, user: str, client_id: str) -> int:
        """How long the client must wait before it may change topics again."""
        bucket = self._bucket(user, client_id)
        return 0 if bucket is None else bucket.wait_ms

    def record_mutations(self, user: str, client_id: str, count: int) -> int:
        """Count changes of partitions; how long the client must wait for more."""
        bucket = self._bucket(user, client_id)
        if bucket is None:
            return 0
        bucket.take(count)
        return bucket.wait_ms

    def rate(
        self, name: tuple[QuotaKey, QuotaEntity], at_hand: Rate | None = None
    ) -> Rate:
        """The one of that name: the one that is kept, else ``at_hand``, else new."""
        rate = self._rates.pop(name, None) or at_hand or Rate(self._windows)
        self._rates[name] = rate
        if len(self._rates) > METERS_MAX:
            del self._rates[next(iter(self._rates))]
        return rate

    def _bucket(self, user: str, client_id: str) -> TokenBucket | None:
        quota = self._quotas.find(QuotaKey.MUTATION, user, client_id)
        if quota is None:
            return None
        now_ms = self._clock.monotonic_ms()
        bucket = self._buckets.pop(quota.entity, None)
        if bucket is None:
            bucket = TokenBucket(quota.limit, now_ms, self._burst_s)
        self._buckets[quota.entity] = bucket
        if len(self._buckets) > METERS_MAX:
            del self._buckets[next(iter(self._buckets))]
        bucket.update(quota.limit, now_ms)
        return bucket
