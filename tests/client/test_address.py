import pytest

from odradek.client.address import Address, parse_addresses


@pytest.mark.parametrize(
    ("text", "addresses"),
    [
        ("localhost:9092", [("localhost", 9092)]),
        ("broker", [("broker", 9092)]),
        ("a:1, b:65535,", [("a", 1), ("b", 65535)]),
        ("[::1]:9093", [("::1", 9093)]),
        ("[::1]", [("::1", 9092)]),
    ],
)
def test_what_is_an_address(text: str, addresses: list[tuple[str, int]]) -> None:
    assert parse_addresses(text) == addresses


@pytest.mark.parametrize(
    "text",
    ["", " , ", "a:", ":9092", "a:b", "a:1:2", "[::1", "[]:1", "[::1]x:1", "::1"],
)
def test_what_is_none(text: str) -> None:
    with pytest.raises(ValueError, match="address; write it like localhost:9092"):
        parse_addresses(text)


def test_a_port_alone_lacks_its_host() -> None:
    with pytest.raises(ValueError, match="'9092' has no host; write it like loc"):
        parse_addresses("9092")


@pytest.mark.parametrize("port", ["0", "65536"])
def test_what_is_no_port(port: str) -> None:
    with pytest.raises(ValueError, match=r"not a port \(1-65535\)"):
        parse_addresses(f"a:{port}")


def test_it_is_written_as_it_is_read() -> None:
    for address in (Address("a", 1), Address("::1", 9092)):
        assert parse_addresses(str(address)) == [address]
