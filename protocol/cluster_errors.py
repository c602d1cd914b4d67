"""The errors of topics, configuration, brokers and requests as such."""

from .kafka_error import KafkaError, RetriableError


class UnknownServerError(KafkaError, code=-1):
    """Something went wrong in the broker that has no code of its own."""


class BrokerNotAvailable(KafkaError, code=8):
    """The broker is not available."""


class StaleControllerEpoch(KafkaError, code=11):
    """The controller that sent this has been replaced by a newer one."""


class UnsupportedVersion(KafkaError, code=35):
    """This version of the request is not supported."""


class TopicAlreadyExists(KafkaError, code=36):
    """A topic of this name exists already."""


class InvalidPartitions(KafkaError, code=37):
    """The number of partitions is not allowed."""


class InvalidReplicationFactor(KafkaError, code=38):
    """The replication factor is below 1 or above the number of brokers."""


class InvalidReplicaAssignment(KafkaError, code=39):
    """The assignment of replicas to brokers is not possible."""


class InvalidConfig(KafkaError, code=40):
    """A configuration option or its value is not allowed."""


class NotController(RetriableError, code=41):
    """This broker is not the controller."""


class InvalidRequest(KafkaError, code=42):
    """The request contradicts itself or lacks what it needs."""


class PolicyViolation(KafkaError, code=44):
    """A policy of this cluster forbids the change."""


class OperationNotAttempted(KafkaError, code=55):
    """Not tried, because another part of the request failed."""


class ReassignmentInProgress(KafkaError, code=60):
    """The partition is being moved between brokers."""


class ListenerNotFound(RetriableError, code=72):
    """The leader has no listener of the kind this request came through."""


class TopicDeletionDisabled(KafkaError, code=73):
    """Deletion of topics is switched off."""


class StaleBrokerEpoch(KafkaError, code=77):
    """The broker has registered again since this was sent."""


class PreferredLeaderNotAvailable(RetriableError, code=80):
    """The preferred leader is not available."""


class EligibleLeadersNotAvailable(RetriableError, code=83):
    """No replica that may become leader is available."""


class ElectionNotNeeded(RetriableError, code=84):
    """The partition already has the leader that was asked for."""


class NoReassignmentInProgress(KafkaError, code=85):
    """The partition is not being moved."""


class ThrottlingQuotaExceeded(RetriableError, code=89):
    """A quota is used up; try again later."""


class ResourceNotFound(KafkaError, code=91):
    """There is no such resource."""


class DuplicateResource(KafkaError, code=92):
    """The request names a resource twice."""


class InconsistentVoterSet(KafkaError, code=94):
    """The set of voters differs from the one that the receiver knows."""


class InvalidUpdateVersion(KafkaError, code=95):
    """The version of the update does not follow the current one."""


class FeatureUpdateFailed(KafkaError, code=96):
    """The finalised features could not be changed."""


class SnapshotNotFound(KafkaError, code=98):
    """There is no such snapshot."""


class PositionOutOfRange(KafkaError, code=99):
    """The position is outside the snapshot."""


class DuplicateBrokerRegistration(KafkaError, code=101):
    """A live broker has registered with this id."""


class BrokerIdNotRegistered(KafkaError, code=102):
    """No broker has registered with this id."""


class InconsistentClusterId(KafkaError, code=104):
    """The cluster id is not the one of this cluster."""


class IneligibleReplica(KafkaError, code=107):
    """The replica may not join those in sync."""


class NewLeaderElected(KafkaError, code=108):
    """The change gave the partition a new leader."""


class MismatchedEndpointType(KafkaError, code=114):
    """The request was sent to an endpoint of the wrong type."""


class UnsupportedEndpointType(KafkaError, code=115):
    """Endpoints of this type are not supported."""


class UnknownControllerId(KafkaError, code=116):
    """There is no controller of this id."""


class UnknownSubscriptionId(KafkaError, code=117):
    """The client's telemetry subscription has changed."""


class TelemetryTooLarge(KafkaError, code=118):
    """The telemetry payload is larger than the broker accepts."""


class InvalidRegistration(KafkaError, code=119):
    """The registration is not valid."""


class InvalidVoterKey(KafkaError, code=125):
    """The key of the voter does not match the receiver's."""


class DuplicateVoter(KafkaError, code=126):
    """The voter is already in the set."""


class VoterNotFound(KafkaError, code=127):
    """The voter is not in the set."""


class RebootstrapRequired(KafkaError, code=129):
    """The client must start again from its bootstrap servers."""
