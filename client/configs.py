"""Options of topics, brokers and groups: described with their sources, and changed."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsResource,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

from .cluster import ANY_NODE
from .errors import raise_for

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from odradek.protocol.messages.configs import DescribeConfigsResourceResult

    from .cluster import Cluster


class ConfigResourceType(IntEnum):
    """What has options, as the protocol numbers it."""

    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigSource(IntEnum):
    """Where a value comes from."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class Operation(IntEnum):
    """What becomes of an option."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


_TYPES = (
    "UNKNOWN",
    "BOOLEAN",
    "STRING",
    "INT",
    "SHORT",
    "LONG",
    "DOUBLE",
    "LIST",
    "CLASS",
    "PASSWORD",
)
# Who has options of its own is asked itself, not just any broker.
_ASKED_ITSELF = (ConfigResourceType.BROKER, ConfigResourceType.BROKER_LOGGER)


class ConfigResource(NamedTuple):
    """What has options; the name of a broker is its number, empty for all of them."""

    kind: ConfigResourceType
    name: str


class ConfigSynonym(NamedTuple):
    """A place where a value could come from."""

    name: str
    value: str | None
    source: str


class ConfigEntry(NamedTuple):
    """An option; ``value`` is None where it has none or is a secret."""

    name: str
    value: str | None
    source: str
    type: str
    is_read_only: bool
    is_sensitive: bool
    documentation: str | None
    synonyms: Sequence[ConfigSynonym]

    @property
    def is_default(self) -> bool:
        """Whether nobody has set it."""
        return self.source == ConfigSource.DEFAULT_CONFIG.name


class ConfigChange(NamedTuple):
    """An option to set, delete, append to or subtract from."""

    operation: Operation
    name: str
    value: str | None = None


def describe_configs(
    cluster: Cluster,
    resource: ConfigResource,
    names: Collection[str] | None = None,
    *,
    with_documentation: bool = False,
) -> list[ConfigEntry]:
    """These options of one thing, or all, by name.

    Raises:
        UnknownTopicOrPartition, InvalidRequest, TopicAuthorizationFailed: there is
            no such thing, or it may not be seen.
    """
    wanted = DescribeConfigsResource(
        resource_type=resource.kind,
        resource_name=resource.name,
        configuration_keys=None if names is None else list(names),
    )
    request = DescribeConfigsRequest(
        resources=[wanted],
        include_synonyms=True,
        include_documentation=with_documentation,
    )
    node_id = _node_of(cluster, resource)
    (result,) = cluster.request(request, DescribeConfigsResponse, node_id).results
    raise_for(result.error_code, result.error_message)
    return sorted(_entry(each) for each in result.configs)


def alter_configs(
    cluster: Cluster,
    resource: ConfigResource,
    changes: Sequence[ConfigChange],
    *,
    validate_only: bool = False,
) -> None:
    """Change these options of one thing and no others, all of them or none.

    Raises:
        InvalidConfig, InvalidRequest, UnknownTopicOrPartition, PolicyViolation.
    """
    configs = [
        AlterableConfig(name=name, config_operation=operation, value=value)
        for operation, name, value in changes
    ]
    request = IncrementalAlterConfigsRequest(
        resources=[
            AlterConfigsResource(
                resource_type=resource.kind,
                resource_name=resource.name,
                configs=configs,
            )
        ],
        validate_only=validate_only,
    )
    node_id = _node_of(cluster, resource)
    answer = cluster.request(request, IncrementalAlterConfigsResponse, node_id)
    (result,) = answer.responses
    raise_for(result.error_code, result.error_message)


def _node_of(cluster: Cluster, resource: ConfigResource) -> int:
    if resource.kind not in _ASKED_ITSELF or not resource.name.isdecimal():
        return ANY_NODE
    node_id = int(resource.name)
    # A broker that is not there is for any other one to complain about.
    return node_id if node_id in cluster.metadata(()).brokers else ANY_NODE


def _entry(each: DescribeConfigsResourceResult) -> ConfigEntry:
    known = each.config_type < len(_TYPES)
    return ConfigEntry(
        each.name,
        each.value,
        _source(each.config_source),
        _TYPES[each.config_type] if known else str(each.config_type),
        each.read_only,
        each.is_sensitive,
        each.documentation,
        [
            ConfigSynonym(synonym.name, synonym.value, _source(synonym.source))
            for synonym in each.synonyms
        ],
    )


def _source(number: int) -> str:
    try:
        return ConfigSource(number).name
    except ValueError:
        return str(number)
