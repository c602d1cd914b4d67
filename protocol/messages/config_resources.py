"""ListConfigResources: the things that have options (KIP-714, KIP-1142)."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    int8,
    int16,
    int32,
    since,
    string,
)

CLIENT_METRICS = 16


class ListConfigResourcesRequest(
    Request, api_key=ApiKey.LIST_CONFIG_RESOURCES, versions=(0, 1), flexible=0
):
    """List things of these types; none means all. Version 0 knew client metrics."""

    resource_types: list[int] = array(of=int8, versions=since(1))


class ConfigResource(Struct):
    """A thing that has options."""

    resource_name: str = string()
    resource_type: int = int8(versions=since(1), default=CLIENT_METRICS)


class ListConfigResourcesResponse(
    Response, api_key=ApiKey.LIST_CONFIG_RESOURCES, versions=(0, 1), flexible=0
):
    """The things."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    config_resources: list[ConfigResource] = array()
