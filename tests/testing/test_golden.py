"""Topics from files, files from topics, and what a topic should hold."""

import json
from pathlib import Path
from typing import Any, cast

import pytest

from odradek.testing import Broker, Refused, Topic, assert_golden
from odradek.testing import golden as golden_module
from odradek.testing.golden import UPDATE
from odradek.testing.tables import BadFile

NOW = 1_700_000_000_000


class Records:
    """A broker that has one topic, and takes and gives its records."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def ask(self, request: str, **fields: Any) -> list[dict[str, Any]]:
        self.requests.append((request, fields))
        if request == "wait":
            if fields["count"] > len(self.records):
                raise Refused("timeout", "not in time")
            return []
        if request == "records.read":
            return self.records
        assert request == "records.append"
        for each in fields["records"]:
            self.records.append(
                {
                    "topic": "t",
                    "partition": 0,
                    "offset": len(self.records),
                    "timestamp": NOW,
                    "headers": [],
                    **each,
                }
            )
        return [{} for _ in fields["records"]]


@pytest.fixture
def broker() -> Records:
    return Records()


@pytest.fixture
def topic(broker: Records) -> Topic:
    return Topic.of(cast(Broker, broker), "t", 1)


def loaded(topic: Topic, path: Path, text: str, **columns: str) -> list[Any]:
    """The records of a file: key, value, and the time if there is one."""
    path.write_text(text)
    records = cast(Any, topic.broker).records
    before = len(records)
    assert topic.load(path, **columns) == len(records) - before
    return [
        (each["key"], each["value"])
        + ((each["timestamp"],) if each["timestamp"] != NOW else ())
        for each in records[before:]
    ]


def test_columns_that_are_named(topic: Topic, tmp_path: Path) -> None:
    """T366: empty is not null, nor is NUL."""
    found = loaded(
        topic,
        tmp_path / "x.csv",
        'id,name,at\n1,"a ""b""",2026-01-02\n2,"",5\n3,,\n4,\0,\n',
        key="id",
        value="name",
        timestamp="at",
    )
    assert found == [
        ("1", 'a "b"', 1767312000000),
        ("2", "", 5),
        ("3", None),
        ("4", "\0"),
    ]


def test_a_row_without_a_column_for_the_value_is_the_value(
    topic: Topic, tmp_path: Path
) -> None:
    text = '{"id": 1, "name": "ü"}\n'
    found = loaded(topic, tmp_path / "x.jsonl", text, key="id")
    assert found == [("1", '{"id": 1, "name": "ü"}')]


def test_columns_by_their_usual_names(topic: Topic, tmp_path: Path) -> None:
    text = "key,value,timestamp,more\na,b,7,c\n"
    assert loaded(topic, tmp_path / "x.csv", text) == [("a", "b", 7)]
    text = "key,value,timestamp\na,b,7\n"
    assert loaded(topic, tmp_path / "x.csv", text) == [("a", "b", 7)]
    text = "value\nb\n"
    assert loaded(topic, tmp_path / "x.csv", text) == [(None, "b")]


def test_values_that_are_no_text_are_json(topic: Topic, tmp_path: Path) -> None:
    text = '{"key": 1, "value": {"a": [null, "ü"]}}\n{"value": {"base64": "/w=="}}\n'
    found = loaded(topic, tmp_path / "x.jsonl", text)
    assert found == [("1", '{"a": [null, "ü"]}'), (None, {"base64": "/w=="})]


def test_bytes_of_parquet_are_bytes() -> None:
    assert golden_module._sent(b"\xff") == {"base64": "/w=="}


@pytest.mark.parametrize(
    ("text", "columns", "why"),
    [
        ("id\n1\n", {"key": "idd"}, "line 2 has no column 'idd'; did you mean 'id'"),
        ("a\n1\n", {"timestamp": "a"}, None),
        ("a\nnow\n", {"timestamp": "a"}, "line 2: 'now' is not a time; write millisec"),
        ("value,partition\na,x\n", {}, "line 2: partition is 'x', and no number"),
    ],
)
def test_a_wrong_file_writes_nothing(
    topic: Topic,
    broker: Records,
    tmp_path: Path,
    text: str,
    columns: dict[str, str],
    why: str | None,
) -> None:
    """T366: a wrong column is named, and the one that was meant."""
    if why is None:
        loaded(topic, tmp_path / "x.csv", text, **columns)
        return
    with pytest.raises(BadFile, match=why):
        loaded(topic, tmp_path / "x.csv", text, **columns)
    assert not broker.requests


def test_many_records_go_in_several_requests(
    topic: Topic, broker: Records, tmp_path: Path
) -> None:
    text = "value\n" + f"{'x' * 1000}\n" * 3000
    assert len(loaded(topic, tmp_path / "x.csv", text)) == 3000
    assert len(broker.requests) == 3


