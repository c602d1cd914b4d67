"""Both sides of SCRAM, with the example of RFC 7677 and with each other."""

import re
from base64 import b64decode, b64encode
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.scram import (
    ITERATIONS_MIN,
    TOKEN_AUTH,
    ClientFirst,
    Mechanism,
    ScramError,
    ScramRefused,
    check_server_final,
    client_final,
    client_first,
    read_client_first,
    read_server_first,
    salted,
    server_final,
    server_first,
    stored_and_server_key,
)

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = b64decode("W22ZaJ0SNY7soEsUEjb6gQ==")
CLIENT_FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
CLIENT_FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)
SERVER_FINAL = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


class KeptKeys(NamedTuple):
    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes


def keys_of(password: bytes, algorithm: str = "sha256") -> KeptKeys:
    hashed = salted(password, SALT, ITERATIONS_MIN, algorithm)
    return KeptKeys(ITERATIONS_MIN, SALT, *stored_and_server_key(hashed, algorithm))


KEYS = keys_of(b"pencil")


def test_the_client_says_what_rfc_7677_has() -> None:
    """S013"""
    assert client_first("user", NONCE) == CLIENT_FIRST
    wanted = read_server_first(SERVER_FIRST, NONCE)
    password = salted(b"pencil", wanted.salt, wanted.iterations, "sha256")
    said = client_final(CLIENT_FIRST, SERVER_FIRST, password, "sha256")
    assert said.message == CLIENT_FINAL
    check_server_final(SERVER_FINAL, said.server_signature)


def test_the_server_says_what_rfc_7677_has() -> None:
    """S013"""
    first = read_client_first(CLIENT_FIRST)
    answered = server_first(first, SERVER_NONCE, KEYS.salt, KEYS.iterations)
    assert answered == SERVER_FIRST
    said = server_final(first, answered, CLIENT_FINAL, KEYS, "sha256")
    assert said == SERVER_FINAL


@pytest.mark.parametrize("mechanism", list(Mechanism))
@given(user=st.text("aß,=\u20ac 4", min_size=1), is_token=st.booleans())
def test_both_sides_agree(mechanism: Mechanism, user: str, is_token: bool) -> None:
    algorithm = mechanism.algorithm
    keys = KEYS if algorithm == "sha256" else keys_of(b"pencil", algorithm)
    extensions = {TOKEN_AUTH: "true"} if is_token else None
    said = client_first(user, NONCE, extensions)
    first = read_client_first(said)
    assert (first.user, first.authzid, first.is_by_token) == (user, "", is_token)
    answered = server_first(first, SERVER_NONCE, keys.salt, keys.iterations)
    wanted = read_server_first(answered, NONCE)
    password = salted(b"pencil", wanted.salt, wanted.iterations, algorithm)
    final = client_final(said, answered, password, algorithm)
    proof = server_final(first, answered, final.message, keys, algorithm)
    check_server_final(proof, final.server_signature)


def test_a_wrong_password_is_refused() -> None:
    with pytest.raises(ScramError, match="does not fit"):
        finish(CLIENT_FINAL, keys_of(b"pencils"))


def test_a_nonce_twice_is_told_as_what_it_is() -> None:
    """Librdkafka before 2.6.1; Apache Kafka 4 refuses it as well."""
    own = read_client_first(CLIENT_FIRST).nonce
    with pytest.raises(ScramError, match="update librdkafka"):
        finish(CLIENT_FINAL.replace(b"r=", b"r=" + own))


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"y,,n=user,r=abc",
        b"p=tls-unique,,n=user,r=abc",
        b"n,,n=,r=abc",
        b"n,,r=abc",
        b"n,,n=user,r=",
        b"n,,n=user,r=a b",
        b"n,,n=us=er,r=abc",
        b"n,,n=us=2cer,r=abc",
        b"n,,n=us\0er,r=abc",
        b"n,,n=us\xffer,r=abc",
        b"n,,m=x,n=user,r=abc",
        b"n,,n=user,r=abc,m=x",
        b"n,,n=user,r=abc\n",
        b"n,,n=user,r=abc,",
        b"n,a=,n=user,r=abc",
    ],
)
def test_what_is_no_first_message_is_refused(message: bytes) -> None:
    with pytest.raises(ScramError):
        read_client_first(message)


