"""Which error codes a transactional producer asks again after, and which end what."""

from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.produce import ProduceRequest
from odradek.protocol.schema import Request

LOOK_UP = {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}
_AGAIN = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.UNKNOWN_TOPIC_ID,
}
MAPPING_LOST = {ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.UNKNOWN_PRODUCER_ID}
_ABORTABLE = MAPPING_LOST | {
    ErrorCode.TRANSACTION_ABORTABLE,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.OPERATION_NOT_ATTEMPTED,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.STALE_MEMBER_EPOCH,
    ErrorCode.FENCED_INSTANCE_ID,
}
_FENCED = {ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH}
# Of Produce, everything else can be aborted, INVALID_PRODUCER_EPOCH too.
_FATAL_OF_PRODUCE = {
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.UNSUPPORTED_VERSION,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
}


class TransactionError(Exception):
    """An answer with an error code, and to what."""

    def __init__(self, request: Request, code: int) -> None:
        super().__init__(f"{type(request).__name__}: {ErrorCode(code).name}")
        self.request = request
        self.code = ErrorCode(code)


class Abortable(TransactionError):
    """This transaction can only be aborted; the next one may go well."""


class Fatal(TransactionError):
    """This producer can do nothing any more."""


class Fenced(Fatal):
    """Another producer of this transactional id has begun."""


class GaveUp(TimeoutError):
    """There was no answer, however often it was asked; it may have been done."""


def failure(request: Request, code: int) -> TransactionError | None:
    """What the code means for the producer; None when it asks again."""
    if code in LOOK_UP or code in _AGAIN:
        return None
    if isinstance(request, ProduceRequest):
        if code == ErrorCode.PRODUCER_FENCED:
            return Fenced(request, code)
        kind = Fatal if code in _FATAL_OF_PRODUCE else Abortable
        return kind(request, code)
    if code in _FENCED:
        return Fenced(request, code)
    return (Abortable if code in _ABORTABLE else Fatal)(request, code)
