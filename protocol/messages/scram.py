"""Credentials of users for SASL/SCRAM: to show and to change them (KIP-554)."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    bytes_,
    int8,
    int16,
    int32,
    string,
)


class UserName(Struct):
    """A user."""

    name: str = string()


class DescribeUserScramCredentialsRequest(
    Request,
    api_key=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    versions=(0, 0),
    flexible=0,
):
    """Which credentials do users have? Null asks about all users."""

    users: list[UserName] | None = array(nullable=True)


class CredentialInfo(Struct):
    """A credential without its secrets: SCRAM-SHA-256 (1) or SCRAM-SHA-512 (2)."""

    mechanism: int = int8()
    iterations: int = int32()


class DescribeUserScramCredentialsResult(Struct):
    """The credentials of one user."""

    user: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    credential_infos: list[CredentialInfo] = array()


class DescribeUserScramCredentialsResponse(
    Response,
    api_key=ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS,
    versions=(0, 0),
    flexible=0,
):
    """One answer for each user."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    results: list[DescribeUserScramCredentialsResult] = array()


class ScramCredentialDeletion(Struct):
    """A credential to delete."""

    name: str = string()
    mechanism: int = int8()


class ScramCredentialUpsertion(Struct):
    """A credential to store; the password comes salted and hashed."""

    name: str = string()
    mechanism: int = int8()
    iterations: int = int32()
    salt: bytes = bytes_()
    salted_password: bytes = bytes_()


class AlterUserScramCredentialsRequest(
    Request,
    api_key=ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    versions=(0, 0),
    flexible=0,
):
    """Delete and store credentials."""

    deletions: list[ScramCredentialDeletion] = array()
    upsertions: list[ScramCredentialUpsertion] = array()


class AlterUserScramCredentialsResult(Struct):
    """Whether the credentials of one user were changed."""

    user: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)


class AlterUserScramCredentialsResponse(
    Response,
    api_key=ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    versions=(0, 0),
    flexible=0,
):
    """One answer for each user."""

    throttle_time_ms: int = int32()
    results: list[AlterUserScramCredentialsResult] = array()