def test_a_first_message_in_all_its_parts() -> None:
    first = read_client_first(b"n,a=bo=2Cb,n=al=3Dice,r=abc,x=1,tokenauth=TRUE")
    assert first == ClientFirst(
        "al=ice",
        "bo,b",
        b"abc",
        {"x": "1", "tokenauth": "TRUE"},
        b"n,a=bo=2Cb,",
        b"n=al=3Dice,r=abc,x=1,tokenauth=TRUE",
    )
    assert first.is_by_token


def finish(message: bytes, keys: KeptKeys = KEYS) -> bytes:
    first = read_client_first(CLIENT_FIRST)
    return server_final(first, SERVER_FIRST, message, keys, "sha256")


@pytest.mark.parametrize(
    "message",
    [
        b"",
        CLIENT_FINAL[:-1],
        CLIENT_FINAL + b",x=1",
        CLIENT_FINAL.replace(b"r=r", b"r=R"),  # another nonce
        CLIENT_FINAL.replace(b"k0,", b"k,"),  # a part of it
        CLIENT_FINAL.replace(b"k0,", b"k0a,"),  # more than it
        CLIENT_FINAL.replace(b"biws", b64encode(b"y,,")),
        CLIENT_FINAL.replace(b"p=dHzb", b"p=dHzc"),
        CLIENT_FINAL.replace(b"p=dHzb", b"p="),  # no whole base64
        re.sub(b"p=.*", b"p=AAAA", CLIENT_FINAL),  # too short
        re.sub(b",p=.*", b"", CLIENT_FINAL),
        CLIENT_FINAL.replace(b",p=", b",x=1,p="),  # an extension that is not signed
    ],
)
def test_what_is_no_fitting_second_message_is_refused(message: bytes) -> None:
    with pytest.raises(ScramError):
        finish(message)


def test_a_header_that_names_somebody_is_repeated_or_left_out() -> None:
    first = read_client_first(b"n,a=user,n=user,r=abc")
    answered = server_first(first, "def", SALT, ITERATIONS_MIN)
    password = salted(b"pencil", SALT, ITERATIONS_MIN, "sha256")
    left_out = client_final(b"n,," + first.bare, answered, password, "sha256").message
    assert server_final(first, answered, left_out, KEYS, "sha256").startswith(b"v=")
    other = left_out.replace(b"biws", b64encode(b"n,a=bob,"))
    with pytest.raises(ScramError, match="header"):
        server_final(first, answered, other, KEYS, "sha256")


@pytest.mark.parametrize(
    "message",
    [
        b"",
        SERVER_FIRST.replace(b"r=r", b"r=R"),
        SERVER_FIRST.replace(b"4096", b"4095"),
        SERVER_FIRST.replace(b"4096", b"1000001"),
        SERVER_FIRST.replace(b"4096", b"-1"),
        SERVER_FIRST.replace(b"s=W22", b"s="),
    ],
)
def test_a_client_refuses_what_a_server_should_not_ask(message: bytes) -> None:
    with pytest.raises(ScramError):
        read_server_first(message, NONCE)


def test_a_client_refuses_a_server_that_does_not_know_the_password() -> None:
    with pytest.raises(ScramError, match="does not know"):
        check_server_final(SERVER_FINAL, bytes(32))
    with pytest.raises(ScramError, match="no last message"):
        check_server_final(b"w=1", bytes(32))
    with pytest.raises(ScramRefused, match=r"invalid-proof$"):
        check_server_final(b"e=invalid-proof", bytes(32))
