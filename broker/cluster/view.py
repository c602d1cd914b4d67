"""What clients are told of a cluster: its brokers, and who leads a partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.broker.quorum.image.image import NO_LEADER

if TYPE_CHECKING:
    from odradek.broker.quorum.image.image import BrokerImage, HasImage

    from .forwarding import Forwarding
    from .read_replicas import RackAwareReplicas
    from .standing import Standing
    from .throttles import Throttles


# Ids of directories that stand for any: it was not said yet, or never is.
_ANYWHERE: Final = (bytes(16), bytes(15) + b"\1")


class KnownBroker(NamedTuple):
    """A broker that clients may ask, and where on their listener."""

    broker_id: int
    host: str
    port: int
    rack: str | None


class Placed(NamedTuple):
    """Who has a partition. No leader: nobody, or none that clients could ask."""

    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    offline: list[int]
    elr: list[int]
    last_known_elr: list[int]


class ClusterView:
    """The newest image, as handlers ask it."""

    def __init__(
        self,
        source: HasImage,
        forwarding: Forwarding,
        standing: Standing,
        throttles: Throttles,
        read_replicas: RackAwareReplicas | None = None,
    ) -> None:
        """``read_replicas`` says where consumers read. None: from leaders alone."""
        self.forwarding = forwarding
        self.standing = standing
        self.throttles = throttles
        self.read_replicas = read_replicas
        self._source = source

    @property
    def alive_count(self) -> int:
        """How many brokers are let in."""
        brokers = self._source.image.brokers.values()
        return sum(not each.is_fenced for each in brokers)

    def brokers(self, listener_name: str) -> list[KnownBroker]:
        """Those that are let in, and listen there."""
        brokers = self._source.image.brokers
        found = [self.broker(each, listener_name) for each in brokers]
        return [each for each in found if each is not None]

    def broker(self, broker_id: int, listener_name: str) -> KnownBroker | None:
        """One of them."""
        broker = self._source.image.brokers.get(broker_id)
        if broker is not None and not broker.is_fenced:
            for each in broker.endpoints:
                if each.name == listener_name:
                    return KnownBroker(broker_id, each.host, each.port, broker.rack)
        return None

    def placed(self, topic_id: bytes, number: int) -> Placed | None:
        """Who has a partition; None where the metadata do not know it."""
        image = self._source.image
        found = image.partition(topic_id, number)
        if found is None:
            return None
        offline = [
            each
            for each in found.replicas
            if not _is_alive(image.brokers.get(each), found.directory_of(each))
        ]
        return Placed(
            NO_LEADER if found.leader in offline else found.leader,
            found.leader_epoch,
            list(found.replicas),
            list(found.isr),
            offline,
            list(found.elr),
            list(found.last_known_elr),
        )


def _is_alive(broker: BrokerImage | None, directory_id: bytes) -> bool:
    return (
        broker is not None
        and not broker.is_fenced
        and (
            directory_id in _ANYWHERE
            or directory_id in broker.directories
            or not broker.directories  # nobody knows which are left
        )
    )
