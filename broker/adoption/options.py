"""The options of adopted topics: Kafka's own where they are known, safe ones if not.

In Kafka an option that a topic does not set has the value that was set for all
brokers while they ran, and then that of ``server.properties``. The first are in the
metadata log (`resources`); the second are in no data directory: the properties
file is given to ``odradek serve --config``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from odradek.broker.config.topic_config import asks_for_more, validate_topic_options
from odradek.broker.metadata.topic_names import INTERNAL_TOPICS, SHARE_GROUP_STATE
from odradek.protocol.errors import InvalidConfig

from .metadata import AdoptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.broker.config.options.broker_config import BrokerConfig

    from .metadata import ClusterMetadata

ALL_TOPICS: Final = "*"
KEEP_ALL: Final = {"retention.ms": "-1", "retention.bytes": "-1"}
_RETENTION: Final = frozenset(f"log.retention.{unit}" for unit in ("ms", "minutes"))
_NAMES_SHOWN: Final = 5
COMPACT: Final = {"cleanup.policy": "compact"}
INCREMENTS: Final = {"cleanup.policy": "delete"} | KEEP_ALL


def check_overrides(
    overrides: Mapping[str, Mapping[str, str]], broker: BrokerConfig
) -> None:
    """See that topics can have the options that the operator asks for.

    Raises:
        InvalidConfig: one does not exist, or cannot have its value.
    """
    for options in overrides.values():
        validate_topic_options(options, broker)


class AdoptedOptions:
    """Decides the options of each topic, and notes what it leaves out."""

    def __init__(
        self,
        metadata: ClusterMetadata | None,
        overrides: Mapping[str, Mapping[str, str]],
        broker: BrokerConfig,
    ) -> None:
        self._notes: list[str] = []
        self._of_the_broker: list[str] = []
        self._metadata = metadata
        self._overrides = overrides
        self._broker = broker
        changes = broker.changes
        changed = {*changes.everywhere, *changes.here} if changes is not None else set()
        self._has_retention = not _RETENTION.isdisjoint(changed)

    @property
    def notes(self) -> list[str]:
        """What is left out of the topics that were asked for, and what is open."""
        if not self._of_the_broker:
            return self._notes
        names = ", ".join(self._of_the_broker[:_NAMES_SHOWN])
        more = len(self._of_the_broker) - _NAMES_SHOWN
        and_more = f" and {more} more" if more > 0 else ""
        return [
            *self._notes,
            f"no retention.ms is set for {names}{and_more}: they have that of the"
            " broker, in Kafka from server.properties; give that file to odradek serve"
            " --config, or its records go after the default of seven days",
        ]

    def of_topic(self, name: str) -> dict[str, str]:
        """The options that the catalogue gets for a topic.

        Raises:
            AdoptionError: what the operator asks for contradicts the rest, or the
                topic asks for what is not here.
        """
        said = {**self._overrides.get(ALL_TOPICS, {}), **self._overrides.get(name, {})}
        options: dict[str, str] = {}
        if self._metadata is None:
            options |= KEEP_ALL
        else:
            had = self._metadata.topic_options.get(name, {})
            options |= self._known(
                name, {key: had[key] for key in had if key not in said}
            )
        if name == SHARE_GROUP_STATE:
            options |= INCREMENTS
        elif name in INTERNAL_TOPICS:
            options |= COMPACT
        options |= said
        is_kept = (
            "retention.ms" in options or options.get("cleanup.policy") == "compact"
        )
        if not (is_kept or self._has_retention):
            self._of_the_broker.append(name)
        try:
            validate_topic_options(options, self._broker)
        except InvalidConfig as error:
            raise AdoptionError(f"the options of topic {name}: {error}") from error
        return options

    def _known(self, topic: str, options: Mapping[str, str]) -> dict[str, str]:
        known = {}
        for name, value in options.items():
            reason = self._why_not(name, value)
            if reason is None:
                known[name] = value
            elif asks_for_more(name, value):
                raise AdoptionError(
                    f"topic {topic} has {name}={value}, which is not here: to go on"
                    f" without, adopt it with --topic-config {topic}:{name}=false"
                )
            else:
                self._notes.append(
                    f"topic {topic}: {name}={value} is not carried over: {reason}"
                )
        return known

    def _why_not(self, name: str, value: str) -> str | None:
        try:
            validate_topic_options({name: value}, self._broker)
        except InvalidConfig as error:
            return str(error)
        return None
