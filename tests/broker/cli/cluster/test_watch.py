import json

import pytest

from odradek.broker.cli.main import main
from odradek.protocol.membership_records import (
    FenceBrokerRecord,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
)
from odradek.protocol.messages.current_leader import LeaderIdAndEpoch
from odradek.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from odradek.protocol.metadata_records import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    QuotaEntityData,
    RemoveTopicRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from odradek.protocol.schema import Message
from tests.fakes.controller import batch_of
from tests.fakes.scripted import ScriptedCluster, scripted_cluster

ID = b"t" * 16
THERE: list[Message] = [
    RegisterBrokerRecord(broker_id=1, broker_epoch=0),
    UnfenceBrokerRecord(id=1, epoch=0),
    TopicRecord(name="t", topic_id=ID),
    PartitionRecord(
        partition_id=0,
        topic_id=ID,
        replicas=[1, 2],
        isr=[1, 2],
        leader=1,
        leader_epoch=4,
        partition_epoch=0,
    ),
]
CHANGES: list[Message] = [
    FenceBrokerRecord(id=1, epoch=0),
    PartitionChangeRecord(partition_id=0, topic_id=ID, isr=[2], leader=2),
    ConfigRecord(resource_type=2, resource_name="t", name="n", value="v"),
    ConfigRecord(
        resource_type=4, resource_name="1", name="ssl.key.password", value="hush"
    ),
    FeatureLevelRecord(name="f", feature_level=1),
    UserScramCredentialRecord(name="alice", mechanism=1, salt=b"secret-salt"),
    AccessControlEntryRecord(id=ID, resource_name="r", principal="User:a"),
    ClientQuotaRecord(entity=[QuotaEntityData(entity_type="user")], key="k", value=1),
    RemoveTopicRecord(topic_id=ID),
]


def controller(script: ScriptedCluster) -> str:
    """It answers with what was there, then with one change after the other."""
    batches = {0: [*THERE]}
    batches |= {len(THERE) + n: [change] for n, change in enumerate(CHANGES)}

    def fetched(request: FetchRequest, _: int) -> FetchResponse:
        offset = request.topics[0].partitions[0].fetch_offset
        messages = batches.get(offset, [])
        data = PartitionData(
            high_watermark=offset + len(messages),
            current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=3),
            records=batch_of(messages, offset, 3) if messages else b"",
        )
        return FetchResponse(responses=[FetchableTopicResponse(partitions=[data])])

    script.script(FetchRequest, fetched)
    return str(script.brokers[1].address)


def watched(count: int, *arguments: str) -> int:
    with scripted_cluster() as script:
        given = ["--bootstrap-controller", controller(script), "-n", str(count)]
        return main(["cluster", "watch", *given, *arguments])


def test_one_line_for_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    assert watched(10) == 0
    assert capsys.readouterr().out.splitlines() == [
        "4  broker 1 changed: is_fenced: False -> True",
        "5  partition t-0 changed: isr: [1, 2] -> [2], leader: 1 -> 2,"
        " leader_epoch: 4 -> 5, partition_epoch: 0 -> 1",
        "6  options 2 t added: n: v",
        "7  options 4 1 added: ssl.key.password: [hidden]",
        "8  feature f added: level: 1",
        "9  credential alice 1 added",
        "10  acl dHR0dHR0dHR0dHR0dHR0dA added: resource_type: 0, resource_name: r,"
        " pattern_type: 0, principal: User:a, host: , operation: 0, permission: 0",
        "11  quotas user <default> added: k: 1.0",
        "12  topic t removed",
        "12  partition t-0 removed",
    ]


def test_json_has_before_and_after(capsys: pytest.CaptureFixture[str]) -> None:
    assert watched(1, "--json") == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert json.loads(line) == {
        "offset": 4,
        "what": "broker",
        "name": "1",
        "change": "changed",
        "fields": {"is_fenced": [False, True]},
    }


def test_it_needs_controllers(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["cluster", "watch"])
    assert ended.value.code == 2
    assert "say which controllers" in capsys.readouterr().err
