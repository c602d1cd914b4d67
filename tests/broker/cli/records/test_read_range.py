import argparse

import pytest

from odradek.broker.cli.records.read_range import (
    Bounds,
    Edge,
    bounds_of,
    offsets_of,
    parse_edge,
)
from odradek.client.cluster import Cluster
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
