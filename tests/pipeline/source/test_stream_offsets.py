import json

import pytest

from odradek.pipeline.errors import SourceError
from odradek.pipeline.source.stream_offsets import StreamOffsets
from odradek.protocol.topic_partition import TopicPartition

A2, A10, B0 = TopicPartition("a", 2), TopicPartition("a", 10), TopicPartition("b", 0)
ALL = StreamOffsets({B0: 4, A10: 3, A2: 2}, {"b": b"\2" * 16, "a": b"\1" * 16}, {A2: 7})


def test_the_text_is_the_same_whatever_the_order() -> None:
    other = StreamOffsets(
        {A2: 2, A10: 3, B0: 4}, {"a": b"\1" * 16, "b": b"\2" * 16}, {A2: 7}
    )
    assert ALL.text() == other.text()
    assert json.loads(ALL.text()) == {
        "a": {"2": 2, "10": 3},
        "b": {"0": 4},
        "@ids": {"a": "AQEBAQEBAQEBAQEBAQEBAQ", "b": "AgICAgICAgICAgICAgICAg"},
        "@epochs": {"a": {"2": 7}},
    }
    assert list(json.loads(ALL.text())["a"]) == ["2", "10"]  # by number


def test_there_and_back() -> None:
    assert StreamOffsets.of_text(ALL.text()) == ALL
    assert StreamOffsets.of_text(ALL.text()).text() == ALL.text()
    assert StreamOffsets.of_json(StreamOffsets({}).to_json()) == StreamOffsets({})


def test_a_checkpoint_of_the_connector_is_understood() -> None:
    assert StreamOffsets.of_text('{"a":{"2":2,"10":3}}').ends == {A2: 2, A10: 3}


@pytest.mark.parametrize(
    "text", ['{"a":5}', '{"a":{"x":1}}', '{"":{"0":1}}', '{"@ids":{"a":"b"}}', "[1]"]
)
def test_offsets_of_another_source_are_refused(text: str) -> None:
    with pytest.raises(SourceError, match="checkpointLocation"):
        StreamOffsets.of_text(text)
