"""A source as ``odradek secure init`` makes it, which a user may read in part."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.broker.cli.main import main
from odradek.broker.cli.snippets.option_files import jaas
from odradek.client.address import parse_addresses
from odradek.client.cluster import Cluster
from odradek.client.group_offsets import commit_offsets
from odradek.client.security.client_file import read_client_file
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cli.mirror.conftest import OPTIONS, Pair, log_of
from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import create_topic, produce, wait_until
from tests.patience import PATIENCE_S
from tests.secure_broker import SecureBroker, secure_broker

FIRST, SECOND = "not-yet-told", "told-by-nobody"
NOT_SHOWN, NOT_DESCRIBED = "secrets", "orders-without-options"
ORDERS = TopicPartition("orders", 0)


class SecurePair(Pair):
    """``source`` wants TLS and a login; the file of options is the mirror's user's."""

    def __init__(self, secure: SecureBroker, ours: BrokerProcess, file: Path) -> None:
        super().__init__(secure.process, ours)
        self.secure, self.file = secure, file

    def tell(self, *arguments: str) -> None:
        """A command to the source, by its first user."""
        assert main([*arguments, *self.secure.as_admin]) == 0

    def let_in(self, password: str) -> None:
        """Give the user this password; who runs the mirror is told later."""
        path = self.file.with_name("password")
        path.touch(0o600)
        path.write_text(password)
        self.tell("user", "set", "copier", "--password-file", str(path))

    def grant(self, operation: str, kind: str, name: str) -> None:
        self.tell("acl", "grant", "copier", operation, kind, name)

    def is_copied(self, topic: str) -> bool:
        """Whether the files of both are the same."""
        here = log_of(self.ours, topic)
        return bool(here) and here == log_of(self.source, topic)

    def write_file(self, password: str) -> None:
        lines = self.secure.folder.java_file.read_text().splitlines()
        kept = [line for line in lines if not line.startswith("sasl.jaas.config")]
        kept.append(f"sasl.jaas.config={jaas('copier', password)}")
        self.file.touch(0o600)
        self.file.write_text("\n".join(kept))

    def status(self) -> str:
        """What is said of the mirror, whether or not something is wrong."""
        assert self._captured is not None
        main(["mirror", "status", "--data-dir", str(self.ours.data_dir)])
        return self._captured.readouterr().out


@pytest.fixture
def pair(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Iterator[SecurePair]:
    (tmp_path / "there").mkdir()
    with (
        secure_broker(tmp_path / "there", *OPTIONS) as secure,
        running_broker(tmp_path / "data", *OPTIONS) as ours,
    ):
        pair = SecurePair(secure, ours, tmp_path / "copier.properties")
        pair.use(capsys)
        yield pair
        said = ours.log() + pair.status()
        assert "Traceback" not in said
        assert FIRST not in said
        assert SECOND not in said


@pytest.fixture
def there(pair: SecurePair) -> Iterator[Cluster]:
    """The source, for its first user."""
    file = read_client_file(str(pair.secure.folder.java_file))
    servers = parse_addresses(pair.secure.address)
    with Cluster(servers, security=file.security, timeout_s=PATIENCE_S) as cluster:
        yield cluster


def test_a_source_with_tls_and_logins(pair: SecurePair, there: Cluster) -> None:
    for name in ("orders", NOT_DESCRIBED, NOT_SHOWN):
        create_topic(there, name, 1)
        produce(there, name, 0, [1, 2])
    commit_offsets(there, "shown", {ORDERS: 1})
    commit_offsets(there, "hidden", {ORDERS: 1})
    pair.let_in(FIRST)
    pair.grant("read", "topic", "orders*")
    pair.grant("describe-configs", "topic", "orders")
    pair.grant("describe", "group", "shown")

    source = ("--from", pair.secure.address)
    assert "--command-config names a file" in pair.run("add", "s", *source, code=1)
    source += ("--command-config", str(pair.file))
    pair.write_file(SECOND)
    assert "Authentication failed" in pair.run("add", "s", *source, code=1)
    pair.write_file(FIRST)
    pair.run("add", "s", *source)
    wait_until(lambda: pair.is_copied("orders"))
    wait_until(lambda: "1 groups" in pair.status())
    said = pair.status()
    assert "needs DESCRIBE_CONFIGS" in said
    assert NOT_DESCRIBED in said
    assert NOT_SHOWN not in said

    # Its password is another one, and its connections are gone.
    pair.let_in(SECOND)
    there.close()
    pair.source.terminate()
    pair.source.start()
    pair.grant("describe-configs", "topic", NOT_DESCRIBED)
    wait_until(lambda: "Authentication failed" in pair.status())
    pair.write_file(SECOND)
    wait_until(lambda: pair.is_copied(NOT_DESCRIBED))
    produce(there, "orders", 0, [3])
    wait_until(lambda: pair.is_copied("orders"))
    wait_until(lambda: "Authentication failed" not in pair.status())
    pair.run("promote", "s")
    pair.run("remove", "s")
