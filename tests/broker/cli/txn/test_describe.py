from odradek.broker.cli.txn.describe import Described, Part
from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.metadata import Broker
from odradek.client.producers import ActiveProducer
from odradek.client.transactions import TransactionDescription
from odradek.protocol.errors import LeaderNotAvailable
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cli.conftest import Shell
from tests.client.live import create_topic
from tests.client.live_transactions import TIMEOUT_MS, Producer

BROKER = Broker(1, Address("h", 9092))
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))
START_MS = 1_767_225_600_000


def test_what_it_says() -> None:
    transaction = TransactionDescription(
        "a\nb", "Ongoing", 7, 3, 90_000, START_MS, [T0, T1, T2], BROKER
    )
    producer = ActiveProducer(T0, 7, 3, 0, START_MS + 250, -1, 42)
    parts = [
        Part(T0, producer, None),
        Part(T1, None, None),
        Part(T2, None, LeaderNotAvailable("nobody leads")),
    ]
    assert list(Described(transaction, parts).text(START_MS + 3_725_000)) == [
        r"transaction a\nb: Ongoing, producer 7 (epoch 3), timeout 1m 30s, coordinator"
        " 1 (h:9092)",
        "open since 2026-01-01T00:00:00.000Z (1h 2m)",
        "TOPIC  PARTITION  START-OFFSET  LAST-RECORD",
        "t              0            42  2026-01-01T00:00:00.250Z",
        "t              1             -  -",
        "t              2             -  -",
        "t-2: nobody leads",
    ]


def test_transactions_are_described(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, "txn-seen", 2)
    first, second = TopicPartition("txn-seen", 0), TopicPartition("txn-seen", 1)
    Producer(cluster, "seen-idle")
    busy = Producer(cluster, "seen-busy")
    busy.add(first, second)
    busy.write(first)
    given = ("seen-busy", "seen-none", "seen-idle", "seen-busy")
    title, since, head, *rows, empty, idle = shell.txn("describe", *given, code=1)
    assert title.startswith(
        f"transaction seen-busy: Ongoing, producer {busy.producer_id} (epoch 0),"
        " timeout 1m, coordinator 1"
    )
    assert since.startswith("open since 20")
    assert head.split() == ["TOPIC", "PARTITION", "START-OFFSET", "LAST-RECORD"]
    assert [row.split()[:3] for row in rows] == [
        ["txn-seen", "0", "0"],
        ["txn-seen", "1", "-"],
    ]
    assert empty == ""
    assert idle.startswith("transaction seen-idle: Empty, producer ")
    assert shell.error.startswith("odradek txn describe: seen-none: ")
    assert shell.error.count("\n") == 1
    for action in ("describe", "abort"):
        shell.txn(action, "seen-bussy", code=1)
        assert shell.error.endswith(" Did you mean seen-busy?\n")

    (found,) = shell.txn_json("describe", "seen-busy")
    assert found.pop("coordinator").keys() == {"id", "host", "port"}
    begun, nothing = found.pop("partitions")
    assert begun.pop("lastTimestampMs") >= found.pop("startTimeMs") - 1000
    where = {"topic": "txn-seen", "partition": 0}
    assert begun == {**where, "startOffset": 0, "error": None}
    assert nothing["startOffset"] is None
    assert found == {
        "transactionalId": "seen-busy",
        "state": "Ongoing",
        "producerId": busy.producer_id,
        "producerEpoch": 0,
        "timeoutMs": TIMEOUT_MS,
    }
    busy.end(commit=True)
