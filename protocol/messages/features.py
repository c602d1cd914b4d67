"""UpdateFeatures: the levels of protocols that a cluster has agreed on (KIP-584)."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    since,
    string,
    until,
)


class FeatureUpdateKey(Struct):
    """A feature and its new level; 0 switches it off.

    It may go up (1), down without loss (2) or down with loss (3).
    """

    feature: str = string()
    max_version_level: int = int16()
    allow_downgrade: bool = boolean(versions=until(0))
    upgrade_type: int = int8(versions=since(1), default=1)


class UpdateFeaturesRequest(
    Request, api_key=ApiKey.UPDATE_FEATURES, versions=(0, 2), flexible=0
):
    """Change the levels of features, all or none from version 2 on."""

    timeout_ms: int = int32(default=60_000)
    feature_updates: list[FeatureUpdateKey] = array()
    validate_only: bool = boolean(versions=since(1))


class UpdatableFeatureResult(Struct):
    """Whether one feature was changed."""

    feature: str = string()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)


class UpdateFeaturesResponse(
    Response, api_key=ApiKey.UPDATE_FEATURES, versions=(0, 2), flexible=0
):
    """What became of the features."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    results: list[UpdatableFeatureResult] = array(versions=until(1))
