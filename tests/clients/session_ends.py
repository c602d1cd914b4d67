"""A broker whose logins end after a moment, and what its metrics tell of them."""

import contextlib
import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import confluent_kafka.admin

from tests.broker.operate.metrics.served import read
from tests.clients.logins import Listening, Way, listening_broker
from tests.patience import PATIENCE_S

SESSION_MS = 2000
PARTITIONS = 3
LISTENER = "SASL_SSL"
# Two mechanisms, so that the broker's counts tell one from the other.
PRODUCING, CONSUMING = (
    Way(LISTENER, "SCRAM-SHA-512"),
    Way(LISTENER, "OAUTHBEARER"),
)


class Counts(NamedTuple):
    """How often somebody was let in, again, and cut off for being late."""

    accepted: int
    again: int
    ended: int


class Sessions:
    """Of a listener whose logins hold for ``SESSION_MS``."""

    def __init__(self, listening: Listening) -> None:
        self.listening = listening
        port = json.loads(listening.ready_line)["http_port"]
        self._url = f"http://127.0.0.1:{port}/metrics"

    def counts(self, way: Way) -> Counts:
        """Those of one mechanism; who was late is not told by mechanism."""
        with urllib.request.urlopen(self._url, timeout=PATIENCE_S) as answer:
            found = read(answer.read().decode())
        made = found["odradek_logins_total"]
        assert not sum(made[key] for key in made if key[2] == "refused")
        return Counts(
            int(made[LISTENER, way.mechanism, "accepted"]),
            int(made[LISTENER, way.mechanism, "again"]),
            int(found["odradek_logins_ended_total"][LISTENER,]),
        )

    def create(self, topic: str) -> None:
        """With ``PARTITIONS``."""
        options = self.listening.confluent(Way("SSL"))
        admin = confluent_kafka.admin.AdminClient(options)
        new = confluent_kafka.admin.NewTopic(topic, PARTITIONS, 1)
        admin.create_topics([new])[topic].result(PATIENCE_S)

    def record_count(self, topic: str) -> int:
        """How many offsets the logs have given."""
        options = {**self.listening.confluent(Way("SSL")), "group.id": "nobody"}
        consumer = confluent_kafka.Consumer(options)
        try:
            places = [
                confluent_kafka.TopicPartition(topic, p) for p in range(PARTITIONS)
            ]
            ends = [consumer.get_watermark_offsets(place)[1] for place in places]
            return sum(ends)
        finally:
            consumer.close()


@contextlib.contextmanager
def short_sessions(folder: Path) -> Iterator[Sessions]:
    """For the length of a module."""
    options = {
        "connections.max.reauth.ms": str(SESSION_MS),
        "http.listener": "127.0.0.1:0",
        "logging.format": "json",
    }
    with listening_broker(folder, options) as listening:
        yield Sessions(listening)
