"""DescribeConfigs 1-4 and IncrementalAlterConfigs 0-1.

Topics and this broker can be described; the options of topics can be changed
(KIP-339), those of the broker need a restart.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from protocol.errors import (
    ErrorCode,
    InvalidRequest,
    KafkaError,
)
from protocol.messages.configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

from ..config.described import Described, describe_broker, describe_topic
from ..config.dynamic_config import Alteration, altered, check_alterations
from ..config.topic_config import validate_topic_options
from ..metadata.topic_names import check_name
from .registry import answers_errors, handles

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from ..network.request_context import RequestContext


class ResourceType(IntEnum):
    """What can have options, numbered as on the wire."""

    TOPIC = 2
    BROKER = 4


@handles(DescribeConfigsRequest, versions=(1, 4))
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


@handles(IncrementalAlterConfigsRequest, versions=(0, 1))
async def handle_incremental_alter_configs(
    ctx: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """Change single options of topics; a topic's changes are made all or none."""
    seen: set[tuple[int, str]] = set()
    twice: set[tuple[int, str]] = set()
    for resource in request.resources:
        key = (resource.resource_type, resource.resource_name)
        (twice if key in seen else seen).add(key)
    responses = []
    for resource in request.resources:
        key = (resource.resource_type, resource.resource_name)
        try:
            if key in twice:
                raise InvalidRequest("Each resource must appear at most once.")
            await _alter(ctx, resource, request.validate_only)
        except KafkaError as error:
            responses.append(_altered(resource, error))
        else:
            responses.append(_altered(resource, None))
    return IncrementalAlterConfigsResponse(responses=responses)


@answers_errors(IncrementalAlterConfigsRequest)
def refuse_incremental_alter_configs(
    request: IncrementalAlterConfigsRequest, error: KafkaError
) -> IncrementalAlterConfigsResponse:
    """The error at every resource."""
    return IncrementalAlterConfigsResponse(
        responses=[_altered(resource, error) for resource in request.resources]
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
    name = resource.resource_name
    config = ctx.services.config
    if resource.resource_type == ResourceType.TOPIC:
        check_name(name)
        return describe_topic(ctx.services.metadata.known(name).options, config)
    if resource.resource_type != ResourceType.BROKER:
        raise InvalidRequest(
            f"Resources of type {resource.resource_type} have no options here; only "
            "topics (2) and brokers (4) have"
        )
    if not name:  # the defaults of all brokers, which nobody can set here
        return []
    if name != str(ctx.services.node_id):
        raise InvalidRequest(
            f"Unexpected broker id, expected {ctx.services.node_id} or empty string, "
            f"but received {name}"
        )
    return describe_broker(config)


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
        synonyms=[
            DescribeConfigsSynonym(name=name, value=value, source=source)
            for name, value, source in synonyms
        ],
        config_type=option.kind,
        documentation=option.meaning if request.include_documentation else None,
    )


async def _alter(
    ctx: RequestContext, resource: AlterConfigsResource, validate_only: bool
) -> None:
    if resource.resource_type == ResourceType.BROKER:
        raise InvalidRequest(
            "The options of the broker cannot be changed while it runs: set them in "
            "its configuration and restart it"
        )
    if resource.resource_type != ResourceType.TOPIC:
        raise InvalidRequest(
            f"Unexpected resource type {resource.resource_type}: only the options of "
            "topics (2) can be changed"
        )
    alterations = [
        Alteration(config.name, config.config_operation, config.value)
        for config in resource.configs
    ]
    check_alterations(alterations)
    config = ctx.services.config

    def decide(options: Mapping[str, str]) -> dict[str, str]:
        changed = altered(options, alterations, config)
        validate_topic_options(changed, config)
        return changed

    topics = ctx.services.metadata
    check_name(resource.resource_name)
    if validate_only:
        decide(topics.known(resource.resource_name).options)
    else:
        await topics.alter_options(resource.resource_name, decide)


def _altered(
    resource: AlterConfigsResource, error: KafkaError | None
) -> AlterConfigsResourceResponse:
    return AlterConfigsResourceResponse(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else str(error),
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
