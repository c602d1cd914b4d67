"""S011: logins end while the Java client writes and reads: nothing is lost or twice."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.apache_kafka.java_client import JavaClient
from tests.certificates import authority
from tests.clients.logins import PASSWORD, USER
from tests.clients.session_ends import LISTENER, PRODUCING, Sessions, short_sessions


class SecurePort(NamedTuple):
    """The listener of a broker that the scene asks, which never restarts."""

    port: int

    @property
    def address(self) -> str:
        return f"localhost:{self.port}"

    def kill(self) -> None:
        raise AssertionError("the scene wants no restart")

    start = kill


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sessions]:
    with short_sessions(tmp_path_factory.mktemp("sessions")) as found:
        yield found


@pytest.mark.parametrize("count", [3, pytest.param(200, marks=pytest.mark.long)])
def test_the_java_client_logs_in_again(
    sessions: Sessions, java: JavaClient, tmp_path: Path, count: int
) -> None:
    """S011: by its own count, that of the producer and that of the consumer."""
    topic = f"java-{count}"
    sessions.create(topic)
    options = {
        "security.protocol": LISTENER,
        "sasl.mechanism": PRODUCING.mechanism,
        "sasl.jaas.config": (
            "org.apache.kafka.common.security.scram.ScramLoginModule required"
            f' username="{USER}" password="{PASSWORD}";'
        ),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority().certificate),
        # It can sleep over an answer while it logs in (docs/security.md): for so long.
        "request.timeout.ms": "5000",
        "logins": str(count),
    }
    path = tmp_path / "client.properties"
    path.write_text("".join(f"{name}={options[name]}\n" for name in options))
    before = sessions.counts(PRODUCING)
    port = SecurePort(sessions.listening.ports[LISTENER])
    java.play("Logins", str(path), port, topic)
    assert sessions.counts(PRODUCING).again - before.again >= 2 * count
