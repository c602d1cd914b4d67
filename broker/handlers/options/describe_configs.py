"""DescribeConfigs 1-4: the options of topics, brokers, groups, metrics and loggers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.config.client_metrics_config import describe_client_metrics
from odradek.broker.config.described import (
    describe_broker,
    describe_every_broker,
    describe_topic,
)
from odradek.broker.config.group_config import describe_group
from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.broker.metadata.topic_names import check_name
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.broker.runtime.log_levels import describe_loggers
from odradek.protocol.acls import Operation
from odradek.protocol.errors import InvalidRequest, KafkaError
from odradek.protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

from .config_resources import ResourceType, secured

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.broker.config.described import Described
    from odradek.broker.requests.context import RequestContext


@handles(
    DescribeConfigsRequest,
    versions=(1, 4),
    needs=needs.inside(
        needs.topic(Operation.DESCRIBE_CONFIGS),
        needs.group(Operation.DESCRIBE_CONFIGS),
        needs.cluster(Operation.DESCRIBE_CONFIGS),
    ),
)
def handle_describe_configs(
    ctx: RequestContext, request: DescribeConfigsRequest
) -> DescribeConfigsResponse:
    """Show options with their values and where those come from."""
    results = []
    # Each once: the answer is much longer than the question.
    for resource in _distinct(request.resources):
        result = DescribeConfigsResult(
            resource_type=resource.resource_type, resource_name=resource.resource_name
        )
        try:
            ctx.require(
                Operation.DESCRIBE_CONFIGS,
                *secured(resource.resource_type, resource.resource_name),
            )
            described = _describe(ctx, resource)
        except KafkaError as error:
            result.error_code = error.code
            result.error_message = str(error)
        else:
            result.configs = [
                _shown(option, request) for option in _chosen(described, resource)
            ]
        results.append(result)
    return DescribeConfigsResponse(results=results)


@answers_errors(DescribeConfigsRequest)
def refuse_describe_configs(
    request: DescribeConfigsRequest, error: KafkaError
) -> DescribeConfigsResponse:
    """The error at every resource."""
    return DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(
                error_code=error.code,
                error_message=str(error),
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
            )
            for resource in request.resources
        ]
    )


def _distinct(
    resources: list[DescribeConfigsResource],
) -> Iterable[DescribeConfigsResource]:
    return {
        (each.resource_type, each.resource_name): each for each in resources
    }.values()


def _describe(
    ctx: RequestContext, resource: DescribeConfigsResource
) -> list[Described]:
    name, services = resource.resource_name, ctx.services
    match resource.resource_type:
        case ResourceType.TOPIC:
            check_name(name)
            return describe_topic(
                services.metadata.known(name).options, services.config
            )
        case ResourceType.BROKER:
            if not name:
                return describe_every_broker(services.config)
            _check_broker(name, services.node_id, " or empty string,")
            return describe_broker(services.config)
        case ResourceType.BROKER_LOGGER:
            if not name:
                raise InvalidRequest("Broker id must not be empty")
            _check_broker(name, services.node_id)
            return describe_loggers()
        case ResourceType.CLIENT_METRICS:
            if not name:
                raise InvalidRequest(
                    "Client metrics subscription name must not be empty"
                )
            key = Resource(ResourceKind.CLIENT_METRICS, name)
            return describe_client_metrics(services.resources.of(key))
        case ResourceType.GROUP:
            if not name:
                raise InvalidRequest("Group name must not be empty")
            key = Resource(ResourceKind.GROUP, name)
            return describe_group(services.resources.of(key), services.config)
    raise InvalidRequest(f"Unknown resource type {resource.resource_type}")


def _check_broker(name: str, node_id: int, otherwise: str = "") -> None:
    if not name.lstrip("-").isdecimal():
        raise InvalidRequest(f"Broker id must be an integer, but it is: {name}")
    if name != str(node_id):
        raise InvalidRequest(
            f"Unexpected broker id, expected {node_id}{otherwise} but received {name}"
        )


def _chosen(
    described: list[Described], resource: DescribeConfigsResource
) -> list[Described]:
    """Those that the client named; all when it named none."""
    if not resource.configuration_keys:
        return described
    wanted = set(resource.configuration_keys)
    return [option for option in described if option.name in wanted]


def _shown(
    option: Described, request: DescribeConfigsRequest
) -> DescribeConfigsResourceResult:
    synonyms = option.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=option.name,
        value=option.value,
        read_only=option.is_read_only,
        config_source=option.source,
        is_sensitive=option.is_sensitive,
        synonyms=[
            DescribeConfigsSynonym(name=name, value=value, source=source)
            for name, value, source in synonyms
        ],
        config_type=option.kind,
        documentation=option.meaning if request.include_documentation else None,
    )
