"""The keys of tokens come from a server, which changes them, and is out of order.

Stock clients log in meanwhile: with tokens of old keys, of new ones, of none.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import confluent_kafka
import pytest

from tests.broker_process import BrokerProcess
from tests.key_server import KeyServer, key_server
from tests.patience import PATIENCE_S
from tests.tokens import Issuer

PROTOCOL = "SASL_PLAINTEXT"
# What the log says of a server that is out of order.
TOLD = {
    "500": "the answer is 500",
    "302": "the answer is 302",
    "garbage": "it is no JSON",
    "half": "it is no JSON",
    "endless": "it has more than 1 MiB",
    "gone": "refused",
}


class Keyed:
    """A broker whose keys come from ``server``, and clients with tokens."""

    def __init__(self, broker: BrokerProcess, server: KeyServer) -> None:
        self.broker = broker
        self.server = server

    def logs_in(self, issuer: Issuer) -> bool:
        """Whether librdkafka gets in with a token of this issuer."""
        return bool(self._metadata(issuer.token("alice")))

    def _metadata(self, token: str) -> object:
        failed: list[confluent_kafka.KafkaError] = []
        client = confluent_kafka.Consumer(
            {
                "bootstrap.servers": self.broker.address,
                "security.protocol": PROTOCOL,
                "sasl.mechanism": "OAUTHBEARER",
                "group.id": "keys",
                "oauth_cb": lambda _: (token, time.time() + 600),
                "error_cb": failed.append,
                "log_level": 0,
            }
        )
        end_s, wait_s = time.monotonic() + PATIENCE_S, 0.2
        try:
            while not any(each.name() == "_AUTHENTICATION" for each in failed):
                assert time.monotonic() < end_s, failed
                client.poll(0)  # where tokens and errors are handed over
                with suppress(confluent_kafka.KafkaException):  # not yet, or never
                    return client.list_topics(timeout=wait_s)
                wait_s = min(wait_s * 1.5, 10)
        finally:
            client.close()
        return None

    def wait_for_log(self, text: str) -> None:
        until(lambda: text in self.broker.log())


def until(is_so: Callable[[], bool]) -> None:
    end_s = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < end_s
        time.sleep(0.05)


@contextmanager
def keyed_broker(folder: Path, server: KeyServer) -> Iterator[Keyed]:
    """One that looks for other keys every second."""
    prefix = f"listener.name.{PROTOCOL.lower()}.oauthbearer.sasl"
    options = {
        "listeners": f"{PROTOCOL}://127.0.0.1:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.jwks.endpoint.url": server.url,
        "sasl.oauthbearer.jwks.endpoint.refresh.ms": "1000",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": "50",
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": "200",
        "sasl.oauthbearer.expected.audience": Issuer.audience,
        "sasl.oauthbearer.expected.issuer": "tests",
        "connection.failed.authentication.delay.ms": "0",
        f"{prefix}.jaas.config": server.login_module,
    }
    path = folder / "server.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in options.items()))
    broker = BrokerProcess(folder / "data", ["--config", str(path)])
    try:
        broker.start()
        yield Keyed(broker, server)
        assert "Traceback" not in broker.log()
        assert "eyJ" not in broker.log(), "no token is logged"
    finally:
        broker.kill()


@pytest.fixture(scope="module")
def issuers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Issuer, Issuer]:
    folder = tmp_path_factory.mktemp("issuers")
    return Issuer(folder, "old"), Issuer(folder, "new")


@pytest.mark.parametrize("is_secure", [True, False], ids=["https", "http"])
def test_keys_change_while_clients_log_in(
    is_secure: bool, issuers: tuple[Issuer, Issuer], tmp_path: Path
) -> None:
    """S017"""
    old, new = issuers
    with (
        key_server(old, is_secure=is_secure) as server,
        keyed_broker(tmp_path, server) as keyed,
    ):
        assert keyed.logs_in(old)
        server.issuers = (old, new)
        assert keyed.logs_in(new), "its key is looked for at once"
        assert keyed.logs_in(old)
        server.issuers = (new,)
        count = len(server.asked)
        until(lambda: len(server.asked) > count + 1)
        until(lambda: not keyed.logs_in(old))
        assert keyed.logs_in(new)


def test_old_keys_stay_good_while_the_server_is_out_of_order(
    issuers: tuple[Issuer, Issuer], tmp_path: Path
) -> None:
    """S017"""
    old, new = issuers
    with key_server(old) as server, keyed_broker(tmp_path, server) as keyed:
        assert keyed.logs_in(old)
        for ill in ("500", "302", "garbage", "half", "endless"):
            server.ill = ill
            keyed.wait_for_log(TOLD[ill])
            until(lambda ill=ill: server.asked[-1] == ill)  # type: ignore[misc]
            assert keyed.logs_in(old), ill
            assert not keyed.logs_in(new), ill
        server.stop()
        keyed.wait_for_log(TOLD["gone"])
        assert keyed.logs_in(old)
        server.ill, server.issuers = "", (new,)
        server.start()
        until(lambda: keyed.logs_in(new))
        until(lambda: not keyed.logs_in(old))
        assert "/elsewhere" not in keyed.broker.log()


def test_a_broker_that_starts_before_its_server_lets_nobody_in_until_then(
    issuers: tuple[Issuer, Issuer], tmp_path: Path
) -> None:
    old, _ = issuers
    with key_server(old) as server:
        server.stop()
        with keyed_broker(tmp_path, server) as keyed:
            keyed.wait_for_log("keys of tokens not fetched, there are none: ")
            assert not keyed.logs_in(old)
            server.start()
            until(lambda: keyed.logs_in(old))
