import json
from pathlib import Path

import pytest

from odradek.client.cluster import Cluster
from odradek.client.producer import Producer
from odradek.client.topics import NewTopic, create_topic
from odradek.pipeline.commands.load import command
from odradek.protocol.records import NewRecord
from tests.broker_process import BrokerProcess
from tests.client.live import settle
from tests.client.test_producer import records_in

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    import pyarrow as pa
    import pyarrow.parquet

    location = tmp_path / "table"
    location.mkdir()
    rows = pa.table({"id": list(range(100)), "name": [f"n{n}" for n in range(100)]})
    pyarrow.parquet.write_table(rows, location / "part-0.parquet")
    return location


@pytest.mark.usefixtures("shared_spark")
def test_a_table_is_loaded_once(
    broker_process: BrokerProcess,
    cluster: Cluster,
    topic: str,
    table: Path,
    capsys: Captured,
) -> None:
    create_topic(cluster, NewTopic(topic, 2))
    given = ["--table", str(table), "--topic", topic, "--job", topic, "--key", "id"]
    given += ["--bootstrap-server", broker_process.address, "-z", "zstd"]
    assert command(given) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{topic}: 100 records of {table} loaded\n"
    (step,) = map(json.loads, captured.err.splitlines())
    assert (step["step"], step["batch"], step["records"], step["remaining"]) == (
        *("load", 0),
        *(100, 0),
    )
    assert command(given) == 0
    assert capsys.readouterr().out == (
        f"{topic}: nothing is new; job {topic} has loaded all of it\n"
    )
    assert command([*given, "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "job": topic,
        "topic": topic,
        "records": 0,
        "batches": 0,
        "lastBatch": 0,
    }
    settle(cluster, topic)
    found = [
        record for number in (0, 1) for record in records_in(cluster, topic, number)
    ]
    assert sorted(json.loads(record.value or b"")["id"] for record in found) == list(
        range(100)
    )
    assert all(record.key == str(_id(record.value)).encode() for record in found)


def _id(value: bytes | None) -> int:
    number: int = json.loads(value or b"")["id"]
    return number


@pytest.mark.usefixtures("shared_spark")
def test_what_cannot_be_loaded(
    broker_process: BrokerProcess,
    cluster: Cluster,
    topic: str,
    table: Path,
    capsys: Captured,
) -> None:
    given = ["--topic", topic, "--job", topic]
    given += ["--bootstrap-server", broker_process.address]
    assert command(["--table", str(table), *given]) == 1
    assert f"odradek topic create {topic} makes one" in capsys.readouterr().err
    create_topic(cluster, NewTopic(topic))
    assert command(["--table", str(table), *given, "--key", "nope"]) == 1
    assert "no column nope for the key; it has id, name" in capsys.readouterr().err
    assert command(["--table", str(table / "nothing"), *given]) == 1
    assert "nothing cannot be read: " in capsys.readouterr().err
    assert command(["--table", "s3a://bucket/orders", *given]) == 1
    store = capsys.readouterr().err
    assert "s3a://bucket/orders cannot be read: Spark has no " in store
    assert store.count("\n") == 1
    nobody = [*given[:-1], "127.0.0.1:1"]
    assert command(["--table", str(table), *nobody]) == 1
    refused = capsys.readouterr().err
    assert "127.0.0.1:1: Connection refused; 'odradek pipeline doctor" in refused


@pytest.mark.usefixtures("shared_spark")
def test_a_topic_that_has_records_of_others(
    broker_process: BrokerProcess,
    cluster: Cluster,
    topic: str,
    table: Path,
    capsys: Captured,
) -> None:
    create_topic(cluster, NewTopic(topic))
    with Producer(cluster) as producer:
        producer.send(topic, NewRecord(None, b"of others", 0))
    given = ["--table", str(table), "--topic", topic, "--job", topic]
    given += ["--bootstrap-server", broker_process.address]
    assert command(given) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "begin with --begin; else load into a new topic" in captured.err
    assert len(list(records_in(cluster, topic, 0))) == 1
    for count in (100, 0):
        assert command([*given, "--begin", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["records"] == count
    settle(cluster, topic)
    assert len(list(records_in(cluster, topic, 0))) == 101


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ([], "required"),
        (["--format", "orc"], "invalid choice: 'orc'"),
        (["--transaction-timeout", "soon"], "not a time; write it like 900s"),
        (["--batch-size", "0"], "not a size"),
        (["--driver-address", "a:b"], "write it like driver-host:7777 or :7777"),
        (["--bootstrap-server", "a:b"], "not an address"),
        (["--conf", "x"], "write it like spark.driver.memory=2g"),
    ],
)
def test_mistakes(given: list[str], complaint: str, capsys: Captured) -> None:
    usual = ["--table", "t", "--topic", "t", "--job", "j"]
    code: object
    try:
        code = command([*usual, *given] if given else [])
    except SystemExit as ended:
        code = ended.code
    assert code == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count("\n") == 1
