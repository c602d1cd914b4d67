"""UpdateFeatures 0-2: the levels of protocols change, all that are named or none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.metadata.features import SAFE_DOWNGRADE, UPGRADE
from odradek.broker.requests import needs
from odradek.broker.requests.registry import handles
from odradek.protocol.acls import Operation
from odradek.protocol.messages.features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

if TYPE_CHECKING:
    from odradek.broker.requests.context import RequestContext

FIRST_VERSION_WITH_TYPE = 1
FIRST_VERSION_WITHOUT_RESULTS = 2
# What Apache Kafka says of a feature with which all is well.
_WELL = "NONE"


@handles(
    UpdateFeaturesRequest,
    versions=(0, 2),
    needs=needs.before(needs.cluster(Operation.ALTER)),
)
async def handle_update_features(
    ctx: RequestContext, request: UpdateFeaturesRequest
) -> UpdateFeaturesResponse:
    """Change levels, or with ``validate_only`` say whether they could be.

    Raises:
        InvalidUpdateVersion: one of them cannot be.
    """
    features = ctx.services.features
    for update in request.feature_updates:
        features.check(
            update.feature, update.max_version_level, _type_of(ctx.api_version, update)
        )
    if not request.validate_only:
        await features.update(
            {each.feature: each.max_version_level for each in request.feature_updates}
        )
    response = UpdateFeaturesResponse(error_message=None)
    if ctx.api_version < FIRST_VERSION_WITHOUT_RESULTS and not request.validate_only:
        response.results = [
            UpdatableFeatureResult(feature=each.feature, error_message=_WELL)
            for each in request.feature_updates
        ]
    return response


def _type_of(version: int, update: FeatureUpdateKey) -> int:
    """Up or down: version 0 says it in other words."""
    if version >= FIRST_VERSION_WITH_TYPE:
        return update.upgrade_type
    return SAFE_DOWNGRADE if update.allow_downgrade else UPGRADE
