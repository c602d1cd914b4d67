"""Kafka's tool for access control lists, with a broker that is killed in between."""

from pathlib import Path

from tests.apache_kafka.java_client import JavaClient
from tests.broker_process import running_broker

TOOL = "org.apache.kafka.tools.AclCommand"
OPTIONS = (
    "-oauthorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "-osuper.users=User:ANONYMOUS",
)
ORDERS = ("--topic", "orders-", "--resource-pattern-type", "prefixed")


def test_entries_are_made_found_and_removed(java: JavaClient, tmp_path: Path) -> None:
    """S022"""
    with running_broker(tmp_path / "data", *OPTIONS) as broker:

        def tool(*arguments: str) -> str:
            return java.tool(TOOL, "--bootstrap-server", broker.address, *arguments)

        alice = ("--allow-principal", "User:alice", "--operation", "Read")
        tool("--add", *alice, *ORDERS, "--group", "app")
        broker.kill()
        broker.start()
        matching = ("--topic", "orders-1", "--resource-pattern-type", "match")
        found = tool("--list", *matching)
        assert "name=orders-, patternType=PREFIXED" in found
        assert "principal=User:alice, host=*, operation=READ" in found
        assert "name=app" not in found
        tool("--remove", "--force", *ORDERS)
        left = tool("--list")
        assert "name=app" in left
        assert "name=orders-" not in left
