"""AlterConfigs 0-2 and IncrementalAlterConfigs 0-1: options change while it runs.

The changes of one resource are made all or none, when the catalogue has committed
them; the levels of loggers hold until the broker stops.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from odradek.broker.config.client_metrics_config import (
    CLIENT_METRICS_OPTIONS,
    find_client_metrics_option,
    subscription,
)
from odradek.broker.config.described import SET_EVERYWHERE
from odradek.broker.config.dynamic_config import (
    Alteration,
    Operation,
    altered,
    check_alterations,
    replacing,
)
from odradek.broker.config.group_config import (
    find_group_option,
    group_default,
    validate_group_options,
)
from odradek.broker.config.live_config import (
    broker_default,
    check_changes,
    find_broker_option,
    with_changes,
)
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.option import Kind, Option
from odradek.broker.config.topic_config import (
    find_topic_option,
    topic_default,
    validate_topic_options,
)
from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.broker.metadata.topic_creation import check_own_topic
from odradek.broker.metadata.topic_names import check_name
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.broker.runtime.log_levels import check_levels, set_levels
from odradek.broker.runtime.start_error import StartError
from odradek.protocol import acls
from odradek.protocol.errors import ErrorCode, InvalidConfig, InvalidRequest, KafkaError
from odradek.protocol.messages.configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

from .config_resources import ResourceType, secured

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from odradek.broker.config.chosen_options import ChosenOptions
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.services import Services
    from odradek.protocol.messages.configs import ReplacedConfigsResource

    Options = Mapping[str, str]
    AlteredResource = AlterConfigsResource | ReplacedConfigsResource
    AlterRequest = AlterConfigsRequest | IncrementalAlterConfigsRequest

_NEEDS = needs.inside(
    needs.topic(acls.Operation.ALTER_CONFIGS),
    needs.group(acls.Operation.ALTER_CONFIGS),
    needs.cluster(acls.Operation.ALTER_CONFIGS),
)


@handles(IncrementalAlterConfigsRequest, versions=(0, 1), needs=_NEEDS)
async def handle_incremental_alter_configs(
    ctx: RequestContext, request: IncrementalAlterConfigsRequest
) -> IncrementalAlterConfigsResponse:
    """Change single options (KIP-339)."""
    responses = await _alter_all(ctx, request)
    return IncrementalAlterConfigsResponse(responses=responses)


@handles(AlterConfigsRequest, versions=(0, 2), needs=_NEEDS)
async def handle_alter_configs(
    ctx: RequestContext, request: AlterConfigsRequest
) -> AlterConfigsResponse:
    """Put options in the place of all that were set."""
    return AlterConfigsResponse(responses=await _alter_all(ctx, request))


@answers_errors(IncrementalAlterConfigsRequest)
def refuse_incremental_alter_configs(
    request: IncrementalAlterConfigsRequest, error: KafkaError
) -> IncrementalAlterConfigsResponse:
    """The error at every resource."""
    return IncrementalAlterConfigsResponse(
        responses=[answered(resource, error) for resource in request.resources]
    )


@answers_errors(AlterConfigsRequest)
def refuse_alter_configs(
    request: AlterConfigsRequest, error: KafkaError
) -> AlterConfigsResponse:
    """The error at every resource."""
    return AlterConfigsResponse(
        responses=[answered(resource, error) for resource in request.resources]
    )


class SingleEdit:
    """Single options to change."""

    def __init__(self, alterations: Sequence[Alteration]) -> None:
        self.alterations = alterations

    @property
    def set_names(self) -> list[str]:
        """The options that will be set, or set to something else."""
        return [
            each.name for each in self.alterations if each.operation != Operation.DELETE
        ]

    @property
    def deleted_names(self) -> list[str]:
        """The options that will have their defaults."""
        return [
            each.name for each in self.alterations if each.operation == Operation.DELETE
        ]

    def apply(
        self,
        options: Options,
        find: Callable[[str], Option],
        default: Callable[[str], object],
    ) -> dict[str, str]:
        """The options that are set then."""
        check_alterations(self.alterations, find)
        return altered(options, self.alterations, default)


class WholeEdit:
    """Options in the place of all that are set."""

    deleted_names = ()  # nobody has named what goes

    def __init__(self, options: dict[str, str]) -> None:
        self.options = options

    @property
    def set_names(self) -> list[str]:
        """The options that will be set."""
        return list(self.options)

    def apply(self, options: Options, *_: object) -> dict[str, str]:
        """The options that are set then."""
        return self.options


Edit = SingleEdit | WholeEdit


def edit_of(resource: AlteredResource) -> Edit:
    """What a request makes of the options of one resource.

    Raises:
        InvalidRequest: one option twice, or without a value.
    """
    if isinstance(resource, AlterConfigsResource):
        return SingleEdit(
            [Alteration(x.name, x.config_operation, x.value) for x in resource.configs]
        )
    return WholeEdit(replacing((x.name, x.value) for x in resource.configs))


async def _alter_all(
    ctx: RequestContext, request: AlterRequest
) -> list[AlterConfigsResourceResponse]:
    """Each resource for itself; one that comes twice is refused."""
    keys = [(each.resource_type, each.resource_name) for each in request.resources]
    counts = Counter(keys)
    responses = []
    resources: Sequence[AlteredResource] = request.resources
    for resource, key in zip(resources, keys, strict=True):
        error = None
        try:
            ctx.require(acls.Operation.ALTER_CONFIGS, *secured(*key))
            if counts[key] > 1:
                raise InvalidRequest("Each resource must appear at most once.")
            edit = edit_of(resource)
            await _alter(ctx.services, *key, edit, request.validate_only)
        except KafkaError as refusal:
            error = refusal
        responses.append(answered(resource, error))
    return responses


async def _alter(
    services: Services, kind: int, name: str, edit: Edit, validate_only: bool
) -> None:
    match kind:
        case ResourceType.TOPIC:
            await _alter_topic(services, name, edit, validate_only)
        case ResourceType.BROKER:
            await _alter_broker(services, name, edit, validate_only)
        case ResourceType.GROUP:
            if not name:
                raise InvalidRequest("Default group resources are not allowed.")
            await _alter_group(services, name, edit, validate_only)
        case ResourceType.CLIENT_METRICS:
            if not name:
                raise InvalidRequest("Subscription name can't be empty")
            await _alter_client_metrics(services, name, edit, validate_only)
        case ResourceType.BROKER_LOGGER if isinstance(edit, SingleEdit):
            alter_levels(services, name, edit, validate_only)
        case _:
            raise InvalidRequest(f"Unknown resource type {kind}")


async def _alter_topic(
    services: Services, name: str, edit: Edit, validate_only: bool
) -> None:
    def decide(options: ChosenOptions) -> ChosenOptions:
        config = services.config
        after = edit.apply(
            options, find_topic_option, lambda name: topic_default(name, config)
        )
        chosen = validate_topic_options(options.changed_to(after), config)
        check_own_topic(name, chosen, config)
        return chosen

    if not name:
        raise InvalidRequest("Default topic resources are not allowed.")
    check_name(name)
    services.metadata.check_not_mirrored(name)
    if validate_only:
        decide(services.metadata.known(name).options)
    else:
        await services.metadata.alter_options(name, decide)


async def _alter_broker(
    services: Services, name: str, edit: Edit, validate_only: bool
) -> None:
    if name:
        check_broker_id(name, services.node_id)
    _check_set_everywhere(services, name, edit)
    static = services.live.static
    check_changes(edit.set_names, static, of_all=not name)

    def after(options: Options) -> dict[str, str]:
        return edit.apply(
            options,
            lambda name: find_broker_option(name, static),
            lambda name: broker_default(name, static),
        )

    def checked(options: dict[str, str]) -> BrokerConfig:
        everywhere, here = services.resources.of_brokers(services.node_id)
        both = (everywhere, options) if name else (options, here)
        try:
            return with_changes(static, *both)
        except OptionError as error:
            raise InvalidRequest(str(error)) from None

    def decide(options: Options) -> dict[str, str]:
        options = after(options)
        checked(options)
        return options

    resource = Resource(ResourceKind.BROKER, name)
    if services.certificates is not None:
        try:
            now = services.resources.of(resource)
            await services.certificates.check(checked(after(now)))
        except StartError as error:
            raise InvalidRequest(str(error)) from None
    await _change(services, resource, decide, validate_only)
    if services.certificates is not None and not validate_only:
        await services.certificates.look()


def _check_set_everywhere(services: Services, name: str, edit: Edit) -> None:
    """See that what is always set for all brokers stays so, and for none alone."""
    touched = {*edit.deleted_names}
    if name:  # what was set for one before it was like this may be taken away
        touched -= services.resources.of(Resource(ResourceKind.BROKER, name)).keys()
        touched.update(edit.set_names)
    for each in touched & SET_EVERYWHERE.keys():
        raise InvalidConfig(
            f"{each} is set for all brokers, as in a new cluster of Apache Kafka: it "
            "can be changed there, not removed, and not for one broker"
        )


async def _alter_group(
    services: Services, name: str, edit: Edit, validate_only: bool
) -> None:
    def decide(options: Options) -> dict[str, str]:
        config = services.config
        after = edit.apply(
            options, find_group_option, lambda name: group_default(name, config)
        )
        validate_group_options(after, config)
        return after

    await _change(services, Resource(ResourceKind.GROUP, name), decide, validate_only)


async def _alter_client_metrics(
    services: Services, name: str, edit: Edit, validate_only: bool
) -> None:
    def decide(options: Options) -> dict[str, str]:
        after = edit.apply(
            options,
            find_client_metrics_option,
            lambda name: CLIENT_METRICS_OPTIONS[name].default,
        )
        subscription(name, after)
        return after

    resource = Resource(ResourceKind.CLIENT_METRICS, name)
    await _change(services, resource, decide, validate_only)


def alter_levels(
    services: Services, name: str, edit: SingleEdit, validate_only: bool
) -> None:
    """Set the levels of loggers of this broker, until it stops.

    Raises:
        InvalidRequest, InvalidConfig: there are none such.
    """
    check_broker_id(name, services.node_id)
    check_alterations(edit.alterations, _level)
    check_levels(edit.alterations)
    if not validate_only:
        set_levels(edit.alterations)


def _level(name: str) -> Option:
    # A list, as far as that goes: that it cannot be appended to is said later.
    return Option(name, Kind.LIST, None, "")


async def _change(
    services: Services,
    resource: Resource,
    decide: Callable[[Options], dict[str, str]],
    validate_only: bool,
) -> None:
    if validate_only:
        decide(services.resources.of(resource))
    else:
        await services.resources.alter(resource, decide)


def check_broker_id(name: str, node_id: int) -> None:
    """See that it is this broker whose options are to be changed.

    Raises:
        InvalidRequest: it is another one, or none.
    """
    if not name.lstrip("-").isdecimal():
        raise InvalidRequest(f"Node id must be an integer, but it is: {name}")
    if name != str(node_id):
        raise InvalidRequest(
            f"Unexpected broker id, expected {node_id}, but received {name}"
        )


def answered(
    resource: AlteredResource, error: KafkaError | None
) -> AlterConfigsResourceResponse:
    """What a client hears of one resource."""
    return AlterConfigsResourceResponse(
        error_code=ErrorCode.NONE if error is None else error.code,
        error_message=None if error is None else str(error),
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )
