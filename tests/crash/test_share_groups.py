"""A broker, and members, are killed again and again while a share group works.

Each record is accepted in the end, and none comes again whose acceptance was answered.
"""

import random
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.fetcher import FetchLimits
from odradek.client.producer import Producer
from odradek.client.share_consumer import ShareConsumer
from odradek.client.share_session import ACCEPT, Outcome, ShareSession
from odradek.client.topics import NewTopic, create_topic
from odradek.protocol.errors import KafkaError, MalformedRequest
from odradek.protocol.records import NewRecord
from odradek.protocol.uuids import random_uuid, to_text
from tests.broker_process import BrokerProcess, running_broker
from tests.client.share_groups import begin_with_the_first
from tests.patience import PATIENCE_S

TOPIC, GROUP, PARTITIONS = "work", "workers", 2
LIMITS = FetchLimits(max_wait_ms=100)


class Ledger:
    """What was handed out, and what was answered to be accepted.

    What was said and not answered may be accepted, or come again. It is over when
    something was said of every record, and nobody gets any more.
    """

    def __init__(self, count: int) -> None:
        self.count = count
        self.answered: set[tuple[int, int]] = set()
        self.said: set[tuple[int, int]] = set()
        self.busy: set[threading.Thread] = set()
        self.faults: list[str] = []
        self.is_over = threading.Event()
        self._lock = threading.Lock()

    def note_given(self, partition: int, first: int, last: int) -> None:
        with self._lock:
            for offset in range(first, last + 1):
                if (partition, offset) in self.answered:
                    self.faults.append(f"{partition}/{offset} came again")

    def note_said(self, partition: int, first: int, last: int) -> None:
        with self._lock:
            self.said.update((partition, each) for each in range(first, last + 1))

    def note_answered(self, partition: int, first: int, last: int) -> None:
        with self._lock:
            self.answered.update((partition, each) for each in range(first, last + 1))

    def note_round(self, worker: threading.Thread, *, is_idle: bool) -> None:
        with self._lock:
            (self.busy.discard if is_idle else self.busy.add)(worker)
            if self.faults or (not self.busy and len(self.said) >= self.count):
                self.is_over.set()


class Worker(threading.Thread):
    """Takes records and accepts them, in one session after the other."""

    def __init__(self, port: int, topic_id: bytes, ledger: Ledger) -> None:
        super().__init__()
        self._port, self._topic_id, self._ledger = port, topic_id, ledger
        self._chance = random.Random(11)

    def run(self) -> None:
        while not self._ledger.is_over.is_set():
            self._ledger.note_round(self, is_idle=False)
            with suppress(KafkaError, OSError, MalformedRequest):
                self._work()
            time.sleep(0.02)

    def _work(self) -> None:
        with Cluster([Address("127.0.0.1", self._port)], timeout_s=5) as cluster:
            member_id = to_text(random_uuid())
            session = ShareSession(cluster, -1, GROUP, member_id)
            places = [(self._topic_id, each) for each in range(PARTITIONS)]
            while not self._ledger.is_over.is_set():
                if self._chance.random() < 0.05:
                    return  # without a word, as who was killed
                told = dict(session.outcomes)
                for place, outcomes in told.items():
                    for first, last, _ in outcomes:
                        self._ledger.note_said(place[1], first, last)
                refused = set()
                for place, data in session.fetch(places, LIMITS, 50):
                    if data.acknowledge_error_code:
                        refused.add(place)
                    for each in data.acquired_records:
                        first, last = each.first_offset, each.last_offset
                        self._ledger.note_given(place[1], first, last)
                        session.say(place, Outcome(first, last, ACCEPT))
                for place, outcomes in told.items():
                    for first, last, _ in outcomes if place not in refused else ():
                        self._ledger.note_answered(place[1], first, last)
                is_idle = not told and not session.outcomes
                self._ledger.note_round(self, is_idle=is_idle)


def played(broker: BrokerProcess, count: int, kills: int) -> Ledger:
    with Cluster([Address("127.0.0.1", broker.port)], timeout_s=PATIENCE_S) as cluster:
        topic_id = create_topic(cluster, NewTopic(TOPIC, PARTITIONS)).topic_id
        begin_with_the_first(cluster, GROUP)
        with Producer(cluster) as producer:
            for value in range(count):
                record = NewRecord(None, b"%d" % value, 1000)
                producer.send(TOPIC, record, value % PARTITIONS)
        member = ShareConsumer(cluster, GROUP, [TOPIC])  # so that the group begins
        member._stay()
        ledger = Ledger(count)
        workers = [Worker(broker.port, topic_id, ledger) for _ in range(3)]
        for each in workers:
            each.start()
        chance = random.Random(7)
        for _ in range(kills):
            if ledger.is_over.wait(chance.uniform(0.1, 0.5)):
                break
            broker.kill()
            broker.start()
        ledger.is_over.wait(PATIENCE_S)
        is_whole = ledger.is_over.is_set()
        ledger.is_over.set()
        for each in workers:
            each.join(PATIENCE_S)
        assert is_whole, f"{len(ledger.answered)} and {len(ledger.said)} of {count}"
        assert len(ledger.said) == count
        return ledger


@pytest.mark.parametrize(
    ("count", "kills"),
    [(3_000, 4), pytest.param(100_000, 20, marks=pytest.mark.long)],
)
def test_g022_nothing_is_lost_and_nothing_accepted_comes_again(
    tmp_path: Path, count: int, kills: int
) -> None:
    with running_broker(tmp_path / "data", "-o", "durability=commit") as broker:
        ledger = played(broker, count, kills)
        assert not ledger.faults, ledger.faults[:5]
        assert "Traceback" not in broker.log()
