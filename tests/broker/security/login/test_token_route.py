from typing import Any

from odradek.broker.security.login.token_route import TOKEN_ROUTE


def test_a_token_is_sent_as_it_is_behind_its_length() -> None:
    out: list[Any] = []
    assert TOKEN_ROUTE.write(7, b"abc", out) == 7
    assert TOKEN_ROUTE.write(8, b"", out) == 4
    assert b"".join(out) == b"\0\0\0\3abc" + bytes(4)
    assert TOKEN_ROUTE.api_name == TOKEN_ROUTE.name == "a SASL token"
