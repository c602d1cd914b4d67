"""ApiVersions: the first question of a connection, what the broker can do.

A version that the broker does not know is answered in version 0, with error 35 and
the range of this API, so the client can ask again.
"""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    int16,
    int32,
    int64,
    since,
    string,
)


class ApiVersionsRequest(
    Request, api_key=ApiKey.API_VERSIONS, versions=(0, 4), flexible=3
):
    """Which versions of which APIs does the broker speak? The client says its name."""

    client_software_name: str = string(versions=since(3))
    client_software_version: str = string(versions=since(3))


class ApiVersion(Struct):
    """The versions of one API, both ends included."""

    api_key: int = int16()
    min_version: int = int16()
    max_version: int = int16()


class SupportedFeatureKey(Struct):
    """The levels of a feature that this broker knows (KIP-584)."""

    name: str = string()
    min_version: int = int16()
    max_version: int = int16()


class FinalizedFeatureKey(Struct):
    """The level of a feature that the cluster agreed on."""

    name: str = string()
    max_version_level: int = int16()
    min_version_level: int = int16()


class ApiVersionsResponse(
    Response, api_key=ApiKey.API_VERSIONS, versions=(0, 4), flexible=3
):
    """What the broker can do. Version 3 tells its features, tagged.

    Only from version 4 may the lowest level of a feature be 0 (KAFKA-17011).
    """

    error_code: int = int16()
    api_keys: list[ApiVersion] = array()
    throttle_time_ms: int = int32(versions=since(1))
    supported_features: list[SupportedFeatureKey] = array(versions=since(3), tag=0)
    finalized_features_epoch: int = int64(versions=since(3), tag=1, default=-1)
    finalized_features: list[FinalizedFeatureKey] = array(versions=since(3), tag=2)
    zk_migration_ready: bool = boolean(versions=since(3), tag=3)
