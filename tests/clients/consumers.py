"""The consumers of three stock clients behind one face, subscribed in groups."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, Protocol

import aiokafka
import aiokafka.errors
import confluent_kafka
import kafka
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.errors import KafkaConnectionError
from kafka.protocol.api_header import ResponseClassRegistry

from tests.clients import dropped_sockets as dropped_sockets


def _make_response_classes() -> None:
    """Let kafka-python make its classes before there are threads.

    It makes one for each version of a response when that first comes. Two threads that
    do so at once make two, and its registry may keep a weak reference to the one that
    is collected: no consumer of the process reads such a response any more.
    """
    for response in list(ResponseClassRegistry._response_class_registry.values()):
        for version in range(response.max_version + 1):
            response[version]


_make_response_classes()


async def stop_aiokafka(consumer: aiokafka.AIOKafkaConsumer) -> None:
    """Stop it, and close its connections, whatever it was at.

    While it looks for its coordinator, or waits before it fetches again, it ends as if
    it were cancelled, as of 0.14, and leaves its connections open.
    """
    for close in (consumer.stop, consumer._client.close):
        with contextlib.suppress(asyncio.CancelledError):
            await close()


class Place(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


class Found(NamedTuple):
    """A record that a member has read."""

    place: Place
    offset: int
    value: bytes


class Settings(NamedTuple):
    """What a member is asked for. Exactly one of topics and pattern."""

    group: str
    topics: tuple[str, ...] = ()
    pattern: str | None = None
    instance: str | None = None
    auto_commit: bool = False
    is_committed_only: bool = False
    is_cooperative: bool = False
    session_ms: int = 6000

    @property
    def heartbeat_ms(self) -> int:
        """How soon a member hears of a rebalance, at the latest."""
        return min(self.session_ms // 10, 1000)


class Rebalances:
    """What a member was given and what was taken from it, in order."""

    def __init__(self) -> None:
        self.given: list[frozenset[Place]] = []
        self.taken: list[frozenset[Place]] = []

    def on_assigned(self, places: Iterable[Any]) -> None:
        self.given.append(frozenset(Place(p.topic, p.partition) for p in places))

    def on_revoked(self, places: Iterable[Any]) -> None:
        self.taken.append(frozenset(Place(p.topic, p.partition) for p in places))


class Consumer(Protocol):
    """What every adapter can do; used by one thread."""

    def poll(self, seconds: float) -> list[Found]: ...

    def assignment(self) -> frozenset[Place]: ...

    def commit(self) -> None: ...

    def commit_async(self) -> None: ...

    def seek(self, place: Place, offset: int) -> None: ...

    def pause(self, place: Place) -> None: ...

    def resume(self, place: Place) -> None: ...

    def group_metadata(self) -> Any:
        """What the library's own producer wants to know, to commit offsets for it."""

    def close(self) -> None: ...


