"""The transactional producers of three stock clients behind one face."""

import asyncio
import contextlib
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

import aiokafka
import aiokafka.errors
import confluent_kafka
import kafka
import kafka.errors

from tests.clients.consumers import Place
from tests.patience import PATIENCE_S


class Identity(NamedTuple):
    """Who produces, and how long its transactions may be open."""

    transactional_id: str
    timeout_ms: int = 60_000


class Failed(Exception):
    """What was asked for is not done; the transaction can be aborted."""


class Fenced(Exception):
    """The producer's epoch is over: it can do nothing more."""


class Producer(Protocol):
    """What every adapter can do; made, it is initialised. Used by one thread.

    Raises:
        Fenced, Failed: see there; from any method.
    """

    def __init__(self, address: str, identity: Identity) -> None: ...

    def begin(self) -> None: ...

    def send(self, place: Place, *values: bytes) -> None: ...

    def flush(self) -> None:
        """Return when all that was sent is acknowledged."""

    def send_offsets(self, metadata: Any, offsets: Mapping[Place, int]) -> None:
        """Commit in the transaction; ``metadata`` is from `Consumer.group_metadata`."""

    def commit(self) -> None: ...

    def abort(self) -> None: ...

    def close(self) -> None: ...


class ConfluentProducer:
    """confluent-kafka, that is librdkafka."""

    def __init__(self, address: str, identity: Identity) -> None:
        self._errors: list[confluent_kafka.KafkaError] = []
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": address,
                "transactional.id": identity.transactional_id,
                "transaction.timeout.ms": identity.timeout_ms,
                # What is in flight longer than the transaction may be is given up.
                "message.timeout.ms": identity.timeout_ms,
                "linger.ms": 0,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 200,
                "log_level": 0,
            }
        )
        with self._translated():
            self._producer.init_transactions(PATIENCE_S)

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except confluent_kafka.KafkaException as error:
            raise (Fenced if error.args[0].fatal() else Failed)(*error.args) from error
        except SystemError as error:  # a fatal error while it called back
            raise Fenced(error.__cause__) from error

    def begin(self) -> None:
        self._errors.clear()
        with self._translated():
            self._producer.begin_transaction()

    def send(self, place: Place, *values: bytes) -> None:
        with self._translated():
            for value in values:
                self._producer.produce(
                    place.topic,
                    value,
                    partition=place.partition,
                    on_delivery=self._delivered,
                )

    def _delivered(self, error: confluent_kafka.KafkaError | None, _: Any) -> None:
        if error is not None:
            self._errors.append(error)

    def flush(self) -> None:
        with self._translated():
            assert self._producer.flush(PATIENCE_S) == 0
            if self._errors:
                raise confluent_kafka.KafkaException(self._errors[0])

    def send_offsets(self, metadata: Any, offsets: Mapping[Place, int]) -> None:
        places = [
            confluent_kafka.TopicPartition(*place, offset)
            for place, offset in offsets.items()
        ]
        with self._translated():
            self._producer.send_offsets_to_transaction(places, metadata, PATIENCE_S)

    def commit(self) -> None:
        with self._translated():
            self._producer.commit_transaction(PATIENCE_S)

    def abort(self) -> None:
        with self._translated():
            self._producer.abort_transaction(PATIENCE_S)

    def close(self) -> None:
        with (
            warnings.catch_warnings(action="ignore"),  # of a producer that is fenced
            contextlib.suppress(confluent_kafka.KafkaException),
        ):
            self._producer.close(0)


