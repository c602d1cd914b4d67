"""S027: a marked secret goes through every command and option that takes one.

It must be in no output, no log, no audit, no traceback, no list of processes, and in no
file but those that are there to hold it.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess
from tests.patience import PATIENCE_S
from tests.secure_broker import SecureBroker, secure_broker

MARK = "m4rk3d-s3cr3t"
OTHER = "an0th3r-m4rk3d-s3cr3t"
# Files that are made to hold it, each for its owner alone.
HOLDS = {"admin.password", "client.properties", "librdkafka.properties"}
HOLDS |= {"alice.p12.password", "given", "other"}

# A wrapper: the command runs, and who looks at the list of processes sees its words.
WATCHED = """\
import os, sys
from odradek.broker.cli.main import main

for name in "cmdline", "environ":
    path = f"/proc/self/{name}"
    if os.path.exists(path):
        with open(os.environ["SEEN"], "ab") as seen, open(path, "rb") as file:
            seen.write(file.read())
sys.exit(main(sys.argv[1:]))
"""


class Desk:
    """Where commands are typed; all that is said is kept."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: list[str] = []
        self._seen = folder / "seen"
        (folder / "watched.py").write_text(WATCHED)
        (folder / "given").write_text(f"{MARK}\n")
        (folder / "other").write_text(f"{OTHER}\n")
        for name in "given", "other":
            (folder / name).chmod(0o600)

    def type(
        self, *words: str, typed: str = "", code: int | None = 0, **more: str
    ) -> str:
        done = subprocess.run(
            [sys.executable, "watched.py", *words],
            cwd=self.folder,
            env={**os.environ, "SEEN": str(self._seen)},
            input=typed,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert code is None or done.returncode == code, done.stdout + done.stderr
        self.said.append(f"{words}: {done.stdout}{done.stderr}")
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout

    def is_told(self, *secrets: str) -> bool:
        """Whether one of them was said, or is in a list of processes."""
        seen = self._seen.read_bytes().decode(errors="replace")
        return any(each in text for each in secrets for text in (*self.said, seen))

    def check(self, *broker_logs: str) -> None:
        """The secrets are nowhere."""
        seen = self._seen.read_bytes().decode(errors="replace")
        for text in (*self.said, *broker_logs, seen):
            assert MARK not in text
            assert OTHER not in text
        for path in self.folder.rglob("*"):
            if path.is_file() and path.name not in HOLDS:
                content = path.read_bytes()
                assert MARK.encode() not in content, path
                assert OTHER.encode() not in content, path
            elif path.is_file():
                assert path.stat().st_mode & 0o077 == 0, path


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecureBroker]:
    with secure_broker(tmp_path_factory.mktemp("guarded")) as broker:
        yield broker


def test_of_commands_that_make_things(desk: Desk) -> None:
    desk.type("secure", "init", "--password-file", "given")
    desk.type("secure", "init", "--password-file", "given", code=1)
    desk.type("secure", "init", "--dir", "b", "--password-stdin", typed=MARK)
    desk.type("secure", "init", "--dir", "b", "--password-stdin", typed=OTHER, code=1)
    desk.type(
        "secure", "init", "--dir", "/dev/null/x", "--password-file", "given", code=1
    )
    desk.type("secure", "init", "--json", "--dir", "c", "--password-file", "given")
    desk.type("secure", "show")
    desk.type("secure", "show", "--json")
    desk.type("cert", "client", "alice", "--dir", "secure", "--password-file", "given")
    desk.type(
        "cert",
        "client",
        "alice",
        "--dir",
        "secure",
        "--password-stdin",
        typed=MARK,
        code=1,
    )
    desk.type("cert", "show", "secure/server.pem")
    desk.type("cert", "show", "secure/client.properties", code=1)
    for word in ("set", "create", "passwd"):
        desk.type("user", word, "bob", "--data-dir", "data", "--password-file", "given")
        desk.type("user", word, "bob", "--data-dir", "data", typed=f"{MARK}\n")
    desk.type("user", "list", "--data-dir", "data", "--json")
    desk.type(
        "user",
        "set",
        "x" * 300,
        "--data-dir",
        "data",
        "--password-file",
        "given",
        code=None,
    )
    desk.check()


def test_of_a_broker_and_who_asks_it(desk: Desk, guarded: SecureBroker) -> None:
    asked = guarded.as_admin
    data = ["--data-dir", str(guarded.process.data_dir)]
    desk.type("user", "set", "alice", *asked, "--password-file", "given")
    desk.type("user", "set", "alice", *data, "--password-file", "given")
    desk.type("user", "set", "alice", *asked, "--password-file", "given", "--json")
    desk.type("user", "set", "alice", *asked, "--iterations", "1", typed=MARK, code=1)
    desk.type("user", "describe", "alice", *asked, "--json")
    options = desk.folder / "client.properties"
    options.write_text(
        f"security.protocol=SASL_SSL\nssl.ca.location={guarded.folder.keys.ca}\n"
        f"sasl.mechanism=SCRAM-SHA-512\nsasl.username=alice\nsasl.password={MARK}\n"
    )
    options.chmod(0o600)
    as_alice = ["--command-config", str(options)]
    as_alice += ["--bootstrap-server", guarded.address]
    desk.type("acl", "grant", "alice", "all", "topic", "*", *asked)
    desk.type("topic", "create", "orders", *as_alice)
    desk.type("topic", "list", *as_alice, "--json")
    desk.type("acl", "list", *as_alice, code=1)
    desk.type("acl", "explain", "alice", "read", "topic", "orders", *asked)
    desk.type("doctor", *as_alice, code=None)
    desk.type("doctor", *as_alice, "--json", code=None)
    desk.type("produce", "orders", *as_alice, typed="hello\n")
    desk.type("consume", "orders", "-e", *as_alice)
    desk.type("config", "describe", "broker", "1", "--all", "--json", *asked)
    wrong = options.read_text().replace(MARK, OTHER)
    options.write_text(wrong)
    desk.type("topic", "list", *as_alice, code=1)
    desk.type("doctor", *as_alice, code=1)
    options.write_text(wrong.replace("sasl.password=", "sasl.pasword="))
    desk.type("topic", "list", *as_alice, code=2)
    options.write_text(wrong.replace("SCRAM-SHA-512", "SCRAM-SHA-1"))
    desk.type("topic", "list", *as_alice, code=2)
    desk.check(guarded.process.log())
    password = guarded.folder.password_file.read_text().strip()
    assert password not in guarded.process.log()
    assert not any(password in each for each in desk.said)


