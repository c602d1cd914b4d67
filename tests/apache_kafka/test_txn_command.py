"""`odradek txn` on Apache Kafka."""

import json
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.cli.main import main
from odradek.client.transactions import TransactionFilter, list_transactions
from odradek.protocol.errors import InvalidRegularExpression
from odradek.protocol.topic_partition import TopicPartition
from tests.apache_kafka.node import running_kafka
from tests.client.live import connected, create_topic, produce
from tests.client.live_transactions import Producer, write

OPTIONS = {"transaction.partition.verification.enable": "false"}
ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.mark.long
def test_it_does_there_what_it_does_here(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_kafka(tmp_path, OPTIONS) as kafka, connected(kafka.port) as cluster:
        there = ("--bootstrap-server", kafka.address)

        def ours(*arguments: str, code: int = 0) -> list[str]:
            assert main(["txn", *arguments, *there]) == code
            return capsys.readouterr().out.splitlines()

        def shown(*arguments: str) -> Any:
            (line,) = ours(*arguments, "--json")
            return json.loads(line)

        create_topic(cluster, "t", 2)
        produce(cluster, "t", 0, [0])
        produce(cluster, "t", 1, [0])
        producer = Producer(cluster, "owner")
        producer.add(ZERO)
        producer.write(ZERO)
        write(cluster, ONE, 777_000, timestamp_ms=1_767_225_600_000)

        _, row = ours("list", "--state", "Ongoing", "--pattern", "own.*")
        assert row.split()[:3] == ["owner", "Ongoing", str(producer.producer_id)]
        assert ours("list", "--longer-than", "1h") == ["no transactional ids"]
        with pytest.raises(InvalidRegularExpression):
            list_transactions(cluster, TransactionFilter(pattern="("))
        described = shown("describe", "owner")
        assert described["state"] == "Ongoing"
        (part,) = described["partitions"]
        assert (part["topic"], part["partition"], part["startOffset"]) == ("t", 0, 1)
        assert ours("describe", "nobody", code=1) == []

        hanging = shown("find-hanging", "--topic", "t")
        assert (hanging["partition"], hanging["producerId"]) == (1, 777_000)
        where = ("--topic", "t", "--partition")
        ours("abort", *where, "1", "--start-offset", "1", "--execute")
        assert ours("find-hanging") == ["nothing hangs"]
        ours("abort", *where, "0", "--start-offset", "1", "--execute", code=1)
        ours("abort", "owner", "--execute")
        assert shown("describe", "owner")["state"] == "Empty"
        ours("abort", "owner", code=1)
