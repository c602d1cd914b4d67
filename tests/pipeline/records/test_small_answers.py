"""Answers that are taken together become the rows that each of them has alone."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.pipeline.records.columns import TYPES, RecordColumns
from odradek.pipeline.records.gathered import ROWS, SIZE
from odradek.pipeline.records.small_answers import SIZE_MAX, SmallAnswers
from odradek.protocol.record_batch import CODEC_NAMES
from odradek.protocol.records import NewRecord, build_batch
from odradek.protocol.topic_partition import TopicPartition
from tests.pipeline.walks import (
    ALL,
    PLACE,
    expected,
    logs,
    next_offset_of,
    rows_of,
    use_plain,
)
from tests.protocol.walked_batches import laid_out

OTHER = TopicPartition("\u00fc", 0)


def log(*counts: int, **fields: Any) -> bytes:
    record = NewRecord(b"k", b"v", 1000, [("a", b"b")])
    return laid_out([build_batch([record] * count, **fields) for count in counts])


def take(
    answers: SmallAnswers,
    data: bytes,
    end: int,
    start: int = 0,
    place: TopicPartition = PLACE,
) -> bool:
    return answers.take(place, memoryview(data), start, end)


def places_of(answers: SmallAnswers) -> list[tuple[str, int, int]]:
    found = []
    for batch in answers.rows():
        columns = (batch[name].to_pylist() for name in ("topic", "partition", "offset"))
        found += list(zip(*columns, strict=True))
    return found


@given(
    given=st.lists(st.tuples(logs(), st.integers(0, 9), st.integers(0, 9)), max_size=6),
    plain=st.booleans(),
)
def test_rows_are_what_records_read(
    given: list[tuple[bytes, int, int]], plain: bool
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        if plain:
            use_plain(monkeypatch)
        answers, rows = SmallAnswers(ALL), []
        for data, start, less in given:
            end = max(next_offset_of(data) - less, start)
            if take(answers, data, end, start):
                rows += expected(data, start, end)
        assert rows_of(answers.rows()) == rows
        assert list(answers.rows()) == []


def test_each_row_has_its_partition() -> None:
    answers = SmallAnswers(ALL)
    assert take(answers, log(2, 1), 3)
    assert take(answers, log(1, log_append_time_ms=7), 1, place=OTHER)
    assert take(answers, log(5), 4, 2)
    assert places_of(answers) == [
        *[(*PLACE, offset) for offset in (0, 1, 2)],
        (*OTHER, 0),
        *[(*PLACE, offset) for offset in (2, 3)],
    ]


@pytest.mark.parametrize("codec", range(len(CODEC_NAMES)))
def test_every_codec(codec: int) -> None:
    answers, data = SmallAnswers(ALL), log(3, 2, compression=codec)
    assert take(answers, data, 5)
    assert take(answers, data, 5)
    assert rows_of(answers.rows()) == 2 * expected(data)


@pytest.mark.parametrize("name", TYPES)
def test_each_column_alone_has_sparks_type(name: str) -> None:
    columns = RecordColumns((name,))
    answers = SmallAnswers(columns)
    assert take(answers, log(2), 2)
    (found,) = answers.rows()
    assert found.schema == columns.arrow_schema()


def damaged(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


LARGE = build_batch([NewRecord(None, bytes(SIZE_MAX))])
OPENS_LARGE = build_batch([NewRecord(None, bytes(2 * SIZE))], compression=4)


@pytest.mark.parametrize(
    ("data", "end"),
    [
        (b"", 0),
        (log(2, is_transactional=True), 2),
        (log(1, is_control=True), 1),
        (log(2, 2), 5),
        (log(2, 2)[:-1], 4),
        (damaged(log(2, 2)), 4),
        (laid_out([bytearray(log(1)), bytearray(log(1, log_append_time_ms=7))]), 2),
        (laid_out([LARGE]), 1),
        (laid_out([OPENS_LARGE]), 1),
        (log(ROWS), ROWS),
        (log(*[1] * 300), 300),
    ],
    ids=[
        "empty",
        "transaction",
        "control",
        "more is wanted",
        "cut",
        "damaged",
        "two kinds of time",
        "large",
        "opens large",
        "many records",
        "many batches",
    ],
)
def test_what_is_not_simple_is_left_and_nothing_of_it_kept(
    data: bytes, end: int
) -> None:
    answers = SmallAnswers(ALL)
    assert take(answers, log(1), 1)
    assert not take(answers, data, end)
    assert places_of(answers) == [(*PLACE, 0)]


def test_what_is_behind_the_end_does_not_matter() -> None:
    answers = SmallAnswers(ALL)
    assert take(answers, damaged(log(2, 2)), 2)
    assert take(answers, log(3), 9, 9) is False
    assert take(answers, log(3), 3, 3)  # nothing of it is wanted
    assert places_of(answers) == [(*PLACE, 0), (*PLACE, 1)]


def test_it_is_full_before_it_holds_much() -> None:
    answers, data = SmallAnswers(ALL), laid_out([build_batch([NewRecord()] * 1000)])
    for number in range(ROWS // 1000):
        assert not answers.is_full, number
        assert take(answers, data, 1000)
    assert answers.is_full
    assert sum(batch.num_rows for batch in answers.rows()) == ROWS
    assert not answers.is_full
    large = laid_out([build_batch([NewRecord(None, bytes(SIZE_MAX // 2))])])
    while not answers.is_full:
        assert take(answers, large, 1)
    assert sum(batch.num_rows for batch in answers.rows()) == 8
