"""Stock consumers of committed records skip what was aborted, and see the rest."""

import contextlib

import confluent_kafka
import confluent_kafka.admin
import pytest

from tests.broker_process import BrokerProcess
from tests.clients.adapters import CLIENTS, COMMITTED, UNCOMMITTED
from tests.clients.consumers import Place
from tests.clients.producers import ConfluentProducer, Identity
from tests.patience import PATIENCE_S

Values = dict[int, bytes]
pytestmark = [
    # kafka-python leaves sockets to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.usefixtures("collected"),
    pytest.mark.parametrize("broker", ["uvloop"], indirect=True),
]


class Transactions:
    """Producers that write to one partition, each in a transaction of its own."""

    def __init__(self, broker: BrokerProcess, place: Place) -> None:
        self._address = broker.address
        self._place = place
        self._plain = confluent_kafka.Producer({"bootstrap.servers": broker.address})
        self._producers: dict[str, ConfluentProducer] = {}

    def produce(self, name: str, *values: bytes) -> None:
        if name not in self._producers:
            identity = Identity(f"{self._place.topic}-{name}")
            self._producers[name] = ConfluentProducer(self._address, identity)
            self._producers[name].begin()
        self._producers[name].send(self._place, *values)
        self._producers[name].flush()

    def plain(self, *values: bytes) -> None:
        """A batch for each."""
        for value in values:
            self._plain.produce(self._place.topic, value)
            assert self._plain.flush(30) == 0

    def commit(self, name: str) -> None:
        self._producers[name].commit()
        self._producers[name].begin()

    def abort(self, name: str) -> None:
        self._producers[name].abort()
        self._producers[name].begin()

    def close(self) -> None:
        for producer in self._producers.values():
            producer.close()

    def check(self, isolation: str, expected: Values) -> None:
        """Every client finds just these, by offset."""
        for client in CLIENTS:
            reads = client.consume(
                self._address, *self._place, len(expected), isolation
            )
            found = {read.offset: read.message.value for read in reads}
            assert found == expected, client.name


def test_aborted_records_are_skipped(broker: BrokerProcess, topic: str) -> None:
    """In a log of many segments, where transactions overlap."""
    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": broker.address})
    config = {"internal.segment.bytes": "500"}
    wanted = confluent_kafka.admin.NewTopic(topic, 1, 1, config=config)
    admin.create_topics([wanted])[topic].result(PATIENCE_S)
    with contextlib.closing(Transactions(broker, Place(topic, 0))) as log:
        log.plain(b"plain")  # 0
        log.produce("seven", b"kept", b"kept too")  # 1, 2
        log.produce("eight", b"aborted")  # 3
        log.plain(*[b"between"] * 20)  # 4 to 23
        log.produce("eight", b"aborted far behind", b"and this")  # 24, 25
        log.commit("seven")  # 26
        log.abort("eight")  # 27
        log.produce("eight", b"kept of the same producer")  # 28
        log.commit("eight")  # 29
        log.produce("nine", b"undecided")  # 30
        log.plain(b"behind it")  # 31
        decided = {0: b"plain", 1: b"kept", 2: b"kept too"}
        decided |= dict.fromkeys(range(4, 24), b"between")
        decided |= {28: b"kept of the same producer"}
        log.check(COMMITTED, decided)
        log.commit("nine")  # 32
        decided |= {30: b"undecided", 31: b"behind it"}
        log.check(COMMITTED, decided)
        aborted = {3: b"aborted", 24: b"aborted far behind", 25: b"and this"}
        log.check(UNCOMMITTED, decided | aborted)
