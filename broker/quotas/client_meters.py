"""What clients have done of late, for those that have a quota."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.metadata.client_quotas import QuotaKey

from .rate import Rate, Windows
from .token_bucket import TokenBucket

if TYPE_CHECKING:
    from odradek.broker.metadata.client_quotas import ClientQuotas, QuotaEntity
    from odradek.broker.runtime.clock import Clock

# Who names itself anew with every request must not fill the memory.
METERS_MAX = 10_000


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

    def record(self, key: QuotaKey, user: str, client_id: str, amount: float) -> int:
        """Count ``amount``; how many milliseconds the client must be quiet."""
        quota = self._quotas.find(key, user, client_id)
        if quota is None:
            return 0
        rate = self._rate(key, quota.entity)
        now_ms = self._clock.monotonic_ms()
        rate.record(amount, now_ms)
        wait_ms = rate.excess_ms(quota.limit, now_ms)
        if key is QuotaKey.REQUEST:
            # Who took too much of the loop's time waits no longer, as in Kafka.
            return min(wait_ms, self._windows.size_ms)
        return wait_ms

    def record_connection(self, address: str) -> int:
        """Count a connection; how long there should be none from that address."""
        quota = self._quotas.find_of_address(QuotaKey.CONNECTION, address)
        if quota is None:
            return 0
        rate = self._rate(QuotaKey.CONNECTION, quota.entity)
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

    def _rate(self, key: QuotaKey, entity: QuotaEntity) -> Rate:
        rate = self._rates.pop((key, entity), None) or Rate(self._windows)
        self._rates[key, entity] = rate
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