class ConfluentConsumer:
    """confluent-kafka, that is librdkafka."""

    def __init__(self, address: str, settings: Settings, seen: Rebalances) -> None:
        strategy = "cooperative-sticky" if settings.is_cooperative else "range"
        options = {
            "bootstrap.servers": address,
            "group.id": settings.group,
            "enable.auto.commit": settings.auto_commit,
            "auto.commit.interval.ms": 200,
            "auto.offset.reset": "earliest",
            "session.timeout.ms": settings.session_ms,
            "heartbeat.interval.ms": settings.heartbeat_ms,
            "topic.metadata.refresh.interval.ms": 500,
            "partition.assignment.strategy": strategy,
            "isolation.level": "read_committed"
            if settings.is_committed_only
            else "read_uncommitted",
            "fetch.wait.max.ms": 100,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 200,
            "log_level": 0,
        }
        if settings.instance is not None:
            options["group.instance.id"] = settings.instance
        self._adapt(options)
        self._consumer = confluent_kafka.Consumer(options)
        topics = list(settings.topics)
        if settings.pattern is not None:
            topics = ["^" + settings.pattern]
        self._consumer.subscribe(
            topics,
            on_assign=lambda _, given: seen.on_assigned(given),
            on_revoke=lambda _, taken: seen.on_revoked(taken),
            on_lost=lambda _, taken: seen.on_revoked(taken),
        )

    def _adapt(self, options: dict[str, Any]) -> None:
        """Change options, for another protocol."""

    def poll(self, seconds: float) -> list[Found]:
        messages = self._consumer.consume(200, seconds)
        return [
            Found(Place(each.topic(), each.partition()), each.offset(), each.value())
            for each in messages
            if each.error() is None  # others are told, and end by themselves
        ]

    def assignment(self) -> frozenset[Place]:
        return frozenset(
            Place(each.topic, each.partition) for each in self._consumer.assignment()
        )

    def commit(self) -> None:
        for each in self._consumer.commit(asynchronous=False):
            assert each.error is None, each

    def commit_async(self) -> None:
        self._consumer.commit(asynchronous=True)

    def seek(self, place: Place, offset: int) -> None:
        self._consumer.seek(confluent_kafka.TopicPartition(*place, offset))

    def pause(self, place: Place) -> None:
        self._consumer.pause([confluent_kafka.TopicPartition(*place)])

    def resume(self, place: Place) -> None:
        self._consumer.resume([confluent_kafka.TopicPartition(*place)])

    def group_metadata(self) -> Any:
        return self._consumer.consumer_group_metadata()

    def close(self) -> None:
        self._consumer.close()


class _KafkaPythonListener(kafka.ConsumerRebalanceListener):
    def __init__(self, seen: Rebalances) -> None:
        self._seen = seen

    def on_partitions_revoked(self, revoked: Any) -> None:
        self._seen.on_revoked(revoked)

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._seen.on_assigned(assigned)


class ConfluentAssigned(ConfluentConsumer):
    """The same by the consumer protocol (KIP-848): the broker has the timeouts."""

    def _adapt(self, options: dict[str, Any]) -> None:
        options["group.protocol"] = "consumer"
        for name in (
            "session.timeout.ms",
            "heartbeat.interval.ms",
            "partition.assignment.strategy",
        ):
            del options[name]


class KafkaPythonConsumer:
    """kafka-python."""

    def __init__(self, address: str, settings: Settings, seen: Rebalances) -> None:
        options: dict[str, Any] = {}
        if settings.is_cooperative:
            strategy = (CooperativeStickyAssignor,)
            options["partition_assignment_strategy"] = strategy
        self._consumer = kafka.KafkaConsumer(
            bootstrap_servers=address,
            group_id=settings.group,
            group_instance_id=settings.instance,
            enable_auto_commit=settings.auto_commit,
            auto_commit_interval_ms=200,
            auto_offset_reset="earliest",
            session_timeout_ms=settings.session_ms,
            heartbeat_interval_ms=settings.heartbeat_ms,
            metadata_max_age_ms=500,
            isolation_level="read_committed"
            if settings.is_committed_only
            else "read_uncommitted",
            fetch_max_wait_ms=100,
            reconnect_backoff_ms=20,
            reconnect_backoff_max_ms=200,
            **options,
        )
        listener = _KafkaPythonListener(seen)
        if settings.pattern is not None:
            self._consumer.subscribe(pattern=settings.pattern, listener=listener)
        else:
            self._consumer.subscribe(list(settings.topics), listener=listener)

    def poll(self, seconds: float) -> list[Found]:
        try:
            found = _found(self._consumer.poll(int(seconds * 1000)))
        except KafkaConnectionError:
            return []  # now and then it hands on that its broker is away
        # 3.0.12 forgets a join that new metadata brought about if it ends between
        # two polls, and never beats again.
        coordinator = self._consumer._coordinator
        if coordinator._join_task is not None and coordinator._join_task.is_done:
            coordinator.request_rejoin()
        return found

    def assignment(self) -> frozenset[Place]:
        return frozenset(
            Place(each.topic, each.partition) for each in self._consumer.assignment()
        )

    def commit(self) -> None:
        self._consumer.commit()

    def commit_async(self) -> None:
        self._consumer.commit_async()

    def seek(self, place: Place, offset: int) -> None:
        self._consumer.seek(kafka.TopicPartition(*place), offset)

    def pause(self, place: Place) -> None:
        self._consumer.pause(kafka.TopicPartition(*place))

    def resume(self, place: Place) -> None:
        self._consumer.resume(kafka.TopicPartition(*place))

    def group_metadata(self) -> Any:
        return self._consumer.group_metadata()

    def close(self) -> None:
        self._consumer.close()


