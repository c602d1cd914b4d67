"""Which error codes each API answers, and at which place of its answer.

After the errors that Apache Kafka 4.3's brokers give and its clients know. A code that
is not here can be had with ``force``; it then stands at the first place of its API.
"""

from __future__ import annotations

from functools import cache
from typing import Final

from odradek.broker.control.apis import name_of_api
from odradek.broker.control.fields import refusal
from odradek.protocol.errors import ErrorCode
from odradek.terminal.spelling import did_you_mean

WHOLE, KEY, TOPIC, PARTITION = "whole", "key", "topic", "partition"

_ANY = "UNKNOWN_SERVER_ERROR REQUEST_TIMED_OUT INVALID_REQUEST UNSUPPORTED_VERSION "
_ADMIN = "CLUSTER_AUTHORIZATION_FAILED NOT_CONTROLLER THROTTLING_QUOTA_EXCEEDED "
_TOPICS = (
    "UNKNOWN_TOPIC_OR_PARTITION UNKNOWN_TOPIC_ID INVALID_TOPIC_EXCEPTION "
    "TOPIC_AUTHORIZATION_FAILED "
)
_LEADERS = (
    f"{_TOPICS} NOT_LEADER_OR_FOLLOWER LEADER_NOT_AVAILABLE REPLICA_NOT_AVAILABLE "
    "FENCED_LEADER_EPOCH UNKNOWN_LEADER_EPOCH KAFKA_STORAGE_ERROR "
)
_COORDINATOR = "COORDINATOR_NOT_AVAILABLE COORDINATOR_LOAD_IN_PROGRESS NOT_COORDINATOR "
_GROUP = f"{_COORDINATOR} GROUP_AUTHORIZATION_FAILED INVALID_GROUP_ID "
_MEMBER = (
    f"{_GROUP} UNKNOWN_MEMBER_ID ILLEGAL_GENERATION REBALANCE_IN_PROGRESS "
    "FENCED_INSTANCE_ID FENCED_MEMBER_EPOCH STALE_MEMBER_EPOCH "
)
_PRODUCER = (
    "TRANSACTIONAL_ID_AUTHORIZATION_FAILED INVALID_PRODUCER_ID_MAPPING "
    "INVALID_PRODUCER_EPOCH PRODUCER_FENCED INVALID_TXN_STATE "
    "CONCURRENT_TRANSACTIONS TRANSACTION_ABORTABLE "
)
_IN_TRANSACTION = f"{_COORDINATOR} {_PRODUCER} TRANSACTION_COORDINATOR_FENCED "
_NEW_TOPICS = (
    f"{_TOPICS} {_ADMIN} TOPIC_ALREADY_EXISTS INVALID_PARTITIONS INVALID_CONFIG "
    "INVALID_REPLICATION_FACTOR INVALID_REPLICA_ASSIGNMENT POLICY_VIOLATION "
)

