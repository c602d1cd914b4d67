import pytest

from odradek.broker.network.tls.first_bytes import (
    advice_for,
    hello_size,
    speaks_http,
    speaks_tls,
)


def test_a_hello_is_known_from_its_first_byte() -> None:
    assert speaks_tls(b"\x16")
    assert speaks_tls(b"\x16\x03\x01\x02")
    assert not speaks_tls(b"\x16\x04")
    assert not speaks_tls(b"\0\0\0\x20")


def test_http_is_known_from_its_method() -> None:
    assert speaks_http(b"GET / HT")
    assert speaks_http(b"PRI * HT")
    assert not speaks_http(b"GETS / H")
    assert not speaks_http(b"\x16\x03\x01\x02")


def test_the_size_of_a_hello_is_known_from_its_header() -> None:
    assert hello_size(b"\x16") == 5
    assert hello_size(b"\x16\x03\x01\x02\x00") == 517
    assert hello_size(b"\x16\x03\x01\xff\xff\x01") == 8192


@pytest.mark.parametrize(
    ("beginning", "advice"),
    [
        (b"\0\0\0\x20\0\x12", "security.protocol=SSL in the client"),
        (b"GET / HT", "it speaks HTTP, without TLS"),
        (b"SSH-2.0-", "it does not speak TLS"),
    ],
)
def test_others_are_told_what_helps(beginning: bytes, advice: str) -> None:
    assert advice in advice_for(beginning, "SSL")
