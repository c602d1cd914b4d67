"""Stock clients log in with tokens: of an issuer of their own, and ours."""

import asyncio
import json
import threading
import time
from base64 import b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import aiokafka
import aiokafka.abc
import confluent_kafka
import kafka
import kafka.net.sasl.oauth
import pytest

from odradek.client.address import parse_addresses
from odradek.client.cluster import Cluster
from odradek.client.security.options import read_security
from odradek.protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from tests.broker_process import BrokerProcess, running_broker
from tests.patience import PATIENCE_S
from tests.tokens import Issuer

PROTOCOL = "SASL_PLAINTEXT"
PASSWORD = "a long secret"
VALUES = [b"%d" % number for number in range(20)]
LIFE_S = 3


class Guarded:
    """A broker that takes the tokens of ``issuer``."""

    def __init__(self, broker: BrokerProcess, issuer: Issuer) -> None:
        self.broker = broker
        self.issuer = issuer
        self.token_count = 0

    def token(self, life_s: int = 600) -> str:
        self.token_count += 1
        return self.issuer.token("alice", life_s)

    def options(self, **more: Any) -> dict[str, Any]:
        """Those of librdkafka."""
        usual = {
            "bootstrap.servers": self.broker.address,
            "security.protocol": PROTOCOL,
            "sasl.mechanism": "OAUTHBEARER",
        }
        return usual | {
            name if name.endswith("cb") else name.replace("_", "."): x
            for name, x in more.items()
        }


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("tokens")
    issuer = Issuer(folder)
    users = folder / "users"
    users.write_text(f"alice:{PASSWORD}\n")
    users.chmod(0o600)
    options = [
        f"listeners={PROTOCOL}://127.0.0.1:0",
        "sasl.enabled.mechanisms=OAUTHBEARER,SCRAM-SHA-256,PLAIN",
        f"sasl.oauthbearer.jwks.endpoint.url={issuer.keys.as_uri()}",
        f"sasl.oauthbearer.expected.audience={issuer.audience}",
        "sasl.oauthbearer.expected.issuer=tests",
        "sasl.oauthbearer.clock.skew.seconds=0",
        f"plain.users.file={users}",
    ]
    secret = folder / "server.properties"
    secret.write_text("delegation.token.secret.key=hush\n")
    secret.chmod(0o600)
    words = ["--config", str(secret)]
    words += [word for option in options for word in ("-o", option)]
    with running_broker(folder / "data", *words) as broker:
        yield Guarded(broker, issuer)
        assert "Traceback" not in broker.log()
        assert "eyJ" not in broker.log(), "no token is logged"


def produce_and_consume(options: dict[str, Any], topic: str) -> list[bytes | None]:
    producer = confluent_kafka.Producer(options)
    for value in VALUES:
        producer.produce(topic, value, partition=0)
    assert producer.flush(PATIENCE_S) == 0
    consumer = confluent_kafka.Consumer({**options, "group.id": topic})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    found = consumer.consume(len(VALUES), PATIENCE_S)
    consumer.close()
    return [message.value() for message in found]


def test_confluent(guarded: Guarded, topic: str) -> None:
    def ask(_: str) -> tuple[str, float]:
        return guarded.token(), time.time() + 600

    assert produce_and_consume(guarded.options(oauth_cb=ask), topic) == VALUES


def test_confluent_goes_on_when_its_token_has_ended(
    guarded: Guarded, topic: str
) -> None:
    ends_s: list[float] = []

    def ask(_: str) -> tuple[str, float]:
        ends_s.append(time.time() + LIFE_S)
        return guarded.token(LIFE_S), ends_s[-1]

    producer = confluent_kafka.Producer(guarded.options(oauth_cb=ask))
    failed: list[object] = []
    while not ends_s or time.time() < ends_s[0] + 1:
        producer.produce(
            topic,
            b"x",
            on_delivery=lambda error, _: failed.append(error) if error else None,
        )
        assert producer.flush(PATIENCE_S) == 0
        producer.poll(0.1)
    assert len(ends_s) > 1
    assert not failed


