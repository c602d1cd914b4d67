"""A cluster without quotas."""

import pytest

from odradek.client.cluster import Cluster
from odradek.client.quotas import alter_quotas, describe_quotas


@pytest.fixture(autouse=True)
def _no_quotas(cluster: Cluster) -> None:
    for each in describe_quotas(cluster):
        alter_quotas(cluster, each.entity, dict.fromkeys(each.values))
