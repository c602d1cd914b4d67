import argparse
from typing import Any

import pytest

from odradek.broker.cli.arguments.refusals import Refused
from odradek.broker.cli.group.plan import Move, Target, plan, scope, target_of
from odradek.client.cluster import Cluster
from odradek.client.list_offsets import EARLIEST, LATEST
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.scripted import ScriptedCluster, scripted_cluster

PLACE = TopicPartition("t", 0)
PAST = "is past the end, which is taken instead"
LOG_START, LOG_END = 10, 50  # the record of offset n is of the time n * 100


def answer(request: ListOffsetsRequest, version: int) -> ListOffsetsResponse:
    """What a log says that has lost its first records."""
    time = request.topics[0].partitions[0].timestamp
    places = {EARLIEST: LOG_START, LATEST: LOG_END}
    offset = places.get(time, max(LOG_START, -(-time // 100)))
    if time > (LOG_END - 1) * 100:
        offset = -1
    partition = ListOffsetsPartitionResponse(partition_index=0, offset=offset)
    topic = ListOffsetsTopicResponse(name="t", partitions=[partition])
    return ListOffsetsResponse(topics=[topic])


def a_log(script: ScriptedCluster) -> None:
    script.leaders = {"t": [1], "u": [1, 1, 1], "orders": [1]}
    script.script(ListOffsetsRequest, answer)


def planned(target: Target, current: int | None = 30) -> Move:
    committed = {} if current is None else {PLACE: current}
    with scripted_cluster() as script, script.client() as cluster:
        a_log(script)
        (move,) = plan(cluster, [PLACE], committed, target)
    assert (move.place, move.current) == (PLACE, current)
    return move


@pytest.mark.parametrize(
    ("target", "offset", "note"),
    [
        (Target(timestamp=EARLIEST), 10, ""),
        (Target(timestamp=LATEST), 50, ""),
        (Target(timestamp=2000), 20, ""),
        (Target(timestamp=2001), 21, ""),
        (Target(timestamp=0), 10, ""),
        (Target(timestamp=4901), 50, "no record since then; the end is taken"),
        (Target(offset=10), 10, ""),
        (Target(offset=50), 50, ""),
        (Target(offset=9), 10, "9 is before the beginning, which is taken instead"),
        (Target(offset=-1), 10, "-1 is before the beginning, which is taken instead"),
        (Target(offset=51), 50, f"51 {PAST}"),
        (
            Target(offset=1 << 70),
            50,
            f"{1 << 70} {PAST}",
        ),
        (Target(shift=5), 35, ""),
        (Target(shift=0), 30, ""),
        (Target(shift=-20), 10, ""),
        (Target(shift=-21), 10, "9 is before the beginning, which is taken instead"),
        (Target(shift=21), 50, f"51 {PAST}"),
    ],
)
def test_the_new_offset_is_one_that_the_log_has(
    target: Target, offset: int, note: str
) -> None:
    move = planned(target)
    assert (move.offset, move.note) == (offset, note)


def test_what_is_not_committed_can_be_set_but_not_shifted() -> None:
    assert planned(Target(offset=20), None).offset == 20
    with pytest.raises(Refused, match="nothing is committed that could") as refused:
        planned(Target(shift=1), None)
    assert refused.value.what == "t-0"


def test_a_log_that_does_not_answer_is_a_reason_to_do_nothing() -> None:
    def refuse(request: ListOffsetsRequest, version: int) -> ListOffsetsResponse:
        response = answer(request, version)
        response.topics[0].partitions[0].error_code = ErrorCode.KAFKA_STORAGE_ERROR
        return response

    with scripted_cluster() as script, script.client() as cluster:
        a_log(script)
        script.script(ListOffsetsRequest, refuse)
        with pytest.raises(Refused) as refused:
            plan(cluster, [PLACE], {}, Target(offset=1))
        assert refused.value.what == "t-0"
        assert refused.value.name == "KAFKA_STORAGE_ERROR"


def arguments(**given: Any) -> argparse.Namespace:
    names = ("to_offset", "to_datetime", "by_duration", "shift_by")
    nothing = {**dict.fromkeys(names), "to_earliest": False, "to_latest": False}
    return argparse.Namespace(**{**nothing, **given})


@pytest.mark.parametrize(
    ("given", "target"),
    [
        ({"to_earliest": True}, Target(timestamp=EARLIEST)),
        ({"to_latest": True}, Target(timestamp=LATEST)),
        ({"to_offset": 0}, Target(offset=0)),
        ({"to_datetime": 0}, Target(timestamp=0)),
        ({"by_duration": 2000}, Target(timestamp=98_000)),
        ({"by_duration": 200_000}, Target(timestamp=0)),
        ({"shift_by": 0}, Target(shift=0)),
    ],
)
def test_what_the_arguments_mean(given: dict[str, Any], target: Target) -> None:
    assert target_of(arguments(**given), lambda: 100.0) == target


def scoped(asked: list[tuple[str, tuple[int, ...] | None]]) -> list[TopicPartition]:
    with scripted_cluster() as script:
        a_log(script)
        with script.client() as cluster:
            return scope(cluster, asked, {})


def test_the_partitions_that_are_meant() -> None:
    assert scoped([("u", None)]) == [("u", 0), ("u", 1), ("u", 2)]
    assert scoped([("u", (2,)), ("t", None), ("u", (0, 2))]) == [
        ("t", 0),
        ("u", 0),
        ("u", 2),
    ]
    with pytest.raises(Refused, match="Topic t has no partition 7, only 0"):
        scoped([("t", (0, 7))])
    with pytest.raises(Refused, match="Topic u has no partition 3, only 0 to 2"):
        scoped([("u", (3,))])


def test_a_topic_that_is_not_there_may_be_another_one() -> None:
    with pytest.raises(Refused, match=r"^This broker has .* Did you mean orders\?$"):
        scoped([("u", None), ("order", None)])
    with pytest.raises(Refused) as refused:
        scoped([("quite-another", None)])
    assert refused.value.what == "quite-another"
    assert refused.value.name == "UNKNOWN_TOPIC_OR_PARTITION"
    assert "Did you" not in str(refused.value)


def test_all_topics_are_those_that_are_committed() -> None:
    committed = {
        TopicPartition("b", 1): 1,
        TopicPartition("a", 3): 1,
    }
    with Cluster([]) as nobody:
        assert scope(nobody, [], committed) == [("a", 3), ("b", 1)]
        with pytest.raises(Refused, match="nothing is committed; name topics"):
            scope(nobody, [], {})
