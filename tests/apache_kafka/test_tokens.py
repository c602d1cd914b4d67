"""Delegation tokens, and those of others: with Kafka's tools, beside Apache Kafka."""

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.client.address import parse_addresses
from odradek.client.cluster import Cluster
from odradek.client.delegation_tokens import (
    Token,
    create_token,
    describe_tokens,
    expire_token,
    renew_token,
)
from odradek.client.security.options import read_security
from odradek.client.security.settings import Secret
from odradek.protocol.errors import KafkaError
from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.secure_node import PASSWORD, SecureKafka, running_secure_kafka
from tests.broker_process import BrokerProcess, running_broker
from tests.key_server import key_server
from tests.patience import PATIENCE_S
from tests.tokens import Issuer

TOOL = "org.apache.kafka.tools.DelegationTokenCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
MODULES = "org.apache.kafka.common.security"
DAY_MS = 86_400_000
UNKNOWN = Secret("AQI=")


class Ours:
    """A broker with a listener for alice's password and tokens, and one for anybody."""

    def __init__(self, broker: BrokerProcess, issuer: Issuer) -> None:
        self.broker = broker
        self.issuer = issuer

    def java_options(
        self, folder: Path, mechanism: str, module: str, **more: str
    ) -> str:
        """The path of a file of options for Kafka's tools."""
        path = folder / f"{mechanism}.properties"
        lines = {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": mechanism,
            "sasl.jaas.config": module,
            **{name.replace("_", "."): value for name, value in more.items()},
        }
        path.write_text("".join(f"{each}={lines[each]}\n" for each in lines))
        return str(path)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ours]:
    folder = tmp_path_factory.mktemp("ours")
    issuer = Issuer(folder)
    users, options = folder / "users", folder / "server.properties"
    users.write_text(f"alice:{PASSWORD}\n")
    users.chmod(0o600)
    listeners = "SASL_PLAINTEXT://127.0.0.1:0,PLAINTEXT://127.0.0.1:0"
    with key_server(issuer) as keys:
        # As a file of Apache Kafka has it.
        prefix = "listener.name.sasl_plaintext.oauthbearer"
        options.write_text(
            "delegation.token.secret.key=hush\n"
            "sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,OAUTHBEARER\n"
            f"{prefix}.sasl.jaas.config={keys.login_module}\n"
            f"{prefix}.sasl.server.callback.handler.class={MODULES}.oauthbearer"
            ".OAuthBearerValidatorCallbackHandler\n"
            f"sasl.oauthbearer.jwks.endpoint.url={keys.url}\n"
            f"sasl.oauthbearer.expected.audience={issuer.audience}\n"
            f"plain.users.file={users}\n"
        )
        words = ("--config", str(options), "-o", f"listeners={listeners}")
        with running_broker(folder / "data", *words) as broker:
            yield Ours(broker, issuer)
            assert keys.asked
            assert "Traceback" not in broker.log()


def test_the_tool_makes_a_token_that_outlives_a_restart_and_logs_in(
    java: JavaClient, ours: Ours, tmp_path: Path
) -> None:
    """S017, S013"""
    escaped = PASSWORD.replace('"', '\\\\"').replace("ä", "\\u00e4")
    module = (
        f'{MODULES}.plain.PlainLoginModule required username="alice"'
        f' password="{escaped}";'
    )
    alice = ours.java_options(tmp_path, "PLAIN", module)

    def tool(*words: str) -> str:
        there = ("--bootstrap-server", ours.broker.address, "--command-config", alice)
        return java.tool(TOOL, *there, *words)

    made = tool(
        "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob"
    )
    token_id, secret = re.findall(r"^(\S{22})\s+(\S{88})\s", made, re.MULTILINE)[0]
    ours.broker.kill()
    ours.broker.start()
    shown = tool("--describe", "--owner-principal", "User:alice")
    assert token_id in shown
    assert "[User:bob]" in shown
    tool("--renew", "--renew-time-period", "-1", "--hmac", secret)
    module = (
        f'{MODULES}.scram.ScramLoginModule required username="{token_id}"'
        f' password="{secret}" tokenauth="true";'
    )
    lent = ours.java_options(tmp_path, "SCRAM-SHA-256", module)
    there = ("--bootstrap-server", ours.broker.address, "--command-config", lent)
    java.tool(TOPICS, *there, "--create", "--topic", "by-token")
    assert "by-token" in java.tool(TOPICS, *there, "--list")
    with pytest.raises(Exception, match="Delegation Token requests are not allowed"):
        java.tool(TOOL, *there, "--describe")
    tool("--expire", "--expiry-time-period", "-1", "--hmac", secret)
    assert token_id not in tool("--describe")
    assert secret not in ours.broker.log()


