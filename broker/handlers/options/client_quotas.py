"""DescribeClientQuotas 0-1 and AlterClientQuotas 0-1 (KIP-546)."""

from __future__ import annotations

import math
import socket
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.config.options.option import LONG_MAX
from odradek.broker.metadata.client_quotas import (
    CLIENT_ID,
    IP,
    USER,
    QuotaEntity,
    QuotaKey,
)
from odradek.broker.requests import needs
from odradek.broker.requests.registry import answers_errors, handles
from odradek.protocol.acls import Operation
from odradek.protocol.errors import (
    ErrorCode,
    InvalidRequest,
    KafkaError,
    UnsupportedVersion,
)
from odradek.protocol.messages.client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlteredQuotaEntry,
    AlteredQuotaResult,
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    DescribedQuotaEntry,
    EntityData,
    OpData,
    ValueData,
)
from odradek.terminal.spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from odradek.broker.requests.context import RequestContext

EXACT, DEFAULT, ANY = range(3)
_ENTITY_TYPES = (USER, CLIENT_ID, IP)
_OF_ADDRESSES = frozenset({QuotaKey.CONNECTION})
_OF_CLIENTS = frozenset(QuotaKey) - _OF_ADDRESSES
_MAY_BE_FRACTIONS = frozenset({QuotaKey.REQUEST, QuotaKey.MUTATION})


class _Component(NamedTuple):
    """What a part of an entity must be to be shown."""

    match_type: int
    name: str | None

    def matches(self, name: str | None) -> bool:
        return self.match_type == ANY or self.name == name


@handles(
    DescribeClientQuotasRequest,
    versions=(0, 1),
    needs=needs.before(needs.cluster(Operation.DESCRIBE_CONFIGS)),
)
def handle_describe_client_quotas(
    ctx: RequestContext, request: DescribeClientQuotasRequest
) -> DescribeClientQuotasResponse:
    """The quotas of all entities that match every component.

    Raises:
        InvalidRequest: the components make no sense.
        UnsupportedVersion: there is no such type of entities.
    """
    components = _components(request.components)
    entries = [
        DescribedQuotaEntry(
            entity=_entity_data(entity),
            values=[ValueData(key=key, value=value) for key, value in values.items()],
        )
        for entity, values in ctx.services.quotas
        if _matches(entity, components, request.strict)
    ]
    return DescribeClientQuotasResponse(entries=entries)


@answers_errors(DescribeClientQuotasRequest)
def refuse_describe_client_quotas(
    request: DescribeClientQuotasRequest, error: KafkaError
) -> DescribeClientQuotasResponse:
    """The error, and no entries."""
    return DescribeClientQuotasResponse(
        error_code=error.code, error_message=str(error), entries=None
    )


