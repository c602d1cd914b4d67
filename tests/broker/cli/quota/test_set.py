import pytest

from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from odradek.client.quotas import Quotas, describe_quotas
from tests.broker.cli.conftest import Shell


def test_quotas_of_whoever(cluster: Cluster, shell: Shell) -> None:
    assert shell.run(
        *("quota", "set", "--user", "alice", "--client-id-default"),
        *("producer_byte_rate=1048576", "request_percentage=12.5"),
    ) == [
        "user alice, client-id <default>: producer_byte_rate=1048576 set",
        "user alice, client-id <default>: request_percentage=12.5 set",
    ]
    assert describe_quotas(cluster) == [
        Quotas(
            {"user": "alice", "client-id": None},
            {"producer_byte_rate": 1048576.0, "request_percentage": 12.5},
        )
    ]
    given = ("--ip", "127.0.0.9", "connection_creation_rate=10")
    assert shell.run_json("quota", "set", *given) == [
        {"entity": {"ip": "127.0.0.9"}, "quotas": {"connection_creation_rate": 10}}
    ]


def test_a_dry_run_changes_nothing(cluster: Cluster, shell: Shell) -> None:
    given = ("quota", "set", "--user-default", "consumer_byte_rate=1", "--dry-run")
    assert shell.run(*given) == ["user <default>: consumer_byte_rate=1 could be set"]
    assert describe_quotas(cluster) == []


def test_what_the_broker_refuses_is_said(shell: Shell) -> None:
    shell.run("quota", "set", "--user", "alice", "no_such_rate=1", code=1)
    assert "quota set: user alice: INVALID_REQUEST: " in shell.error


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["a=1"], "say whose: --user, --client-id, --ip"),
        (["--user", "a"], "arguments are required: NAME=NUMBER"),
        (["--user", "a", "x"], "'x' sets no quota; write it like"),
        (["--user", "a", "x=fast"], "sets no quota"),
        (["--user", "a", "x=nan"], "sets no quota"),
        (["--user", "a", "--user-default", "x=1"], "not allowed with"),
        (["--user", "a", "--ip", "b", "x=1"], "for all its users"),
        (["--user", "", "x=1"], "the default is --user-default"),
    ],
)
def test_mistakes(
    given: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["quota", "set", *given])
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err
