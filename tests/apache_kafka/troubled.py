"""Three brokers with a copy of everything, and the trouble that they get in.

Others reach a broker of odradek through a proxy, which loses what goes one way. Clients
reach it past that: it serves them, while it hears nothing of others or is not heard.
"""

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from confluent_kafka import admin

from tests.apache_kafka.node import KafkaNode, free_ports
from tests.apache_kafka.test_join import Joined
from tests.broker_process import BrokerProcess
from tests.client.live import wait_until
from tests.fakes.one_way_proxy import FROM, TO, OneWayProxy
from tests.patience import PATIENCE_S

KAFKA = 1
ALL_OURS, MIXED = (2, 3, 4), (KAFKA, 2, 3)
SESSION_S = 3.0
COORDINATORS = ("__consumer_offsets", "__transaction_state")
PARTITIONS = 3
OPTIONS = {
    "offsets.topic.num.partitions": str(PARTITIONS),
    "transaction.state.log.num.partitions": str(PARTITIONS),
    "group.min.session.timeout.ms": "500",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    # So that who is away, or lags, is soon without a say.
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "1000",
    "replica.lag.time.max.ms": "2000",
}
_OF_CONTROLLERS = frozenset({"broker.session.timeout.ms"})
_INSIDE = "INSIDE"
_PROTOCOLS = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,INSIDE:PLAINTEXT"


class Troubled(Joined):
    """The brokers with copies, by their ids, and the proxies before ours."""

    def __init__(self, root: Path, kafka: KafkaNode, ids: Sequence[int]) -> None:
        self.kafka = kafka
        self.ids = tuple(ids)
        self.proxies: dict[int, OneWayProxy] = {}
        self.brokers_of_ours: dict[int, BrokerProcess] = {}
        for number in ids:
            if number != KAFKA:
                self.brokers_of_ours[number] = self._made(root, number)

    def _made(self, root: Path, number: int) -> BrokerProcess:
        (inside,) = free_ports(1)
        proxy = self.proxies[number] = OneWayProxy(inside)
        options = {name: OPTIONS[name] for name in OPTIONS.keys() - _OF_CONTROLLERS}
        broker = self.broker(root / f"broker-{number}", node_id=str(number), **options)
        broker.options += [
            f"-olisteners=PLAINTEXT://127.0.0.1:1,{_INSIDE}://127.0.0.1:{inside}",
            f"-oadvertised.listeners=PLAINTEXT://127.0.0.1:{broker.port},"
            f"{_INSIDE}://127.0.0.1:{proxy.port}",
            f"-olistener.security.protocol.map={_PROTOCOLS}",
            f"-ointer.broker.listener.name={_INSIDE}",
        ]
        return broker

    @property
    def addresses(self) -> str:
        """Those of all that have copies."""
        ours = [each.address for each in self.brokers_of_ours.values()]
        return ",".join([self.kafka.address, *ours] if KAFKA in self.ids else ours)

    def create(self, name: str, partitions: int, **options: str) -> None:
        """A topic that all three have copies of; each leads some of it."""
        ids = self.ids
        replicas = [
            [ids[(number + each) % len(ids)] for each in range(len(ids))]
            for number in range(partitions)
        ]
        config = {key.replace("_", "."): value for key, value in options.items()}
        config["min.insync.replicas"] = "2"
        topic = admin.NewTopic(
            name, partitions, replica_assignment=replicas, config=config
        )
        client = self.admin(self.kafka)
        client.create_topics([topic])[name].result(PATIENCE_S)

    def is_in_sync(self) -> bool:
        """Whether all copies of all topics are."""
        topics = self.admin(self.kafka).list_topics(timeout=PATIENCE_S).topics
        return all(
            set(partition.isrs) == set(partition.replicas)
            for topic in topics.values()
            for partition in topic.partitions.values()
        )

    # Trouble

    def kill(self, number: int) -> None:
        """As a loss of its process; it starts anew at once."""
        broker = self.brokers_of_ours[number]
        broker.kill()
        broker.start()

    def stop(self, number: int) -> None:
        """In order."""
        broker = self.brokers_of_ours[number]
        broker.terminate()
        broker.start()

    def freeze(self, number: int) -> None:
        """For longer than others wait for it; then it goes on as if nothing was."""
        pid = self.brokers_of_ours[number].pid
        os.kill(pid, signal.SIGSTOP)
        time.sleep(SESSION_S + 1)
        os.kill(pid, signal.SIGCONT)

    def lose_what_goes_to(self, number: int) -> None:
        """No other broker reaches it; it reaches them, and the controllers."""
        self._lose(number, TO)

    def lose_what_comes_from(self, number: int) -> None:
        """It hears other brokers, which never get its answers."""
        self._lose(number, FROM)

    def _lose(self, number: int, way: int) -> None:
        proxy = self.proxies[number]
        proxy.lose(way)
        time.sleep(SESSION_S + 1)
        proxy.heal()

    def some_trouble(self, chance: random.Random) -> str:
        """One of all these, to one of ours; what it was."""
        troubles = (
            self.kill,
            self.kill,
            self.stop,
            self.freeze,
            self.lose_what_goes_to,
            self.lose_what_comes_from,
        )
        trouble, number = chance.choice(troubles), chance.choice([*self.proxies])
        trouble(number)
        return f"{trouble.__name__} {number}"


@contextlib.contextmanager
def troubled_brokers(root: Path, ids: Sequence[int]) -> Iterator[Troubled]:
    """Them, started; with the topics of coordinators."""
    kafka = KafkaNode(root, OPTIONS)
    (inside,) = free_ports(1)
    told = f"PLAINTEXT://{kafka.address},{_INSIDE}://127.0.0.1:{inside}"
    kafka.configure(
        {
            "listeners": f"{told},CONTROLLER://127.0.0.1:{kafka.controller_port}",
            "advertised.listeners": told,
            "listener.security.protocol.map": _PROTOCOLS,
            "inter.broker.listener.name": _INSIDE,
        }
    )
    made = Troubled(root, kafka, ids)
    try:
        kafka.start()
        for broker in made.brokers_of_ours.values():
            broker.start()
        wait_until(lambda: made.brokers(kafka) >= set(ids), PATIENCE_S)
        for name in COORDINATORS:
            made.create(name, PARTITIONS, cleanup_policy="compact")
        yield made
    finally:
        for each in made.brokers_of_ours.values():
            each.kill()
        kafka.kill()
        for each in made.proxies.values():
            each.close()
    for each in made.brokers_of_ours.values():
        assert "Traceback" not in each.log(), each.log()