class KafkaPythonProducer:
    """kafka-python."""

    def __init__(self, address: str, identity: Identity) -> None:
        self._sent: list[Any] = []
        self._producer = kafka.KafkaProducer(
            bootstrap_servers=address,
            transactional_id=identity.transactional_id,
            transaction_timeout_ms=identity.timeout_ms,
            max_block_ms=PATIENCE_S * 1000,
            retry_backoff_ms=20,
            reconnect_backoff_ms=20,
            reconnect_backoff_max_ms=200,
        )
        with self._translated():
            self._producer.init_transactions()

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except kafka.errors.KafkaError as error:
            manager = self._producer._transaction_manager
            raise (Fenced if manager.has_fatal_error() else Failed)(error) from error

    def begin(self) -> None:
        self._sent.clear()
        with self._translated():
            self._producer.begin_transaction()

    def send(self, place: Place, *values: bytes) -> None:
        with self._translated():
            self._sent += [
                self._producer.send(place.topic, value, partition=place.partition)
                for value in values
            ]

    def flush(self) -> None:
        with self._translated():
            self._producer.flush(PATIENCE_S)
            for each in self._sent:
                each.get(PATIENCE_S)

    def send_offsets(self, metadata: Any, offsets: Mapping[Place, int]) -> None:
        wanted = {
            kafka.TopicPartition(*place): kafka.OffsetAndMetadata(offset, "", -1)
            for place, offset in offsets.items()
        }
        with self._translated():
            self._producer.send_offsets_to_transaction(wanted, metadata)

    def commit(self) -> None:
        with self._translated():
            self._producer.commit_transaction()

    def abort(self) -> None:
        with self._translated():
            self._producer.abort_transaction()

    def close(self) -> None:
        self._producer.close(0)


class AioKafkaProducer:
    """aiokafka, on a loop of its own that runs while something is asked for."""

    def __init__(self, address: str, identity: Identity) -> None:
        self._sent: list[Any] = []
        self._loop = asyncio.new_event_loop()
        with self._translated():
            self._run(self._start(address, identity))

    async def _start(self, address: str, identity: Identity) -> None:
        self._producer = aiokafka.AIOKafkaProducer(
            bootstrap_servers=address,
            transactional_id=identity.transactional_id,
            transaction_timeout_ms=identity.timeout_ms,
            retry_backoff_ms=20,
        )
        await self._producer.start()

    def _run(self, wanted: Any) -> None:
        async def run() -> None:
            await asyncio.wait_for(wanted, PATIENCE_S)

        self._loop.run_until_complete(run())

    @contextlib.contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except aiokafka.errors.KafkaError as error:
            manager = self._producer._txn_manager
            raise (Fenced if manager.is_fatal_error() else Failed)(error) from error

    def begin(self) -> None:
        self._sent.clear()
        with self._translated():
            self._run(self._producer.begin_transaction())

    def send(self, place: Place, *values: bytes) -> None:
        with self._translated():
            self._run(self._send(place, values))

    async def _send(self, place: Place, values: tuple[bytes, ...]) -> None:
        for value in values:
            sent = await self._producer.send(
                place.topic, value, partition=place.partition
            )
            self._sent.append(sent)

    def flush(self) -> None:
        with self._translated():
            self._run(self._flush())

    async def _flush(self) -> None:
        await asyncio.gather(*self._sent)

    def send_offsets(self, metadata: Any, offsets: Mapping[Place, int]) -> None:
        wanted = {aiokafka.TopicPartition(*place): offsets[place] for place in offsets}
        with self._translated():
            self._run(self._producer.send_offsets_to_transaction(wanted, metadata))

    def commit(self) -> None:
        with self._translated():
            self._run(self._producer.commit_transaction())

    def abort(self) -> None:
        with self._translated():
            self._run(self._producer.abort_transaction())

    def close(self) -> None:
        try:
            self._loop.run_until_complete(self._close())
        finally:
            self._loop.close()

    async def _close(self) -> None:
        # What was sent and not asked for is nobody's affair any more.
        for each in self._sent:
            if each.done() and not each.cancelled():
                each.exception()
        with contextlib.suppress(aiokafka.errors.KafkaError):
            await self._producer.stop()


PRODUCERS: dict[str, type[Producer]] = {
    "confluent-kafka": ConfluentProducer,
    "kafka-python": KafkaPythonProducer,
    "aiokafka": AioKafkaProducer,
}
