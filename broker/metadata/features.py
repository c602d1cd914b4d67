"""The levels of protocols that clients are told of, and their changes (KIP-584)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from protocol.errors import InvalidUpdateVersion

from .resource_options import Resource, ResourceKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .resource_options import ResourceOptions

TRANSACTION_VERSION = "transaction.version"
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
_RESOURCE = Resource(ResourceKind.FEATURE, "cluster")
_EPOCH = "epoch"


class SupportedFeature(NamedTuple):
    """A feature, and the highest level that this broker knows; the lowest is 0."""

    name: str
    level_max: int


SUPPORTED = (SupportedFeature(TRANSACTION_VERSION, 2),)
"""Every feature of this broker; the others of Apache Kafka it does not have."""


class Features:
    """The levels that hold now. What was never changed has that of its option."""

    def __init__(self, resources: ResourceOptions, transaction_version: int) -> None:
        self._resources = resources
        self._defaults = {TRANSACTION_VERSION: transaction_version}

    @property
    def epoch(self) -> int:
        """How often levels were changed: clients keep the newest answer."""
        return int(self._stored.get(_EPOCH, 0))

    def level_of(self, name: str) -> int:
        """The level of a feature; 0: it is off."""
        return int(self._stored.get(name, self._defaults[name]))

    async def update(self, levels: Mapping[str, int]) -> None:
        """Let levels that were checked hold from now on, all of them."""

        def decide(stored: Mapping[str, str]) -> Mapping[str, str]:
            changed = {
                name: level
                for name, level in levels.items()
                if level != self.level_of(name)
            }
            if not changed:
                return stored
            texts = {name: str(level) for name, level in changed.items()}
            return {**stored, **texts, _EPOCH: str(self.epoch + 1)}

        await self._resources.alter(_RESOURCE, decide)

    def check(self, name: str, level: int, upgrade_type: int) -> None:
        """See that a feature can have a level.

        Raises:
            InvalidUpdateVersion: it cannot; the message says why.
        """
        reason = self._why_not(name, level, upgrade_type)
        if reason is not None:
            raise InvalidUpdateVersion(
                "The update failed for all features since the following feature had "
                f"an error: Invalid update version {level} for feature {name}. {reason}"
            )

    @property
    def _stored(self) -> Mapping[str, str]:
        return self._resources.of(_RESOURCE)

    def _why_not(self, name: str, level: int, upgrade_type: int) -> str | None:
        known = next((each for each in SUPPORTED if each.name == name), None)
        if known is None:
            return "This broker does not have this feature."
        if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
            return "There is no such upgrade type."
        if level < 0:
            return "A feature version cannot be less than 0."
        if level > known.level_max:
            return f"This broker only supports versions 0-{known.level_max}"
        if level < self.level_of(name) and upgrade_type == UPGRADE:
            return "A lower version needs a safe or an unsafe downgrade."
        return None