class Endpoint(BaseHTTPRequestHandler):
    """Where a client gets a token for its secret; ``server.tokens`` makes them."""

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"] or 0)
        self.rfile.read(size)
        tokens: Guarded = self.server.tokens  # type: ignore[attr-defined]
        answer = {"access_token": tokens.token(), "expires_in": 600}
        body = json.dumps({**answer, "token_type": "Bearer"}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def endpoint(guarded: Guarded) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        server.tokens = guarded  # type: ignore[attr-defined]
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/token"
        finally:
            server.shutdown()
            thread.join()


def test_confluent_fetches_its_tokens_itself(guarded: Guarded, topic: str) -> None:
    with endpoint(guarded) as url:
        options = guarded.options(
            sasl_oauthbearer_method="oidc",
            sasl_oauthbearer_client_id="me",
            sasl_oauthbearer_client_secret="hush",
            sasl_oauthbearer_token_endpoint_url=url,
        )
        try:
            found = produce_and_consume(options, topic)
        except confluent_kafka.KafkaException as error:
            if "oidc" in str(error):
                pytest.skip(str(error))
            raise
    assert found == VALUES


class Provider(kafka.net.sasl.oauth.AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, guarded: Guarded) -> None:
        super().__init__()
        self._guarded = guarded

    def token(self) -> str:
        return self._guarded.token()


def test_kafka_python(guarded: Guarded, topic: str) -> None:
    options: dict[str, Any] = {
        "bootstrap_servers": guarded.broker.address,
        "security_protocol": PROTOCOL,
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauth_token_provider": Provider(guarded),
    }
    producer = kafka.KafkaProducer(**options)
    for value in VALUES:
        producer.send(topic, value, partition=0)
    producer.flush(PATIENCE_S)
    producer.close()
    consumer = kafka.KafkaConsumer(**options, consumer_timeout_ms=PATIENCE_S * 1000)
    place = kafka.TopicPartition(topic, 0)
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    found = [next(consumer).value for _ in VALUES]
    consumer.close()
    assert found == VALUES


class AsyncProvider(aiokafka.abc.AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, guarded: Guarded) -> None:
        self._guarded = guarded

    async def token(self) -> str:
        return self._guarded.token()


def test_aiokafka(guarded: Guarded, topic: str) -> None:
    assert asyncio.run(_through_aiokafka(guarded, topic)) == VALUES


async def _through_aiokafka(guarded: Guarded, topic: str) -> list[Any]:
    options: dict[str, Any] = {
        "bootstrap_servers": guarded.broker.address,
        "security_protocol": PROTOCOL,
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauth_token_provider": AsyncProvider(guarded),
    }
    async with aiokafka.AIOKafkaProducer(**options) as producer:
        for value in VALUES:
            await producer.send_and_wait(topic, value, partition=0)
    async with aiokafka.AIOKafkaConsumer(**options) as consumer:
        place = aiokafka.TopicPartition(topic, 0)
        consumer.assign([place])
        await consumer.seek_to_beginning(place)
        async with asyncio.timeout(PATIENCE_S):
            return [(await consumer.getone()).value for _ in VALUES]


def test_a_token_that_is_not_good_is_told(guarded: Guarded) -> None:
    said: list[str] = []

    def ask(_: str) -> tuple[str, float]:
        return guarded.issuer.token("eve", -60), time.time() + 600

    client = confluent_kafka.Producer(
        guarded.options(oauth_cb=ask, error_cb=lambda error: said.append(error.str()))
        | {"log_level": 0}
    )
    end_s = time.monotonic() + PATIENCE_S
    while not said and time.monotonic() < end_s:
        client.poll(0.1)
    assert "invalid_token" in said[0]
    assert "login of eve from 127.0.0.1" in guarded.broker.log()


def test_a_delegation_token_logs_in(guarded: Guarded, topic: str) -> None:
    """Who is in with a token of the issuer lends its login."""
    path = guarded.issuer.keys.with_name("token")
    path.write_text(guarded.token())
    options = guarded.options(sasl_oauthbearer_token_endpoint_url=path.as_uri())
    servers = parse_addresses(guarded.broker.address)
    with Cluster(
        servers, security=read_security(options), timeout_s=PATIENCE_S
    ) as cluster:
        made = cluster.request(
            CreateDelegationTokenRequest(max_lifetime_ms=-1),
            CreateDelegationTokenResponse,
        )
    assert made.error_code == 0
    secret = b64encode(bytes(made.hmac)).decode()
    module = (
        "org.apache.kafka.common.security.scram.ScramLoginModule required"
        f' username="{made.token_id}" password="{secret}" tokenauth="true";'
    )
    lent = {
        "bootstrap.servers": guarded.broker.address,
        "security.protocol": PROTOCOL,
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": module,
    }
    with Cluster(
        servers, security=read_security(lent), timeout_s=PATIENCE_S
    ) as cluster:
        refused = cluster.request(
            CreateDelegationTokenRequest(max_lifetime_ms=-1),
            CreateDelegationTokenResponse,
        )
        assert refused.error_code == 64
        assert list(cluster.metadata().brokers)
    assert secret not in guarded.broker.log()
