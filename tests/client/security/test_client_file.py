from pathlib import Path

import pytest

from odradek.client.security.client_file import ClientFileError, read_client_file
from odradek.client.security.settings import Secret

FILE = """
# shared with the tools of Java
bootstrap.servers = kafka-1:9093,kafka-2:9093
security.protocol=SASL_PLAINTEXT
sasl.mechanism=SCRAM-SHA-256
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\
  username="alice" \\
  password="open \\\\"sesame\\\\"";
key.serializer=org.apache.kafka.common.serialization.StringSerializer
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "client.properties"


def test_a_file_as_java_has_it(path: Path) -> None:
    path.write_text(FILE)
    found = read_client_file(str(path))
    assert found.bootstrap_servers == "kafka-1:9093,kafka-2:9093"
    assert found.security.origin == str(path)
    assert found.security.sasl is not None
    assert found.security.sasl.password == Secret('open "sesame"')


def test_a_file_as_librdkafka_has_it(path: Path) -> None:
    path.write_text(
        "metadata.broker.list=kafka-1\nsecurity.protocol=sasl_plaintext\n"
        "sasl.mechanisms=PLAIN\nsasl.username=alice\nsasl.password=p\n"
    )
    found = read_client_file(str(path))
    assert found.bootstrap_servers == "kafka-1"
    assert found.security.protocol == "SASL_PLAINTEXT"


def test_what_is_wrong_names_the_file_and_no_secret(path: Path) -> None:
    with pytest.raises(ClientFileError, match=f"{path}: No such file"):
        read_client_file(str(path))
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ClientFileError, match="it is no text"):
        read_client_file(str(path))
    path.write_text("bootstrap.servers=a:x")
    with pytest.raises(ClientFileError, match=f"{path}: 'a:x' is"):
        read_client_file(str(path))
    path.write_text(FILE.replace("sasl.mechanism=", "sasl.password=marker\nx="))
    with pytest.raises(ClientFileError) as caught:
        read_client_file(str(path))
    assert str(caught.value).startswith(f"{path}: sasl.mechanism: ")
    assert "sesame" not in str(caught.value)
    assert "marker" not in str(caught.value)


def test_values_that_stand_elsewhere(path: Path, tmp_path: Path) -> None:
    (tmp_path / "secrets").write_text("password=open sesame\n")
    text = "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
    text += "sasl.username=alice\nother=${env:NOBODY_HAS_IT}\n"
    path.write_text(f"{text}sasl.password=${{file:{tmp_path}/secrets:password}}\n")
    found = read_client_file(str(path))
    assert found.security.sasl is not None
    assert found.security.sasl.password == Secret("open sesame")
    path.write_text(f"{text}sasl.password=${{env:NOBODY_HAS_IT}}\n")
    with pytest.raises(ClientFileError, match="no environment variable"):
        read_client_file(str(path))


def test_providers_of_ones_own(path: Path, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("p\n")
    path.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f"sasl.username=alice\nsasl.password=${{mine:{tmp_path}:password}}\n"
        "config.providers=mine\nconfig.providers.mine.class=org.apache.kafka.common"
        ".config.provider.DirectoryConfigProvider\n"
    )
    sasl = read_client_file(str(path)).security.sasl
    assert sasl is not None
    assert sasl.password == Secret("p")
    path.write_text("config.providers=vault\n")
    with pytest.raises(ClientFileError, match=r"config\.providers has vault, and"):
        read_client_file(str(path))
