from odradek.broker.cli.group.waits import by_topic, waits
from odradek.client.address import Address
from odradek.client.groups import GroupDescription, GroupMember
from odradek.client.metadata import Broker
from odradek.protocol.topic_partition import TopicPartition

COORDINATOR = Broker(1, Address("h", 1))


def orders(*partitions: int) -> list[TopicPartition]:
    return [TopicPartition("orders", each) for each in partitions]


def member(
    name: str, epoch: int, assigned: list[TopicPartition], target: list[TopicPartition]
) -> GroupMember:
    return GroupMember(name, None, name, "/h", assigned, epoch, target)


def waits_of(*members: GroupMember) -> list[str]:
    group = GroupDescription(
        "g", "Reconciling", "consumer", "consumer", "uniform", COORDINATOR, members, 7
    )
    return list(waits(group))


def test_nobody_waits_where_all_have_what_they_shall() -> None:
    assert not waits_of(
        member("c1", 7, orders(0, 1), orders(0, 1)), member("c2", 7, [], [])
    )


def test_who_has_it_still_is_waited_for() -> None:
    assert waits_of(
        member("c1", 6, orders(0, 2, 3), orders(0)),
        member("c2", 7, orders(1), orders(1, 2, 3)),
    ) == ["c2 (epoch 7 of 7) waits for c1 to give up orders:2,3"]


def test_each_that_is_waited_for_has_a_line() -> None:
    assert waits_of(
        member("c1", 6, orders(0, 1), orders(0)),
        member("c2", 6, orders(2, 3), orders(2)),
        member("c3", 7, [], orders(1, 3)),
    ) == [
        "c3 (epoch 7 of 7) waits for c1 to give up orders:1",
        "c3 (epoch 7 of 7) waits for c2 to give up orders:3",
    ]


def test_what_is_being_given_up_and_not_shown_is_with_those_behind() -> None:
    assert waits_of(
        member("c1", 6, orders(0), orders(0)),
        member("c2", 5, orders(2), orders(2)),
        member("c3", 7, [], orders(1)),
    ) == ["c3 (epoch 7 of 7) waits for c1 or c2 to give up orders:1"]


def test_what_is_free_comes_with_a_heartbeat() -> None:
    assert waits_of(member("c1", 6, [], orders(0))) == [
        "c1 (epoch 6 of 7) is given orders:0 with its next heartbeat"
    ]


def test_members_of_classic_groups_wait_for_nobody_in_particular() -> None:
    classic = GroupMember("c1", None, "c1", "/h", orders(0))
    group = GroupDescription(
        "g", "Stable", "classic", "consumer", "range", COORDINATOR, [classic]
    )
    assert not list(waits(group))


def test_partitions_are_named_by_topic() -> None:
    places = [*orders(0, 2), TopicPartition("payments", 1)]
    assert by_topic(places) == "orders:0,2 payments:1"


def test_topics_that_are_missing_are_waited_for() -> None:
    group = GroupDescription(
        *("g", "NotReady", "streams", "streams", "", COORDINATOR),
        [member("c1", 7, [], [])],
        7,
        ["lines", "words"],
    )
    assert list(waits(group)) == ["waits for topics: lines, words"]
    assert not list(waits(group._replace(members=[]))), "nobody waits"
