"""Three brokers with a copy of everything, and the trouble that they get in.

Others reach a broker through a proxy, which loses what goes one way. Clients reach it
past that: it serves them, while it hears nothing of others or is not heard. In a mixed
cluster those of odradek alone get in trouble.
"""

import contextlib
import os
import random
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from confluent_kafka import admin

from tests.apache_kafka.kafka_broker import KafkaBroker
from tests.apache_kafka.node import KafkaNode
from tests.apache_kafka.test_join import Joined
from tests.broker_process import BrokerProcess
from tests.client.live import wait_until
from tests.fakes.one_way_proxy import FROM, TO, OneWayProxy
from tests.patience import PATIENCE_S
from tests.ports import free_ports

KAFKA = 1
ALL_OURS, MIXED, ALL_THEIRS = (2, 3, 4), (KAFKA, 2, 3), (11, 12, 13)
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
    """The brokers with copies, by their ids, and the proxies before them.

    There is none before `KAFKA`, which decides.
    """

    def __init__(self, root: Path, kafka: KafkaNode, ids: Sequence[int]) -> None:
        self.kafka = kafka
        self.ids = tuple(ids)
        self.proxies: dict[int, OneWayProxy] = {}
        self.troubled: dict[int, BrokerProcess | KafkaBroker] = {
            number: self._made(root, number) for number in ids if number != KAFKA
        }

    def _made(self, root: Path, number: int) -> BrokerProcess | KafkaBroker:
        (inside,) = free_ports(1)
        proxy = self.proxies[number] = OneWayProxy(inside)
        options = {name: OPTIONS[name] for name in OPTIONS.keys() - _OF_CONTROLLERS}
        made: BrokerProcess | KafkaBroker
        if number in ALL_THEIRS:
            made = KafkaBroker(root, number, self.kafka, options)
        else:
            made = self.broker(root / f"broker-{number}", node_id=str(number))
        told = f"PLAINTEXT://{made.address},{_INSIDE}://127.0.0.1"
        options |= {
            "listeners": f"{told}:{inside}",
            "advertised.listeners": f"{told}:{proxy.port}",
            "listener.security.protocol.map": _PROTOCOLS,
            "inter.broker.listener.name": _INSIDE,
        }
        if isinstance(made, KafkaBroker):
            made.configure(options)
        else:
            made.options += [f"-o{name}={value}" for name, value in options.items()]
        return made

    @property
    def members(self) -> list[BrokerProcess | KafkaNode]:
        """All that have copies."""
        first = [self.kafka] if KAFKA in self.ids else []
        return [*first, *self.troubled.values()]

    @property
    def addresses(self) -> str:
        """Those of all that have copies."""
        return ",".join(each.address for each in self.members)

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
        broker = self.troubled[number]
        broker.kill()
        broker.start()

    def stop(self, number: int) -> None:
        """In order."""
        broker = self.troubled[number]
        if isinstance(broker, BrokerProcess):
            broker.terminate()
        else:
            broker.stop()
        broker.start()

    def freeze(self, number: int) -> None:
        """For longer than others wait for it; then it goes on as if nothing was."""
        pid = self.troubled[number].pid
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
        """One of all these, to one of them; what it was."""
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
        for broker in made.troubled.values():
            broker.start()
        wait_until(lambda: made.brokers(kafka) >= set(ids), PATIENCE_S)
        for name in COORDINATORS:
            made.create(name, PARTITIONS, cleanup_policy="compact")
        yield made
    finally:
        for each in made.troubled.values():
            each.kill()
        kafka.kill()
        for each in made.proxies.values():
            each.close()
    for each in made.troubled.values():
        assert "Traceback" not in each.log(), each.log()
