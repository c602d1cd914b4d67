"""What a client raises, besides the ``KafkaError`` that a broker answered."""

from __future__ import annotations

from enum import Enum

from odradek.protocol.errors import (
    KafkaError,
    UnknownTopicOrPartition,
    error_class,
)


class Unreachable(ConnectionError):
    """A broker cannot be reached; the message says which, and why."""


class TlsCause(Enum):
    """Why TLS with a broker is not possible."""

    UNKNOWN_ISSUER = "unknown issuer"
    EXPIRED = "expired"
    NOT_YET_VALID = "not yet valid"
    OTHER_NAME = "other name"
    INVALID = "invalid"
    NO_TLS = "no TLS"
    HUNG_UP = "hung up"
    VERSION = "version"
    CIPHER = "cipher"
    NO_CERTIFICATE = "no certificate of ours"
    CERTIFICATE_REFUSED = "our certificate refused"
    OTHER = "other"


class TlsFailed(Unreachable):
    """TLS with a broker is not possible: to try again is of no use.

    ``verify_code`` is OpenSSL's of a certificate that was not accepted, or 0.
    """

    def __init__(
        self,
        message: str,
        verify_code: int = 0,
        cause: TlsCause = TlsCause.OTHER,
    ) -> None:
        super().__init__(message)
        self.verify_code = verify_code
        self.cause = cause

    @property
    def may_pass(self) -> bool:
        """Whether it may only be a broker that stops just now."""
        return self.cause is TlsCause.HUNG_UP


class NoAnswer(TimeoutError):
    """A broker did not answer in time."""


class TopicReplaced(Exception):
    """The topic of this name is not the one that it was."""


class UnknownPartition(UnknownTopicOrPartition):
    """There is such a topic, but it does not have that partition."""


def error_of(code: int, message: str | None = None) -> KafkaError:
    """The error that a broker answered with ``code``, which is not 0."""
    kind = error_class(code)
    if kind is KafkaError:
        return KafkaError(message or f"The broker answered error {code}.")
    return kind(message or None)


def raise_for(code: int, message: str | None = None) -> None:
    """Raise the error of ``code``, unless it is 0."""
    if code:
        raise error_of(code, message)
