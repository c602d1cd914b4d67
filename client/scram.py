"""Credentials of users for SASL/SCRAM (KIP-554): described, set and removed.

The broker gets a password salted and hashed (RFC 5802), never as it was typed.
"""

from __future__ import annotations

import hashlib
import secrets
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
    UserName,
)

from .errors import error_of, raise_for

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from odradek.protocol.errors import KafkaError

    from .cluster import Cluster

ITERATIONS_MIN = 4096
ITERATIONS_MAX = 16384
_SALT_SIZE = 24


class Mechanism(IntEnum):
    """How a password is hashed, as the protocol numbers it."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def text(self) -> str:
        """Its registered name, like ``SCRAM-SHA-256``."""
        return self.name.replace("_", "-")

    @property
    def digest(self) -> str:
        """The hash function, as `hashlib` names it."""
        return self.name.removeprefix("SCRAM_").replace("_", "").lower()


class Credential(NamedTuple):
    """What is known of a credential; ``mechanism`` is its registered name."""

    mechanism: str
    iterations: int


class Users(NamedTuple):
    """The credentials of users by name, and the users of whom there are none."""

    found: Mapping[str, list[Credential]]
    failed: Mapping[str, KafkaError]


def describe_users(cluster: Cluster, names: Collection[str] | None = None) -> Users:
    """The credentials of these users, or of all.

    Raises:
        ClusterAuthorizationFailed, UnsupportedVersion: the broker does not say.
    """
    users = None if names is None else [UserName(name=name) for name in names]
    request = DescribeUserScramCredentialsRequest(users=users)
    answer = cluster.request(request, DescribeUserScramCredentialsResponse)
    raise_for(answer.error_code, answer.error_message)
    found: dict[str, list[Credential]] = {}
    failed: dict[str, KafkaError] = {}
    for result in sorted(answer.results, key=lambda result: result.user):
        if result.error_code:
            failed[result.user] = error_of(result.error_code, result.error_message)
            continue
        found[result.user] = [
            Credential(_mechanism_text(each.mechanism), each.iterations)
            # Apache Kafka answers them in any order.
            for each in sorted(result.credential_infos, key=lambda info: info.mechanism)
        ]
    return Users(found, failed)


def set_password(
    cluster: Cluster,
    user: str,
    password: str,
    mechanism: Mechanism,
    iterations: int = ITERATIONS_MIN,
) -> None:
    """Let a user log in with this password; the one before is forgotten.

    Raises:
        UnacceptableCredential, ClusterAuthorizationFailed: it was not set.
    """
    change = upsertion_of(user, password, mechanism, iterations)
    alter_user(cluster, change)


def upsertion_of(
    user: str, password: str, mechanism: Mechanism, iterations: int = ITERATIONS_MIN
) -> ScramCredentialUpsertion:
    """What lets a user log in with this password: salted, and hashed."""
    salt = secrets.token_bytes(_SALT_SIZE)
    return ScramCredentialUpsertion(
        name=user,
        mechanism=mechanism,
        iterations=iterations,
        salt=salt,
        salted_password=salted(password, salt, mechanism, iterations),
    )


def remove_password(cluster: Cluster, user: str, mechanism: Mechanism) -> None:
    """Forget a credential.

    Raises:
        ResourceNotFound: the user has none of this mechanism.
    """
    alter_user(cluster, ScramCredentialDeletion(name=user, mechanism=mechanism))


def alter_user(
    cluster: Cluster, change: ScramCredentialUpsertion | ScramCredentialDeletion
) -> None:
    """Make one change of a credential.

    Raises:
        ResourceNotFound, UnacceptableCredential, ClusterAuthorizationFailed: it was
            not made.
    """
    request = request_of(change)
    (result,) = cluster.request(request, AlterUserScramCredentialsResponse).results
    raise_for(result.error_code, result.error_message)


def request_of(
    change: ScramCredentialUpsertion | ScramCredentialDeletion,
) -> AlterUserScramCredentialsRequest:
    """The request with one change."""
    if isinstance(change, ScramCredentialDeletion):
        return AlterUserScramCredentialsRequest(deletions=[change])
    return AlterUserScramCredentialsRequest(upsertions=[change])


def salted(password: str, salt: bytes, mechanism: Mechanism, iterations: int) -> bytes:
    """What RFC 5802 calls SaltedPassword; as Kafka, without SASLprep."""
    data = password.encode()
    return hashlib.pbkdf2_hmac(mechanism.digest, data, salt, iterations)


def _mechanism_text(number: int) -> str:
    try:
        return Mechanism(number).text
    except ValueError:
        return str(number)
