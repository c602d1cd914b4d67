"""The errors of a coordinator's log, as its clients are told of them."""

from __future__ import annotations

from odradek.protocol.errors import (
    CoordinatorNotAvailable,
    ErrorCode,
    KafkaError,
    NotCoordinator,
    error_class,
)

_TRY_ELSEWHERE = (ErrorCode.NOT_LEADER_OR_FOLLOWER,)
_TRY_LATER = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
)
_TOO_LARGE = (
    ErrorCode.MESSAGE_TOO_LARGE,
    ErrorCode.RECORD_LIST_TOO_LARGE,
    ErrorCode.INVALID_FETCH_SIZE,
)


def as_coordinator_error(code: int) -> KafkaError:
    """What a client is told of an error that its coordinator's append ended with."""
    if code in _TRY_ELSEWHERE:
        return NotCoordinator()
    if code in _TRY_LATER:
        return CoordinatorNotAvailable()
    if code in _TOO_LARGE:
        return KafkaError()
    return error_class(code)()