@handles(
    AlterClientQuotasRequest,
    versions=(0, 1),
    needs=needs.before(needs.cluster(Operation.ALTER_CONFIGS)),
)
async def handle_alter_client_quotas(
    ctx: RequestContext, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse:
    """Set and remove quotas; those of one entity are changed all or none."""
    entities = [_entity_of(entry) for entry in request.entries]
    counts = Counter(entities)
    results = []
    for entry, entity in zip(request.entries, entities, strict=True):
        result = AlteredQuotaResult(entity=entry.entity, error_message=None)
        try:
            if counts[entity] > 1:
                raise InvalidRequest(f"Ignoring duplicate entity {entity.names}")
            await _alter(ctx, entry, entity, request.validate_only)
        except KafkaError as error:
            result.error_code = ErrorCode(error.code)
            result.error_message = str(error)
        results.append(result)
    return AlterClientQuotasResponse(entries=results)


@answers_errors(AlterClientQuotasRequest)
def refuse_alter_client_quotas(
    request: AlterClientQuotasRequest, error: KafkaError
) -> AlterClientQuotasResponse:
    """The error at every entity."""
    return AlterClientQuotasResponse(
        entries=[
            AlteredQuotaResult(
                error_code=error.code, error_message=str(error), entity=entry.entity
            )
            for entry in request.entries
        ]
    )


def _components(data: Iterable[ComponentData]) -> dict[str, _Component]:
    components: dict[str, _Component] = {}
    for kind, match_type, name in (
        (each.entity_type, each.match_type, each.match) for each in data
    ):
        if not kind:
            raise InvalidRequest("Invalid empty entity type.")
        if kind in components:
            raise InvalidRequest(
                f"Entity type {kind} cannot appear more than once in the filter."
            )
        if kind not in _ENTITY_TYPES:
            raise UnsupportedVersion(f"Unsupported entity type {kind}")
        if match_type not in (EXACT, DEFAULT, ANY):
            raise InvalidRequest(f"Unknown match type {match_type}")
        if (match_type == EXACT) != (name is not None):
            wanted = "needs" if match_type == EXACT else "has no"
            raise InvalidRequest(f"Match type {match_type} {wanted} name to match")
        components[kind] = _Component(match_type, name)
    if IP in components and len(components) > 1:
        raise InvalidRequest(
            "Invalid entity filter component combination: addresses have no quotas "
            "together with users or client ids"
        )
    return components


def _matches(
    entity: QuotaEntity, components: Mapping[str, _Component], strict: bool
) -> bool:
    names = entity.names
    if strict and names.keys() != components.keys():
        return False
    return all(
        kind in names and component.matches(names[kind])
        for kind, component in components.items()
    )


def _entity_data(entity: QuotaEntity) -> list[EntityData]:
    return [
        EntityData(entity_type=kind, entity_name=name) for kind, name in entity.parts
    ]


def _entity_of(entry: AlteredQuotaEntry) -> QuotaEntity:
    return QuotaEntity.of({x.entity_type: x.entity_name for x in entry.entity})


async def _alter(
    ctx: RequestContext,
    entry: AlteredQuotaEntry,
    entity: QuotaEntity,
    validate_only: bool,
) -> None:
    _check_entity(entry.entity)
    if IP in entity.names:
        await _check_address(ctx, entity.names[IP])
    _check_operations(entry.ops, _OF_ADDRESSES if IP in entity.names else _OF_CLIENTS)

    def decide(options: Mapping[str, str]) -> dict[str, str]:
        after = dict(options)
        for operation in entry.ops:
            if operation.remove:
                after.pop(operation.key, None)
            else:
                after[operation.key] = repr(operation.value)
        return after

    if not validate_only:
        await ctx.services.resources.alter(entity.resource, decide)


def _check_entity(parts: Sequence[EntityData]) -> None:
    kinds = [part.entity_type for part in parts]
    if not kinds:
        raise InvalidRequest("Invalid empty client quota entity")
    for kind in kinds:
        if kind not in _ENTITY_TYPES:
            raise InvalidRequest(f"Unhandled client quota entity type: {kind}")
    if len(set(kinds)) != len(kinds):
        raise InvalidRequest("A type comes twice in the client quota entity")
    if IP in kinds and len(kinds) > 1:
        raise InvalidRequest(
            "Invalid quota entity combination: an address stands alone, without user "
            "or client id"
        )
    for part in parts:
        if part.entity_name == "":
            raise InvalidRequest(f"Empty {part.entity_type} not supported")


async def _check_address(ctx: RequestContext, name: str | None) -> None:
    if name is not None and not await ctx.services.disk_threads.run(_resolves, name):
        raise InvalidRequest(f"{name} is not a valid IP or resolvable host.")


def _resolves(name: str) -> bool:
    """Whether there is such an address or host. Waits: for a thread."""
    try:
        return bool(socket.getaddrinfo(name, None))
    except (OSError, UnicodeError):
        return False


def _meant(key: str, keys: frozenset[QuotaKey]) -> str:
    meant = did_you_mean(key, sorted(keys))
    return f"; did you mean {meant}?" if meant else ""


def _check_operations(operations: Sequence[OpData], keys: frozenset[QuotaKey]) -> None:
    counts = Counter(operation.key for operation in operations)
    for operation in operations:
        key, value = operation.key, operation.value
        if counts[key] > 1:
            raise InvalidRequest(f"The quota {key} comes twice")
        if operation.remove:
            continue
        if key not in keys:
            raise InvalidRequest(f"Invalid configuration key {key}{_meant(key, keys)}")
        if math.isnan(value) or value <= 0:
            raise InvalidRequest(f"Quota {key} must be greater than 0")
        if key in _MAY_BE_FRACTIONS:
            continue
        if value > LONG_MAX:
            raise InvalidRequest(f"Proposed value for {key} is too large for a LONG.")
        if value != int(value):
            raise InvalidRequest(f"{key} cannot be a fractional value.")
