"""Transactional producers while their broker is stopped, or killed, and started again.

Their connections break; what they have begun they end behind it, as if nothing were.
"""

import contextlib
import itertools
import os
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess, running_broker
from tests.clients.adapters import CLIENTS, COMMITTED, Client, Confluent, by_name
from tests.clients.conftest import OPTIONS
from tests.clients.consumers import Place
from tests.clients.members import until
from tests.clients.producers import PRODUCERS, Identity, Producer
from tests.clients.questions import ends

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
PICKED = (1, 2, 5, 6), (0, 3, 4, 7)
PLACES = [Place("t", 0), Place("t", 1)]
STOPS = BrokerProcess.terminate, BrokerProcess.kill
# kafka-python leaves sockets to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.usefixtures("collected"),
]


class Restarts:
    """The broker goes at one step of each transaction, one way and the other."""

    def __init__(self, broker: BrokerProcess) -> None:
        self._broker = broker
        self._step = "none"
        self._stop = BrokerProcess.kill

    def next_transaction(self, number: int, step: str) -> None:
        self._step = step
        self._stop = STOPS[(number + number // 2) % 2]

    def at(self, step: str) -> None:
        if step == self._step:
            self._stop(self._broker)
            self._broker.start()


def transact(
    producer: Producer, value: bytes, restarts: Restarts, *, commits: bool
) -> None:
    """The same value to every place."""
    producer.begin()
    for place in PLACES:
        producer.send(place, value)
        producer.flush()
        restarts.at(f"sent to {place.partition}")
    (producer.commit if commits else producer.abort)()
    restarts.at("ended")


@pytest.mark.parametrize("client", CLIENTS, ids=by_name)
def test_a_producer_goes_on(tmp_path: Path, client: Client) -> None:
    kept = []
    with running_broker(tmp_path / "data", *OPTIONS) as broker:
        Confluent().create_topic(broker.address, "t", len(PLACES))
        restarts = Restarts(broker)
        steps = ["sent to 0", "sent to 1", "ended", "none"]
        producer = PRODUCERS[client.name](broker.address, Identity("producer"))
        with contextlib.closing(producer):
            cases = list(itertools.product(steps, [False, True]))
            if not IS_LONG:  # each step once; the next client has the other ends
                picked = PICKED[CLIENTS.index(client) % 2]
                cases = [cases[number] for number in picked]
            for number, (step, commits) in enumerate(cases):
                restarts.next_transaction(number, step)
                value = b"%d" % number
                transact(producer, value, restarts, commits=commits)
                kept += [value] if commits else []
        for place in PLACES:
            reads = client.consume(broker.address, *place, len(kept), COMMITTED)
            assert [read.message.value for read in reads] == kept
            until(lambda: len({*ends(broker, *place)}) == 1, "decided")  # noqa: B023
        assert "Traceback" not in broker.log()
