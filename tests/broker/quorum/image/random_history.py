"""Records at random, in the order in which a controller could write them."""

from collections.abc import Callable, Iterator
from random import Random

from odradek.protocol.membership_records import (
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    FenceBrokerRecord,
    NoOpRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from odradek.protocol.metadata_records import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    QuotaEntityData,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UserScramCredentialRecord,
)
from odradek.protocol.schema import Message

NAMES = ("a", "b", "c", "d")


class History:
    """What there is, as far as the next record depends on it."""

    def __init__(self, draw: Random) -> None:
        self.draw = draw
        self.count = 0
        self.brokers: dict[int, int] = {}
        self.topics: dict[str, bytes] = {}
        self.partitions: dict[bytes, int] = {}
        self.acls: list[bytes] = []

    def records(self, count: int) -> Iterator[Message]:
        while count:
            message = self.draw.choice(KINDS)(self)
            if message is not None:
                self.count += 1
                count -= 1
                yield message

    def ids(self) -> list[int]:
        return self.draw.sample([1, 2, 3, 4], self.draw.randint(1, 3))

    def name(self) -> str:
        return self.draw.choice(NAMES)


def _register(history: History) -> Message:
    broker_id = history.draw.choice([1, 2, 3])
    history.brokers[broker_id] = history.count
    return RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=history.draw.randbytes(16),
        broker_epoch=history.count,
        rack=history.draw.choice([None, "r"]),
        log_dirs=[history.draw.randbytes(16)],
    )


def _of_a_broker(history: History) -> Message | None:
    if not history.brokers:
        return None
    broker_id, epoch = history.draw.choice(sorted(history.brokers.items()))
    kind = history.draw.randrange(4)
    if kind == 0:
        return FenceBrokerRecord(id=broker_id, epoch=epoch)
    if kind == 1:
        return UnfenceBrokerRecord(id=broker_id, epoch=epoch)
    if kind == 2:
        del history.brokers[broker_id]
        return UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=epoch)
    return BrokerRegistrationChangeRecord(
        broker_id=broker_id,
        broker_epoch=epoch,
        fenced=history.draw.choice([-1, 0, 1]),
        in_controlled_shutdown=history.draw.choice([0, 1]),
        cordoned_log_dirs=history.draw.choice([None, [], [b"c" * 16]]),
    )


def _topic(history: History) -> Message | None:
    name = history.name()
    if name in history.topics:
        topic_id = history.topics.pop(name)
        del history.partitions[topic_id]
        return RemoveTopicRecord(topic_id=topic_id)
    topic_id = history.topics[name] = history.draw.randbytes(16)
    history.partitions[topic_id] = 0
    return TopicRecord(name=name, topic_id=topic_id)


def _partition(history: History) -> Message | None:
    if not history.partitions:
        return None
    topic_id = history.draw.choice(sorted(history.partitions))
    count = history.partitions[topic_id]
    draw = history.draw
    if not count or draw.random() < 0.3:
        history.partitions[topic_id] += 1
        ids = history.ids()
        return PartitionRecord(
            partition_id=count,
            topic_id=topic_id,
            replicas=ids,
            isr=ids[:1],
            leader=ids[0],
            leader_epoch=0,
            partition_epoch=0,
            directories=draw.choice([[], [b"d" * 16] * len(ids)]),
            eligible_leader_replicas=draw.choice([None, ids]),
        )
    return PartitionChangeRecord(
        partition_id=draw.randrange(count),
        topic_id=topic_id,
        isr=draw.choice([None, history.ids()]),
        leader=draw.choice([-2, -1, 1]),
        replicas=draw.choice([None, history.ids()]),
        adding_replicas=draw.choice([None, [], [4]]),
        leader_recovery_state=draw.choice([-1, 0, 1]),
        eligible_leader_replicas=draw.choice([None, [], [2]]),
        last_known_elr=draw.choice([None, [3]]),
    )


def _clear_elr(history: History) -> Message:
    return ClearElrRecord(topic_name=history.draw.choice(["", *history.topics]))


def _option(history: History) -> Message:
    return ConfigRecord(
        resource_type=history.draw.choice([2, 4, 16, 32]),
        resource_name=history.draw.choice(["", *NAMES]),
        name=history.name(),
        value=history.draw.choice([None, "1", "2"]),
    )


def _quota(history: History) -> Message:
    draw = history.draw
    parts = [
        QuotaEntityData(entity_type=kind, entity_name=draw.choice([None, "x"]))
        for kind in draw.choice([["user"], ["user", "client-id"], ["client-id"]])
    ]
    remove = draw.random() < 0.5
    return ClientQuotaRecord(
        entity=parts, key=draw.choice("kl"), value=2, remove=remove
    )


def _credential(history: History) -> Message:
    mechanism = history.draw.choice([1, 2])
    if history.draw.random() < 0.5:
        return RemoveUserScramCredentialRecord(name=history.name(), mechanism=mechanism)
    return UserScramCredentialRecord(
        name=history.name(), mechanism=mechanism, salt=b"s", iterations=history.count
    )


def _acl(history: History) -> Message:
    if history.acls and history.draw.random() < 0.5:
        return RemoveAccessControlEntryRecord(id=history.acls.pop())
    history.acls.append(history.draw.randbytes(16))
    return AccessControlEntryRecord(id=history.acls[-1], resource_name=history.name())


def _token(history: History) -> Message:
    if history.draw.random() < 0.5:
        return RemoveDelegationTokenRecord(token_id=history.name())
    return DelegationTokenRecord(
        token_id=history.name(), expiration_timestamp=history.count
    )


def _small(history: History) -> Message:
    return history.draw.choice(
        [
            NoOpRecord(),
            FeatureLevelRecord(
                name=history.name(), feature_level=history.draw.randrange(3)
            ),
            ProducerIdsRecord(next_producer_id=history.count),
            RegisterControllerRecord(controller_id=history.draw.choice([8, 9])),
        ]
    )


KINDS: tuple[Callable[[History], Message | None], ...] = (
    *(_register, _of_a_broker, _topic, _partition, _partition, _clear_elr),
    *(_option, _quota, _credential, _acl, _token, _small),
)
