from pathlib import Path
from typing import Any

import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.jobs.job_file import read_job, read_job_file
from odradek.pipeline.jobs.job_source import Source

CLIENT = """
bootstrap.servers=kafka-1:9093
security.protocol=SASL_PLAINTEXT
sasl.mechanism=PLAIN
sasl.username=alice
sasl.password=open sesame
"""


@pytest.fixture
def client(tmp_path: Path) -> Path:
    path = tmp_path / "client.properties"
    path.write_text(CLIENT)
    return path


def source_of(folder: Path, **keys: Any) -> Source:
    content = {"name": "x", "source": {"topics": ["t"], **keys}, "table": {"path": "t"}}
    return read_job(content, folder).source


def test_plaintext_on_this_machine_by_default(tmp_path: Path) -> None:
    source = source_of(tmp_path)
    assert source.bootstrap_servers == "127.0.0.1:9092"
    assert source.security() is None
    assert [str(need) for need in source.needs] == ["Describe on topic t"]


def test_a_file_of_client_options(tmp_path: Path, client: Path) -> None:
    source = source_of(tmp_path, command_config=client.name)
    assert (source.bootstrap_servers, source.command_config) == (
        "kafka-1:9093",
        str(client),
    )
    security = source.security()
    assert security is not None
    assert security.protocol == "SASL_PLAINTEXT"
    assert "open sesame" not in repr(source)
    named = source_of(tmp_path, command_config=client.name, bootstrap_servers="b:1")
    assert named.bootstrap_servers == "b:1"
    with pytest.raises(JobError, match=r"command_config: .*nothing: No such file"):
        source_of(tmp_path, command_config="nothing")


def test_the_command_line_and_the_environment_have_files_too(
    tmp_path: Path, client: Path
) -> None:
    job = tmp_path / "job.toml"
    text = 'name = "x"\ntable.path = "t"\nsource.topics = ["t"]\n'
    job.write_text(text)
    other = tmp_path / "other.properties"
    other.write_text(CLIENT.replace("kafka-1", "kafka-2"))

    def brokers(*given: str) -> str:
        return read_job_file(job, *given).source.bootstrap_servers

    assert brokers() == "127.0.0.1:9092"
    assert brokers("", str(other)) == "kafka-2:9093"
    assert brokers(str(client), str(other)) == "kafka-1:9093"
    job.write_text(f'{text}source.command_config = "client.properties"\n')
    assert brokers("", str(other)) == "kafka-1:9093"
    assert brokers(str(other)) == "kafka-2:9093"


def test_no_secret_stands_in_a_job_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.username": "alice",
        "kafka.sasl.password": "open sesame",
    }
    reason = r"\[source.options\] kafka.sasl.password: a secret does not belong"
    with pytest.raises(JobError, match=reason) as caught:
        source_of(tmp_path, options=options)
    assert "open sesame" not in str(caught.value)
    options["kafka.sasl.password"] = "${env:PASSWORD_OF_ALICE}"
    source = source_of(tmp_path, options=options)
    with pytest.raises(JobError, match="no environment variable PASSWORD_OF_ALICE"):
        source.security()
    monkeypatch.setenv("PASSWORD_OF_ALICE", "open sesame")
    security = source.security()
    assert security is not None
    assert security.sasl is not None
    assert security.sasl.password.value == "open sesame"


def test_files_of_java_are_the_connectors_own(tmp_path: Path, client: Path) -> None:
    options = {
        "kafka.security.protocol": "SSL",
        "kafka.ssl.truststore.location": str(tmp_path / "nothing.jks"),
    }
    source = source_of(
        tmp_path, format="kafka", options=options, command_config=client.name
    )
    security = source.security()
    assert security is not None
    assert security.protocol == "SASL_PLAINTEXT"
    with pytest.raises(JobError, match=r"nothing\.jks: No such file"):
        source_of(tmp_path, format="kafka", options=options).security()
