import pytest

from odradek.client.cluster import Cluster
from odradek.client.transactions import describe_transaction
from odradek.protocol.errors import ProducerFenced
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cli.conftest import Shell
from tests.client.live import create_topic
from tests.client.live_transactions import Producer, write

DRY_RUN = "nothing was changed (dry run); --execute does it"


def test_a_transaction_is_aborted(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "aborted", 1)
    place = TopicPartition("aborted", 0)
    producer = Producer(cluster, "aborted")
    producer.add(place)
    producer.write(place)
    title, *_, last = shell.txn("abort", "aborted")
    assert title.startswith("transaction aborted: Ongoing, ")
    assert last == DRY_RUN
    assert describe_transaction(cluster, "aborted").state == "Ongoing"
    (shown,) = shell.txn_json("abort", "aborted", "--dry-run")
    assert (shown["state"], shown["executed"]) == ("Ongoing", False)

    assert shell.txn("abort", "aborted", "--execute")[-1] == (
        "aborted; its producer is shut out"
    )
    assert describe_transaction(cluster, "aborted").state == "Empty"
    with pytest.raises(ProducerFenced):
        producer.end(commit=True)
    assert shell.txn("abort", "aborted", "--execute", code=1) == []
    assert shell.error == "odradek txn abort: aborted: nothing is open (Empty)\n"


def test_a_transactional_id_that_there_is_not(shell: Shell) -> None:
    assert shell.txn("abort", "abort-none", "--execute", code=1) == []
    assert shell.error.startswith("odradek txn abort: abort-none: ")


def test_what_hangs_is_aborted(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "abort-hanging", 1)
    place = TopicPartition("abort-hanging", 0)
    write(cluster, place, 777_001)
    where = ("--topic", place.topic, "--partition", "0", "--start-offset")
    assert shell.txn("abort", *where, "0") == [
        "abort-hanging-0: producer 777001 (epoch 0), open from offset 0 on",
        DRY_RUN,
    ]
    assert shell.txn("abort", *where, "1", code=1) == []
    assert shell.error == (
        "odradek txn abort: abort-hanging-0: no transaction is open from offset 1 on\n"
    )
    (done,) = shell.txn_json("abort", *where, "0", "--execute")
    assert done.pop("lastTimestampMs") > 0
    assert done == {
        "topic": "abort-hanging",
        "partition": 0,
        "producerId": 777_001,
        "producerEpoch": 0,
        "coordinatorEpoch": -1,
        "startOffset": 0,
        "executed": True,
    }
    assert shell.txn("abort", *where, "0", "--execute", code=1) == []


def test_what_a_coordinator_owns_is_aborted_by_its_name(
    cluster: Cluster, shell: Shell
) -> None:
    create_topic(cluster, "abort-owned", 1)
    place = TopicPartition("abort-owned", 0)
    producer = Producer(cluster, "abort-owner")
    producer.add(place)
    producer.write(place)
    where = ("--topic", place.topic, "--partition", "0", "--start-offset", "0")
    assert shell.txn("abort", *where, "--execute", code=1) == []
    assert shell.error == (
        "odradek txn abort: abort-owned-0: it belongs to abort-owner, which is"
        " Ongoing: abort that\n"
    )
    producer.end(commit=True)


def test_what_its_producer_did_not_tell_the_coordinator(
    cluster: Cluster, shell: Shell
) -> None:
    create_topic(cluster, "abort-half", 2)
    told, untold = TopicPartition("abort-half", 0), TopicPartition("abort-half", 1)
    producer = Producer(cluster, "abort-half")
    producer.add(told)
    producer.write(untold)
    where = ("--topic", untold.topic, "--partition", "1", "--start-offset", "0")
    assert shell.txn("abort", *where, "--execute", code=1) == []
    assert "Perhaps its producer has something open elsewhere" in shell.error
    shell.txn("abort", "abort-half", "--execute")
    assert shell.txn("abort", *where, "--execute")[-1] == "aborted"


def test_a_partition_that_there_is_not(shell: Shell) -> None:
    where = ("--topic", "abort-no", "--partition", "3", "--start-offset", "0")
    assert shell.txn("abort", *where, code=1) == []
    assert shell.error.startswith("odradek txn abort: abort-no-3: ")


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["t", "--topic", "x"],
        ["--topic", "x", "--partition", "0"],
        ["t", "--topic", "x", "--partition", "0", "--start-offset", "0"],
        ["--topic", "x", "--partition", "-1", "--start-offset", "0"],
        ["t", "--execute", "--dry-run"],
        ["t", "u"],
    ],
)
def test_bad_usage(arguments: list[str], shell: Shell) -> None:
    with pytest.raises(SystemExit) as ended:
        shell.txn("abort", *arguments)
    assert ended.value.code == 2
