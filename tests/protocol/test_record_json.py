import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.record_json import Addressed, BadRecord, as_json, from_json
from odradek.protocol.records import NewRecord, Record
from odradek.protocol.topic_partition import TopicPartition

PLACE = TopicPartition("t", 3)
NOW = 77


@given(
    st.none() | st.binary() | st.text().map(str.encode),
    st.none() | st.binary(),
    st.lists(st.tuples(st.text(), st.none() | st.binary()), max_size=3),
)
def test_what_is_read_can_be_written_again(
    key: bytes | None, value: bytes | None, headers: list[tuple[str, bytes | None]]
) -> None:
    record = Record(5, 1000, key, value, tuple(headers))
    line = json.dumps(as_json(PLACE, record)).encode()
    again = NewRecord(key, value, 1000, headers)
    assert from_json(line, NOW) == Addressed(again, 3)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("{}", NewRecord(None, None, NOW, [])),
        ('{"key": "k", "value": 3}', NewRecord(b"k", b"3", NOW, [])),
        ('{"value": {"a": [1]}}', NewRecord(None, b'{"a": [1]}', NOW, [])),
        ('{"value": {"base64": "AAE="}}', NewRecord(None, b"\0\1", NOW, [])),
        ('{"timestamp": 5}', NewRecord(None, None, 5, [])),
        ('{"headers": {"a": "b"}}', NewRecord(None, None, NOW, [("a", b"b")])),
        ('{"headers": null, "offset": 9}', NewRecord(None, None, NOW, [])),
    ],
)
def test_what_a_line_may_say(line: str, expected: NewRecord) -> None:
    assert from_json(line.encode(), NOW) == Addressed(expected, None)


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "not JSON: "),
        ("[]", "not a JSON object"),
        ('{"valeu": 1}', "'valeu' is not a field of a record"),
        ('{"partition": "1"}', "partition is not a whole number: '1'"),
        ('{"timestamp": true}', "timestamp is not a whole number"),
        ('{"headers": [1]}', "headers are pairs"),
        ('{"headers": [[1, "a"]]}', "1 cannot be the name of a header"),
        ('{"value": {"base64": "?"}}', "not base64"),
    ],
)
def test_what_is_no_record(line: str, complaint: str) -> None:
    with pytest.raises(BadRecord, match=complaint):
        from_json(line.encode(), NOW)
