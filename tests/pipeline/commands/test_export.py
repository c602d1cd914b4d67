"""``odradek pipeline export``: arguments, and what it says before Spark is there."""

import json
from pathlib import Path

import pytest

from odradek.pipeline.commands import export
from tests.broker_process import BrokerProcess, running_broker
from tests.pipeline.feeding import create, send
from tests.pipeline.sink_process import bad, good, send_rows
from tests.pipeline.table_readers import rows_of

Captured = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["orders"], "required: PATH"),
        (["orders:x", "rows"], "write it like orders or orders:0,2"),
        (["orders", "rows", "--columns", "ofset"], "records have no ofset"),
        (["orders", "rows", "--tabel-format", "delta"], "did you mean --table-format?"),
        (["orders", "rows", "--value-format", "xml"], "invalid choice"),
        (["orders", "rows", "--min-partitions", "0"], "not a number from 1 on"),
        (["orders", "rows", "--bootstrap-server", ""], "it names no broker"),
    ],
)
def test_mistakes(
    given: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        export.command(given)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_what_is_wrong_is_said_without_spark(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    away = ["--bootstrap-server", "127.0.0.1:1"]
    assert export.command(["orders", str(tmp_path / "rows"), *away]) == 1
    assert "127.0.0.1:1" in capsys.readouterr().err
    for url, what in (
        ("hdfs://b/rows", "path of a file system"),
        ("s3a://b/rows", "write s3://BUCKET/FOLDER"),
        ("s3://b", "is a whole bucket"),
    ):
        assert export.command(["orders", url, *away]) == 1
        assert what in capsys.readouterr().err
    secret = ["--store", "secret_access_key=secret-shown"]
    assert export.command(["orders", "s3://b/rows", *secret, *away]) == 1
    said = capsys.readouterr().err
    assert "a secret does not belong here" in said
    assert "secret-shown" not in said
    assert export.command(["orders", "rows", "--store", "region=r", *away]) == 1
    assert "lies in no store" in capsys.readouterr().err
    assert export.command(["orders", "s3://", *away]) == 1
    assert "s3:// names no bucket" in capsys.readouterr().err
    among = ["--value-format", "json", "--schema", "a INT", "--dead-letters", "rows/x"]
    assert export.command(["orders", "rows", *among, *away]) == 1
    assert "among the rows of rows" in capsys.readouterr().err
    assert export.command(["orders", "rows", "--conf", "x"]) == 2
    assert "write it like" in capsys.readouterr().err
    assert export.command(["orders", "rows", "--option", "x"]) == 2
    assert "--option x: write it like onCorrupt=skip" in capsys.readouterr().err


@pytest.mark.parametrize(
    "given", ["mode=batches", "pushdown=true", "includeHeaders=true", "subscribe=a"]
)
def test_options_that_an_export_decides(given: str, capsys: Captured) -> None:
    assert export.command(["orders", "rows", "--option", given]) == 2
    name = given.partition("=")[0]
    assert f"--option {name}: an export decides" in capsys.readouterr().err


@pytest.mark.usefixtures("shared_spark")
def test_segments_instead_of_answers(
    broker_process: BrokerProcess, tmp_path: Path, capsys: Captured
) -> None:
    """With the broker that writes them, and without one when it has stopped."""
    values = ["--value-format", "json", "--schema", "id BIGINT"]
    segments = ["--data-dir", str(tmp_path / "data")]
    beside, after = str(tmp_path / "beside"), str(tmp_path / "after")
    with running_broker(tmp_path / "data") as broker:
        create(broker.address, "orders", 3)
        send_rows(broker.address, "orders", 0, 200)
        server = ["--bootstrap-server", broker.address]
        given = [*values, *segments, *server]
        assert export.command(["orders", beside, *given]) == 0
        said = capsys.readouterr().out
        assert said == f"196 rows in {beside}, 4 dead letters\n"
        broker.terminate()
    given = [*values, *segments, "--json"]
    assert export.command(["orders", after, *given]) == 0
    assert json.loads(capsys.readouterr().out) == {
        **{"topic": "orders", "table": after},
        **{"rows": 196, "deadLetters": 4},
    }
    for name in ("beside", "after"):
        assert rows_of("duckdb", tmp_path / name, "id") == good(200)
        letters = tmp_path / f"{name}-dead-letters"
        assert rows_of("duckdb", letters, "value") == bad(200)

    mistakes(broker_process, segments, tmp_path, capsys)


def mistakes(
    running: BrokerProcess, segments: list[str], tmp_path: Path, capsys: Captured
) -> None:
    rows = str(tmp_path / "rows")
    assert export.command(["ordres", rows, *segments]) == 1
    assert "Did you mean orders?" in capsys.readouterr().err
    since = ["--from", "2026-01-31T12:00:00Z"]
    assert export.command(["orders", rows, *segments, *since]) == 1
    assert "start it, or say offsets" in capsys.readouterr().err
    # Another broker than the one whose directory it is.
    create(running.address, "orders", 3)
    send(running.address, "orders", [b"{}"] * 9)
    given = [*segments, "--bootstrap-server", running.address]
    assert export.command(["orders", rows, *given]) == 1
    assert "has another topic orders than the broker" in capsys.readouterr().err
    given = [*segments, "--bootstrap-server", "127.0.0.1:1"]
    assert export.command(["orders", rows, *given]) == 1
    assert "stopped cleanly needs none" in capsys.readouterr().err
    assert list(Path(rows).glob("*.parquet")) == []


@pytest.mark.usefixtures("shared_spark")
def test_a_damaged_segment(tmp_path: Path, capsys: Captured) -> None:
    with running_broker(tmp_path / "data") as broker:
        create(broker.address, "orders")
        for number in range(3):
            send(broker.address, "orders", [b"%d" % number] * 10)
        broker.terminate()
    (log,) = tmp_path.glob("data/orders-0/*.log")
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 1
    log.write_bytes(content)
    given = ["orders", str(tmp_path / "rows"), "--data-dir", str(tmp_path / "data")]
    assert export.command(given) == 1
    said = capsys.readouterr().err.splitlines()[-1]
    assert "offsets from 10 on are damaged" in said
    assert "onCorrupt=report" in said
    assert "odradek fsck" in said
    assert list((tmp_path / "rows").glob("*.parquet")) == []
    assert export.command([*given, "--option", "onCorrupt=skip"]) == 0
    found = rows_of("duckdb", tmp_path / "rows", "offset")
    assert found == [*range(10), *range(20, 30)]
