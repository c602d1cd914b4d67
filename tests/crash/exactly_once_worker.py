"""A worker of `test_exactly_once`, as a process: address, transactional id.

With "end-after-abort" as the third word it ends when it has aborted, to be started
anew. Up to 2.16 at least, librdkafka takes back the numbers of messages that wait to
be sent again when a transaction is aborted, though they may have been written. Others
get these numbers in the same epoch; a broker takes them for those it has, and so does
Apache Kafka's: they are lost. Brokers that hang make that happen.

It copies what the group gives it from one topic to the other, a transaction for each
lot; in the same transaction it commits how far it has come. What fails is aborted and
done again from what is committed; a worker that is fenced ends.

Where it begins it asks the group, and tells its consumer: librdkafka is to look for no
place by itself. Up to 2.16 at least, a partition that is taken away while it looks for
the earliest offset is looked up again half a second later. Has the worker the partition
again then, at whatever offset, it goes back to the earliest, with Apache Kafka as well.
"""

import sys
from collections.abc import Callable, Sequence
from typing import TypeVar

import confluent_kafka
from confluent_kafka import KafkaError, KafkaException, TopicPartition

GROUP, SOURCE, TARGET = "copiers", "source", "target"
SOURCE_PARTITIONS, TARGET_PARTITIONS = 6, 4
LOT = 25
SESSION_MS = 1500
TRANSACTION_MS = 2000
WAIT_S = 5
END_AFTER_ABORT = "end-after-abort"
OVER = 3  # exit code of a worker whose producer can do no more

T = TypeVar("T")


def partition_of(key: int, partitions: int) -> int:
    """The same partition for the same key, in either topic."""
    return key % partitions


class Worker:
    def __init__(
        self, address: str, transactional_id: str, when_over: str = ""
    ) -> None:
        self.ends_after_abort = when_over == END_AFTER_ABORT
        self.group: object = None  # what the consumer said when it got its partitions
        common = {
            "bootstrap.servers": address,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 100,
            "log_level": 0,
            # Else 2.16 waits for ever where every broker is down for a moment: an
            # offset commit goes to a handle of the broker that it has given up.
            "metadata.recovery.strategy": "none",
        }
        self.consumer = confluent_kafka.Consumer(
            {
                **common,
                "group.id": GROUP,
                "isolation.level": "read_committed",
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "session.timeout.ms": SESSION_MS,
                "heartbeat.interval.ms": SESSION_MS // 10,
                "fetch.wait.max.ms": 50,
            }
        )
        self.producer = confluent_kafka.Producer(
            {
                **common,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": TRANSACTION_MS,
                "message.timeout.ms": TRANSACTION_MS,
                "linger.ms": 0,
                "retry.backoff.ms": 20,
            }
        )

    def run(self) -> None:
        retried(lambda: self.producer.init_transactions(WAIT_S))
        self.consumer.subscribe([SOURCE], self.assigned, self.revoked, self.revoked)
        while True:
            messages = self.lot()
            if not messages:
                continue
            try:
                self.copy(messages)
            except KafkaException as error:
                if not error.args[0].txn_requires_abort():
                    raise
                retried(lambda: self.producer.abort_transaction(WAIT_S))
                if self.ends_after_abort:
                    sys.exit(OVER)
                self.rewind()

    def lot(self) -> list[confluent_kafka.Message]:
        """The next messages of what is this worker's."""
        messages = []
        for each in self.consumer.consume(LOT, 0.1):
            error = each.error()
            if error is None:
                messages.append(each)
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                raise KafkaException(error)
        # All may have been taken away behind the last of them.
        return [] if self.group is None else messages

    # What is committed later is committed as the member that was given the records.
    # Asked then, a consumer that has been put out of its group meanwhile would say
    # that it is no member at all, and nobody fences those.

    def assigned(
        self, consumer: confluent_kafka.Consumer, given: Sequence[TopicPartition]
    ) -> None:
        self.group = consumer.consumer_group_metadata()
        consumer.assign(self.committed(given))

    def revoked(self, *_: object) -> None:
        self.group = None

    def committed(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Where the group is; at the beginning of what it has never committed."""

        def ask() -> list[TopicPartition]:
            places = self.consumer.committed(list(partitions), WAIT_S)
            for each in places:
                if each.error is not None:
                    raise KafkaException(each.error)
            return places

        return [
            TopicPartition(each.topic, each.partition, max(each.offset, 0))
            for each in retried(ask)
        ]

    def copy(self, messages: Sequence[confluent_kafka.Message]) -> None:
        self.producer.begin_transaction()
        offsets = {}
        for each in messages:
            self.produce(each.key(), each.value())
            offsets[each.partition()] = each.offset() + 1
        places = [
            TopicPartition(SOURCE, partition, offset)
            for partition, offset in offsets.items()
        ]
        retried(
            lambda: self.producer.send_offsets_to_transaction(
                places, self.group, WAIT_S
            )
        )
        retried(lambda: self.producer.commit_transaction(WAIT_S))

    def produce(self, key: bytes, value: bytes) -> None:
        partition = partition_of(int(key), TARGET_PARTITIONS)
        try:
            self.producer.produce(TARGET, value, key, partition)
        except KafkaException as error:
            if error.args[0].code() in (KafkaError._STATE, KafkaError._FATAL):
                # A bare code. Who wants to end the transaction is told what it was.
                self.producer.commit_transaction(WAIT_S)
            raise

    def rewind(self) -> None:
        """Go back to what is committed, in what is still this worker's."""
        assigned = self.consumer.assignment()
        if not assigned:
            return
        for place in self.committed(assigned):
            try:
                self.consumer.seek(place)
            except KafkaException:
                continue  # it was taken away; its next owner asks for itself


def retried(action: Callable[[], T]) -> T:
    """Do it until it is done, while the client says that this makes sense."""
    while True:
        try:
            return action()
        except KafkaException as error:
            if not is_retriable(error.args[0]):
                raise


def is_retriable(error: KafkaError) -> bool:
    if error.fatal() or error.txn_requires_abort():
        return False
    return error.retriable() or error.code() in (
        KafkaError._TIMED_OUT,
        KafkaError._TIMED_OUT_QUEUE,
        KafkaError._TRANSPORT,
        KafkaError._WAIT_COORD,
        # Of offsets that are asked for. Others are asked for again by the client.
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.UNSTABLE_OFFSET_COMMIT,
    )


def main() -> None:
    worker = Worker(*sys.argv[1:])
    try:
        worker.run()
    except KafkaException as error:
        print(error, file=sys.stderr, flush=True)
        sys.exit(OVER if error.args[0].fatal() else 1)


if __name__ == "__main__":
    main()
