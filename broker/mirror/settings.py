"""What is kept of a mirror: which cluster it copies, and which of its topics.

Passwords are not: the file with the options of clients is named, and read anew with
each connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.config.text.pattern import compile_pattern
from odradek.broker.metadata.topic_names import INTERNAL_TOPICS
from odradek.client.address import parse_addresses
from odradek.client.security.client_file import read_client_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.broker.config.text.pattern import Pattern
    from odradek.client.cluster import Cluster

TIMEOUT_S = 15
# As Apache Kafka calls what is not one of its users' topics.
_NEVER = INTERNAL_TOPICS | {"__cluster_metadata", "__remote_log_metadata"}


class MirrorSettings(NamedTuple):
    """One mirror. ``cluster_id`` is that of the source, once it is known."""

    name: str
    bootstrap: str
    topics: str
    command_config: str = ""
    cluster_id: str = ""

    @classmethod
    def read(cls, name: str, options: Mapping[str, str]) -> MirrorSettings:
        """As the catalogue has them."""
        return cls(name, **options)

    @property
    def options(self) -> dict[str, str]:
        """What the catalogue is to have of them."""
        found = self._asdict()
        del found["name"]
        return {name: value for name, value in found.items() if value}

    @property
    def pattern(self) -> Pattern:
        """Which topics are meant, by their whole names.

        Raises:
            InvalidRegularExpression: it is no pattern.
        """
        return compile_pattern(self.topics)

    def connect(self) -> Cluster:
        """The other cluster; nothing is connected before something is asked.

        Raises:
            ValueError: the addresses, or the file with options, are of no use.
        """
        from odradek.client.cluster import Cluster

        security = None
        if self.command_config:
            security = read_client_file(self.command_config).security
        return Cluster(
            parse_addresses(self.bootstrap),
            client_id=f"odradek-mirror-{self.name}",
            timeout_s=TIMEOUT_S,
            security=security,
        )


def may_be_mirrored(topic: str) -> bool:
    """Whether it is no topic of the other brokers' own."""
    return topic not in _NEVER
