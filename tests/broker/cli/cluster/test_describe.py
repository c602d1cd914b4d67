import json
import shutil
from pathlib import Path

import pytest

from odradek.broker.cli.main import main
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from odradek.protocol.messages.current_leader import LeaderIdAndEpoch
from odradek.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from odradek.protocol.messages.quorum import (
    DescribedQuorumPartition,
    DescribedQuorumTopic,
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    ReplicaState,
)
from odradek.protocol.metadata_records import TopicRecord
from tests.adopted import METADATA_GOLDEN
from tests.broker.cli.conftest import Shell
from tests.fakes.controller import batch_of
from tests.fakes.scripted import ScriptedCluster, scripted_cluster

SNAPSHOT = METADATA_GOLDEN / "snapshot" / "log-dir"
DESCRIBE = ("cluster", "describe")


def test_a_broker_of_ours(shell: Shell) -> None:
    lines = shell.run(*DESCRIBE, "--check")
    assert lines[0].startswith("cluster ")
    assert lines[1].split() == [
        *("BROKER", "ADDRESS", "RACK", "STATE", "LEADS", "REPLICAS")
    ]
    (found,) = shell.run_json(*DESCRIBE)
    assert found["offline"] == found["underReplicated"] == []
    assert found["brokers"][0]["state"] == "ready"
    assert found["metadataOffset"] is None


def controller(script: ScriptedCluster) -> str:
    """One that leads, of a log with one topic."""
    topic = TopicRecord(name="t", topic_id=b"t" * 16)
    data = PartitionData(
        high_watermark=1,
        current_leader=LeaderIdAndEpoch(leader_id=1, leader_epoch=3),
        records=batch_of([topic], 0, 3),
    )
    fetched = FetchResponse(responses=[FetchableTopicResponse(partitions=[data])])
    voter = ReplicaState(replica_id=1, log_end_offset=1)
    partition = DescribedQuorumPartition(
        leader_id=1, leader_epoch=3, high_watermark=1, current_voters=[voter]
    )
    quorum = DescribeQuorumResponse(
        topics=[DescribedQuorumTopic(partitions=[partition])]
    )
    script.script(FetchRequest, lambda *_: fetched)
    script.script(DescribeQuorumRequest, lambda *_: quorum)
    described = DescribeClusterResponse(cluster_id="abc", endpoint_type=2)
    script.script(DescribeClusterRequest, lambda *_: described)
    return str(script.brokers[1].address)


def test_a_controller(capsys: pytest.CaptureFixture[str]) -> None:
    with scripted_cluster() as script:
        address = controller(script)
        given = [*DESCRIBE, "--bootstrap-controller", address, "--json", "--check"]
        assert main(given) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["clusterId"], found["metadataOffset"]) == ("abc", 0)
    assert found["quorum"]["nodes"] == [
        {"node": 1, "role": "leader", "logEnd": 1, "lag": 0, "behindMs": None}
    ]


def test_a_log_directory(capsys: pytest.CaptureFixture[str]) -> None:
    given = [*DESCRIBE, "--directory", str(SNAPSHOT), "--json"]
    assert main(given) == 0
    found = json.loads(capsys.readouterr().out)
    assert len(found["offline"]) == found["partitions"] > 0
    assert main([*given, "--check"]) == 1
    assert not capsys.readouterr().err


def test_one_that_cannot_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = [*DESCRIBE, "--directory", str(tmp_path)]
    assert main(given) == 1
    said = capsys.readouterr().err
    assert said.startswith("odradek cluster describe: there is no __cluster_metadata-0")
    target = tmp_path / "__cluster_metadata-0"
    shutil.copytree(SNAPSHOT / target.name, target)
    for path in target.glob("*.checkpoint"):
        path.unlink()
    log = target / f"{0:020d}.log"
    data = log.read_bytes()
    log.write_bytes(data[:100] + b"\xff" + data[101:])
    assert main([*given, "--json"]) == 1
    captured = capsys.readouterr()
    assert "is damaged at positions" in captured.err
    assert json.loads(captured.out)["error"]["code"] == "BAD_METADATA_LOG"


def test_nobody_there(capsys: pytest.CaptureFixture[str]) -> None:
    with scripted_cluster() as script:
        address = str(script.brokers[1].address)
    given = [*DESCRIBE, "--bootstrap-controller", address, "--timeout", "200ms"]
    assert main([*given, "--json"]) == 1
    captured = capsys.readouterr()
    assert f"{address}: Connection refused" in captured.err
    assert json.loads(captured.out)["error"]["code"] == "UNREACHABLE"


@pytest.mark.parametrize("other", ["--bootstrap-controller", "--bootstrap-server"])
def test_one_way_at_a_time(other: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*DESCRIBE, "--directory", "d", other, "c:1"])
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert "--directory" in said
    assert other in said


def test_a_broker_is_no_controller_and_the_other_way_round(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with scripted_cluster() as script:
        address = controller(script)
        data = PartitionData(error_code=ErrorCode.UNKNOWN_TOPIC_ID)
        topic = FetchableTopicResponse(partitions=[data])
        script.script(FetchRequest, lambda *_: FetchResponse(responses=[topic]))
        mismatch = DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE
        )
        script.script(DescribeClusterRequest, lambda *_: mismatch)
        assert main([*DESCRIBE, "--bootstrap-controller", address]) == 1
        assert "is asked with --bootstrap-server." in capsys.readouterr().err
        assert main([*DESCRIBE, "--bootstrap-server", address]) == 1
        assert "are asked with --bootstrap-controller." in capsys.readouterr().err
