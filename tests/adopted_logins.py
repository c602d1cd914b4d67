"""What a broker knows of users, entries and tokens that were Apache Kafka's."""

from collections.abc import Callable, Mapping
from typing import Any

from odradek.client.acls import describe_acls
from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.client.delegation_tokens import describe_tokens
from odradek.client.scram import describe_users
from odradek.client.security.options import read_security
from odradek.client.topics import NewTopic, create_topic, describe_topics
from odradek.protocol.acl_entries import AclEntry
from odradek.protocol.errors import SaslAuthenticationFailed
from tests.patience import PATIENCE_S

ROOT, ROOT_PASSWORD = "root", "of root"
TOPICS = ("bobs", "orders-eu", "orders-secret", "others")
# Who may describe which of them, by the entries that were made.
SEEN = {
    "bob": {"bobs", "orders-eu", "orders-secret"},
    "carol": {"orders-eu", "orders-secret"},
}


class Adopted:
    """A broker that was given Kafka's directory; ``port`` is where one logs in."""

    def __init__(self, port: int, expected: Mapping[str, Any]) -> None:
        self._port = port
        self._expected = expected

    def check_all(self) -> None:
        """Who logs in, as whom, with which rights: all as Kafka had it."""
        self.as_user(ROOT, ROOT_PASSWORD, self._check_lists, mechanism="PLAIN")
        passwords = self._expected["passwords"]
        for user, password in passwords.items():
            self._check_user(user, password)
            assert not self.logs_in(user, "before")
        assert not self.logs_in("gone", "x")
        for token in self._expected["tokens"]:
            assert self.token_logs_in(token)
            owner = token["owner"].removeprefix("User:")
            seen = self.as_user(token["token_id"], token["hmac"], _seen, is_token=True)
            assert seen == SEEN[owner]

    def _check_lists(self, cluster: Cluster) -> None:
        acls = [AclEntry(*each) for each in self._expected["acls"]]
        assert describe_acls(cluster) == acls
        users = {
            name: [each.mechanism for each in found]
            for name, found in describe_users(cluster).found.items()
        }
        assert users == self._expected["users"]
        tokens = [
            {**each._asdict(), "hmac": each.hmac.value}
            for each in describe_tokens(cluster)
        ]
        in_order = sorted(self._expected["tokens"], key=lambda each: each["token_id"])
        assert sorted(tokens, key=lambda each: str(each["token_id"])) == in_order
        for name in TOPICS:
            create_topic(cluster, NewTopic(name))

    def _check_user(self, user: str, password: str) -> None:
        assert self.as_user(user, password, _seen) == SEEN[user]

    def logs_in(self, user: str, password: str, *, is_token: bool = False) -> bool:
        try:
            self.as_user(user, password, _seen, is_token=is_token)
        except SaslAuthenticationFailed:
            return False
        return True

    def token_logs_in(self, token: Mapping[str, Any]) -> bool:
        return self.logs_in(token["token_id"], token["hmac"], is_token=True)

    def as_user(
        self,
        user: str,
        password: str,
        act: Callable[[Cluster], Any],
        *,
        mechanism: str = "SCRAM-SHA-512",
        is_token: bool = False,
    ) -> Any:
        kind = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
        module = f"org.apache.kafka.common.security.{kind}LoginModule required"
        more = ' tokenauth="true"' if is_token else ""
        options = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": f'{module} username="{user}" password="{password}"'
            f"{more};",
        }
        servers, security = [Address("127.0.0.1", self._port)], read_security(options)
        with Cluster(servers, security=security, timeout_s=PATIENCE_S) as cluster:
            return act(cluster)


def _seen(cluster: Cluster) -> set[str]:
    return set(describe_topics(cluster).found) & set(TOPICS)
