"""Records of ``__cluster_metadata`` about brokers and controllers, and the quiet ones.

A broker's epoch is the offset of the record that registered it: what is said later of
the broker names that epoch.
"""

from typing import Final

from .schema import (
    Message,
    Struct,
    array,
    boolean,
    int8,
    int16,
    int32,
    int64,
    since,
    string,
    uint16,
    uuid,
)

# What `BrokerRegistrationChangeRecord.fenced` says.
UNFENCED: Final = -1
UNCHANGED: Final = 0
FENCED: Final = 1


class RegisteredEndpoint(Struct):
    """Where a node listens; 0 is PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL."""

    name: str = string()
    host: str = string()
    port: int = uint16()
    security_protocol: int = int16()


class RegisteredFeature(Struct):
    """The levels of a feature that a node can do."""

    name: str = string()
    min_supported_version: int = int16()
    max_supported_version: int = int16()


class RegisterBrokerRecord(Message, versions=(0, 4), flexible=0):
    """There is a broker; each of its processes has another incarnation."""

    broker_id: int = int32()
    is_migrating_zk_broker: bool = boolean(versions=since(2))
    incarnation_id: bytes = uuid()
    broker_epoch: int = int64()
    end_points: list[RegisteredEndpoint] = array()
    features: list[RegisteredFeature] = array()
    rack: str | None = string(nullable=True)
    fenced: bool = boolean(default=True)
    in_controlled_shutdown: bool = boolean(versions=since(1))
    log_dirs: list[bytes] = array(of=uuid, versions=since(3), tag=0)
    cordoned_log_dirs: list[bytes] | None = array(
        of=uuid, versions=since(4), nullable=True, default=None, tag=1
    )


class UnregisterBrokerRecord(Message, versions=(0, 0), flexible=0):
    """The broker will not come back."""

    broker_id: int = int32()
    broker_epoch: int = int64()


class FenceBrokerRecord(Message, versions=(0, 0), flexible=0):
    """The broker is kept away from clients."""

    id: int = int32()
    epoch: int = int64()


class UnfenceBrokerRecord(Message, versions=(0, 0), flexible=0):
    """Clients may go to the broker."""

    id: int = int32()
    epoch: int = int64()


class BrokerRegistrationChangeRecord(Message, versions=(0, 3), flexible=0):
    """What of a broker is different now."""

    broker_id: int = int32()
    broker_epoch: int = int64()
    fenced: int = int8(tag=0)
    in_controlled_shutdown: int = int8(versions=since(1), tag=1)
    log_dirs: list[bytes] = array(of=uuid, versions=since(2), tag=2)
    cordoned_log_dirs: list[bytes] | None = array(
        of=uuid, versions=since(3), nullable=True, default=None, tag=3
    )


class RegisterControllerRecord(Message, versions=(0, 0), flexible=0):
    """There is a controller, which listens there."""

    controller_id: int = int32()
    incarnation_id: bytes = uuid()
    zk_migration_ready: bool = boolean()
    end_points: list[RegisteredEndpoint] = array()
    features: list[RegisteredFeature] = array()


class ZkMigrationStateRecord(Message, versions=(0, 0), flexible=0):
    """How far the cluster was on its way from ZooKeeper, when it had one."""

    zk_migration_state: int = int8()


class NoOpRecord(Message, versions=(0, 0), flexible=0):
    """Nothing: it only moves the end of the log."""


class ClearElrRecord(Message, versions=(0, 0), flexible=0):
    """No partition of the topic has eligible leaders out of sync; no name: of all."""

    topic_name: str = string()
