from tests.broker.cli.conftest import Shell


def test_all_quotas_or_those_of_some(shell: Shell) -> None:
    assert shell.run("quota", "list") == ["no quotas"]
    rate = "producer_byte_rate=1000"
    shell.run("quota", "set", "--user", "alice", rate, "request_percentage=50")
    shell.run("quota", "set", "--user", "alice", "--client-id", "app", rate)
    shell.run("quota", "set", "--client-id-default", rate)
    assert shell.run("quota", "list") == [
        "ENTITY                     QUOTA               VALUE",
        "user alice                 producer_byte_rate   1000",
        "user alice                 request_percentage     50",
        "user alice, client-id app  producer_byte_rate   1000",
        "client-id <default>        producer_byte_rate   1000",
    ]
    assert len(shell.run("quota", "list", "--user", "alice")) == 4
    assert shell.run_json("quota", "list", "--client-id-default") == [
        {"entity": {"client-id": None}, "quotas": {"producer_byte_rate": 1000}}
    ]