@pytest.mark.long
def test_the_java_client_logs_in_with_the_token_of_a_file(
    ours: Ours, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S017: the broker's keys come over https."""
    path = tmp_path / "token"
    path.write_text(ours.issuer.token("alice"))
    options = ours.java_options(
        tmp_path,
        "OAUTHBEARER",
        f"{MODULES}.oauthbearer.OAuthBearerLoginModule required;",
        sasl_login_callback_handler_class=f"{MODULES}.oauthbearer"
        ".OAuthBearerLoginCallbackHandler",
        sasl_oauthbearer_token_endpoint_url=path.as_uri(),
    )
    allowed = "-Dorg.apache.kafka.sasl.oauthbearer.allowed"
    monkeypatch.setenv(
        "JAVA_TOOL_OPTIONS", f"{allowed}.urls={path.as_uri()} {allowed}.files={path}"
    )
    there = ("--bootstrap-server", ours.broker.address, "--command-config", options)
    with JavaClient(tmp_path / "client.log") as client:
        client.tool(TOPICS, *there, "--create", "--topic", "by-bearer")
        assert "by-bearer" in client.tool(TOPICS, *there, "--list")
        path.write_text(ours.issuer.token("alice", life_s=-600))
        with pytest.raises(Exception, match=r"invalid_token|expired|Failed to create"):
            client.tool(TOPICS, *there, "--list")


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureKafka]:
    with running_secure_kafka(tmp_path_factory.mktemp("secure")) as node:
        yield node


def code_of(act: object, *arguments: object) -> int:
    """The code of what a broker answers; 0: it did it."""
    try:
        act(*arguments)  # type: ignore[operator]
    except KafkaError as error:
        return int(error.code)
    return 0


def settle(cluster: Cluster, token: Token, expiry_ms: int | None) -> None:
    """Wait until the broker shows a token as it is now, None: no more.

    Apache Kafka's controller has decided, and its caches follow.
    """
    end_s = time.monotonic() + PATIENCE_S
    while True:
        shown = {each.token_id: each.expiry_ms for each in describe_tokens(cluster)}
        if shown.get(token.token_id) == expiry_ms:
            return
        assert time.monotonic() < end_s


def codes_of(options: dict[str, str]) -> list[object]:
    """What a broker says to alice's requests, one after the other."""
    servers = parse_addresses(options["bootstrap.servers"])
    with Cluster(
        servers, security=read_security(options), timeout_s=PATIENCE_S
    ) as cluster:
        mine = create_token(cluster, None, [("User", "bob")])
        short = create_token(cluster, None, [], 60_000)
        bobs = create_token(cluster, ("User", "bob"))
        for token in (mine, short, bobs):
            settle(cluster, token, token.expiry_ms)
        found: list[object] = [
            (token.owner, token.requester, token.expiry_ms - token.issue_ms)
            + (
                token.max_ms - token.issue_ms,
                len(token.hmac.value),
                len(token.token_id),
            )
            for token in (mine, short, bobs)
        ]
        found += [
            code_of(create_token, cluster, None, [("Group", "x")]),
            code_of(create_token, cluster, ("Group", "x")),
            len(describe_tokens(cluster, [])),
            {x.owner for x in describe_tokens(cluster, [("User", "bob")])},
            code_of(renew_token, cluster, UNKNOWN, -1),
            code_of(expire_token, cluster, UNKNOWN, -1),
            code_of(renew_token, cluster, bobs.hmac, -1),
            code_of(expire_token, cluster, bobs.hmac, -1),
            renew_token(cluster, short.hmac, 10 * DAY_MS) == short.max_ms,
        ]
        for period_ms in (-1, 0, 60_000, 10 * DAY_MS):
            before_ms = int(time.time() * 1000)
            expiry_ms = renew_token(cluster, mine.hmac, period_ms)
            found.append(round((expiry_ms - before_ms) / 60_000))
            end_ms = expire_token(cluster, mine.hmac, DAY_MS)
            found.append(round((end_ms - before_ms) / 60_000))
        end_ms = expire_token(cluster, mine.hmac, 0)
        settle(cluster, mine, end_ms)
        while time.time() * 1000 < end_ms + 2:
            pass
        found += [
            code_of(renew_token, cluster, mine.hmac, -1),
            code_of(expire_token, cluster, mine.hmac, 5),
            code_of(expire_token, cluster, mine.hmac, -1),
        ]
        settle(cluster, mine, None)
        found.append(code_of(expire_token, cluster, mine.hmac, -1))
    return found


@pytest.mark.long
def test_apache_kafka_says_the_same(kafka: SecureKafka, ours: Ours) -> None:
    """S017"""
    login = {
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": PASSWORD,
    }
    theirs = kafka.client_options("SASL_PLAINTEXT") | login
    same = {
        "bootstrap.servers": ours.broker.address,
        "security.protocol": "SASL_PLAINTEXT",
    }
    said = codes_of(same | login)
    assert said == codes_of(theirs)
    assert 67 in said
    assert {62, 63, 66} <= {each for each in said if isinstance(each, int)}
    plain = {"bootstrap.servers": kafka.address}
    with Cluster(
        parse_addresses(plain["bootstrap.servers"]), timeout_s=PATIENCE_S
    ) as cluster:
        assert code_of(create_token, cluster) == 64
        assert code_of(describe_tokens, cluster) == 64
