import pytest

from odradek.broker.cli.main import main
from odradek.broker.cli.topic.describe import Described, _described
from odradek.client.cluster import Cluster
from odradek.client.list_offsets import EARLIEST
from odradek.client.records_deletion import delete_records
from odradek.client.topics import NewTopic, create_topic, describe_topics
from odradek.protocol.messages.list_offsets import (
    EpochEndOffset,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cli.conftest import Shell
from tests.client.live import produce
from tests.fakes.scripted import ScriptedCluster, scripted_cluster

T = TopicPartition("t", 0)
EPOCH = 7


def test_partitions_offsets_and_options(cluster: Cluster, shell: Shell) -> None:
    config = {"retention.bytes": "100000"}
    create_topic(cluster, NewTopic("described", 2, configs=config))
    produce(cluster, "described", 1, [1, 2, 3])
    delete_records(cluster, {TopicPartition("described", 1): 1})
    title, option, *rest = shell.run("topic", "describe", "described")
    assert title.startswith("topic described: 2 partitions, id ")
    assert option == "  retention.bytes=100000"
    assert rest == [
        "PARTITION  LEADER  REPLICAS  IN-SYNC  START  END  LOG-END  RECORDS",
        "        0       1         1        1      0    0        0        0",
        "        1       1         1        1      1    3        3        2",
    ]
    (found,) = shell.run_json("topic", "describe", "described")
    assert found["configs"] == config
    assert found["partitions"][1] == {
        "partition": 1,
        "leader": 1,
        "replicas": [1],
        "inSync": [1],
        "offline": [],
        "start": 1,
        "end": 3,
        "logEnd": 3,
    }
    all_of_them = shell.run_json("topic", "describe", "--all")
    assert found in all_of_them


def test_one_that_is_missing_is_no_reason_to_keep_the_others(
    cluster: Cluster, shell: Shell
) -> None:
    create_topic(cluster, NewTopic("kept", 1))
    lines = shell.run("topic", "describe", "kept", "not-kept", code=1)
    assert lines[0].startswith("topic kept: 1 partition, id ")
    assert shell.error.startswith(
        "odradek topic describe: not-kept: UNKNOWN_TOPIC_OR_PARTITION: "
    )


@pytest.mark.parametrize("given", [[], ["t", "--all"]])
def test_either_names_or_all(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["topic", "describe", *given])
    assert ended.value.code == 2
    assert "say which topics, or --all" in capsys.readouterr().err


def described(script: ScriptedCluster, ends: list[int]) -> Described:
    """A partition whose high watermark is each of ``ends`` when it is asked for."""

    def answer(asked: ListOffsetsRequest, version: int) -> ListOffsetsResponse:
        is_start = asked.topics[0].partitions[0].timestamp == EARLIEST
        partition = ListOffsetsPartitionResponse(
            partition_index=0,
            offset=0 if is_start else ends.pop(0),
            leader_epoch=EPOCH,
        )
        topic = ListOffsetsTopicResponse(name="t", partitions=[partition])
        return ListOffsetsResponse(topics=[topic])

    script.leaders["t"] = [1]
    script.script(ListOffsetsRequest, answer)
    with script.client() as cluster:
        return _described(cluster, describe_topics(cluster, ["t"]).found["t"])


def log_end_is(script: ScriptedCluster, offset: int, epoch: int = EPOCH) -> None:
    partition = EpochEndOffset(partition=0, leader_epoch=epoch, end_offset=offset)
    topic = OffsetForLeaderTopicResult(topic="t", partitions=[partition])
    answer = OffsetForLeaderEpochResponse(topics=[topic])
    script.script(OffsetForLeaderEpochRequest, lambda asked, version: answer)


def test_what_no_consumer_sees_yet_is_shown() -> None:
    with scripted_cluster() as script:
        log_end_is(script, 9)
        found = described(script, [5, 6])
    assert (found.ends, found.log_ends) == ({T: 6}, {T: 9})
    (partition,) = found.as_json()["partitions"]
    assert (partition["end"], partition["logEnd"]) == (6, 9)
    assert list(found.text())[-1].split()[-3:] == ["6", "9", "6"]


def test_what_is_written_while_it_is_asked_is_not_taken_for_unseen() -> None:
    with scripted_cluster() as script:
        log_end_is(script, 9)
        assert described(script, [5, 12]).log_ends == {T: 12}


def test_who_does_not_say_where_its_log_ends() -> None:
    with scripted_cluster() as script:  # it does not know this request
        found = described(script, [5, 5])
        assert (found.ends, found.log_ends) == ({T: 5}, {})
        assert list(found.text())[-1].split()[-3:] == ["5", "-", "5"]
    with scripted_cluster() as script:  # nor its newest epoch
        log_end_is(script, -1, epoch=-1)
        assert described(script, [5, 5]).log_ends == {}
