"""The options of one share group: its own, or else the broker's behind them.

A group's own were checked when they were set. The bounds may have changed since, so
they are kept to them again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.config.group_config import GROUP_OPTIONS
from odradek.broker.config.text.offset_reset import OffsetReset, parse_offset_reset
from odradek.broker.metadata.resource_options import Resource, ResourceKind
from odradek.storage.values.log_read import FetchIsolation

from .acquire import Limits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.broker.config.live_config import LiveConfig
    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.metadata.resource_options import ResourceOptions

_KNOWN_MAX = 5_000
_ISOLATIONS = {
    "read_uncommitted": FetchIsolation.HIGH_WATERMARK,
    "read_committed": FetchIsolation.TXN_COMMITTED,
}


class ShareSettings(NamedTuple):
    """How a share group gets records."""

    limits: Limits
    isolation: FetchIsolation
    offset_reset: OffsetReset
    may_renew: bool


def share_settings(options: Mapping[str, str], config: BrokerConfig) -> ShareSettings:
    """Those of a group with these options of its own."""
    limits = Limits(
        _bounded(
            options.get("share.record.lock.duration.ms"),
            config.group_share_record_lock_duration_ms,
            config.group_share_min_record_lock_duration_ms,
            config.group_share_max_record_lock_duration_ms,
        ),
        _bounded(
            options.get("share.partition.max.record.locks"),
            config.group_share_partition_max_record_locks,
            config.group_share_min_partition_max_record_locks,
            config.group_share_max_partition_max_record_locks,
        ),
        _bounded(
            options.get("share.delivery.count.limit"),
            config.group_share_delivery_count_limit,
            config.group_share_min_delivery_count_limit,
            config.group_share_max_delivery_count_limit,
        ),
    )
    return ShareSettings(
        limits,
        _ISOLATIONS[_value(options, "share.isolation.level")],
        parse_offset_reset(_value(options, "share.auto.offset.reset")),
        _value(options, "share.renew.acknowledge.enable"),
    )


class Settings:
    """Those of all groups, read again when something has changed."""

    def __init__(self, resources: ResourceOptions, live: LiveConfig) -> None:
        self._resources = resources
        self._live = live
        self._known: dict[str, ShareSettings] = {}
        resources.watch(lambda _: self._known.clear())
        live.watch(lambda _: self._known.clear())

    def of(self, group_id: str) -> ShareSettings:
        """Those of a group."""
        known = self._known.get(group_id)
        if known is None:
            if len(self._known) >= _KNOWN_MAX:  # strangers may name any group
                self._known.clear()
            options = self._resources.of(Resource(ResourceKind.GROUP, group_id))
            known = self._known[group_id] = share_settings(options, self._live.current)
        return known

    def forget(self, group_id: str) -> None:
        """Nobody asks for the group any more."""
        self._known.pop(group_id, None)


def _bounded(own: str | None, of_broker: int, least: int, most: int) -> int:
    return of_broker if own is None else max(least, min(int(own), most))


def _value(options: Mapping[str, str], name: str) -> Any:
    known = GROUP_OPTIONS[name].known
    own = options.get(name)
    return known.default if own is None else known.parse(own)
