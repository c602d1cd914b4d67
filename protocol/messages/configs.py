"""Options of topics, brokers and others: to show and to change them."""

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
)


class DescribeConfigsResource(Struct):
    """A topic, broker or other thing, and which options to show; null means all."""

    resource_type: int = int8()
    resource_name: str = string()
    configuration_keys: list[str] | None = array(nullable=True)


class DescribeConfigsRequest(
    Request, api_key=ApiKey.DESCRIBE_CONFIGS, versions=(1, 4), flexible=4
):
    """Show options, with where each value comes from."""

    resources: list[DescribeConfigsResource] = array()
    include_synonyms: bool = boolean()
    include_documentation: bool = boolean(versions=since(3))


class DescribeConfigsSynonym(Struct):
    """A place where the value could come from, the strongest first (KIP-226)."""

    name: str = string()
    value: str | None = string(nullable=True, default="")
    source: int = int8()


class DescribeConfigsResourceResult(Struct):
    """An option and its value, which is null where it is a secret."""

    name: str = string()
    value: str | None = string(nullable=True, default="")
    read_only: bool = boolean()
    config_source: int = int8(default=-1)
    is_sensitive: bool = boolean()
    synonyms: list[DescribeConfigsSynonym] = array()
    config_type: int = int8(versions=since(3))
    documentation: str | None = string(versions=since(3), nullable=True, default="")


class DescribeConfigsResult(Struct):
    """The options of one thing."""

    error_code: int = int16()
    error_message: str | None = string(nullable=True, default="")
    resource_type: int = int8()
    resource_name: str = string()
    configs: list[DescribeConfigsResourceResult] = array()


class DescribeConfigsResponse(
    Response, api_key=ApiKey.DESCRIBE_CONFIGS, versions=(1, 4), flexible=4
):
    """The options of each thing."""

    throttle_time_ms: int = int32()
    results: list[DescribeConfigsResult] = array()


class AlterableConfig(Struct):
    """An option to set (0), delete (1), append to (2) or subtract from (3)."""

    name: str = string()
    config_operation: int = int8()
    value: str | None = string(nullable=True, default="")


class AlterConfigsResource(Struct):
    """The options of one thing to change."""

    resource_type: int = int8()
    resource_name: str = string()
    configs: list[AlterableConfig] = array()


class IncrementalAlterConfigsRequest(
    Request, api_key=ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1), flexible=1
):
    """Change the named options and no others (KIP-339)."""

    resources: list[AlterConfigsResource] = array()
    validate_only: bool = boolean()


class AlterConfigsResourceResponse(Struct):
    """Whether the options of one thing were changed."""

    error_code: int = int16()
    error_message: str | None = string(nullable=True, default="")
    resource_type: int = int8()
    resource_name: str = string()


class IncrementalAlterConfigsResponse(
    Response, api_key=ApiKey.INCREMENTAL_ALTER_CONFIGS, versions=(0, 1), flexible=1
):
    """What became of each thing."""

    throttle_time_ms: int = int32()
    responses: list[AlterConfigsResourceResponse] = array()


class ReplacingConfig(Struct):
    """An option and its new value."""

    name: str = string()
    value: str | None = string(nullable=True, default="")


class ReplacedConfigsResource(Struct):
    """All options of one thing: those that are not here are deleted."""

    resource_type: int = int8()
    resource_name: str = string()
    configs: list[ReplacingConfig] = array()


class AlterConfigsRequest(
    Request, api_key=ApiKey.ALTER_CONFIGS, versions=(0, 2), flexible=2
):
    """Put these options in the place of all that were set."""

    resources: list[ReplacedConfigsResource] = array()
    validate_only: bool = boolean()


class AlterConfigsResponse(
    Response, api_key=ApiKey.ALTER_CONFIGS, versions=(0, 2), flexible=2
):
    """What became of each thing."""

    throttle_time_ms: int = int32()
    responses: list[AlterConfigsResourceResponse] = array()
