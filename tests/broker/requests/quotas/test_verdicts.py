from typing import Any

from odradek.broker.metadata.client_quotas import Quota, QuotaEntity, QuotaKey
from odradek.broker.requests.quotas import verdicts
from odradek.broker.requests.quotas.client_meters import ClientMeters
from odradek.broker.requests.quotas.rate import Windows
from odradek.broker.requests.quotas.verdicts import Verdicts
from tests.fakes.clock import FakeClock


class Quotas:
    """What is set for client ids, whoever the user is."""

    def __init__(self, **limits: float) -> None:
        self.version = 0
        self.limits = limits

    def find(self, key: QuotaKey, user: str, client_id: str) -> Quota | None:
        limit = self.limits.get(client_id)
        if limit is None or key is not QuotaKey.PRODUCE:
            return None
        return Quota(limit, QuotaEntity.of({"client-id": client_id}))


def made(quotas: Any) -> Verdicts:
    meters = ClientMeters(quotas, FakeClock(), Windows(), Windows())
    return Verdicts(quotas, meters)


def test_a_verdict_holds_until_quotas_change() -> None:
    quotas = Quotas(c=10)
    known = made(quotas)
    before = known.of("u", "c")
    assert known.of("u", "c") is before
    assert not before.is_free
    assert (before.fetch, before.request) == (None, None)
    quotas.limits.clear()
    assert known.of("u", "c") is before
    quotas.version += 1
    assert known.of("u", "c").is_free


def test_users_and_clients_have_verdicts_of_their_own() -> None:
    known = made(Quotas(c=10))
    assert known.of("u", "c") is not known.of("v", "c")
    assert known.of("u", None) is known.of("u", "")
    assert known.of("u", "other").is_free


def test_what_was_counted_outlives_the_verdict() -> None:
    quotas = Quotas(c=1000)
    known = made(quotas)
    produce = known.of("u", "c").produce
    assert produce is not None
    assert produce.record(10_000, 0) == 0
    quotas.version += 1
    again = known.of("u", "c").produce
    assert again is not None
    assert again is not produce
    assert again.record(1_000, 0) == 1_000


def test_clients_without_end_do_not_fill_the_memory(monkeypatch: Any) -> None:
    monkeypatch.setattr(verdicts, "VERDICTS_MAX", 10)
    known = made(Quotas())
    for number in range(100):
        known.of("u", f"client-{number}")
    assert len(known._known) <= 10
