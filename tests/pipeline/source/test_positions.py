import pytest

from odradek.client.list_offsets import EARLIEST, LATEST
from odradek.pipeline.errors import BadOption
from odradek.pipeline.source.positions import (
    EachOffset,
    EachTime,
    Everywhere,
    SinceTime,
    forbids,
    read_offsets,
    read_places,
    read_time,
    read_times,
)
from odradek.protocol.topic_partition import TopicPartition

T0, T10 = TopicPartition("t", 0), TopicPartition("t", 10)


def test_words_and_offsets() -> None:
    assert read_offsets("o", "earliest") == Everywhere(EARLIEST)
    assert read_offsets("o", " Latest ") == Everywhere(LATEST)
    assert read_offsets("o", '{"t":{"10":-1,"0":5}}') == EachOffset({T0: 5, T10: -1})


def test_times() -> None:
    assert read_time("o", "17") == SinceTime(17)
    assert read_times("o", '{"t":{"0":17}}') == EachTime({T0: 17})


def test_partitions() -> None:
    assert read_places("o", '{"t":[10,0,0]}') == (T0, T10)


@pytest.mark.parametrize(
    "text",
    ["", "soon", "5", "[]", "{}", '{"t":5}', '{"t":{"x":5}}', '{"t":{"0":"5"}}']
    + ['{"t":{"0":true}}', '{"t":{"0":1.5}}', '{"t":{"-1":5}}', '{"t":{"0":-3}}'],
)
def test_what_is_no_offset(text: str) -> None:
    with pytest.raises(BadOption, match="Option o:"):
        read_offsets("o", text)


@pytest.mark.parametrize("text", ["", "-1", "today", "1.5"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(BadOption, match="ms since 1970"):
        read_time("o", text)
    with pytest.raises(BadOption, match="Option o:"):
        read_times("o", f'{{"t":{{"0":"{text}"}}}}')
    with pytest.raises(BadOption, match="a time below 0"):
        read_times("o", '{"t":{"0":-1}}')


@pytest.mark.parametrize(
    "text", ["t", "{}", '{"t":[]}', '{"t":0}', '{"t":["0"]}', '{"t":[-1]}']
)
def test_what_are_no_partitions(text: str) -> None:
    with pytest.raises(BadOption, match="Option o:"):
        read_places("o", text)


def test_what_an_option_cannot_be() -> None:
    forbids("o", Everywhere(EARLIEST), LATEST, "here")
    forbids("o", EachOffset({T0: 3}), LATEST, "here")
    forbids("o", SinceTime(3), LATEST, "here")
    for position in (Everywhere(LATEST), EachOffset({T0: 3, T10: LATEST})):
        with pytest.raises(BadOption, match=r"cannot be latest \(-1\) here"):
            forbids("o", position, LATEST, "here")
