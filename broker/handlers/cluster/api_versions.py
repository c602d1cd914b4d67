"""ApiVersions: what this broker can do, as its handlers say.

An unsupported version of this very request is answered by ``dispatch``, in
version 0. A feature that is not finalised lets clients speak the older of the two
protocols between which it would choose. Every client begins with this request, and the
answer changes only with the features: it is written once for each version.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from odradek.broker.metadata.features import FINALIZED
from odradek.broker.requests import needs
from odradek.broker.requests.offered import OFFERED
from odradek.broker.requests.registry import handles
from odradek.protocol.api_keys import ApiKey
from odradek.protocol.compiler import encoder
from odradek.protocol.errors import InvalidRequest
from odradek.protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

if TYPE_CHECKING:
    from odradek.broker.cluster.forwarding import Versions
    from odradek.broker.metadata.features import SupportedFeature
    from odradek.broker.requests.context import RequestContext

FIRST_VERSION_WITH_SOFTWARE = 3
# Older clients take a level of 0 for a broken answer (KAFKA-17011).
FIRST_VERSION_WITH_LEVEL_0 = 4
# Of no use, and a line in the log of every librdkafka, until metrics are wanted.
_TELEMETRY = frozenset({ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY})
_ADD_PARTITIONS_OF_BROKERS = 5
# The names that KIP-511 allows: they end up in metrics.
_SOFTWARE = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


@handles(ApiVersionsRequest, versions=(0, 4), needs=needs.NOTHING)
def handle_api_versions(ctx: RequestContext, request: ApiVersionsRequest) -> bytes:
    """List every API with the versions that are offered."""
    if ctx.api_version >= FIRST_VERSION_WITH_SOFTWARE:
        name = request.client_software_name
        version = request.client_software_version
        if not (_SOFTWARE.fullmatch(name) and _SOFTWARE.fullmatch(version)):
            raise InvalidRequest("the name or version of the client software is odd")
        ctx.connection.client_software_name = name
        ctx.connection.client_software_version = version
    services = ctx.services
    features, cluster = services.features, services.cluster
    epoch, levels = features.told
    return _body(
        ctx.api_version,
        services.wants_client_metrics,
        epoch,
        features.supported,
        levels,
        None if cluster is None else cluster.forwarding.versions,
    )


@lru_cache(maxsize=16)  # of each version that clients speak, and a few older levels
def _body(
    api_version: int,
    has_telemetry: bool,
    epoch: int,
    supported: tuple[SupportedFeature, ...],
    levels: tuple[int, ...],
    of_controllers: tuple[Versions, ...] | None,
) -> bytes:
    apis = advertised_apis()
    if not has_telemetry:
        apis = [api for api in apis if api.api_key not in _TELEMETRY]
    if of_controllers is not None:
        apis = _in_cluster(apis, of_controllers)
    response = ApiVersionsResponse(api_keys=apis)
    response.supported_features = [
        SupportedFeatureKey(name=name, min_version=lowest, max_version=highest)
        for name, lowest, highest in supported
        if lowest or api_version >= FIRST_VERSION_WITH_LEVEL_0
    ]
    response.finalized_features_epoch = epoch
    names = (each.name for each in supported)
    level_of = dict(zip(names, levels, strict=True))
    response.finalized_features = [
        FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
        for name in FINALIZED
        if (level := level_of.get(name))
    ]
    return b"".join(encoder(ApiVersionsResponse, api_version)(response))


def _in_cluster(
    apis: list[ApiVersion], of_controllers: tuple[Versions, ...]
) -> list[ApiVersion]:
    """What brokers ask each other as well; and what is sent on, as it is read there."""
    for api in apis:
        if api.api_key == ApiKey.ADD_PARTITIONS_TO_TXN:
            api.max_version = _ADD_PARTITIONS_OF_BROKERS
    there = {key: (lowest, highest) for key, lowest, highest in of_controllers}
    for api in apis:
        if api.api_key in there:
            lowest, highest = there[api.api_key]
            api.min_version = max(api.min_version, lowest)
            api.max_version = min(api.max_version, highest)
    return [api for api in apis if api.min_version <= api.max_version]


def advertised_apis() -> list[ApiVersion]:
    """All APIs, by their key, with the versions to advertise."""
    return [
        ApiVersion(
            api_key=api_key,
            min_version=offer.advertised_min,
            max_version=offer.advertised_max,
        )
        for api_key, offer in OFFERED.items()
    ]
