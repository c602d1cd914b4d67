from tests.broker.cli.conftest import Shell


def test_the_quotas_of_one_entity_and_no_other(shell: Shell) -> None:
    rate = "producer_byte_rate=1000"
    shell.run("quota", "set", "--user", "alice", rate)
    shell.run("quota", "set", "--user", "alice", "--client-id", "app", rate)
    assert shell.run("quota", "describe", "--user", "alice")[1:] == [
        "user alice  producer_byte_rate   1000"
    ]
    assert shell.run("quota", "describe", "--user", "bob") == ["user bob: no quotas"]
    assert shell.run_json("quota", "describe", "--user", "bob") == []
