"""Share groups of tests that begin with the first record."""

from odradek.client.cluster import Cluster
from odradek.client.configs import (
    ConfigChange,
    ConfigResource,
    ConfigResourceType,
    Operation,
    alter_configs,
)


def begin_with_the_first(cluster: Cluster, *groups: str) -> None:
    for group in groups:
        alter_configs(
            cluster,
            ConfigResource(ConfigResourceType.GROUP, group),
            [ConfigChange(Operation.SET, "share.auto.offset.reset", "earliest")],
        )
