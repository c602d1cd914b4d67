"""A cluster in which another broker leads everything."""

from odradek.broker.cluster.view import KnownBroker, Placed

LEADER, EPOCH = 2, 7


class PlacedElsewhere:
    """What handlers ask of a `ClusterView`."""

    read_replicas = None

    def placed(self, topic_id: bytes, number: int) -> Placed:
        return Placed(LEADER, EPOCH, [LEADER], [LEADER], [], [], [])

    def broker(self, broker_id: int, listener_name: str) -> KnownBroker:
        return KnownBroker(broker_id, "other", 9092, "rack")
