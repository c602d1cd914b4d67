"""Every command, every table format, both kinds of cluster, both brokers."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from odradek.pipeline.tables.table import FORMATS
from tests.broker_process import BrokerProcess
from tests.client.live import connected, settle
from tests.client.test_producer import records_in
from tests.pipeline.cluster_place import Place
from tests.pipeline.feeding import create
from tests.pipeline.sink_process import bad, good, send_rows
from tests.pipeline.standalone_cluster import SMALL
from tests.pipeline.table_readers import READERS, rows_of

if TYPE_CHECKING:
    from tests.apache_kafka.node import KafkaNode

pytestmark = [
    pytest.mark.long,
    pytest.mark.usefixtures("spark_java"),
    pytest.mark.timeout(3000),
]
COUNT = 600
LOCAL_CLUSTER = "local-cluster[2,1,600]"
SCHEMA = "id BIGINT NOT NULL, text STRING"
JOB = """
name = "{topic}"
[source]
bootstrap_servers = "{address}"
topics = ["{topic}"]
max_offsets_per_trigger = 200
small_batch_records = 0
[value]
format = "json"
schema = "{schema}"
[table]
path = "rows"
format = "{kind}"
[spark]
master = "{master}"
[spark.conf]
"""


def job_file(folder: Path, master: str, **words: str) -> Path:
    lines = [f'"{name}" = "{value}"' for name, value in SMALL.items()]
    path = folder / "job.toml"
    text = JOB.format(master=master, schema=SCHEMA, **words) + "\n".join(lines)
    path.write_text(text)
    return path


@pytest.mark.parametrize("kind", FORMATS)
@pytest.mark.parametrize("master", ["standalone", LOCAL_CLUSTER])
@pytest.mark.parametrize("who", ["odradek", "kafka"])
def test_every_command(
    place: Place,
    broker_process: BrokerProcess,
    request: pytest.FixtureRequest,
    spark_home: Path,
    tmp_path: Path,
    topic: str,
    kind: str,
    master: str,
    who: str,
) -> None:
    address = broker_process.address
    if who == "kafka":
        node: KafkaNode = request.getfixturevalue("kafka_node")
        address = node.address
    url = place.cluster.master if master == "standalone" else master
    for name in (topic, f"{topic}-copy", f"{topic}-again"):
        create(address, name, 3)
    send_rows(address, topic, 0, COUNT)
    brokers = ["--bootstrap-server", address]
    table, rows = tmp_path / "table", tmp_path / "rows"
    typed = ["--value-format=json", f"--schema={SCHEMA}", "--table-format", kind]
    job = job_file(tmp_path, url, topic=topic, address=address, kind=kind)
    load = ["--format", kind, *brokers]
    letters = str(tmp_path / "rows-dead-letters")
    done = place.run(
        ["export", topic, str(table), *brokers, *typed],
        ["sink", "once", str(job)],
        ["compact", str(rows)],
        ["load", "--table", str(rows), "--topic", f"{topic}-copy"]
        + ["--job", f"{topic}-copy", "--value", "text", "--key", "id", *load],
        ["load", "--table", str(rows), "--topic", f"{topic}-copy"]
        + ["--job", f"{topic}-copy", "--value", "text", "--key", "id", *load],
        ["replay", "--table", letters, "--topic", f"{topic}-again"]
        + ["--job", f"{topic}-again", *load],
        ["audit", str(broker_process.data_dir)],
        master=url,
        more={"SPARK_HOME": str(spark_home)} if master == LOCAL_CLUSTER else {},
    )
    assert [each.code for each in done] == [0] * 7, done
    for reader in READERS[kind]:
        assert rows_of(reader, table, "id") == good(COUNT), reader
        assert rows_of(reader, rows, "id") == good(COUNT), reader
        assert rows_of(reader, Path(letters), "value") == bad(COUNT), reader
    assert values_in(address, f"{topic}-copy") == sorted(
        b"row %d" % number for number in good(COUNT)
    )
    assert values_in(address, f"{topic}-again") == bad(COUNT)
    assert "nothing is new" in done[4].out
    assert done[6].out.endswith(": sound\n")


def values_in(address: str, topic: str) -> list[bytes]:
    """All of a topic, sorted."""
    with connected(int(address.rpartition(":")[2])) as cluster:
        settle(cluster, topic)
        return sorted(
            each.value or b""
            for partition in range(3)
            for each in records_in(cluster, topic, partition)
        )
