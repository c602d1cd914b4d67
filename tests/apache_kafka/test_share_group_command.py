"""`odradek group` on share groups of Apache Kafka, beside what Kafka itself says."""

from pathlib import Path

import pytest

from odradek.broker.cli.main import main
from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.node import running_kafka
from tests.client.live import connected, create_topic, produce
from tests.share_member import ACCEPT, ShareAdmin, ShareMember

TOOL = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"


@pytest.mark.long
def test_it_says_what_the_tool_of_apache_kafka_says(
    tmp_path: Path, java: JavaClient, capsys: pytest.CaptureFixture[str]
) -> None:
    with running_kafka(tmp_path) as kafka, connected(kafka.port) as cluster:
        there = ("--bootstrap-server", kafka.address)

        def ours(*arguments: str, code: int = 0) -> list[list[str]]:
            assert main(["group", *arguments, *there]) == code
            return [line.split() for line in capsys.readouterr().out.splitlines()]

        def by_tool() -> list[list[str]]:
            lines = java.tool(TOOL, *there, "--describe", "--group", "g").splitlines()
            return [line.split() for line in lines if line.startswith("g ")]

        create_topic(cluster, "t", 1)
        produce(cluster, "t", 0, range(10))
        with ShareAdmin(kafka.address, "g") as group:
            group.configure(share_auto_offset_reset="earliest")
        with ShareMember(kafka.address, "g", "t") as sharer:
            sharer.join(1)
            sharer.fetch_until(10)
            sharer.acknowledge(0, (2, 4, ACCEPT))
            title, _, row, total = ours("describe", "g")
            assert title[:5] == ["group", "g:", "Stable,", "share,", "assignor"]
            assert row == ["t", "0", "0", "10", "7", "1"]
            assert total == ["total", "lag:", "7"]
            assert by_tool() == [["g", "t", "0", "0", "7"]]
            reset = ("reset-offsets", "g", "--to-offset", "6", "--topic", "t:0")
            assert ours(*reset, "--execute", code=1) == []
            sharer.leave()
        _, row, *_ = ours(*reset, "--execute")
        assert row == ["t", "0", "0", "6"]
        assert by_tool() == [["g", "t", "0", "6", "4"]]
        assert ours("list", "--type", "share")[1:] == [["g", "share", "share", "Empty"]]
        (forgotten,) = ours("delete-offsets", "g", "--topic", "t")
        assert forgotten == ["t-0:", "forgotten", "(was", "6)"]
        assert ours("delete", "g") == [["g:", "deleted"]]
        assert ours("list") == [["no", "groups"]]
