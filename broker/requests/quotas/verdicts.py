"""What is measured of a client: looked up once, and anew when quotas have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.metadata.client_quotas import QuotaKey

if TYPE_CHECKING:
    from odradek.broker.metadata.client_quotas import ClientQuotas
    from odradek.broker.requests.short_ways import ShortWays

    from .client_meters import ClientMeters

# Who names itself anew with every request must not fill the memory.
VERDICTS_MAX = 10_000


class Verdict:
    """The meters of one client, and its short ways once it has some of its own."""

    __slots__ = ("client_id", "fetch", "produce", "request", "short_ways", "user")

    def __init__(self, meters: ClientMeters, user: str, client_id: str) -> None:
        self.user = user
        self.client_id = client_id
        self.produce = meters.meter(QuotaKey.PRODUCE, user, client_id)
        self.fetch = meters.meter(QuotaKey.FETCH, user, client_id)
        self.request = meters.meter(QuotaKey.REQUEST, user, client_id)
        self.short_ways: dict[str, ShortWays] = {}  # by host, where these differ

    @property
    def is_free(self) -> bool:
        """Whether nothing is measured of what the client produces and fetches."""
        return self.produce is self.fetch is self.request is None


class Verdicts:
    """The verdicts on all clients; each holds until the next change of quotas."""

    def __init__(self, quotas: ClientQuotas, meters: ClientMeters) -> None:
        self._quotas = quotas
        self._meters = meters
        self._version = quotas.version
        self._known: dict[tuple[str, str], Verdict] = {}

    def of(self, user: str, client_id: str | None) -> Verdict:
        """That on a client of a user; one without an id is called by an empty one."""
        known = self._known
        if self._version != self._quotas.version or len(known) >= VERDICTS_MAX:
            self._version = self._quotas.version
            known.clear()
        name = user, client_id or ""
        verdict = known.get(name)
        if verdict is None:
            verdict = known[name] = Verdict(self._meters, *name)
        return verdict
