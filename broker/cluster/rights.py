"""Rights and delegation tokens, as the metadata log has them.

The secret of a token is in no record: every broker computes it, of the same option.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from odradek.broker.metadata.delegation_token import DelegationToken
from odradek.broker.quorum.image.image import EMPTY
from odradek.protocol.acls import Operation, ResourceType
from odradek.protocol.errors import ErrorCode, KafkaError, MalformedRequest
from odradek.protocol.messages.acls import DescribeAclsRequest, DescribeAclsResponse

if TYPE_CHECKING:
    from odradek.broker.cluster.controller_channel import Controllers
    from odradek.broker.metadata.acls import Acls
    from odradek.broker.metadata.delegation_tokens import DelegationTokens
    from odradek.broker.quorum.image.image import MetadataImage, TokenImage

_ANY: Final = 1  # permission

_logger = logging.getLogger(__name__)


async def publish_acls(acls: Acls, before: MetadataImage, after: MetadataImage) -> None:
    """Have the entries of ``after``, if they are others than before."""
    if before is EMPTY or before.acls is not after.acls:
        await acls.replace(list(after.acls.values()))


async def publish_tokens(
    tokens: DelegationTokens, before: MetadataImage, after: MetadataImage
) -> None:
    """Have the tokens of ``after``, if they are others than before."""
    if before is EMPTY or before.tokens is not after.tokens:
        await tokens.replace([_token(*each) for each in after.tokens.items()])


async def warn_of_open_controllers(controllers: Controllers) -> None:
    """Say it if they have no authorizer, where this broker has one.

    What is passed on to them they alone allow: without one, to everybody.
    """
    request = DescribeAclsRequest(
        resource_type_filter=ResourceType.CLUSTER,
        operation=Operation.CLUSTER_ACTION,
        permission_type=_ANY,
    )
    try:
        answer = await controllers.ask_controller(request, DescribeAclsResponse)
    except (KafkaError, MalformedRequest):
        return  # nobody knows
    if answer.error_code == ErrorCode.SECURITY_DISABLED:
        _logger.warning(
            "the controllers have no authorizer: everybody who can connect to this"
            " broker may change topics, options, users and rights; set"
            " authorizer.class.name there, too"
        )


def _token(token_id: str, found: TokenImage) -> DelegationToken:
    return DelegationToken(
        token_id,
        found.owner,
        found.requester,
        found.renewers,
        found.issue_timestamp_ms,
        found.expiration_timestamp_ms,
        found.max_timestamp_ms,
    )
