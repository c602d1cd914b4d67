import argparse

import pytest

from odradek.broker.cli.records.format import WORDS, parse_format, unescaped
from odradek.protocol.records import Record
from odradek.protocol.topic_partition import TopicPartition

PLACE = TopicPartition("t", 3)
FULL = Record(42, 1000, b"key", b"value", (("a", b"1"), ("b", None)))
EMPTY = Record(0, -1, None, None)


def shown(text: str, record: Record) -> bytes:
    return b"".join(piece(PLACE, record) for piece in parse_format(text))


@pytest.mark.parametrize(
    ("text", "full", "empty"),
    [
        ("%s", b"value", b""),
        ("%k=%s", b"key=value", b"="),
        ("%K %S", b"3 5", b"-1 -1"),
        ("%R", b"\0\0\0\5", b"\xff\xff\xff\xff"),
        ("%t-%p@%o", b"t-3@42", b"t-3@0"),
        ("%T", b"1000", b"-1"),
        ("%h", b"a=1,b=NULL", b""),
        (r"100%% \n\r\t\0\\\x41é", b"100% \n\r\t\0\\A\xc3\xa9", None),
    ],
)
def test_words(text: str, full: bytes, empty: bytes | None) -> None:
    assert shown(text, FULL) == full
    assert shown(text, EMPTY) == (full if empty is None else empty)


@pytest.mark.parametrize("text", ["%q", "%", r"\q", "a\\", r"\x4", "%é"])
def test_what_is_no_word(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not known"):
        parse_format(text)


def test_every_word_is_known_and_bytes_may_be_escaped() -> None:
    for word in WORDS:
        assert len(parse_format(f"%{word}")) == 1
    assert unescaped(r"\t%k\x00") == b"\t%k\0"
