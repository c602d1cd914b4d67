import pytest

from odradek.broker.config.options.listener import (
    HostPort,
    Listener,
    parse_address_limits,
    parse_host_port,
    parse_listeners,
    parse_protocols,
)


@pytest.mark.parametrize(
    ("text", "listener"),
    [
        ("PLAINTEXT://127.0.0.1:9092", Listener("PLAINTEXT", "127.0.0.1", 9092)),
        ("plaintext://:0", Listener("PLAINTEXT", "", 0)),
        ("IN_SIDE://[::1]:9092", Listener("IN_SIDE", "::1", 9092)),
        (
            "PLAINTEXT://broker-1.example:80",
            Listener("PLAINTEXT", "broker-1.example", 80),
        ),
    ],
)
def test_listener_is_read(text: str, listener: Listener) -> None:
    assert parse_listeners(text) == (listener,)


def test_listeners_are_a_list() -> None:
    both = "PLAINTEXT://:9092,CONTROLLER://[::1]:9093"
    assert ",".join(map(str, parse_listeners(f" {both} , "))) == both


def test_a_name_may_have_what_testcontainers_gives_it() -> None:
    assert parse_listeners("TC-0://kafka:19092") == (Listener("TC-0", "kafka", 19092),)


@pytest.mark.parametrize(
    "text",
    ["9092", "PLAINTEXT://host", "PLAINTEXT://host:99999", "PLAIN TEXT://a:1", "x:1"],
)
def test_something_else_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match="is not like PLAINTEXT://"):
        parse_listeners(text)


def test_a_name_comes_once() -> None:
    with pytest.raises(ValueError, match="different name"):
        parse_listeners("A://:1,a://:2")


@pytest.mark.parametrize(
    ("host", "is_loopback"),
    [
        ("localhost", True),
        ("127.0.0.1", True),
        ("127.1.2.3", True),
        ("::1", True),
        ("", False),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("example.org", False),
    ],
)
def test_loopback_is_known(host: str, is_loopback: bool) -> None:
    assert Listener("PLAINTEXT", host, 1).is_loopback is is_loopback


def test_protocol_map_is_checked() -> None:
    assert parse_protocols("a:plaintext, B:SSL") == ("A:PLAINTEXT", "B:SSL")
    with pytest.raises(ValueError, match="is not like INTERNAL:PLAINTEXT"):
        parse_protocols("A")


def test_an_address_without_a_name() -> None:
    assert parse_host_port("") is None
    assert parse_host_port("127.0.0.1:9404") == HostPort("127.0.0.1", 9404)
    assert parse_host_port(":9404") == HostPort("", 9404)
    assert str(parse_host_port("[::1]:9404")) == "[::1]:9404"


@pytest.mark.parametrize(
    "text", ["9404", "host", "host:", "host:x", "a:1:2", "h:70000"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(ValueError, match=r"127\.0\.0\.1:9404"):
        parse_host_port(text)


@pytest.mark.parametrize(
    ("host", "reached"),
    [("", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "127.0.0.1"), ("a", "a")],
)
def test_where_this_machine_reaches_it(host: str, reached: str) -> None:
    assert Listener("A", host, 1).reached_at == reached


def test_addresses_have_limits_of_their_own() -> None:
    limits = parse_address_limits("192.0.2.1:5, [::1]:7,")
    assert limits == (("192.0.2.1", 5), ("::1", 7))
    assert str(limits[0]) == "192.0.2.1:5"
    for text in ("192.0.2.1", "192.0.2.1:many", ":5"):
        with pytest.raises(ValueError, match="is not like"):
            parse_address_limits(text)
