from pathlib import Path

import pytest

from odradek.broker.cli.snippets.client import Client
from odradek.broker.cli.snippets.option_files import (
    as_plain_lines,
    as_properties,
    jaas,
    java_options,
    librdkafka_options,
)
from odradek.client.security.client_file import read_client_file
from odradek.protocol.jaas import parse_jaas
from odradek.protocol.properties import parse_properties
from tests.certificates import alice, authority

STRANGE = ["secret", ' a "b" \\c\\\\ #=:; é ', "\\", '"', "' \\n \\u0041 !"]


@pytest.mark.parametrize("password", STRANGE)
def test_our_own_commands_read_what_java_reads(tmp_path: Path, password: str) -> None:
    client = Client("a.example:1", authority().certificate, user="al ice")
    path = tmp_path / "client.properties"
    path.write_text(as_properties(java_options(client, password)))
    found = read_client_file(str(path))
    assert found.bootstrap_servers == "a.example:1"
    assert found.security.protocol == "SASL_SSL"
    assert found.security.sasl is not None
    assert found.security.sasl.user == "al ice"
    assert found.security.sasl.password.value == password


@pytest.mark.parametrize("password", STRANGE)
def test_the_login_module_is_one(password: str) -> None:
    (module,) = parse_jaas(jaas("alice", password))
    assert dict(module.options) == {"username": "alice", "password": password}


def test_a_certificate_is_shown(tmp_path: Path) -> None:
    pem = tmp_path / "alice.pem"
    holder = alice()
    pem.write_text(holder.key.read_text() + holder.certificate.read_text())
    client = Client("", authority().certificate, certificate=pem)
    for text in (
        as_properties(java_options(client, "")),
        as_plain_lines(librdkafka_options(client, "")),
    ):
        path = tmp_path / "client.properties"
        path.write_text(text)
        found = read_client_file(str(path))
        assert found.security.protocol == "SSL"
        assert found.security.tls is not None
        assert found.security.tls.certificate.path == str(pem)
        assert not found.bootstrap_servers


def test_blanks_in_front_are_kept() -> None:
    (entry,) = parse_properties(as_properties([("a", "  b")]))
    assert entry.value == "  b"
