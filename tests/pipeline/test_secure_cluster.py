"""Jobs on a broker with TLS, logins that end, and access control lists."""

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.errors import PySparkException

from odradek.pipeline.commands.export import command as export
from odradek.pipeline.commands.load import command as load
from odradek.pipeline.commands.sink_once import command as sink_once
from odradek.pipeline.commands.sink_status import command as sink_status
from tests.client.live import settle
from tests.client.test_producer import records_in
from tests.patience import PATIENCE_S
from tests.pipeline.secure_broker import (
    MARKER,
    SESSION_MS,
    SecureBroker,
    running_secure_broker,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Captured = pytest.CaptureFixture[str]
MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
VALUES = [b'{"id": %d}' % number for number in range(40)]


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    with running_secure_broker(tmp_path_factory.mktemp("secure")) as running:
        yield running


@pytest.fixture
def config(broker: SecureBroker, tmp_path: Path) -> Path:
    return broker.client_file(tmp_path / "client.properties")


def nowhere(text: str) -> None:
    assert MARKER not in text, text


def nothing_in(folder: Path) -> None:
    """No file has the marker, but the one that it is read from."""
    for path in folder.rglob("*"):
        if path.is_file() and path.suffix != ".properties":
            assert MARKER.encode() not in path.read_bytes(), path


def source_options(broker: SecureBroker, topic: str) -> dict[str, str]:
    """As they are for Spark's own connector."""
    return {
        "kafka.bootstrap.servers": broker.address,
        "kafka.security.protocol": "SASL_SSL",
        "kafka.sasl.mechanism": "SCRAM-SHA-256",
        "kafka.sasl.jaas.config": (
            f'{MODULE} required username="alice" password="{MARKER}";'
        ),
        "kafka.ssl.truststore.type": "PEM",
        "kafka.ssl.truststore.location": str(broker.ca),
        "subscribe": topic,
        "startingOffsets": "earliest",
    }


def explained(frame: "DataFrame", capsys: Captured) -> str:
    capsys.readouterr()
    frame.explain(extended=True)
    return capsys.readouterr().out


def test_a_batch_and_a_stream_that_outlives_its_logins(
    spark: "SparkSession",
    broker: SecureBroker,
    topic: str,
    tmp_path: Path,
    capsys: Captured,
) -> None:
    """S030"""
    broker.create(topic)
    broker.grant("topic", topic, "READ")
    broker.send(topic, VALUES)
    options = source_options(broker, topic)
    frame = spark.read.format("odradek").options(**options).load()
    assert frame.count() == len(VALUES)
    nowhere(explained(frame, capsys) + repr(frame))

    stream = spark.readStream.format("odradek").options(**options).load()
    nowhere(explained(stream, capsys))
    counts: list[int] = []
    query = (
        stream.writeStream.foreachBatch(lambda rows, _: counts.append(rows.count()))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(processingTime="100 milliseconds")
        .start()
    )
    try:
        begun_s = time.monotonic()
        while time.monotonic() < begun_s + 3 * SESSION_MS / 1000:
            before = sum(counts)
            broker.send(topic, VALUES)
            deadline = time.monotonic() + PATIENCE_S
            while sum(counts) == before:
                assert query.isActive, query.exception()
                assert time.monotonic() < deadline
                time.sleep(0.05)
        nowhere(str(query.lastProgress))
    finally:
        query.stop()
    nothing_in(tmp_path)
    assert "session" not in broker.process.log()


def test_a_source_that_is_not_let_in(
    spark: "SparkSession", broker: SecureBroker, topic: str, capsys: Captured
) -> None:
    broker.create(topic)
    given = source_options(broker, topic)
    reader = spark.read.format("odradek")

    def refused(**changed: str) -> str:
        options = dict(given)
        for name, value in changed.items():
            options[f"kafka.{name.replace('_', '.')}"] = value
        with pytest.raises(PySparkException) as caught:
            reader.options(**options).load().collect()
        nowhere(str(caught.value))
        return str(caught.value)

    said = refused()
    assert f"User:alice has no right to Describe on topic {topic}" in said
    broker.grant("topic", topic, "DESCRIBE")
    broker.send(topic, VALUES)
    said = refused()
    assert f"User:alice has no right to Read on topic {topic}" in said
    assert f"--allow-principal User:alice --operation Read --topic {topic}" in said
    before = broker.process.log().count("refused: ")
    wrong = given["kafka.sasl.jaas.config"].replace(MARKER, f"{MARKER}-wrong")
    said = refused(sasl_jaas_config=wrong)
    assert "does not let User:alice (by SCRAM-SHA-256) in" in said
    assert broker.process.log().count("refused: ") == before + 1, (
        "it is not tried again"
    )
    said = refused(security_protocol="SASL_PLAINTEXT", ssl_truststore_location="")
    assert "listener one for SASL_PLAINTEXT (kafka.security.protocol)?" in said


def job_file(folder: Path, topic: str, **source: Any) -> Path:
    lines = [f'name = "{topic}"', 'trigger = "100ms"', "[source]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in source.items()]
    lines += [f'topics = ["{topic}"]', "[value]", 'format = "json"']
    lines += ['schema = "id BIGINT"', "[table]", 'path = "rows"']
    path = folder / "job.toml"
    path.write_text("\n".join(lines))
    return path


@pytest.mark.usefixtures("shared_spark")
def test_a_sink_that_knows_a_file(
    broker: SecureBroker, config: Path, topic: str, tmp_path: Path, capsys: Captured
) -> None:
    broker.create(topic)
    broker.send(topic, VALUES)
    job = job_file(tmp_path, topic, command_config=config.name, small_batch_records=0)
    assert sink_once([str(job)]) == 1
    said = capsys.readouterr().err
    assert f"User:alice has no right to Describe on topic {topic}" in said
    broker.grant("topic", topic, "READ")
    broker.grant("group", f"sink-{topic}", "READ")
    assert sink_once([str(job)]) == 0, capsys.readouterr().err
    assert sink_status([str(job), "--json"]) == 0
    captured = capsys.readouterr()
    status = json.loads(captured.out)
    assert (status["records"], status["lag"]) == (len(VALUES), 0)
    config.write_text(config.read_text().replace(MARKER, f"{MARKER}-wrong"))
    assert sink_once([str(job)]) == 1
    captured = capsys.readouterr()
    assert "does not let User:alice (by SCRAM-SHA-256) in" in captured.err
    nowhere(said + captured.out + captured.err + str(status))
    nothing_in(tmp_path)


@pytest.mark.usefixtures("shared_spark")
def test_a_load_and_an_export(
    broker: SecureBroker,
    config: Path,
    topic: str,
    tmp_path: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    table = tmp_path / "in"
    table.mkdir()
    pyarrow.parquet.write_table(pa.table({"id": range(50)}), table / "part.parquet")
    broker.create(topic, 2)
    given = ["--table", str(table), "--topic", topic, "--job", topic]
    given += ["--command-config", str(config)]
    broker.grant("topic", topic, "DESCRIBE")
    assert load(given) == 1
    said = capsys.readouterr().err
    assert f"User:alice has no right to Write on transactional id {topic}" in said
    broker.grant("transactional id", topic, "WRITE")
    broker.grant("group", f"load-{topic}", "READ")
    broker.grant("topic", topic, "READ", "DESCRIBE_CONFIGS")
    rights = ("READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")
    broker.grant("topic", "odradek-load-", *rights)
    assert load(given) == 1
    said += (denied := capsys.readouterr().err)
    assert f"User:alice has no right to Write on topic {topic}" in denied
    broker.grant("topic", topic, "WRITE")
    assert load(given) == 0, capsys.readouterr().err
    with broker.cluster() as cluster:
        settle(cluster, topic)
        assert sum(len(list(records_in(cluster, topic, n))) for n in range(2)) == 50

    monkeypatch.setenv("ODRADEK_CLIENT_CONFIG", str(config))
    assert export([topic, str(tmp_path / "out")]) == 0, capsys.readouterr().err
    captured = capsys.readouterr()
    assert "50 rows" in captured.out
    nowhere(said + captured.out + captured.err)
    nothing_in(tmp_path)


@pytest.mark.long
@pytest.mark.usefixtures("shared_spark")
def test_a_load_that_outlives_its_logins(
    broker: SecureBroker, config: Path, topic: str, tmp_path: Path, capsys: Captured
) -> None:
    """S030: the larger the table, the longer it takes; no row is lost or doubled."""
    import pyarrow as pa
    import pyarrow.parquet

    broker.grant("topic", topic, "READ", "WRITE", "DESCRIBE_CONFIGS")
    rights = ("READ", "WRITE", "CREATE", "DESCRIBE_CONFIGS")
    broker.grant("topic", "odradek-load-", *rights)
    broker.grant("transactional id", topic, "WRITE")
    broker.grant("group", f"load-{topic}", "READ")
    before = broker.login_count("again")
    ids = pa.table({"id": range(100_000)})
    count = 0
    while broker.login_count("again") == before:
        count = 2 * count or 2
        into, table = f"{topic}-{count}", tmp_path / f"in-{count}"
        broker.create(into)
        table.mkdir()
        whole = pa.concat_tables([ids] * count)
        pyarrow.parquet.write_table(whole, table / "part.parquet")
        given = ["--table", str(table), "--topic", into, "--job", into]
        assert load([*given, "--command-config", str(config)]) == 0, capsys.readouterr()
        assert broker.record_count(into) == count * len(ids)
    assert not broker.ended_count()
