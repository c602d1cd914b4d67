"""What ``odradek secure show`` prints for Spark is pasted, and reads."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from odradek.broker.cli.main import main
from odradek.broker.cli.snippets.snippets import TOPIC
from tests.patience import PATIENCE_S
from tests.secure_broker import SecureBroker, secure_broker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    with secure_broker(tmp_path_factory.mktemp("guarded")) as broker:
        yield broker


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # as it is pasted
@pytest.mark.parametrize("connector", ["odradek", "kafka"])
@pytest.mark.usefixtures("kafka_connector")
def test_spark_reads_what_was_written(
    connector: str,
    spark: "SparkSession",
    guarded: SecureBroker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """S028"""
    values = tmp_path / "values"
    values.write_text(f"for {connector}")
    assert main(["produce", TOPIC, "--file", str(values), *guarded.as_admin]) == 0
    capsys.readouterr()
    asked = ["--client", "spark", "--bootstrap-server", guarded.address, "--json"]
    assert main(["secure", "show", "--dir", str(guarded.folder.path), *asked]) == 0
    text = str(json.loads(capsys.readouterr().out)["text"])
    assert guarded.folder.password_file.read_text().strip() not in text
    text = text.replace("format('odradek')", f"format('{connector}')")
    # A stream begins at the end by default, and these records are there already.
    text = text.replace(".load()", ".option('startingOffsets', 'earliest').load()")
    names: dict[str, Any] = {"spark": spark}
    exec(compile(text, "pasted", "exec"), names)
    found: list[bytes] = []

    def take(rows: "DataFrame", _: int) -> None:
        found.extend(bytes(row.value) for row in rows.select("value").collect())

    query = (
        names["stream"]
        .writeStream.foreachBatch(take)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(PATIENCE_S)
    finally:
        query.stop()
    assert f"for {connector}".encode() in found
