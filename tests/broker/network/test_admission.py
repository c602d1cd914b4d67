from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.listener import parse_address_limits
from odradek.broker.network.admission import Admission, is_loopback
from tests.fakes.clock import FakeClock


def admission(**options: int) -> tuple[Admission, FakeClock]:
    clock = FakeClock()
    return Admission(BrokerConfig(**options), clock), clock  # type: ignore[arg-type]


def test_all_connections_together_are_limited() -> None:
    door, _ = admission(max_connections=2)
    assert door.refusal("127.0.0.1") is None
    assert door.refusal("127.0.0.1") is None
    refusal = door.refusal("127.0.0.1")
    assert refusal == ("max.connections", "2 connections are open, the limit")
    door.release("127.0.0.1")
    assert door.refusal("10.0.0.1") is None


def test_one_address_is_limited_and_loopback_is_not() -> None:
    door, _ = admission(max_connections_per_ip=1)
    assert door.refusal("10.0.0.1") is None
    refusal = door.refusal("10.0.0.1")
    assert refusal is not None
    assert refusal.limit == "max.connections.per.ip"
    assert door.refusal("10.0.0.2") is None
    for _ in range(3):
        assert door.refusal("::1") is None
    door.release("10.0.0.1")
    assert door.refusal("10.0.0.1") is None
    assert door.per_address == {"10.0.0.1": 1, "10.0.0.2": 1, "::1": 3}


def test_new_connections_a_second_are_limited() -> None:
    door, clock = admission(max_connection_creation_rate=2)
    assert door.refusal("10.0.0.1") is None
    assert door.refusal("10.0.0.2") is None
    refusal = door.refusal("10.0.0.3")
    assert refusal == ("max.connection.creation.rate", "more than 2 a second")
    assert door.refusal("127.0.0.1") is None
    clock.advance(1000)
    assert door.refusal("10.0.0.3") is None


def test_loopback_addresses() -> None:
    assert all(map(is_loopback, ("127.0.0.1", "127.1.2.3", "::1", "::ffff:127.0.0.1")))
    assert not any(map(is_loopback, ("10.0.0.1", "::2", "1127.0.0.1", "unknown")))


def test_an_address_may_have_a_limit_of_its_own() -> None:
    limits = parse_address_limits("10.0.0.1:2, 127.0.0.1:1")
    config = BrokerConfig(
        max_connections_per_ip=1, max_connections_per_ip_overrides=limits
    )
    door = Admission(config, FakeClock())
    for address, most in (("10.0.0.1", 2), ("10.0.0.2", 1), ("127.0.0.1", 1)):
        for _ in range(most):
            assert door.refusal(address) is None
        refusal = door.refusal(address)
        assert refusal is not None
        assert refusal.limit == "max.connections.per.ip"
    door.update(BrokerConfig(max_connections_per_ip=3))
    assert door.refusal("10.0.0.2") is None


def test_a_shut_door_lets_nobody_in() -> None:
    door, _ = admission()
    door.is_shut = True
    refusal = door.refusal("127.0.0.1")
    assert refusal == ("test.control", "a test lets nobody in")
    door.is_shut = False
    assert door.refusal("127.0.0.1") is None
