"""The errors of authentication, authorisation and delegation tokens."""

from .kafka_error import KafkaError


class TopicAuthorizationFailed(KafkaError, code=29):
    """Not authorised for this topic."""


class GroupAuthorizationFailed(KafkaError, code=30):
    """Not authorised for this group."""


class ClusterAuthorizationFailed(KafkaError, code=31):
    """Not authorised for this operation on the cluster."""


class UnsupportedSaslMechanism(KafkaError, code=33):
    """The broker does not offer this SASL mechanism."""


class IllegalSaslState(KafkaError, code=34):
    """The request does not fit the state of the SASL exchange."""


class TransactionalIdAuthorizationFailed(KafkaError, code=53):
    """Not authorised for this transactional id."""


class SecurityDisabled(KafkaError, code=54):
    """The broker runs without the security feature this needs."""


class SaslAuthenticationFailed(KafkaError, code=58):
    """SASL authentication failed."""


class DelegationTokenAuthDisabled(KafkaError, code=61):
    """Delegation tokens are switched off."""


class DelegationTokenNotFound(KafkaError, code=62):
    """There is no such delegation token."""


class DelegationTokenOwnerMismatch(KafkaError, code=63):
    """The delegation token belongs to somebody else."""


class DelegationTokenRequestNotAllowed(KafkaError, code=64):
    """Delegation tokens cannot be managed over this connection."""


class DelegationTokenAuthorizationFailed(KafkaError, code=65):
    """Not authorised for this delegation token."""


class DelegationTokenExpired(KafkaError, code=66):
    """The delegation token has expired."""


class InvalidPrincipalType(KafkaError, code=67):
    """Principals of this type are not supported."""


class UnacceptableCredential(KafkaError, code=93):
    """The credential does not meet the rules."""


class PrincipalDeserializationFailure(KafkaError, code=97):
    """The forwarded principal could not be read."""
