import pytest

from odradek.broker.cli.records.codecs import PLAIN


@pytest.mark.parametrize(
    ("name", "data", "shown", "text"),
    [
        ("string", "é".encode(), "é", "é"),
        ("json", b' {"a":\n 1}', {"a": 1}, ' {"a":\n 1}'),
        ("hex", b"\x00\xff", "00ff", "00ff"),
        ("base64", b"\x00\xff", "AP8=", "AP8="),
        ("int32", b"\xff\xff\xff\xfe", -2, "-2"),
        ("int64", b"\0\0\0\0\0\0\1\0", 256, "256"),
        ("double", b"\x3f\xf8\0\0\0\0\0\0", 1.5, "1.5"),
    ],
)
def test_values_are_shown_and_written(
    name: str, data: bytes, shown: object, text: str
) -> None:
    assert PLAIN[name].decode(data) == shown
    assert PLAIN[name].encode(text.encode()) == data


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("string", b"\xff"),
        ("json", b"{"),
        ("json", b"[" * 100_000),
        ("int32", b"abc"),
        ("int64", b""),
    ],
)
def test_what_cannot_be_shown(name: str, data: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        PLAIN[name].decode(data)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("string", b"\xff"),
        ("json", b"x"),
        ("hex", b"0"),
        ("base64", b"AP8"),
        ("int32", b"2147483648"),
        ("int64", b"1.5"),
        ("double", b"much"),
    ],
)
def test_what_cannot_be_written(name: str, text: bytes) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        PLAIN[name].encode(text)