def test_of_a_token(desk: Desk, tmp_path_factory: pytest.TempPathFactory) -> None:
    """What logs in is said once, by who makes it; the broker keeps it nowhere."""
    folder = tmp_path_factory.mktemp("lending")
    secret = f"delegation.token.secret.key=${{dir:{desk.folder}:given}}"
    with secure_broker(folder, "-o", secret) as broker:
        asked = broker.as_admin
        desk.type("user", "set", "bob", *asked, "--password-file", "other")
        desk.type("acl", "grant", "admin", "all", "user", "*", *asked)
        made = desk.type("token", "create", "--json", "--owner", "bob", *asked)
        lines = desk.type("token", "create", "--renewer", "bob", *asked)
        del desk.said[-2:]  # the one place where they are meant to be
        mine, secret = re.findall(r'="(\S+)"', lines)[:2]
        bobs, hmacs = json.loads(made)["token"], (json.loads(made)["hmac"], secret)
        for words in (
            ("list",),
            ("list", "--json", "--owner", "bob"),
            ("renew", mine),
            ("renew", mine, "--period", "2h", "--json"),
            ("expire", mine, "--in", "1h"),
        ):
            desk.type("token", *words, *asked)
        desk.type("token", "renew", bobs, *asked, code=1)
        desk.type("token", "renew", mine, "--period", "soon", *asked, code=2)
        options = desk.folder / "client.properties"
        options.touch(0o600)
        tls = f"security.protocol=SASL_SSL\nssl.ca.location={broker.folder.keys.ca}\n"
        lent = f"{tls}sasl.mechanism=SCRAM-SHA-512\n{lines}"
        by_token = ["--command-config", str(options)]
        by_token += ["--bootstrap-server", broker.address]
        for text, code in (
            (lent, 0),
            (lent.replace(mine, bobs), 1),
            (lent.replace("tokenauth=", "tokenaut="), 2),
            (lent.replace('" tokenauth', " tokenauth"), 2),
            (lent.replace("sasl.jaas", "sasl.jas"), 2),
        ):
            options.write_text(text)
            desk.type("topic", "list", *by_token, code=code)
            desk.type("doctor", *by_token, code=None)
        options.write_text(lent)
        desk.type("token", "list", *by_token, code=1)
        desk.type("token", "expire", mine, *asked)
        desk.type("topic", "list", *by_token, code=1)
        desk.type("config", "describe", "broker", "1", "--all", "--json", *asked)
        broker.process.terminate()
        desk.check(broker.process.log())
        assert not desk.is_told(*hmacs)
        assert not any(each in broker.process.log() for each in hmacs)
        for path in broker.process.data_dir.rglob("*"):
            content = path.read_bytes() if path.is_file() else b""
            assert not any(each.encode() in content for each in (MARK, *hmacs)), path


JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required"
    f' user_alice="{MARK}" user_bob="{OTHER}";'
)


def test_of_options_that_hold_secrets(desk: Desk, tmp_path: Path) -> None:
    """Each is set, and one of the others is wrong, so that errors are told too."""
    file = tmp_path / "given.properties"
    for options in (
        f"sasl.jaas.config={JAAS}\nnum.partition=1\n",
        f"listeners=SASL_PLAINTEXT://127.0.0.1:0\nsasl.enabled.mechanisms=PLAIN\n"
        f"listener.name.sasl_plaintext.plain.sasl.jaas.config={JAAS[:-1]}\n",
        f"listeners=SSL://127.0.0.1:0\nssl.keystore.location=/nowhere\n"
        f"ssl.keystore.password={MARK}\nssl.key.password={OTHER}\n",
        f"ssl.keystore.type=PEM\nssl.keystore.key={MARK}\nlisteners=SSL://127.0.0.1:0\n",
        f"delegation.token.secret.key={MARK}\nnum.partition=1\n",
        f"ssl.keystore.pasword={MARK}\n",
        f"config.providers.x.param.password={MARK}\nnum.partition=1\n",
    ):
        file.write_text(options)
        desk.type("serve", "--config", str(file), "--data-dir", "data", code=None)
        desk.type("config", "show", "--config", str(file), code=None)
        file.unlink()
    desk.check()


def test_of_the_environment_of_a_container(desk: Desk, tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path / "data", ["--secure"])
    broker.environment |= {
        "ODRADEK_ADMIN_USER": "root",
        "ODRADEK_ADMIN_PASSWORD_FILE": str(desk.folder / "given"),
    }
    try:
        broker.start()
        desk.type("user", "list", "--data-dir", str(broker.data_dir))
        desk.check(broker.log())
    finally:
        broker.kill()