class _AioKafkaListener(aiokafka.ConsumerRebalanceListener):
    def __init__(self, seen: Rebalances) -> None:
        self._seen = seen

    def on_partitions_revoked(self, revoked: Any) -> None:
        self._seen.on_revoked(revoked)

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._seen.on_assigned(assigned)


class AioKafkaConsumer:
    """aiokafka, on a loop of its own that runs while it is polled."""

    def __init__(self, address: str, settings: Settings, seen: Rebalances) -> None:
        assert not settings.is_cooperative, "aiokafka has no cooperative assignor"
        self._loop = asyncio.new_event_loop()
        self._group = settings.group
        self._committing: list[asyncio.Task[None]] = []
        self._loop.run_until_complete(self._start(address, settings, seen))

    async def _start(self, address: str, settings: Settings, seen: Rebalances) -> None:
        self._consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=address,
            group_id=settings.group,
            group_instance_id=settings.instance,
            enable_auto_commit=settings.auto_commit,
            auto_commit_interval_ms=200,
            auto_offset_reset="earliest",
            session_timeout_ms=settings.session_ms,
            heartbeat_interval_ms=settings.heartbeat_ms,
            metadata_max_age_ms=500,
            isolation_level="read_committed"
            if settings.is_committed_only
            else "read_uncommitted",
            fetch_max_wait_ms=100,
        )
        listener = _AioKafkaListener(seen)
        if settings.pattern is not None:
            self._consumer.subscribe(pattern=settings.pattern, listener=listener)
        else:
            self._consumer.subscribe(settings.topics, listener=listener)
        await self._consumer.start()

    def poll(self, seconds: float) -> list[Found]:
        return self._loop.run_until_complete(self._poll(seconds))

    async def _poll(self, seconds: float) -> list[Found]:
        return _found(await self._consumer.getmany(timeout_ms=int(seconds * 1000)))

    def assignment(self) -> frozenset[Place]:
        return frozenset(
            Place(each.topic, each.partition) for each in self._consumer.assignment()
        )

    def commit(self) -> None:
        self._loop.run_until_complete(self._consumer.commit())

    def commit_async(self) -> None:
        self._committing.append(self._loop.create_task(self._consumer.commit()))

    def seek(self, place: Place, offset: int) -> None:
        self._on_loop(self._consumer.seek, aiokafka.TopicPartition(*place), offset)

    def pause(self, place: Place) -> None:
        self._on_loop(self._consumer.pause, aiokafka.TopicPartition(*place))

    def resume(self, place: Place) -> None:
        self._on_loop(self._consumer.resume, aiokafka.TopicPartition(*place))

    def _on_loop(self, method: Callable[..., object], *arguments: object) -> None:
        async def call() -> None:
            method(*arguments)

        self._loop.run_until_complete(call())

    def group_metadata(self) -> Any:
        return self._group

    def close(self) -> None:
        try:
            self._loop.run_until_complete(self._close())
        finally:
            self._loop.close()

    async def _close(self) -> None:
        await asyncio.gather(*self._committing)
        await stop_aiokafka(self._consumer)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _found(batches: Any) -> list[Found]:
    return [
        Found(Place(each.topic, each.partition), each.offset, each.value)
        for records in batches.values()
        for each in records
    ]


CONSUMERS: dict[str, type[Consumer]] = {
    "confluent-kafka": ConfluentConsumer,
    "kafka-python": KafkaPythonConsumer,
    "aiokafka": AioKafkaConsumer,
}
NAMES = tuple(CONSUMERS)
CONSUMERS["confluent-consumer-protocol"] = ConfluentAssigned
COOPERATIVE = ("confluent-kafka", "kafka-python")