def test_what_is_dumped_is_loaded_as_it_was(
    topic: Topic, broker: Records, tmp_path: Path
) -> None:
    broker.ask(
        "records.append",
        records=[
            {"key": "k", "value": '{"a":1}', "headers": [["h", None], ["h", "x"]]},
            {"key": None, "value": None},
            {"key": {"base64": "/w=="}, "value": "\u2028", "timestamp": 3},
        ],
    )
    path = tmp_path / "x.jsonl"
    assert topic.dump(path) == 3
    before, broker.records = broker.records, []
    assert topic.load(path) == 3
    assert broker.records == before
    assert '"topic"' not in path.read_text()
    with pytest.raises(BadFile, match=r"x\.csv would be JSON lines: call it \.jsonl"):
        topic.dump(tmp_path / "x.csv")


@pytest.fixture
def order(broker: Records) -> dict[str, Any]:
    """The one record of the topic, as it can be changed."""
    value = {"id": 7, "at": "now", "lines": [{"no": 1}, {"no": 2}]}
    headers = [["trace", "x"], ["kind", "order"]]
    record = {"key": "a", "value": json.dumps(value), "headers": headers}
    broker.ask("records.append", records=[record])
    return broker.records[0]


MASK = ("value.at", "value.lines.no", "headers.trace")


def test_a_golden_file_is_written_and_compared(
    topic: Topic,
    order: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "deeper" / "x.jsonl"
    with pytest.raises(AssertionError, match=r"there is no .*--odradek-update writes"):
        assert_golden(topic, path, MASK)
    with monkeypatch.context() as patch:
        patch.setenv(UPDATE, "1")
        assert_golden(topic, path, MASK)
    assert json.loads(path.read_text()) == {
        "key": "a",
        "value": {
            "id": 7,
            "at": "<masked>",
            "lines": [{"no": "<masked>"}, {"no": "<masked>"}],
        },
        "headers": [["trace", "<masked>"], ["kind", "order"]],
    }
    assert_golden(topic, path, MASK)
    changed = {"id": 7, "at": "later", "lines": [{"no": 3}, {"no": 4}]}
    order.update(value=json.dumps(changed, indent=2), timestamp=5)
    order["headers"] = [["trace", "y"], ["kind", "order"]]
    assert_golden(topic, path, MASK)
    order["value"] = json.dumps({**changed, "id": 8})
    with pytest.raises(AssertionError) as failed:
        assert_golden(topic, path, MASK, timeout=0)
    text = str(failed.value)
    assert "t is not what " in text
    assert '-{"key": "a", "value": {"id": 7' in text
    assert '+{"key": "a", "value": {"id": 8' in text


def test_what_is_missing_and_what_is_too_much_is_shown(
    topic: Topic, broker: Records, tmp_path: Path
) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"value": "a"}\n{"value": "b"}\n')
    broker.ask("records.append", records=[{"key": None, "value": "b"}])
    with pytest.raises(AssertionError, match=r'\n-\{"key": null, "value": "a"\}\n'):
        assert_golden(topic, path, timeout=0.5)
    assert broker.requests[-2] == (
        "wait",
        {"until": "records", "topic": topic, "count": 2, "timeout_ms": 500},
    )
    many = [{"key": None, "value": str(number)} for number in range(100)]
    broker.ask("records.append", records=many)
    with pytest.raises(AssertionError, match=r"… and 45 lines more$"):
        assert_golden(topic, path)


def test_a_mask_that_hides_nothing_is_a_mistake(
    topic: Topic, order: dict[str, Any], tmp_path: Path
) -> None:
    why = "no record has 'value.idd', which is masked; did you mean 'value.id'"
    with pytest.raises(ValueError, match=why):
        assert_golden(topic, tmp_path / "x.jsonl", ["value.idd"])
    with pytest.raises(ValueError, match=r"did you mean 'headers\.trace'"):
        assert_golden(topic, tmp_path / "x.jsonl", ["headers.trac"])


def test_times_and_partitions_where_they_say_something(
    topic: Topic, order: dict[str, Any], tmp_path: Path
) -> None:
    topic.partitions = 2
    path = tmp_path / "x.jsonl"
    topic.dump(path)
    assert_golden(topic, path, timestamps=True)
    order["timestamp"] += 1
    assert_golden(topic, path)
    with pytest.raises(AssertionError, match=str(NOW)):
        assert_golden(topic, path, timestamps=True)
    order["partition"] = 1
    with pytest.raises(AssertionError, match='"partition": 1'):
        assert_golden(topic, path)


def test_a_broker_that_refuses_is_heard(
    topic: Topic, broker: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "x.jsonl").write_text('{"value": "a"}\n')

    def refuse(*_: object, **__: object) -> None:
        raise Refused("UNKNOWN_TOPIC_OR_PARTITION", "no topic")

    monkeypatch.setattr(broker, "ask", refuse)
    with pytest.raises(Refused, match="no topic"):
        assert_golden(topic, tmp_path / "x.jsonl")
