"""The errors of groups, committed offsets and transactions."""

from .kafka_error import KafkaError, RetriableError


class OffsetMetadataTooLarge(KafkaError, code=12):
    """The metadata string of a committed offset is too long."""


class CoordinatorLoadInProgress(RetriableError, code=14):
    """The coordinator is still reading its state; try again."""


class CoordinatorNotAvailable(RetriableError, code=15):
    """The coordinator cannot answer at the moment."""


class NotCoordinator(RetriableError, code=16):
    """Another broker coordinates this group or transactional id."""


class IllegalGeneration(KafkaError, code=22):
    """The generation is not the current one of the group."""


class InconsistentGroupProtocol(KafkaError, code=23):
    """The member shares no protocol with the other members of the group."""


class InvalidGroupId(KafkaError, code=24):
    """The group id is not allowed."""


class UnknownMemberId(KafkaError, code=25):
    """The group has no such member."""


class InvalidSessionTimeout(KafkaError, code=26):
    """The session timeout is outside what this broker allows."""


class RebalanceInProgress(KafkaError, code=27):
    """The group is rebalancing; join it again."""


class InvalidCommitOffsetSize(KafkaError, code=28):
    """The offsets to commit are too large for one batch."""


class InvalidTxnState(KafkaError, code=48):
    """The transaction is in a state that does not allow this."""


class InvalidProducerIdMapping(KafkaError, code=49):
    """The producer id does not belong to this transactional id."""


class InvalidTransactionTimeout(KafkaError, code=50):
    """The transaction timeout is longer than this broker allows."""


class ConcurrentTransactions(RetriableError, code=51):
    """The previous transaction of this producer is still being completed."""


class TransactionCoordinatorFenced(KafkaError, code=52):
    """The coordinator that sent this marker has been replaced."""


class NonEmptyGroup(KafkaError, code=68):
    """The group still has members."""


class GroupIdNotFound(KafkaError, code=69):
    """There is no such group."""


class MemberIdRequired(KafkaError, code=79):
    """Join again with the member id of this answer."""


class GroupMaxSizeReached(KafkaError, code=81):
    """The group has as many members as this broker allows."""


class FencedInstanceId(KafkaError, code=82):
    """Another member has joined with this group instance id."""


class GroupSubscribedToTopic(KafkaError, code=86):
    """A member of the group subscribes to this topic."""


class UnstableOffsetCommit(RetriableError, code=88):
    """The offset may still change with an open transaction."""


class ProducerFenced(KafkaError, code=90):
    """A newer producer uses the same transactional id."""


class TransactionalIdNotFound(KafkaError, code=105):
    """There is no such transactional id."""


class FencedMemberEpoch(KafkaError, code=110):
    """The member's epoch is not the one the coordinator expects; join again."""


class UnreleasedInstanceId(KafkaError, code=111):
    """Another member still uses this group instance id."""


class UnsupportedAssignor(KafkaError, code=112):
    """The group's members share no assignor with the coordinator."""


class StaleMemberEpoch(KafkaError, code=113):
    """The member's epoch is old; it must first learn the new one."""


class TransactionAbortable(KafkaError, code=120):
    """The transaction cannot go on and must be aborted."""


class InvalidRecordState(KafkaError, code=121):
    """The acknowledged record is in a state that does not allow this."""


class ShareSessionNotFound(RetriableError, code=122):
    """The broker no longer has this share session."""


class InvalidShareSessionEpoch(RetriableError, code=123):
    """The epoch of the share session is not the expected one."""


class FencedStateEpoch(KafkaError, code=124):
    """The state epoch of the share group is older than the stored one."""


class InvalidRegularExpression(KafkaError, code=128):
    """The regular expression is not valid."""


class StreamsInvalidTopology(KafkaError, code=130):
    """The topology of the streams group is not valid."""


class StreamsInvalidTopologyEpoch(KafkaError, code=131):
    """The epoch of the topology is not valid."""


class StreamsTopologyFenced(KafkaError, code=132):
    """The epoch of the topology is old."""


class ShareSessionLimitReached(RetriableError, code=133):
    """The broker has as many share sessions as it allows."""
