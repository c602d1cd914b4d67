"""DescribeUserScramCredentials 0 and AlterUserScramCredentials 0 (KIP-554)."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from odradek.broker.metadata.scram_credentials import ITERATIONS_MAX, ScramCredential
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.protocol.acls import Operation
from odradek.protocol.errors import (
    DuplicateResource,
    ErrorCode,
    KafkaError,
    ResourceNotFound,
    UnacceptableCredential,
    UnsupportedSaslMechanism,
)
from odradek.protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from odradek.protocol.scram import ITERATIONS_MIN, Mechanism

if TYPE_CHECKING:
    from odradek.broker.metadata.scram_credentials import ScramCredentials
    from odradek.broker.requests.context import RequestContext

    Change = ScramCredentialDeletion | ScramCredentialUpsertion


@handles(
    DescribeUserScramCredentialsRequest,
    versions=(0, 0),
    needs=needs.before(needs.cluster(Operation.DESCRIBE)),
)
def handle_describe_user_scram_credentials(
    ctx: RequestContext, request: DescribeUserScramCredentialsRequest
) -> DescribeUserScramCredentialsResponse:
    """Mechanisms and iterations; none named means all users."""
    credentials = ctx.services.credentials
    names = [each.name for each in request.users or ()] or credentials.users()
    return DescribeUserScramCredentialsResponse(
        results=[
            _described(credentials, name, count > 1)
            for name, count in Counter(names).items()
        ]
    )


@answers_errors(DescribeUserScramCredentialsRequest)
def refuse_describe_user_scram_credentials(
    request: DescribeUserScramCredentialsRequest, error: KafkaError
) -> DescribeUserScramCredentialsResponse:
    """The error above all, and at a result without a name for each user."""
    code, message = error.code, str(error)
    return DescribeUserScramCredentialsResponse(
        error_code=code,
        error_message=message,
        results=[
            DescribeUserScramCredentialsResult(error_code=code, error_message=message)
            for _ in request.users or ()
        ],
    )


@handles(
    AlterUserScramCredentialsRequest,
    versions=(0, 0),
    needs=needs.before(needs.cluster(Operation.ALTER)),
)
async def handle_alter_user_scram_credentials(
    ctx: RequestContext, request: AlterUserScramCredentialsRequest
) -> AlterUserScramCredentialsResponse:
    """Change one credential of each user; a user who comes twice is refused."""
    changes: list[Change] = [*request.deletions, *request.upsertions]
    counts = Counter(change.name for change in changes)
    results = []
    for change in changes:
        result = AlterUserScramCredentialsResult(user=change.name, error_message=None)
        try:
            check_change(change)
            if counts[change.name] > 1:
                raise DuplicateResource(
                    "A user credential cannot be altered twice in the same request"
                )
            await alter_credential(ctx.services.credentials, change)
        except KafkaError as error:
            result.error_code = ErrorCode(error.code)
            result.error_message = str(error)
        results.append(result)
    answers = {result.user: result for result in reversed(results)}
    return AlterUserScramCredentialsResponse(results=[answers[name] for name in counts])


@answers_errors(AlterUserScramCredentialsRequest)
def refuse_alter_user_scram_credentials(
    request: AlterUserScramCredentialsRequest, error: KafkaError
) -> AlterUserScramCredentialsResponse:
    """The error at every user."""
    names = [each.name for each in request.deletions]
    names += [each.name for each in request.upsertions]
    return AlterUserScramCredentialsResponse(
        results=[
            AlterUserScramCredentialsResult(
                user=name, error_code=error.code, error_message=str(error)
            )
            for name in dict.fromkeys(names)
        ]
    )


def _described(
    credentials: ScramCredentials, name: str, is_twice: bool
) -> DescribeUserScramCredentialsResult:
    result = DescribeUserScramCredentialsResult(user=name)
    found = credentials.of(name)
    if is_twice:
        result.error_code = ErrorCode.DUPLICATE_RESOURCE
        result.error_message = (
            "Cannot describe SCRAM credentials for the same user twice in a single "
            f"request: {name}"
        )
    elif not found:
        result.error_code = ErrorCode.RESOURCE_NOT_FOUND
        result.error_message = (
            f"Attempt to describe a user credential that does not exist: {name}"
        )
    else:
        result.credential_infos = [
            CredentialInfo(mechanism=mechanism, iterations=credential.iterations)
            for mechanism, credential in found.items()
        ]
    return result


def check_change(change: Change) -> None:
    """See that a change makes sense.

    Raises:
        UnacceptableCredential, UnsupportedSaslMechanism: it does not.
    """
    if not change.name:
        raise UnacceptableCredential("Username must not be empty")
    if change.mechanism not in frozenset(Mechanism):
        raise UnsupportedSaslMechanism("Unknown SCRAM mechanism")
    if isinstance(change, ScramCredentialDeletion):
        return
    if change.iterations < ITERATIONS_MIN:
        raise UnacceptableCredential("Too few iterations")
    if change.iterations > ITERATIONS_MAX:
        raise UnacceptableCredential("Too many iterations")
    if not change.salted_password:
        raise UnacceptableCredential("The salted password is empty")


async def alter_credential(credentials: ScramCredentials, change: Change) -> None:
    """Make the change; it is durable then.

    Raises:
        ResourceNotFound: there is no such credential to delete.
        KafkaStorageError: the catalogue cannot be written.
    """
    mechanism = Mechanism(change.mechanism)
    if isinstance(change, ScramCredentialDeletion):
        if mechanism not in credentials.of(change.name):
            raise ResourceNotFound(
                "Attempt to delete a user credential that does not exist"
            )
        await credentials.put(change.name, mechanism, None)
        return
    credential = ScramCredential.of(
        mechanism,
        change.iterations,
        bytes(change.salt),
        bytes(change.salted_password),
    )
    await credentials.put(change.name, mechanism, credential)
