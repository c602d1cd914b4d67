import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.security.certificates.der import (
    DerError,
    object_identifier,
    only_value,
    values,
)


def test_values_stand_in_values() -> None:
    inner = only_value(bytes.fromhex("30060201050c0141")).inside()
    assert [(each.tag, each.content) for each in inner] == [(2, b"\5"), (12, b"A")]
    assert inner[1].encoded == bytes.fromhex("0c0141")


@pytest.mark.parametrize(
    "encoded",
    ["02", "0205", "028001", "0285010101010101", "1f0100", "0282", "02010502"],
)
def test_what_is_cut_off_is_refused(encoded: str) -> None:
    with pytest.raises(DerError):
        list(values(bytes.fromhex(encoded)))


def test_one_value_is_one() -> None:
    with pytest.raises(DerError, match="2 values"):
        only_value(bytes.fromhex("020105020105"))


@pytest.mark.parametrize(
    ("encoded", "text"),
    [
        ("550403", "2.5.4.3"),
        ("2a864886f70d010901", "1.2.840.113549.1.9.1"),
        ("883701", "2.999.1"),
    ],
)
def test_object_identifiers(encoded: str, text: str) -> None:
    assert object_identifier(bytes.fromhex(encoded)) == text


@pytest.mark.parametrize("encoded", [b"", b"\x55\x84"])
def test_one_that_is_cut_off_is_refused(encoded: bytes) -> None:
    with pytest.raises(DerError):
        object_identifier(encoded)


@given(st.binary(max_size=200))
def test_strangers_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        found = list(values(data))
    except DerError:
        return
    assert b"".join(each.encoded for each in found) == data
