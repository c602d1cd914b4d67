"""Both brokers with logins and an authorizer, of the same properties, asked by users.

Root may do all. What other users may is what `GuardedNode.become` says; a broker is
asked on when it has all of it: Apache Kafka hears of it a moment later.
"""

import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from odradek.client.connection import Connection, ConnectionClosed
from odradek.client.security.options import read_security
from odradek.protocol.acl_entries import AclEntry
from odradek.protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from odradek.protocol.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from odradek.protocol.schema import RESPONSES, Request
from tests.apache_kafka.node import KafkaNode
from tests.broker_process import running_broker
from tests.fakes.requests_by_name import request_of
from tests.patience import PATIENCE_S
from tests.ports import free_ports
from tests.wire_compare import error_codes

ROOT = "root"
SASL = "SASL_PLAINTEXT"
PAUSE_S = 0.01
_AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
# As numbers that every filter matches.
_ANY = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


class GuardedNode:
    """One of the brokers, with a connection for each user who has asked."""

    def __init__(self, address: str) -> None:
        host, port = address.split(":")
        self._address = host, int(port)
        self._connections: dict[str, Connection] = {}

    def ask(self, user: str, api: int, version: int, values: Mapping[str, Any]) -> Any:
        """The answer; None: the connection was closed in its place."""
        return self.send(user, request_of(api, dict(values)), version)

    def send(self, user: str, request: Request, version: int) -> Any:
        response_class: Any = RESPONSES[request.api_key]
        connection = self._connections.get(user) or self._connect(user)
        try:
            return connection.request(request, response_class, version)
        except (ConnectionClosed, ConnectionError):
            self._connections.pop(user).close()
            return None

    def _connect(self, user: str) -> Connection:
        security = read_security(
            {
                "security.protocol": SASL,
                "sasl.mechanism": "PLAIN",
                "sasl.username": user,
                "sasl.password": user,
            }
        )
        connection = Connection(*self._address, security=security)
        connection.wait_for(PATIENCE_S)
        self._connections[user] = connection
        return connection

    def become(self, entries: Iterable[AclEntry]) -> None:
        """These are the entries; there are no others."""
        delete = DeleteAclsRequest(filters=[DeleteAclsFilter(**_ANY)])
        deleted: DeleteAclsResponse = self.send(ROOT, delete, 3)
        assert not deleted.filter_results[0].error_code, deleted
        wanted = list(dict.fromkeys(entries))
        create = CreateAclsRequest(creations=[creation(each) for each in wanted])
        created: CreateAclsResponse = self.send(ROOT, create, 3)
        assert not any(each.error_code for each in created.results), created
        self._until(lambda: self.entries() == set(wanted), "has the entries")

    def entries(self, **wanted: Any) -> set[AclEntry]:
        """Those that match; with numbers and names as in the request."""
        asked = DescribeAclsRequest(**{**_ANY, **wanted})
        answer: DescribeAclsResponse = self.send(ROOT, asked, 3)
        assert not answer.error_code, answer
        return entries_of(answer)

    def wait_until_gone(self, wanted: Mapping[str, Any]) -> None:
        """Return when nothing matches any more."""
        self._until(lambda: not self.entries(**wanted), f"removes {wanted}")

    def create_topics(self, names: Sequence[str]) -> None:
        topics = [
            CreatableTopic(name=name, num_partitions=1, replication_factor=1)
            for name in names
        ]
        made: CreateTopicsResponse = self.send(
            ROOT, CreateTopicsRequest(topics=topics, timeout_ms=30_000), 7
        )
        assert not any(each.error_code for each in made.topics), made
        asked = {"topics": [{"name": name} for name in names]}

        def are_there() -> bool:
            answer = self.ask(ROOT, 3, 12, asked)
            codes = [topic.error_code for topic in answer.topics]
            codes += [x.error_code for topic in answer.topics for x in topic.partitions]
            return not any(codes)

        self._until(are_there, "has the topics")

    def settle(self, api: int, version: int, values: Mapping[str, Any]) -> Any:
        """Ask as root until all is well: coordinators need a moment."""
        answers: list[Any] = [None]

        def is_well() -> bool:
            answers[0] = self.ask(ROOT, api, version, values)
            return not error_codes(answers[0])

        self._until(is_well, f"answers {values}")
        return answers[0]

    def _until(self, condition: Any, what: str) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, f"{self._address} never {what}"
            time.sleep(PAUSE_S)

    def close(self) -> None:
        while self._connections:
            self._connections.popitem()[1].close()


def creation(wanted: AclEntry) -> AclCreation:
    return AclCreation(
        resource_type=wanted.resource_type,
        resource_name=wanted.resource_name,
        resource_pattern_type=wanted.pattern_type,
        principal=wanted.principal,
        host=wanted.host,
        operation=wanted.operation,
        permission_type=wanted.permission,
    )


def entries_of(answer: DescribeAclsResponse) -> set[AclEntry]:
    return {
        AclEntry(
            resource.resource_type,
            resource.resource_name,
            resource.pattern_type,
            acl.principal,
            acl.host,
            acl.operation,
            acl.permission_type,
        )
        for resource in answer.resources
        for acl in resource.acls
    }


def _properties(users: Sequence[str], more: Mapping[str, str]) -> dict[str, str]:
    passwords = " ".join(f'user_{user}="{user}"' for user in (ROOT, *users))
    return {
        "authorizer.class.name": _AUTHORIZER,
        # Apache Kafka's own broker asks its controller as ANONYMOUS.
        "super.users": f"User:{ROOT};User:ANONYMOUS",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{_PLAIN} required"
        f" {passwords};",
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1",
        **more,
    }


@contextlib.contextmanager
def guarded_nodes(
    root: Path, users: Sequence[str], **options: str
) -> Iterator[tuple[GuardedNode, GuardedNode]]:
    """Ours, and Apache Kafka; each user's password is its name."""
    more = {name.replace("_", "."): value for name, value in options.items()}
    properties = _properties(users, more)
    (port,) = free_ports(1)
    kafka = KafkaNode(root)
    listeners = f"PLAINTEXT://{kafka.address},{SASL}://127.0.0.1:{port}"
    controller = f"CONTROLLER://127.0.0.1:{kafka.controller_port}"
    kafka.configure(
        properties
        | {
            "listeners": f"{listeners},{controller}",
            "advertised.listeners": listeners,
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,"
            f"CONTROLLER:PLAINTEXT,{SASL}:{SASL}",
        }
    )
    mine = properties | {
        "listeners": f"{SASL}://127.0.0.1:0",
        "inter.broker.apis.enable": "true",
        "connection.failed.authentication.delay.ms": "0",
    }
    file = root / "odradek.properties"
    file.touch(0o600)  # passwords are in it
    file.write_text("".join(f"{name}={value}\n" for name, value in mine.items()))
    with contextlib.ExitStack() as stack:
        ours = stack.enter_context(running_broker(root / "data", "--config", str(file)))
        stack.callback(kafka.kill)
        kafka.start()
        nodes = GuardedNode(ours.address), GuardedNode(f"127.0.0.1:{port}")
        for node in nodes:
            stack.callback(node.close)
        yield nodes
        assert "Traceback" not in ours.log(), ours.log()
