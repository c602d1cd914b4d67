"""The levels of protocols that clients are told of, and their changes (KIP-584).

`metadata.version` says as which version of Apache Kafka the whole cluster behaves, so
that tools which look for it find the one whose answers are given here. In Apache Kafka
it is the format of the metadata log as well, which this broker does not have: there is
nothing that a lower level would change. `group.version` 1 is the consumer protocol
(KIP-848), `share.version` 1 are share groups (KIP-932), `streams.version` 1 are streams
groups (KIP-1071); at 0 nobody can join by it, or one of these. `kraft.version` is 0:
nobody can join, or leave, a quorum of one broker. In a cluster the controllers decide
on all of them, and there are more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import InvalidUpdateVersion

from .resource_options import Resource, ResourceKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .resource_options import ResourceOptions

TRANSACTION_VERSION = "transaction.version"
GROUP_VERSION = "group.version"
SHARE_VERSION = "share.version"
STREAMS_VERSION = "streams.version"
METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
ELR_VERSION = "eligible.leader.replicas.version"
# Of Apache Kafka: the lowest that 4.3 knows, 3.3-IV3, and its own, 4.3-IV0.
METADATA_LEVEL_MIN, METADATA_LEVEL = 7, 30
UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3
_RESOURCE = Resource(ResourceKind.FEATURE, "cluster")
_EPOCH = "epoch"


class SupportedFeature(NamedTuple):
    """A feature, and the lowest and the highest level that this broker knows."""

    name: str
    level_min: int
    level_max: int

    @property
    def levels(self) -> str:
        """The levels in words."""
        return f"{self.level_min}-{self.level_max}"


SUPPORTED = (
    SupportedFeature(GROUP_VERSION, 0, 1),
    SupportedFeature(KRAFT_VERSION, 0, 0),
    SupportedFeature(METADATA_VERSION, METADATA_LEVEL_MIN, METADATA_LEVEL),
    SupportedFeature(SHARE_VERSION, 0, 1),
    SupportedFeature(STREAMS_VERSION, 0, 1),
    SupportedFeature(TRANSACTION_VERSION, 0, 2),
)
"""Every feature of this broker; the others of Apache Kafka it does not have."""
FINALIZED = (
    GROUP_VERSION,
    STREAMS_VERSION,
    TRANSACTION_VERSION,
    ELR_VERSION,
    SHARE_VERSION,
    METADATA_VERSION,
    KRAFT_VERSION,
)
"""All features, in the order in which Apache Kafka tells their levels."""


class Features:
    """The levels that hold now. What was never changed has that of its option.

    ``supported`` are those that there are: in a cluster there are others.
    """

    def __init__(self, resources: ResourceOptions, transaction_version: int) -> None:
        self.supported: tuple[SupportedFeature, ...] = SUPPORTED
        self._resources = resources
        self._defaults = {
            ELR_VERSION: 0,
            GROUP_VERSION: 1,
            KRAFT_VERSION: 0,
            METADATA_VERSION: METADATA_LEVEL,
            SHARE_VERSION: 1,
            STREAMS_VERSION: 1,
            TRANSACTION_VERSION: transaction_version,
        }
        self._seen: Mapping[str, str] | None = None
        self._told: tuple[int, tuple[int, ...]] = 0, ()

    @property
    def epoch(self) -> int:
        """How often levels were changed: clients keep the newest answer."""
        return self.told[0]

    def level_of(self, name: str) -> int:
        """The level of a feature; 0: it is off."""
        return int(self._stored.get(name, self._defaults[name]))

    @property
    def told(self) -> tuple[int, tuple[int, ...]]:
        """The epoch, and the levels of ``supported``: every client asks for them."""
        stored = self._stored  # another one after a change
        if self._seen is not stored:
            levels = tuple(self.level_of(name) for name, _, _ in self.supported)
            self._seen, self._told = stored, (int(stored.get(_EPOCH, 0)), levels)
        return self._told

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
        known = next((each for each in self.supported if each.name == name), None)
        if known is None:
            return "This broker does not have this feature."
        if upgrade_type not in (UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE):
            return "There is no such upgrade type."
        if level < 0:
            return "A feature version cannot be less than 0."
        if not known.level_min <= level <= known.level_max:
            return f"This broker only supports versions {known.levels}."
        if level < self.level_of(name):
            if upgrade_type == UPGRADE:
                return "A lower version needs a safe or an unsafe downgrade."
            if name == METADATA_VERSION:
                return "There is no metadata log that could have an older format."
        return None
