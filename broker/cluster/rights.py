"""Rights and delegation tokens, as the metadata log has them.

The secret of a token is in no record: every broker computes it, of the same option.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.metadata.delegation_token import DelegationToken
from odradek.broker.quorum.image.image import EMPTY

if TYPE_CHECKING:
    from odradek.broker.metadata.acls import Acls
    from odradek.broker.metadata.delegation_tokens import DelegationTokens
    from odradek.broker.quorum.image.image import MetadataImage, TokenImage


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
