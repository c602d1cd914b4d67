import argparse

import pytest

from odradek.broker.cli.arguments.refusals import Refused
from odradek.broker.cli.records.read_range import (
    Bounds,
    Edge,
    bounds_of,
    check_offset,
    offsets_of,
    parse_edge,
)
from odradek.client.cluster import Cluster
from odradek.client.records_deletion import delete_records
from odradek.protocol.errors import UnknownTopicOrPartition
from odradek.protocol.topic_partition import TopicPartition
from tests.client.live import create_topic, produce


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("beginning", Edge()),
        ("end", Edge(before_end=0)),
        ("42", Edge(offset=42)),
        ("-10", Edge(before_end=10)),
        ("@1000", Edge(time_ms=1000)),
        ("@1970-01-01T00:00:02Z", Edge(time_ms=2000)),
    ],
)
def test_edges(text: str, expected: Edge) -> None:
    assert parse_edge(text) == expected


@pytest.mark.parametrize("text", ["", "x", "-", "@", "@soon", "1.5", "--1"])
def test_what_is_no_edge(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="write"):
        parse_edge(text)


def test_offsets_within_the_log(cluster: Cluster) -> None:
    create_topic(cluster, "ranged", 2)
    full, empty = TopicPartition("ranged", 0), TopicPartition("ranged", 1)
    produce(cluster, "ranged", 0, [1000, 2000, 3000])
    bounds = bounds_of(cluster, [full, empty], committed=True)
    assert bounds == {full: Bounds(0, 3), empty: Bounds(0, 0)}
    for edge, expected in {
        Edge(): 0,
        Edge(before_end=0): 3,
        Edge(before_end=2): 1,
        Edge(before_end=9): 0,
        Edge(offset=2): 2,
        Edge(offset=9): 9,
        Edge(time_ms=1500): 1,
        Edge(time_ms=5000): 3,
    }.items():
        found = offsets_of(cluster, edge, bounds, committed=True)
        assert found[full] == expected, edge
    with pytest.raises(UnknownTopicOrPartition, match="ranged-7: "):
        bounds_of(cluster, [TopicPartition("ranged", 7)], committed=True)


def test_an_offset_must_be_in_one_of_the_logs(cluster: Cluster) -> None:
    create_topic(cluster, "holding", 3)
    long, short, empty = places = [TopicPartition("holding", n) for n in range(3)]
    produce(cluster, "holding", 0, [1000] * 9)
    produce(cluster, "holding", 1, [1000] * 4)
    ends = {long: 9, short: 4, empty: 0}
    assert check_offset(cluster, Edge(before_end=99), places, {}) == []
    assert check_offset(cluster, Edge(offset=9), [long], {}) == []  # the next one
    assert check_offset(cluster, Edge(offset=7), places, ends) == []  # short has none
    extents = (
        "there is no offset {}: holding-0 has 0 to 8, holding-1 has 0 to 3, holding-2"
        " is empty, and its next offset is 0"
    )
    with pytest.raises(Refused) as refused:  # it would show earlier ones of short
        check_offset(cluster, Edge(offset=7), places, {})
    assert str(refused.value) == extents.format(7)
    with pytest.raises(Refused) as refused:
        check_offset(cluster, Edge(offset=10), places, ends)
    assert str(refused.value) == extents.format(10)


def test_partitions_that_never_had_a_record_are_counted(cluster: Cluster) -> None:
    create_topic(cluster, "blank", 9)
    places = [TopicPartition("blank", n) for n in range(9)]
    with pytest.raises(Refused, match=r"no offset 5: all 9 partitions are empty$"):
        check_offset(cluster, Edge(offset=5), places, {})
    produce(cluster, "blank", 3, [1000] * 2)
    produce(cluster, "blank", 4, [1000])
    held = r"no offset 5: blank-3 has 0 to 1, blank-4 has 0 to 0, 7 others are empty$"
    with pytest.raises(Refused, match=held):
        check_offset(cluster, Edge(offset=5), places, {})


def test_an_offset_that_was_removed_is_told(cluster: Cluster) -> None:
    create_topic(cluster, "removing", 2)
    cut, _ = places = [TopicPartition("removing", n) for n in range(2)]
    for place in places:
        produce(cluster, "removing", place.partition, [1000] * 5)
    delete_records(cluster, {cut: 3})
    assert check_offset(cluster, Edge(offset=1), places, {}) == [
        "removing-0 no longer has offset 1; it begins at 3"
    ]
    with pytest.raises(Refused, match="there is no offset 1: removing-0 has 3 to 4"):
        check_offset(cluster, Edge(offset=1), [cut], {})
