"""The errors of reading and writing a log: produce, fetch, offsets."""

from .kafka_error import KafkaError, RetriableError


class OffsetOutOfRange(KafkaError, code=1):
    """The offset is outside the range that the log of this partition holds."""


class CorruptMessage(RetriableError, code=2):
    """The batch does not match its checksum, its length or its own header."""


class UnknownTopicOrPartition(RetriableError, code=3):
    """This broker has no such topic or partition."""


class InvalidFetchSize(KafkaError, code=4):
    """The fetch asks for an impossible number of bytes."""


class LeaderNotAvailable(RetriableError, code=5):
    """The partition has no leader yet; ask for metadata again."""


class NotLeaderOrFollower(RetriableError, code=6):
    """This broker does not hold the partition in the role that the request needs."""


class RequestTimedOut(RetriableError, code=7):
    """The request was not complete within the time it allowed."""


class ReplicaNotAvailable(RetriableError, code=9):
    """The replica that was asked for is not available."""


class MessageTooLarge(KafkaError, code=10):
    """The batch is larger than this topic accepts."""


class NetworkException(RetriableError, code=13):
    """The connection was lost before an answer arrived."""


class InvalidTopic(KafkaError, code=17):
    """The name is not allowed for a topic, or the topic is closed to clients."""


class RecordListTooLarge(KafkaError, code=18):
    """The batch is larger than a whole segment of this topic."""


class NotEnoughReplicas(RetriableError, code=19):
    """Fewer replicas are in sync than this topic demands; nothing was written."""


class NotEnoughReplicasAfterAppend(RetriableError, code=20):
    """Written, but on fewer replicas in sync than this topic demands."""


class InvalidRequiredAcks(KafkaError, code=21):
    """Acks can only be 0, 1 or -1 (all)."""


class InvalidTimestamp(KafkaError, code=32):
    """A record's timestamp is outside what this topic accepts."""


class UnsupportedForMessageFormat(KafkaError, code=43):
    """The format of the stored batches does not support this request."""


class OutOfOrderSequenceNumber(KafkaError, code=45):
    """The producer's sequence number does not follow the last one."""


class DuplicateSequenceNumber(KafkaError, code=46):
    """The producer's sequence number was stored before."""


class InvalidProducerEpoch(KafkaError, code=47):
    """The producer's epoch is older than the one the broker knows."""


class KafkaStorageError(RetriableError, code=56):
    """The log directory of this partition is offline."""


class LogDirNotFound(KafkaError, code=57):
    """The broker has no such log directory."""


class UnknownProducerId(KafkaError, code=59):
    """The log holds no state for this producer id."""


class FetchSessionIdNotFound(RetriableError, code=70):
    """The broker no longer has this fetch session."""


class InvalidFetchSessionEpoch(RetriableError, code=71):
    """The epoch of the fetch session is not the expected one."""


class FencedLeaderEpoch(RetriableError, code=74):
    """The leader epoch of the request is older than the broker's."""


class UnknownLeaderEpoch(RetriableError, code=75):
    """The leader epoch of the request is newer than the broker's."""


class UnsupportedCompressionType(KafkaError, code=76):
    """The client's version cannot read this compression."""


class OffsetNotAvailable(RetriableError, code=78):
    """The new leader does not know its high watermark yet."""


class InvalidRecord(KafkaError, code=87):
    """A record of the batch breaks a rule of the format or of the topic."""


class UnknownTopicId(RetriableError, code=100):
    """This broker has no topic of this id."""


class InconsistentTopicId(RetriableError, code=103):
    """The topic id of the log is not that of the request."""


class FetchSessionTopicIdError(RetriableError, code=106):
    """The fetch session mixes topic ids and topic names."""


class OffsetMovedToTieredStorage(KafkaError, code=109):
    """The offset is no longer here but in tiered storage."""
