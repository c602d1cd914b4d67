from odradek.client.cluster import Cluster
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cli.conftest import Shell
from tests.client.live import create_topic
from tests.client.live_transactions import Producer, write

LONG_AGO_MS = 1_767_225_600_000


def test_what_no_coordinator_will_end_is_found(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "find", 3)
    old, new, owned = (TopicPartition("find", number) for number in range(3))
    write(cluster, old, 777_002, epoch=4, timestamp_ms=LONG_AGO_MS)
    write(cluster, new, 777_003)
    producer = Producer(cluster, "find")
    producer.add(owned)
    producer.write(owned)
    head, row = shell.txn("find-hanging", "--topic", "find")
    assert head.split() == ["TOPIC", "PARTITION", "PRODUCER-ID", "EPOCH"] + [
        "START-OFFSET",
        "LAST-RECORD",
        "SILENT-FOR",
    ]
    assert row.split()[:6] == ["find", "0", "777002", "4", "0"] + [
        "2026-01-01T00:00:00.000Z"
    ]
    found = shell.txn_json("find-hanging", "--older-than", "0ms")
    places = [
        (each["topic"], each["partition"], each["producerId"])
        for each in found
        if each["topic"] == "find"
    ]
    assert places == [("find", 0, 777_002), ("find", 1, 777_003)]
    assert shell.txn("find-hanging", "--topic", "find:1,2") == ["nothing hangs"]
    for number, start in ((0, "0"), (1, "0")):
        where = ("--topic", "find", "--partition", str(number))
        shell.txn("abort", *where, "--start-offset", start, "--execute")
    producer.end(commit=True)


def test_a_topic_that_there_is_not(shell: Shell) -> None:
    assert shell.txn("find-hanging", "--topic", "find-none", code=1) == []
    assert shell.error.startswith("odradek txn find-hanging: find-none: ")
