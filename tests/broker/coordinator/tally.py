"""A coordinator of tallies, to test the runtime without groups: names that count."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple

from odradek.broker.coordinator.decision import Decision, Place
from odradek.broker.coordinator.runtime import CoordinatorRuntime
from odradek.broker.coordinator.shard import Shard
from odradek.protocol.errors import InvalidRequest, KafkaError
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, replicas

TOPIC = "__tallies"
PARTITIONS = 3


class Counted(NamedTuple):
    name: str
    count: int | None

    def encode(self) -> tuple[bytes, bytes | None]:
        value = None if self.count is None else b"%d" % self.count
        return self.name.encode(), value


class Tallies:
    def __init__(self, shard: "Shard[Tallies]") -> None:
        self.shard = shard
        self.counts: dict[str, int] = {}
        self.places: list[Place] = []
        self.ended: list[tuple[int, bool]] = []
        self.is_loaded = False
        self.unloaded: KafkaError | None = None

    def decode(self, key: Any, value: Any) -> Counted | None:
        name = bytes(key).decode()
        if name.startswith("?"):
            return None
        if name.startswith("!"):
            raise InvalidRequest("no tally")
        return Counted(name, None if value is None else int(bytes(value)))

    def replay(self, record: Counted, place: Place) -> None:
        self.places.append(place)
        if record.count is None:
            self.counts.pop(record.name, None)
        else:
            self.counts[record.name] = record.count

    def end_transaction(self, place: Place, is_commit: bool) -> None:
        self.ended.append((place.producer_id, is_commit))

    def summary(self) -> dict[str, int]:
        return {"tally mark": len(self.counts)}

    def on_loaded(self) -> None:
        self.is_loaded = True

    def on_unloaded(self, error: KafkaError) -> None:
        self.unloaded = error


class TallyBroker:
    def __init__(self, replicas: Replicas) -> None:
        self.replicas = replicas
        self.runtime: CoordinatorRuntime[Tallies] = CoordinatorRuntime(
            TOPIC,
            Tallies,
            topics=replicas.topics,
            replica_manager=replicas.manager,
            disk_threads=replicas.threads,
            clock=replicas.clock,
            bugs=replicas.services.bugs,
            load_buffer_size=1000,
        )

    def add(self, name: str, **more: Any) -> Any:
        """Count ``name`` up; the answer is its new count."""

        def decide(state: Tallies) -> Decision:
            count = state.counts.get(name, 0) + 1
            return Decision(count, [Counted(name, count)], **more)

        return self.runtime.act(name, decide, refuse)

    def read(self, name: str) -> Any:
        return self.runtime.act(
            name,
            lambda state: Decision(state.counts.get(name, 0), reads_state=True),
            refuse,
        )

    def state(self, name: str) -> Tallies:
        return self.runtime.shard(self.runtime.partition_of(name)).state


def first_shard(broker: TallyBroker) -> Shard[Tallies]:
    return broker.runtime.shard(broker.runtime.partition_of("a"))


def refuse(error: KafkaError) -> KafkaError:
    return error


@contextlib.asynccontextmanager
async def tally_broker(
    directory: Path, files: FakeFiles | None = None, **options: Any
) -> AsyncIterator[TallyBroker]:
    async with replicas(directory, files, **options) as fixture:
        if fixture.topics.get(TOPIC) is None:
            await fixture.create_topic(TOPIC, PARTITIONS, cleanup_policy="compact")
        broker = TallyBroker(fixture)
        try:
            yield broker
        finally:
            await broker.runtime.close()
            assert not fixture.bugs, fixture.bugs
