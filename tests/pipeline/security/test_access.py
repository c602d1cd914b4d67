import pickle
from pathlib import Path

import pytest

from odradek.client.security.client_file import ClientFileError
from odradek.client.security.names import SecurityOptionError
from odradek.client.security.settings import Secret
from odradek.pipeline.errors import SourceError
from odradek.pipeline.security.access import OPEN, Access
from tests.certificates import authority, server
from tests.pipeline.security.tasks import in_task

SCRAM = {
    "security.protocol": "SASL_PLAINTEXT",
    "sasl.mechanism": "SCRAM-SHA-256",
    "sasl.username": "alice",
}


def write(path: Path, options: dict[str, str]) -> str:
    path.write_text("".join(f"{name}={text}\n" for name, text in options.items()))
    return str(path)


def password_of(access: Access) -> str:
    security = access.security()
    assert security is not None
    assert security.sasl is not None
    return security.sasl.password.value


def test_who_says_nothing_speaks_plaintext() -> None:
    assert OPEN.security() is None
    assert Access.of({"client.id": "x"}).security() is None
    assert OPEN.bootstrap_servers() == ""


def test_a_secret_is_neither_shown_nor_sent_where_a_reference_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSWORD_OF_ALICE", "open sesame")
    by_name = Access.of(SCRAM | {"sasl.password": "${env:PASSWORD_OF_ALICE}"})
    path = write(tmp_path / "client", SCRAM | {"sasl.password": "open sesame"})
    by_file = Access.of({}, path)
    for access in by_name, by_file:
        assert password_of(access) == "open sesame"
        assert b"open sesame" not in pickle.dumps(access)
        assert pickle.loads(pickle.dumps(access)) == access
    as_it_is = Access.of(SCRAM | {"sasl.password": "open sesame"})
    assert password_of(pickle.loads(pickle.dumps(as_it_is))) == "open sesame"
    for access in by_name, by_file, as_it_is:
        assert "open sesame" not in repr(access) + str(access) + f"{access.given}"


def test_what_is_given_goes_before_the_file(tmp_path: Path) -> None:
    path = write(
        tmp_path / "client",
        SCRAM | {"sasl.password": "of the file", "bootstrap.servers": "kafka-1:9093"},
    )
    access = Access.of({"sasl.password": "given"}, path)
    assert password_of(access) == "given"
    assert access.bootstrap_servers() == "kafka-1:9093"


def test_the_driver_says_which_option_it_is(tmp_path: Path) -> None:
    with pytest.raises(SecurityOptionError, match=r"sasl\.password: is missing"):
        Access.of(SCRAM)
    with pytest.raises(ClientFileError, match=r"nothing: No such file"):
        Access.of({}, str(tmp_path / "nothing"))
    path = write(tmp_path / "client", SCRAM)
    with pytest.raises(ClientFileError, match=rf"{path}: sasl\.password: is missing"):
        Access.of({}, path)


def test_a_task_reads_for_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver, worker = tmp_path / "driver", tmp_path / "worker"
    driver.mkdir()
    worker.mkdir()
    options = SCRAM | {"sasl.password": "${file:secrets:password}"}
    options["sasl.password"] = f"${{file:{driver}/secrets:password}}"
    write(driver / "secrets", {"password": "one"})
    access = Access.of({}, write(driver / "client", options))
    write(worker / "secrets", {"password": "one"})
    (driver / "secrets").unlink()
    in_task(monkeypatch, worker)
    assert password_of(access) == "one"
    (worker / "secrets").unlink()
    reason = r"A task on \S+ cannot get in.*secrets: No such file.*--files"
    with pytest.raises(SourceError, match=reason):
        access.security()
    (driver / "client").unlink()
    with pytest.raises(SourceError, match=r"client: No such file"):
        access.security()


def test_whom_to_trust_the_driver_reads_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = tmp_path / "both.pem"
    holder = server()
    both.write_text(holder.key.read_text() + authority().certificate.read_text())
    options = {"security.protocol": "SSL", "ssl.truststore.location": str(both)}
    access = Access.of(options)
    assert b"PRIVATE KEY" not in pickle.dumps(access)
    both.unlink()
    in_task(monkeypatch, tmp_path)
    security = access.security()
    assert security is not None
    assert security.tls is not None
    trusted = authority().certificate.read_text()
    assert security.tls.trusted.text == Secret(trusted)


def test_a_key_goes_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    holder = server()
    key = tmp_path / "key.pem"
    key.write_bytes(holder.key.read_bytes())
    access = Access.of(
        {
            "security.protocol": "SSL",
            "ssl.truststore.location": str(authority().certificate),
            "ssl.certificate.location": str(holder.certificate),
            "ssl.key.location": str(key),
        }
    )
    assert b"PRIVATE KEY" not in pickle.dumps(access)
    key.unlink()
    in_task(monkeypatch, tmp_path)
    with pytest.raises(SourceError, match=r"ssl\.key\.location: .*key\.pem"):
        access.security()
