"""The tools for the cluster as a whole, on both brokers."""

import json
import re
from pathlib import Path
from typing import Any

from tests.apache_kafka.both_brokers import SERVER, BothBrokers

TOOLS = "org.apache.kafka.tools"
THERE = ("--bootstrap-server", SERVER)


def test_log_directories(both: BothBrokers) -> None:
    tool = f"{TOOLS}.LogDirsCommand"
    topic = ("--topic", "measured", "--partitions", "2")
    both.same(f"{TOOLS}.TopicCommand", *THERE, "--create", *topic)
    ask = ("--describe", "--topic-list", "measured")
    shown: list[Any] = []
    for printed in both.run(tool, *THERE, *ask):
        assert not printed.failed
        [broker] = json.loads(printed.lines[-1])["brokers"]
        for directory in broker["logDirs"]:
            assert directory.pop("logDir").startswith("/")
            directory["partitions"].sort(key=lambda each: each["partition"])
        shown.append(broker)
    assert shown[0] == shown[1]
    assert len(shown[0]["logDirs"][0]["partitions"]) == 2
    both.both_fail(tool, *THERE, "--describe", "--broker-list", "1,2")


def test_elections(both: BothBrokers) -> None:
    tool = f"{TOOLS}.LeaderElectionCommand"
    both.same(f"{TOOLS}.TopicCommand", *THERE, "--create", "--topic", "led")
    preferred = (*THERE, "--election-type", "preferred")
    both.same(tool, *preferred, "--all-topic-partitions")
    printed = both.same(tool, *preferred, "--topic", "led", "--partition", "0")
    assert "Valid replica already elected for partitions led-0" in printed[-1]
    both.both_fail(tool, *preferred, "--topic", "nope", "--partition", "0")


def test_api_versions(both: BothBrokers) -> None:
    """Every API of ours is there in the versions that Apache Kafka has."""
    tool = f"{TOOLS}.BrokerApiVersionsCommand"
    kafka, ours = both.run(tool, *THERE)
    assert ours.lines[0].split("->")[0] == kafka.lines[0].split("->")[0]
    theirs = dict(re.findall(r"\t(\w+)\((?:\d+)\): ([^,\n]*)", "\n".join(kafka.lines)))
    mine = dict(re.findall(r"\t(\w+)\((?:\d+)\): ([^,\n]*)", "\n".join(ours.lines)))
    offered = {name for name, versions in mine.items() if versions != "UNSUPPORTED"}
    assert {"AlterConfigs", "DescribeQuorum"} <= offered
    differing = {name for name in offered if mine[name] != theirs[name]}
    assert differing == {"AddPartitionsToTxn"}  # 4 and 5 are for brokers alone


def test_features(both: BothBrokers) -> None:
    tool = f"{TOOLS}.FeatureCommand"
    change = ("--feature", "transaction.version=1")
    kafka, ours = (
        {line.split()[1]: line.split("Epoch")[0] for line in printed.lines}
        for printed in both.run(tool, *THERE, "describe")
    )
    names = ("group", "metadata", "share", "streams", "transaction")
    same = [f"{name}.version" for name in names]
    assert sorted(ours) == sorted([*same, "kraft.version"])
    for name in same:
        assert ours[name] == kafka[name]
    assert ours["kraft.version"].split()[-1] == kafka["kraft.version"].split()[-1]
    both.same(tool, *THERE, "downgrade", *change)
    both.same(tool, *THERE, "upgrade", "--feature", "transaction.version=2")
    both.same(tool, *THERE, "upgrade", "--feature", "metadata.version=30")
    older = ("--feature", "metadata.version=25")
    for words in (("downgrade", *older), ("downgrade", "--unsafe", *older)):
        for printed in both.run(tool, *THERE, *words):
            assert printed.failed
            assert "Could not downgrade metadata.version to 25." in printed.lines[0]
    unknown = ("upgrade", "--feature", "nope=2")
    for printed in both.run(tool, *THERE, *unknown):
        assert printed.failed
        assert "Could not upgrade nope to 2." in printed.lines[0]


def test_the_quorum(both: BothBrokers) -> None:
    tool = f"{TOOLS}.MetadataQuorumCommand"
    for command in ("--status", "--replication"):
        kafka, ours = both.run(tool, *THERE, "describe", command)
        assert not ours.failed
        assert [_word(line) for line in ours.lines] == [
            _word(line) for line in kafka.lines
        ]
    assert any("LeaderId:               1" in line for line in both_status(both))


def both_status(both: BothBrokers) -> list[str]:
    tool = f"{TOOLS}.MetadataQuorumCommand"
    return both.run(tool, *THERE, "describe", "--status")[1].lines


def _word(line: str) -> str:
    """The first word of a line: what it is about, or the id of a replica."""
    return line.split()[0]


def test_the_cluster(both: BothBrokers) -> None:
    tool = f"{TOOLS}.ClusterTool"
    both.same(tool, "list-endpoints", *THERE)
    refused = both.both_fail(tool, "unregister", *THERE, "--id", "9")
    assert "Broker ID 9 is not currently registered" in refused
    kafka, ours = both.run(tool, "cluster-id", *THERE)
    assert _word(ours.lines[0]) == _word(kafka.lines[0])


def test_access_control_lists(both: BothBrokers) -> None:
    refused = both.both_fail(f"{TOOLS}.AclCommand", *THERE, "--list")
    assert "No Authorizer is configured on the broker" in refused


def test_reassignments(both: BothBrokers) -> None:
    tool = f"{TOOLS}.reassign.ReassignPartitionsCommand"
    assert both.same(tool, *THERE, "--list") == ["No partition reassignments found."]


def test_transactions(both: BothBrokers) -> None:
    tool = f"{TOOLS}.TransactionsCommand"
    [head, *_] = both.same(tool, *THERE, "list")
    assert head.split()[0] == "TransactionalId"


def test_delegation_tokens(both: BothBrokers, tmp_path: Path) -> None:
    tool = f"{TOOLS}.DelegationTokenCommand"
    options = tmp_path / "options"
    options.touch()
    refused = both.both_fail(
        tool, *THERE, "--command-config", str(options), "--describe"
    )
    assert "Delegation Token requests are not allowed" in refused
