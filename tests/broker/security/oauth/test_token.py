import json
from base64 import urlsafe_b64encode
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.security.oauth.token import (
    TOKEN_SIZE_MAX,
    TokenRefused,
    read_token,
)
from tests.fakes.issuer import token


def part(text: str | bytes) -> str:
    data = text.encode() if isinstance(text, str) else text
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def test_the_parts_are_read_and_what_was_signed_is_kept() -> None:
    text = token(sub="bob")
    read = read_token(text)
    assert read.header["alg"] == "ES256"
    assert read.claims["sub"] == "bob"
    assert read.signed.decode() == text.rpartition(".")[0]
    assert len(read.signature) == 64


def of(header: str | bytes, claims: str | bytes, signature: str = "") -> str:
    return f"{part(header)}.{part(claims)}.{signature}"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "1 parts"),
        ("a.b", "2 parts"),
        ("a.b.c.d", "4 parts"),
        (of("{}", "{}", "a="), "base64url"),
        (of("{}", "{}", "a"), "base64url"),
        (of("{}", "{}", "é"), "base64url"),
        (of("[]", "{}"), "no object"),
        (of("{}", "7"), "no object"),
        (of("{}", "{"), "not JSON"),
        (of("{}", b"\xff"), "not JSON"),
        (of("{}", '{"exp": NaN}'), "not JSON"),
        (of("{}", '{"a":' * 1500), "not JSON"),
        (of("{}", '{"exp":' + "9" * 5000 + "}"), "not JSON"),
        (of('{"alg":"RS256","alg":"none"}', "{}"), "says something twice"),
        (of("{}", '{"sub":"a","sub":"b"}'), "says something twice"),
        (of("{}", '{"a":{"x":1,"x":2}}'), "says something twice"),
        ("a" * (TOKEN_SIZE_MAX + 1), "are read"),
    ],
    ids=range(17),
)
def test_what_is_no_token_is_refused(text: str, why: str) -> None:
    with pytest.raises(TokenRefused, match=why) as refused:
        read_token(text)
    assert len(str(refused.value)) < 100


@given(st.text(max_size=60))
def test_anything_is_read_or_refused(text: str) -> None:
    with suppress(TokenRefused):
        assert len(read_token(text)) == 4


def test_a_long_token_that_is_none_is_not_read() -> None:
    claims = part(json.dumps({"sub": "a", "more": "x" * 60_000}))
    with pytest.raises(TokenRefused, match="bytes"):
        read_token(f"{part('{}')}.{claims}.")
