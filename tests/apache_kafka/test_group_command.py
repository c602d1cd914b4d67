"""`odradek group` on Apache Kafka, beside what Kafka's own tool says."""

from pathlib import Path

import pytest

from odradek.broker.cli.main import main
from odradek.client.group_offsets import commit_offsets, committed_offsets
from odradek.protocol.topic_partition import TopicPartition
from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.node import running_kafka
from tests.client.live import Member, connected, create_topic, produce

TOOL = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"


@pytest.mark.long
def test_it_says_what_the_tool_of_apache_kafka_says(
    tmp_path: Path, java: JavaClient, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_kafka(tmp_path) as kafka, connected(kafka.port) as cluster:
        there = ("--bootstrap-server", kafka.address)

        def ours(*arguments: str, code: int = 0) -> list[list[str]]:
            assert main(["group", *arguments, *there]) == code
            return [line.split() for line in capsys.readouterr().out.splitlines()]

        create_topic(cluster, "t", 3)
        produce(cluster, "t", 0, range(10))
        produce(cluster, "t", 1, range(5))
        zero, one = TopicPartition("t", 0), TopicPartition("t", 1)
        commit_offsets(cluster, "g", {zero: 4})
        member = Member(cluster, "g", "t", 0, 1)
        _, head, *rows, total = ours("describe", "g")
        assert total == ["total", "lag:", "6"]
        expected = {("GROUP", *head), *(("g", *row) for row in rows)}
        assert _by_tool(java, *there, "--describe", "--group", "g") == expected
        assert ours("delete", "g", code=1) == []
        reset = ("reset-offsets", "g", "--to-latest", "--topic", "t:0,1")
        assert ours(*reset, "--execute", code=1) == []
        member.leave()
        ours(*reset, "--execute")
        assert {
            place: each.offset
            for place, each in committed_offsets(cluster, "g").items()
        } == {zero: 10, one: 5}
        assert ours("list", "--state", "empty")[1:] == [
            ["g", "classic", "consumer", "Empty"]
        ]
        ours("delete-offsets", "g", "--topic", "t:0")
        assert list(committed_offsets(cluster, "g")) == [one]
        assert ours("delete", "g") == [["g:", "deleted"]]
        assert ours("list") == [["no", "groups"]]


def _by_tool(java: JavaClient, *arguments: str) -> set[tuple[str, ...]]:
    lines = java.tool(TOOL, *arguments).splitlines()
    return {tuple(line.split()) for line in lines if line.strip()}
