"""AlterConfigs and IncrementalAlterConfigs, before the controllers hear of them.

Of the options of brokers they look at nothing but the broker's id: the broker that is
asked looks at the rest, as Apache Kafka's does (`ConfigAdminManager`). What it refuses
does not get into the metadata log. Levels of loggers are of each broker alone.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any, cast

from odradek.broker.config.live_config import (
    broker_default,
    check_changes,
    find_broker_option,
    with_changes,
)
from odradek.broker.config.options.error import OptionError
from odradek.broker.runtime.start_error import StartError
from odradek.protocol import acls
from odradek.protocol.compiler import decoder
from odradek.protocol.errors import (
    InvalidRequest,
    KafkaError,
    MalformedRequest,
    UnknownServerError,
)
from odradek.protocol.schema import RESPONSES

from .alter_configs import (
    Edit,
    SingleEdit,
    alter_levels,
    answered,
    check_broker_id,
    edit_of,
)
from .config_resources import ResourceType, secured

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from odradek.broker.requests.context import RequestContext
    from odradek.broker.requests.services import Services
    from odradek.protocol.messages.configs import (
        AlterConfigsResourceResponse,
        AlterConfigsResponse,
        IncrementalAlterConfigsResponse,
    )

    from .alter_configs import AlteredResource, AlterRequest

    SendOn = Callable[[Any, Any], Awaitable[bytes]]
    AlterResponse = AlterConfigsResponse | IncrementalAlterConfigsResponse
    Key = tuple[int, str]


async def alter_configs_in_cluster(
    ctx: RequestContext, request: AlterRequest, send_on: SendOn
) -> AlterResponse | bytes:
    """What is refused here, or done here, and of the rest what the controllers say.

    Raises:
        KafkaError: as ``send_on``, where all of it is for the controllers.
    """
    resources: Sequence[AlteredResource] = request.resources
    counts = Counter(map(_key, resources))
    settled: dict[Key, AlterConfigsResourceResponse] = {}
    for each in resources:
        try:
            is_done = await _look(ctx, each, counts[_key(each)], request.validate_only)
        except KafkaError as error:
            settled[_key(each)] = answered(each, error)
        else:
            if is_done:
                settled[_key(each)] = answered(each, None)
    if not settled:
        return await send_on(ctx, request)
    left = [each for each in resources if _key(each) not in settled]
    if left:
        settled |= await _sent_on(ctx, request, left, send_on)
    responses = [settled[key] for each in resources if (key := _key(each)) in settled]
    made: Any = RESPONSES[request.api_key]
    return cast("AlterResponse", made(responses=responses))


async def _look(
    ctx: RequestContext, resource: AlteredResource, count: int, validate_only: bool
) -> bool:
    """Whether it is done, and nobody else has to hear of it.

    Raises:
        KafkaError: it cannot be.
    """
    kind, name = _key(resource)
    if kind not in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        return False
    if count > 1:
        raise InvalidRequest("Each resource must appear at most once.")
    ctx.require(acls.Operation.ALTER_CONFIGS, *secured(kind, name))
    if kind == ResourceType.BROKER:
        await _check_broker(ctx.services, name, edit_of(resource))
        return False
    edit = edit_of(resource)
    if not isinstance(edit, SingleEdit):
        raise InvalidRequest(f"Unknown resource type {kind}")
    alter_levels(ctx.services, name, edit, validate_only)
    return True


async def _check_broker(services: Services, name: str, edit: Edit) -> None:
    """See that this broker can do what is set for it, or for all.

    What is set already and cannot be used is no reason against it, and may be removed.
    """
    if name:
        check_broker_id(name, services.node_id)
    static, changes = services.live.static, services.live.current.changes
    check_changes(edit.set_names, static, of_all=not name)
    everywhere: Mapping[str, str] = {} if changes is None else changes.everywhere
    here: Mapping[str, str] = {} if changes is None else changes.here
    after = edit.apply(
        here if name else everywhere,
        lambda name: find_broker_option(name, static),
        lambda name: broker_default(name, static),
    )
    try:
        config = with_changes(static, *((everywhere, after) if name else (after, here)))
        if services.certificates is not None:
            await services.certificates.check(config)
    except (OptionError, StartError) as error:
        raise InvalidRequest(str(error)) from None


async def _sent_on(
    ctx: RequestContext,
    request: AlterRequest,
    left: list[AlteredResource],
    send_on: SendOn,
) -> dict[Key, AlterConfigsResourceResponse]:
    made: Any = type(request)
    read = decoder(RESPONSES[request.api_key], ctx.api_version)
    try:
        body = await send_on(
            ctx, made(resources=left, validate_only=request.validate_only)
        )
        response: Any = read(memoryview(body), 0)[0]
    except MalformedRequest:
        error = UnknownServerError("The answer of the controllers cannot be read.")
        return {_key(each): answered(each, error) for each in left}
    except KafkaError as error:
        return {_key(each): answered(each, error) for each in left}
    return {
        (each.resource_type, each.resource_name): each for each in response.responses
    }


def _key(resource: AlteredResource) -> Key:
    return resource.resource_type, resource.resource_name
