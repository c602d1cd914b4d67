from odradek.client.cluster import Cluster
from odradek.client.quotas import describe_quotas
from tests.broker.cli.conftest import Shell


def test_the_named_quotas_go_or_all(cluster: Cluster, shell: Shell) -> None:
    quotas = ("producer_byte_rate=1", "consumer_byte_rate=2", "request_percentage=3")
    shell.run("quota", "set", "--user", "alice", *quotas)
    remove = ("quota", "remove", "--user", "alice")
    assert shell.run(*remove, "consumer_byte_rate") == [
        "user alice: consumer_byte_rate removed"
    ]
    (left,) = describe_quotas(cluster)
    assert set(left.values) == {"producer_byte_rate", "request_percentage"}
    assert shell.run_json(*remove) == [
        {
            "entity": {"user": "alice"},
            "removed": ["producer_byte_rate", "request_percentage"],
        }
    ]
    assert describe_quotas(cluster) == []


def test_what_is_not_set_cannot_be_removed(cluster: Cluster, shell: Shell) -> None:
    shell.run("quota", "set", "--user", "alice", "producer_byte_rate=1")
    remove = ("quota", "remove", "--user")
    shell.run(*remove, "alice", "producer_byte_rate", "consumer_byte_rate", code=1)
    assert "user alice: no consumer_byte_rate to remove" in shell.error
    assert len(describe_quotas(cluster)) == 1
    shell.run(*remove, "bob", code=1)
    assert "user bob: no quotas to remove" in shell.error