# By API: at each of its places, the smallest first, the codes that stand there.
_CODES: Final[dict[str, dict[str, str]]] = {
    "Produce": {
        PARTITION: f"{_LEADERS} {_PRODUCER} MESSAGE_TOO_LARGE RECORD_LIST_TOO_LARGE "
        "CORRUPT_MESSAGE NOT_ENOUGH_REPLICAS NOT_ENOUGH_REPLICAS_AFTER_APPEND "
        "INVALID_REQUIRED_ACKS OUT_OF_ORDER_SEQUENCE_NUMBER UNKNOWN_PRODUCER_ID "
        "DUPLICATE_SEQUENCE_NUMBER INVALID_RECORD INVALID_TIMESTAMP "
        "UNSUPPORTED_COMPRESSION_TYPE UNSUPPORTED_FOR_MESSAGE_FORMAT "
        "CLUSTER_AUTHORIZATION_FAILED COORDINATOR_LOAD_IN_PROGRESS POLICY_VIOLATION "
        "NOT_COORDINATOR COORDINATOR_NOT_AVAILABLE"
    },
    "Fetch": {
        PARTITION: f"{_LEADERS} OFFSET_OUT_OF_RANGE CORRUPT_MESSAGE "
        "INCONSISTENT_TOPIC_ID OFFSET_NOT_AVAILABLE UNSUPPORTED_COMPRESSION_TYPE "
        "OFFSET_MOVED_TO_TIERED_STORAGE",
        WHOLE: "FETCH_SESSION_ID_NOT_FOUND INVALID_FETCH_SESSION_EPOCH "
        "FETCH_SESSION_TOPIC_ID_ERROR",
    },
    "ListOffsets": {
        PARTITION: f"{_LEADERS} OFFSET_NOT_AVAILABLE UNSUPPORTED_FOR_MESSAGE_FORMAT"
    },
    "OffsetForLeaderEpoch": {PARTITION: _LEADERS},
    "Metadata": {
        TOPIC: f"{_TOPICS} LEADER_NOT_AVAILABLE INVALID_REPLICATION_FACTOR",
        PARTITION: "LEADER_NOT_AVAILABLE LISTENER_NOT_FOUND REPLICA_NOT_AVAILABLE",
    },
    "DescribeTopicPartitions": {TOPIC: _TOPICS, PARTITION: "LEADER_NOT_AVAILABLE"},
    "FindCoordinator": {
        KEY: f"{_GROUP} TRANSACTIONAL_ID_AUTHORIZATION_FAILED INVALID_TOPIC_EXCEPTION"
    },
    "JoinGroup": {
        WHOLE: f"{_MEMBER} INCONSISTENT_GROUP_PROTOCOL INVALID_SESSION_TIMEOUT "
        "MEMBER_ID_REQUIRED GROUP_MAX_SIZE_REACHED"
    },
    "SyncGroup": {WHOLE: f"{_MEMBER} INCONSISTENT_GROUP_PROTOCOL"},
    "Heartbeat": {WHOLE: _MEMBER},
    "LeaveGroup": {WHOLE: _MEMBER},
    "ConsumerGroupHeartbeat": {
        WHOLE: f"{_MEMBER} UNRELEASED_INSTANCE_ID UNSUPPORTED_ASSIGNOR "
        f"GROUP_MAX_SIZE_REACHED INVALID_REGULAR_EXPRESSION {_TOPICS}"
    },
    "ShareGroupHeartbeat": {WHOLE: f"{_MEMBER} GROUP_MAX_SIZE_REACHED {_TOPICS}"},
    "OffsetCommit": {
        PARTITION: f"{_MEMBER} {_TOPICS} OFFSET_METADATA_TOO_LARGE "
        "INVALID_COMMIT_OFFSET_SIZE"
    },
    "OffsetFetch": {KEY: _MEMBER, PARTITION: f"{_TOPICS} UNSTABLE_OFFSET_COMMIT"},
    "OffsetDelete": {
        WHOLE: f"{_GROUP} GROUP_ID_NOT_FOUND NON_EMPTY_GROUP",
        PARTITION: f"{_TOPICS} GROUP_SUBSCRIBED_TO_TOPIC",
    },
    "TxnOffsetCommit": {
        PARTITION: f"{_MEMBER} {_TOPICS} {_PRODUCER} OFFSET_METADATA_TOO_LARGE "
        "INVALID_COMMIT_OFFSET_SIZE"
    },
    "InitProducerId": {
        WHOLE: f"{_IN_TRANSACTION} INVALID_TRANSACTION_TIMEOUT "
        "CLUSTER_AUTHORIZATION_FAILED TRANSACTIONAL_ID_NOT_FOUND"
    },
    "AddPartitionsToTxn": {
        PARTITION: f"{_IN_TRANSACTION} {_TOPICS} OPERATION_NOT_ATTEMPTED"
    },
    "AddOffsetsToTxn": {WHOLE: f"{_IN_TRANSACTION} {_GROUP}"},
    "EndTxn": {WHOLE: _IN_TRANSACTION},
    "CreateTopics": {TOPIC: _NEW_TOPICS},
    "CreatePartitions": {TOPIC: f"{_NEW_TOPICS} REASSIGNMENT_IN_PROGRESS"},
    "DeleteTopics": {TOPIC: f"{_TOPICS} {_ADMIN} TOPIC_DELETION_DISABLED"},
    "DeleteRecords": {PARTITION: f"{_LEADERS} OFFSET_OUT_OF_RANGE POLICY_VIOLATION"},
    "DescribeProducers": {PARTITION: _LEADERS},
    "DescribeGroups": {KEY: f"{_GROUP} GROUP_ID_NOT_FOUND"},
    "DescribeTransactions": {
        KEY: f"{_COORDINATOR} TRANSACTIONAL_ID_NOT_FOUND "
        "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
    },
    "DeleteGroups": {KEY: f"{_GROUP} GROUP_ID_NOT_FOUND NON_EMPTY_GROUP"},
    "ListGroups": {WHOLE: _COORDINATOR},
    "ListTransactions": {WHOLE: _COORDINATOR},
    "DescribeCluster": {WHOLE: "CLUSTER_AUTHORIZATION_FAILED"},
    "SaslHandshake": {WHOLE: "UNSUPPORTED_SASL_MECHANISM ILLEGAL_SASL_STATE"},
    "SaslAuthenticate": {WHOLE: "SASL_AUTHENTICATION_FAILED ILLEGAL_SASL_STATE"},
}


@cache
def places_of(api: str) -> dict[str, frozenset[ErrorCode]]:
    """The places of an API for errors, the first for what is forced."""
    by_place = _CODES.get(api, {WHOLE: _ADMIN})
    found = {place: _codes(text) for place, text in by_place.items()}
    first = next(iter(found))
    found[first] |= _codes(_ANY)
    return found


def code_named(name: str) -> ErrorCode:
    """The code with this name, in whatever case.

    Raises:
        AdminError: there is none; the message has the nearest name.
    """
    wanted = name.upper()
    if wanted in ErrorCode.__members__:
        return ErrorCode[wanted]
    meant = did_you_mean(wanted, ErrorCode.__members__)
    hint = f"; did you mean {meant}?" if meant else ""
    raise refusal(f"there is no error {name!r}{hint}")


def place_of(
    api_key: int, code: ErrorCode, *, is_forced: bool, of_partition: bool = False
) -> str:
    """Where in the answer of an API the code stands; best that of a partition, perhaps.

    Raises:
        AdminError: that API never answers it, and it is not forced.
    """
    api = name_of_api(api_key)
    places = places_of(api)
    found = [place for place, codes in places.items() if code in codes]
    if found:
        return PARTITION if of_partition and PARTITION in found else found[0]
    if is_forced:
        return next(iter(places))
    names = [each.name for codes in places.values() for each in codes]
    meant = did_you_mean(code.name, names, cutoff=0.5)
    hint = f"did you mean {meant}, or force?" if meant else "it can be had with force"
    raise refusal(f"{api} never answers {code.name}; {hint}")


def _codes(names: str) -> frozenset[ErrorCode]:
    return frozenset(ErrorCode[name] for name in names.split())
