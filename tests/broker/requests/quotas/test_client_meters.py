from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.metadata.client_quotas import Quota, QuotaEntity, QuotaKey
from odradek.broker.requests.quotas import client_meters
from odradek.broker.requests.quotas.client_meters import ClientMeters
from odradek.broker.requests.quotas.rate import Windows
from tests.fakes.clock import FakeClock


class Quotas:
    """A quota of its own for each client, unless it is called free."""

    limit = 1000.0

    def find(self, key: QuotaKey, user: str, client_id: str) -> Quota | None:
        if client_id == "free":
            return None
        return Quota(self.limit, QuotaEntity.of({"client-id": client_id}))

    def find_of_address(self, key: QuotaKey, address: str) -> Quota | None:
        return Quota(1, QuotaEntity.of({"ip": address}))


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def meters(clock: FakeClock) -> ClientMeters:
    quotas: Any = Quotas()
    return ClientMeters(quotas, clock, Windows(), Windows())


def record(
    meters: ClientMeters, key: QuotaKey, user: str, client_id: str, amount: float
) -> int:
    meter = meters.meter(key, user, client_id)
    return 0 if meter is None else meter.record(amount, meters._clock.monotonic_ms())


def test_each_client_waits_for_what_it_did_itself(meters: ClientMeters) -> None:
    assert record(meters, QuotaKey.PRODUCE, "u", "a", 20_000) == 10_000
    assert record(meters, QuotaKey.PRODUCE, "u", "b", 1) == 0
    assert record(meters, QuotaKey.FETCH, "u", "a", 1) == 0
    assert record(meters, QuotaKey.PRODUCE, "u", "free", 1 << 40) == 0


def test_time_on_the_loop_is_waited_for_a_second_at_most(meters: ClientMeters) -> None:
    wait_ms = record(meters, QuotaKey.REQUEST, "u", "a", 1_000_000)
    assert wait_ms == 1000


def test_windows_say_how_much_may_be_saved_and_waited(clock: FakeClock) -> None:
    quotas: Any = Quotas()
    meters = ClientMeters(quotas, clock, Windows(3, 2000), Windows(2, 4000))
    assert record(meters, QuotaKey.PRODUCE, "u", "a", 4000) == 0
    assert record(meters, QuotaKey.PRODUCE, "u", "a", 4000) == 4000
    assert record(meters, QuotaKey.REQUEST, "u", "a", 1_000_000) == 2000
    assert meters.record_mutations("u", "a", 8000) == 0
    assert meters.record_mutations("u", "a", 1000) == 1000


def test_changes_of_topics_use_up_tokens(
    meters: ClientMeters, clock: FakeClock
) -> None:
    assert meters.mutation_wait_ms("u", "a") == 0
    assert meters.record_mutations("u", "a", 11_000) == 0
    assert meters.record_mutations("u", "a", 500) == 500
    assert meters.mutation_wait_ms("u", "a") == 500
    clock.advance(500)
    assert meters.mutation_wait_ms("u", "a") == 0
    assert meters.record_mutations("u", "free", 1 << 40) == 0


def test_an_address_may_come_ten_times_in_ten_seconds(meters: ClientMeters) -> None:
    assert [meters.record_connection("10.0.0.1") for _ in range(10)] == [0] * 10
    assert meters.record_connection("10.0.0.1") > 0
    assert meters.record_connection("10.0.0.2") == 0


def test_clients_without_end_do_not_fill_the_memory(
    meters: ClientMeters, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_meters, "METERS_MAX", 10)
    for number in range(100):
        record(meters, QuotaKey.PRODUCE, "u", f"client-{number}", 1)
        meters.record_mutations("u", f"client-{number}", 1)
    kept = SimpleNamespace(**vars(meters))
    assert len(kept._rates) == len(kept._buckets) == 10
