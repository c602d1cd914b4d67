import json
from pathlib import Path

import pytest

from odradek.broker.security.certificates.der import DerError, only_value
from odradek.broker.security.certificates.distinguished_name import distinguished_name

# What java.security prints, of names in DER.
GOLDEN = Path(__file__).parents[3] / "golden" / "distinguished_names.json"
NAMES = [
    (each["der"], each["text"])
    for each in json.loads(GOLDEN.read_text())
    if not each["text"].startswith("!")
]


@pytest.mark.parametrize(("encoded", "text"), NAMES)
def test_a_name_is_printed_as_java_does(encoded: str, text: str) -> None:
    """S007"""
    assert distinguished_name(only_value(bytes.fromhex(encoded))) == text


def test_there_are_many_of_them() -> None:
    """S007"""
    assert len(NAMES) >= 40


@pytest.mark.parametrize(
    "encoded", ["3000ff", "30", "3005", "31033001", "300431023000"]
)
def test_what_is_no_name_is_refused(encoded: str) -> None:
    with pytest.raises(DerError):
        distinguished_name(only_value(bytes.fromhex(encoded)))


def test_a_name_without_end_is_refused() -> None:
    value = b"\x0c\x82\x10\x01" + b"x" * 4097
    pair = b"\x06\x03\x55\x04\x03" + value

    def wrapped(tag: int, content: bytes) -> bytes:
        return bytes((tag, 0x82)) + len(content).to_bytes(2) + content

    name = wrapped(0x30, wrapped(0x31, wrapped(0x30, pair)))
    with pytest.raises(DerError, match="4100 characters"):
        distinguished_name(only_value(name))
