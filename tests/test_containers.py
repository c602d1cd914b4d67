"""What the container image and the property files say is what odradek understands."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from odradek.broker.config.cluster_options import cluster_options
from odradek.broker.config.options.listener import HostPort
from odradek.broker.config.sources import load
from odradek.pipeline.jobs.job_file import read_job_file

ROOT = Path(__file__).parents[1]
ENTRYPOINT = ROOT / "docker" / "entrypoint.sh"
# A single node as people write it for the apache/kafka image.
COMPOSED_FOR_KAFKA = {
    "KAFKA_NODE_ID": "1",
    "KAFKA_PROCESS_ROLES": "broker,controller",
    "KAFKA_LISTENERS": "CONTROLLER://:29093,HOST://:9092,PLAINTEXT://:19092",
    "KAFKA_ADVERTISED_LISTENERS": "HOST://localhost:9092,PLAINTEXT://broker:19092",
    "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": (
        "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,HOST:PLAINTEXT"
    ),
    "KAFKA_INTER_BROKER_LISTENER_NAME": "PLAINTEXT",
    "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@broker:29093",
    "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
    "KAFKA_LOG_DIRS": "/tmp/kraft-combined-logs",
    "KAFKA_HEAP_OPTS": "-Xmx512m",
}

COMPOSED_FOR_BITNAMI = {
    "ALLOW_PLAINTEXT_LISTENER": "yes",
    "BITNAMI_DEBUG": "false",
    "KAFKA_ENABLE_KRAFT": "yes",
    "KAFKA_KRAFT_CLUSTER_ID": "abcdefghijklmnopqrstuv",
    "KAFKA_CFG_NODE_ID": "0",
    "KAFKA_CFG_PROCESS_ROLES": "controller,broker",
    "KAFKA_CFG_CONTROLLER_QUORUM_VOTERS": "0@kafka:9093",
    "KAFKA_CFG_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
    "KAFKA_CFG_LISTENERS": "PLAINTEXT://:9092,CONTROLLER://:9093,EXTERNAL://:9094",
    "KAFKA_CFG_ADVERTISED_LISTENERS": (
        "PLAINTEXT://kafka:9092,EXTERNAL://localhost:9094"
    ),
    "KAFKA_CFG_LISTENER_SECURITY_PROTOCOL_MAP": (
        "CONTROLLER:PLAINTEXT,EXTERNAL:PLAINTEXT,PLAINTEXT:PLAINTEXT"
    ),
    "KAFKA_CFG_INTER_BROKER_LISTENER_NAME": "PLAINTEXT",
    "KAFKA_CFG_AUTO_CREATE_TOPICS_ENABLE": "true",
    "KAFKA_HEAP_OPTS": "-Xmx512m",
}


class Container:
    """The entry point, with an odradek that only tells how it was called."""

    def __init__(self, folder: Path) -> None:
        self.own = folder / "own.properties"
        self.shared = folder / "shared.properties"
        self.own.touch()
        command = folder / "odradek"
        command.write_text('#!/bin/sh\necho "$@"\nenv | grep ^KAFKA_ | sort\n')
        command.chmod(0o755)
        self._path = f"{folder}:{os.environ['PATH']}"

    def start(
        self, *arguments: str, **environment: str
    ) -> tuple[list[str], dict[str, str]]:
        """The arguments and the KAFKA_ variables that odradek was given."""
        done = subprocess.run(
            ["sh", str(ENTRYPOINT), *arguments],
            env={
                "PATH": self._path,
                "ODRADEK_CONFIG": str(self.own),
                "ODRADEK_SHARED_CONFIG": str(self.shared),
                **environment,
            },
            capture_output=True,
            text=True,
            check=True,
        )
        called, *lines = done.stdout.splitlines()
        variables = dict(each.split("=", 1) for each in lines)
        # What is said to who waits for Kafka: tests/test_testcontainers.py.
        assert ("KAFKA_READY_WORDS" in variables) == called.startswith("serve")
        variables.pop("KAFKA_READY_WORDS", None)
        return called.split(), variables


@pytest.fixture
def container(tmp_path: Path) -> Container:
    return Container(tmp_path)


def test_it_serves_and_is_reached_from_outside(container: Container) -> None:
    arguments, options = container.start()
    assert arguments == ["serve", "--config", str(container.own)]
    assert options == {
        "KAFKA_ALLOW_UNAUTHENTICATED": "true",
        "KAFKA_LISTENERS": "PLAINTEXT://:9092",
        "KAFKA_ADVERTISED_LISTENERS": "PLAINTEXT://localhost:9092",
    }
    load(None, options)


def test_a_secure_one_lets_nobody_in_without_a_name(container: Container) -> None:
    _, options = container.start(ODRADEK_SECURE="true")
    assert options == {
        "KAFKA_LISTENERS": "SASL_SSL://:9092",
        "KAFKA_ADVERTISED_LISTENERS": "SASL_SSL://localhost:9092",
        "KAFKA_HTTP_LISTENER": "127.0.0.1:9404",
    }
    config = load(None, {"ODRADEK_SECURE": "true", **options}).config
    (listener,) = config.client_listeners
    assert listener.security_protocol == "SASL_SSL"
    assert not config.allow_unauthenticated
    told = "SASL_SSL://kafka.example.com:9093"
    _, options = container.start(ODRADEK_SECURE="TRUE", KAFKA_ADVERTISED_LISTENERS=told)
    assert options["KAFKA_LISTENERS"] == "SASL_SSL://:9093"
    _, options = container.start(ODRADEK_SECURE="false")
    assert options["KAFKA_ALLOW_UNAUTHENTICATED"] == "true"
    assert options["KAFKA_LISTENERS"] == "PLAINTEXT://:9092"


def test_what_the_environment_says_is_left_alone(container: Container) -> None:
    given = {
        "KAFKA_LISTENERS": "A://:9092",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "A:PLAINTEXT",
    }
    _, options = container.start("serve", **given)
    assert options == {**given, "KAFKA_ALLOW_UNAUTHENTICATED": "true"}
    # No address is told that is nobody's: clients get the one they used.
    assert load(None, options).config.advertised_listeners == ()


def test_a_file_that_was_mounted_takes_the_place_of_the_images_own(
    container: Container,
) -> None:
    container.shared.write_text("num.partitions=7\n")
    arguments, options = container.start("serve", "-o", "durability=none")
    assert arguments == [
        *("serve", "--config", str(container.shared)),
        *("-o", "durability=none"),
    ]
    everybody = {"KAFKA_ALLOW_UNAUTHENTICATED": "true"}
    assert options == {**everybody, "KAFKA_LISTENERS": "PLAINTEXT://:9092"}
    container.shared.write_text("num.partitions=7\n listeners = PLAINTEXT://:9192\n")
    assert container.start()[1] == everybody


@pytest.mark.parametrize(
    ("told", "listened"),
    [
        ("PLAINTEXT://localhost:29092", "PLAINTEXT://:29092"),
        ("A://[::1]:9092,B://broker.example:19092", "A://:9092,B://:19092"),
    ],
)
def test_it_listens_on_the_ports_that_clients_are_told(
    container: Container, told: str, listened: str
) -> None:
    _, options = container.start(KAFKA_ADVERTISED_LISTENERS=told)
    assert options["KAFKA_LISTENERS"] == listened
    assert options["KAFKA_ADVERTISED_LISTENERS"] == told
    _, options = container.start(KAFKA_CFG_ADVERTISED_LISTENERS=told)
    assert options["KAFKA_LISTENERS"] == listened


def test_listeners_of_a_bitnami_compose_file_are_left_alone(
    container: Container,
) -> None:
    _, options = container.start(**COMPOSED_FOR_BITNAMI)
    assert "KAFKA_LISTENERS" not in options
    loaded = load(ROOT / "config" / "container.properties", options)
    assert [each.port for each in loaded.config.client_listeners] == [9092, 9094]
    assert loaded.config.advertised_address("EXTERNAL") == ("localhost", 9094)


def test_health_asks_with_the_same_options(container: Container) -> None:
    arguments, options = container.start("health", "--wait", "3s")
    assert arguments == ["health", "--config", str(container.own), "--wait", "3s"]
    assert options["KAFKA_LISTENERS"] == "PLAINTEXT://:9092"


@pytest.mark.parametrize("shell", ["sh", "bash", "/bin/sh"])
def test_a_shell_is_what_it_is_in_kafka_s_images(shell: str) -> None:
    done = subprocess.run(
        ["sh", str(ENTRYPOINT), shell, "-c", "echo $0 $1", "a", "b c"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "a b c\n"


def test_other_commands_are_called_as_they_are(container: Container) -> None:
    arguments, options = container.start("topic", "list", "--json")
    assert arguments == ["topic", "list", "--json"]
    assert options == {}


def test_a_compose_file_for_apache_kafka_starts_odradek_too(
    container: Container,
) -> None:
    _, options = container.start(**COMPOSED_FOR_KAFKA)
    config = load(ROOT / "config" / "container.properties", options).config
    assert [each.port for each in config.client_listeners] == [9092, 19092]
    assert config.advertised_address("HOST") == ("localhost", 9092)
    assert config.advertised_address("PLAINTEXT") == ("broker", 19092)
    assert config.log_dirs == (Path("/tmp/kraft-combined-logs"),)
    assert config.http_listener == HostPort("", 9404)


def test_the_compose_file_sets_what_there_is() -> None:
    text = (ROOT / "docker" / "compose.yaml").read_text()
    options = dict(re.findall(r'^ +(KAFKA_\w+): "(.*)"$', text, re.MULTILINE))
    assert len(options) == text.count("KAFKA_")
    config = load(None, {**options, "KAFKA_ALLOW_UNAUTHENTICATED": "true"}).config
    told = {each.name: (each.host, each.port) for each in config.advertised_listeners}
    assert told == {"HOST": ("localhost", 9092), "DOCKER": ("broker", 19092)}
    assert {each.name for each in config.client_listeners} == set(told)


def test_the_brokers_of_the_compose_file_of_a_cluster_join_it(
    container: Container,
) -> None:
    text = (ROOT / "docker" / "cluster.yaml").read_text()
    services: dict[str, Any] = yaml.safe_load(text)["services"]
    node_ids = {each["environment"]["KAFKA_NODE_ID"] for each in services.values()}
    assert len(node_ids) == len(services)
    controllers = {name for name in services if name.startswith("controller")}
    ours = {name: services[name] for name in services if name.startswith("broker")}
    assert (len(controllers), len(ours)) == (3, 3)
    for name, service in ours.items():
        _, options = container.start(**service["environment"])
        config = load(ROOT / "config" / "container.properties", options).config
        found = cluster_options(config)
        assert {each.host for each in found.controllers} == controllers
        assert found.listener_name == "DOCKER"
        assert config.advertised_address("DOCKER") == (name, 19092)
        (outer,) = [
            port.split(":")[1] for port in service["ports"] if port.endswith(":9092")
        ]
        assert config.advertised_address("HOST") == ("localhost", int(outer))
        assert service["hostname"] == name


@pytest.mark.parametrize(
    "path", sorted((ROOT / "config").glob("*.properties")), ids=lambda path: path.stem
)
def test_property_files_say_what_is_understood(path: Path) -> None:
    loaded = load(path, {"KAFKA_ALLOW_UNAUTHENTICATED": "true"})
    assert not [note for note in loaded.notes if "nothing" in note]


def test_the_image_has_every_package_and_file_that_it_names() -> None:
    text = (ROOT / "docker" / "Dockerfile").read_text()
    copied = re.findall(r"^COPY (?!--from)(?:--\S+ )?(.+) \S+$", text, re.MULTILINE)
    for name in " ".join(copied).split():
        assert (ROOT / name).exists(), name
    sent = sent_to_the_build()
    assert {name for name in " ".join(copied).split() if name != "."} <= sent
    built = (ROOT / "pyproject.toml").read_text()
    packages = set(re.findall(r'"(\w+)\*"', built))
    assert packages == {"odradek", "pyspark_odradek"}
    links = [path for path in (ROOT / "odradek").iterdir() if path.is_symlink()]
    assert {*packages, *(path.readlink().name for path in links)} <= sent
    assert {"setup.py", "pyproject.toml", "README.md", "LICENSE"} <= sent


def sent_to_the_build() -> set[str]:
    """What Docker gets of this folder; nothing of it that was built here."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    rules = [line for line in lines if not line.startswith("#")]
    assert rules[0] == "*"
    assert {"**/*.so", "**/__pycache__"} <= set(rules)
    sent = {rule[1:] for rule in rules if rule.startswith("!")}
    for name in sent:
        assert (ROOT / name).exists(), name
    return sent | {
        f"{name}/{path.name}"
        for name in sent
        if (ROOT / name).is_dir()
        for path in (ROOT / name).iterdir()
    }


def test_the_sink_of_the_compose_file_is_a_job() -> None:
    job = read_job_file(ROOT / "docker" / "sink.toml")
    assert job.source.bootstrap_servers == "broker:19092"
    compose = (ROOT / "docker" / "compose.yaml").read_text()
    folder = str(Path(job.table_path).parent)
    assert f"tables:{folder}" in compose
