import pytest

from odradek.client.cluster import Cluster
from odradek.client.group_offsets import commit_offsets
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cli.conftest import Shell
from tests.client.live import Member, create_topic


def test_groups_are_listed_by_state_and_type(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "listed", 1)
    commit_offsets(cluster, "listed-empty", {TopicPartition("listed", 0): 0})
    member = Member(cluster, "listed-stable", "listed", 0)

    def listed(*arguments: str) -> list[list[str]]:
        head, *rows = shell.group("list", *arguments)
        assert head.split() == ["GROUP", "TYPE", "PROTOCOL", "STATE"]
        return [row.split() for row in rows if row.startswith("listed-")]

    empty = ["listed-empty", "classic", "-", "Empty"]
    stable = ["listed-stable", "classic", "consumer", "Stable"]
    assert listed() == [empty, stable]
    assert listed("--state", "stable") == [stable]
    assert listed("--state", "Empty,Dead", "--type", "classic", "share") == [empty]
    assert shell.group("list", "--type", "streams") == ["no groups"]
    found = shell.json("list", "--state", "Stable")
    assert found == [
        {
            "group": "listed-stable",
            "type": "classic",
            "protocolType": "consumer",
            "state": "Stable",
        }
    ]
    assert shell.json("list", "--type", "streams") == []
    member.leave()


def test_a_state_that_there_is_not(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        shell.group("list", "--state", "Stabel")
    assert ended.value.code == 2
    assert "'Stabel' is not known; did you mean Stable?" in capsys.readouterr().err
