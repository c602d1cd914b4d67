"""Quotas of clients: to show and to change them (KIP-546)."""

from odradek.protocol.api_keys import ApiKey
from odradek.protocol.schema import (
    Request,
    Response,
    Struct,
    array,
    boolean,
    float64,
    int8,
    int16,
    int32,
    string,
)


class ComponentData(Struct):
    """A part of the entities to show: of that name (0), the default (1), any (2)."""

    entity_type: str = string()
    match_type: int = int8()
    match: str | None = string(nullable=True)


class DescribeClientQuotasRequest(
    Request, api_key=ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=(0, 1), flexible=1
):
    """Show the quotas of entities; a strict match has no other parts."""

    components: list[ComponentData] = array()
    strict: bool = boolean()


class EntityData(Struct):
    """A part of an entity; null is the default of all that have no own quota."""

    entity_type: str = string()
    entity_name: str | None = string(nullable=True)


class ValueData(Struct):
    """A quota."""

    key: str = string()
    value: float = float64()


class DescribedQuotaEntry(Struct):
    """The quotas of one entity."""

    entity: list[EntityData] = array()
    values: list[ValueData] = array()


class DescribeClientQuotasResponse(
    Response, api_key=ApiKey.DESCRIBE_CLIENT_QUOTAS, versions=(0, 1), flexible=1
):
    """The entities that match; null with an error."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    entries: list[DescribedQuotaEntry] | None = array(nullable=True)


class OpData(Struct):
    """A quota to set or to remove."""

    key: str = string()
    value: float = float64()
    remove: bool = boolean()


class AlteredQuotaEntry(Struct):
    """The quotas of one entity to change."""

    entity: list[EntityData] = array()
    ops: list[OpData] = array()


class AlterClientQuotasRequest(
    Request, api_key=ApiKey.ALTER_CLIENT_QUOTAS, versions=(0, 1), flexible=1
):
    """Change quotas, or with ``validate_only`` say whether that could be."""

    entries: list[AlteredQuotaEntry] = array()
    validate_only: bool = boolean()


class AlteredQuotaResult(Struct):
    """Whether the quotas of one entity were changed."""

    error_code: int = int16()
    error_message: str | None = string(nullable=True)
    entity: list[EntityData] = array()


class AlterClientQuotasResponse(
    Response, api_key=ApiKey.ALTER_CLIENT_QUOTAS, versions=(0, 1), flexible=1
):
    """One answer for each entity."""

    throttle_time_ms: int = int32()
    entries: list[AlteredQuotaResult] = array()
