"""A worker of `test_exactly_once`, as a process: address, transactional id.

It copies what the group gives it from one topic to the other, a transaction for each
lot; in the same transaction it commits how far it has come. What fails is aborted and
done again from what is committed; a worker that is fenced ends.
"""

import sys
from collections.abc import Callable

import confluent_kafka

GROUP, SOURCE, TARGET = "copiers", "source", "target"
SOURCE_PARTITIONS, TARGET_PARTITIONS = 6, 4
LOT = 25
SESSION_MS = 1500
TRANSACTION_MS = 2000
WAIT_S = 5
OVER = 3  # exit code of a worker whose producer can do no more


def partition_of(key: int, partitions: int) -> int:
    """The same partition for the same key, in either topic."""
    return key % partitions


class Worker:
    def __init__(self, address: str, transactional_id: str) -> None:
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
                "auto.offset.reset": "earliest",
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
            lot = self.consumer.consume(LOT, 0.1)
            messages = [each for each in lot if each.error() is None]
            if not messages:
                continue
            try:
                self.copy(messages)
            except confluent_kafka.KafkaException as error:
                if not error.args[0].txn_requires_abort():
                    raise
                retried(lambda: self.producer.abort_transaction(WAIT_S))
                self.rewind()

    # What is committed later is committed as the member that was given the records.
    # Asked then, a consumer that has been put out of its group meanwhile would say
    # that it is no member at all, and nobody fences those.

    def assigned(self, consumer: confluent_kafka.Consumer, _: object) -> None:
        self.group = consumer.consumer_group_metadata()

    def revoked(self, *_: object) -> None:
        self.group = None

    def copy(self, messages: list[confluent_kafka.Message]) -> None:
        self.producer.begin_transaction()
        offsets = {}
        for each in messages:
            partition = partition_of(int(each.key()), TARGET_PARTITIONS)
            self.producer.produce(TARGET, each.value(), each.key(), partition)
            offsets[each.partition()] = each.offset() + 1
        places = [
            confluent_kafka.TopicPartition(SOURCE, partition, offset)
            for partition, offset in offsets.items()
        ]
        retried(
            lambda: self.producer.send_offsets_to_transaction(
                places, self.group, WAIT_S
            )
        )
        retried(lambda: self.producer.commit_transaction(WAIT_S))

    def rewind(self) -> None:
        """Go back to what is committed, in what is still this worker's."""
        assigned = self.consumer.assignment()
        if not assigned:
            return
        for place in retried(lambda: self.consumer.committed(assigned, WAIT_S)):
            place.offset = max(place.offset, 0)
            try:
                self.consumer.seek(place)
            except confluent_kafka.KafkaException:
                continue  # it was taken away; its next owner asks for itself


def retried(action: Callable[[], object]) -> object:
    """Do it until it is done, while the client says that this makes sense."""
    while True:
        try:
            return action()
        except confluent_kafka.KafkaException as error:
            if not is_retriable(error.args[0]):
                raise


def is_retriable(error: confluent_kafka.KafkaError) -> bool:
    if error.fatal() or error.txn_requires_abort():
        return False
    return error.retriable() or error.code() in (
        confluent_kafka.KafkaError._TIMED_OUT,
        confluent_kafka.KafkaError._TRANSPORT,
        confluent_kafka.KafkaError._WAIT_COORD,
    )


def main() -> None:
    worker = Worker(*sys.argv[1:])
    try:
        worker.run()
    except confluent_kafka.KafkaException as error:
        print(error, file=sys.stderr, flush=True)
        sys.exit(OVER if error.args[0].fatal() else 1)


if __name__ == "__main__":
    main()
