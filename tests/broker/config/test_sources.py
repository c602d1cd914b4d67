from pathlib import Path

import pytest

from odradek.broker.config.described import ConfigSource, describe_broker
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.listener import Listener
from odradek.broker.config.settings import Flags
from odradek.broker.config.sources import load

# What Apache Kafka ships for one node (its comments left out).
KAFKAS_OWN_FILE = """\
process.roles=broker,controller
node.id=1
controller.quorum.bootstrap.servers=localhost:9093
listeners=PLAINTEXT://:9092,CONTROLLER://:9093
inter.broker.listener.name=PLAINTEXT
advertised.listeners=PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL
num.network.threads=3
num.io.threads=8
socket.send.buffer.bytes=102400
socket.receive.buffer.bytes=102400
socket.request.max.bytes=104857600
log.dirs=/tmp/kraft-combined-logs
num.partitions=1
num.recovery.threads.per.data.dir=1
offsets.topic.replication.factor=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
log.retention.hours=168
log.segment.bytes=1073741824
log.retention.check.interval.ms=300000
"""


def a_file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "server.properties"
    path.write_text(text)
    return path


def test_nothing_said_means_the_defaults() -> None:
    config, notes = load()
    assert config.num_partitions == 1
    assert config.explicit == frozenset()
    assert notes == []


def test_each_source_is_stronger_than_the_one_before(tmp_path: Path) -> None:
    path = a_file(
        tmp_path, "num.partitions=2\nmessage.max.bytes=2\nfetch.max.bytes=2000\n"
    )
    environment = {"KAFKA_MESSAGE_MAX_BYTES": "3", "KAFKA_CFG_FETCH_MAX_BYTES": "3000"}
    config, _ = load(path, environment, ["fetch.max.bytes=4000"])
    assert config.num_partitions == 2
    assert config.message_max_bytes == 3
    assert config.fetch_max_bytes == 4000
    assert config.explicit == {"num.partitions", "message.max.bytes", "fetch.max.bytes"}


def test_flags_are_the_strongest() -> None:
    flags = Flags(
        host="0.0.0.0",
        port=9999,
        data_dir="here",
        durability="none",
        allow_unauthenticated=True,
    )
    pairs = ["durability=interval", "log.dirs=there", "listeners=PLAINTEXT://:1"]
    config, notes = load(pairs=pairs, flags=flags)
    assert config.listeners == (Listener("PLAINTEXT", "0.0.0.0", 9999),)
    assert config.log_dirs == (Path("here"),)
    assert config.durability == "none"
    assert any("unauthenticated" in note for note in notes)


def test_port_alone_keeps_the_host() -> None:
    config, _ = load(flags=Flags(port=0))
    assert config.listeners == (Listener("PLAINTEXT", "127.0.0.1", 0),)
    assert "listeners" in config.explicit


@pytest.mark.parametrize(
    ("flags", "pairs"),
    [
        (Flags(port=9092), []),
        (Flags(host="127.0.0.1"), []),
        (Flags(), ["listeners=PLAINTEXT://127.0.0.1:9092"]),
    ],
)
def test_what_somebody_says_is_no_default_though_it_is_the_same(
    flags: Flags, pairs: list[str]
) -> None:
    config, _ = load(pairs=pairs, flags=flags)
    assert config.listeners == BrokerConfig().listeners
    assert config.explicit == {"listeners"}
    (shown,) = [x for x in describe_broker(config) if x.name == "listeners"]
    assert shown.source is ConfigSource.STATIC_BROKER_CONFIG


def test_port_zero_of_a_flag_leaves_the_controllers_listener_alone() -> None:
    pairs = ["listeners=CONTROLLER://:9093,PLAINTEXT://127.0.0.1:9092"]
    config, _ = load(pairs=pairs, flags=Flags(port=5))
    assert config.client_listeners == (Listener("PLAINTEXT", "127.0.0.1", 5),)


def test_kafkas_own_file_starts_odradek(tmp_path: Path) -> None:
    path = a_file(tmp_path, KAFKAS_OWN_FILE)
    config, notes = load(path, flags=Flags(allow_unauthenticated=True))
    assert config.client_listeners == (Listener("PLAINTEXT", "", 9092),)
    assert config.advertised_address("PLAINTEXT") == ("localhost", 9092)
    (meaningless,) = [note for note in notes if "mean nothing" in note]
    assert "process.roles" in meaningless
    assert "num.io.threads" in meaningless
    assert "num.partitions" not in meaningless
    assert any("CONTROLLER://:9093" in note for note in notes)


def test_kafkas_own_file_listens_everywhere_and_must_say_so(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="--allow-unauthenticated"):
        load(a_file(tmp_path, KAFKAS_OWN_FILE))


@pytest.mark.parametrize(
    ("pairs", "complaint"),
    [
        (["num.partition=3"], "'num.partition'; did you mean num.partitions?"),
        (["log.retention.sm=3"], "did you mean log.retention.ms?"),
        (["zzzzzzzz=3"], "there is no option 'zzzzzzzz'"),
        (["num.partitions"], "-o num.partitions: expected name=value"),
        (["num.partitions=many"], "Invalid value many for configuration num"),
        (["cluster.id=short"], "It needs 22 characters"),
        (["durability=always"], "String must be one of: commit, interval, none"),
        (["log.dirs= "], "At least one directory is needed"),
    ],
)
def test_bad_options_are_refused_in_one_line(pairs: list[str], complaint: str) -> None:
    with pytest.raises(OptionError) as refused:
        load(pairs=pairs)
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)
    assert str(refused.value).startswith("-o")


def test_a_bad_line_of_the_file_is_named(tmp_path: Path) -> None:
    path = a_file(tmp_path, "# options\nnum.partitions=3\nnum.partition=3\n")
    with pytest.raises(OptionError, match=r"server\.properties:3: there is no option"):
        load(path)


def test_other_names_of_kafka_work_too() -> None:
    config, _ = load(pairs=["broker.id=7", "log.dir=x"])
    assert config.node_id == 7
    assert config.log_dirs == (Path("x"),)
    assert config.explicit == {"node.id", "log.dirs"}


def test_nothing_unsets_what_has_no_default() -> None:
    config, _ = load(pairs=["log.retention.ms=", "broker.rack= "])
    assert config.log_retention_ms is None
    assert config.broker_rack is None


def test_an_option_that_changes_nothing_yet_is_said() -> None:
    loaded = load(pairs=["log.cleaner.io.buffer.size=2000", "num.partitions=2"])
    assert loaded.notes == [
        "accepted, but they change nothing yet: log.cleaner.io.buffer.size"
    ]


@pytest.mark.parametrize(
    "pair",
    [
        "default.replication.factor=3",
        "offsets.topic.replication.factor=3",
        "transaction.state.log.replication.factor=3",
        "transaction.state.log.min.isr=2",
        "min.insync.replicas=2",
    ],
)
def test_copies_that_one_broker_cannot_hold_are_refused(
    tmp_path: Path, pair: str
) -> None:
    name, _, _ = pair.partition("=")
    why = rf"{pair} is refused: one broker holds one copy of everything; leave it out"
    with pytest.raises(OptionError, match=why):
        load(pairs=[pair])
    variable = "KAFKA_" + name.upper().replace(".", "_")
    with pytest.raises(OptionError, match=rf"environment {variable}: .*{name}"):
        load(environment={variable: "2"})
    assert load(pairs=[f"{name}=1"]).notes == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("process.roles=broker,controller", "process.roles=controller"),
        (
            "bootstrap.servers=localhost:9093",
            "bootstrap.servers=a:9093,b:9093,c:9093",
        ),
        ("bootstrap.servers=localhost:9093", "bootstrap.servers=controller:9999"),
        ("bootstrap.servers=localhost:9093", "voters=1@a:9093,2@b:9093"),
        ("bootstrap.servers=localhost:9093", "voters=2@localhost:9093"),
    ],
)
def test_the_file_of_a_member_of_a_cluster_starts_nothing(
    tmp_path: Path, old: str, new: str
) -> None:
    text = KAFKAS_OWN_FILE.replace(old, new)
    assert text != KAFKAS_OWN_FILE
    line = next(x for x in text.splitlines() if new in x)
    where = rf"server.properties:\d: {line} is refused: .*one odradek is all of its"
    with pytest.raises(OptionError, match=where):
        load(a_file(tmp_path, text), flags=Flags(allow_unauthenticated=True))


def test_the_image_of_apache_kafka_has_names_of_its_own() -> None:
    cluster_id = "4L6g3nShT-eMCtK--X86sw"
    config, notes = load(
        environment={
            "CLUSTER_ID": cluster_id,
            "KAFKA_LOG4J_ROOT_LOGLEVEL": "WARN",
            "KAFKA_LOG4J_LOGGERS": "kafka.controller=INFO",
        }
    )
    assert config.cluster_id == cluster_id
    assert config.logging_level == "warning"
    assert "no options, ignored: KAFKA_LOG4J_LOGGERS" in notes
    of_bitnami = {"KAFKA_KRAFT_CLUSTER_ID": cluster_id}
    assert load(environment=of_bitnami).config.cluster_id == cluster_id
    of_bitnami = {"KAFKA_CFG_MAX_REQUEST_SIZE": "9", "KAFKA_ENABLE_KRAFT": "yes"}
    notes = load(environment=of_bitnami).notes
    assert "accepted, but they mean nothing here: max.request.size" in notes
    odd, notes = load(environment={"KAFKA_LOG4J_ROOT_LOGLEVEL": "LOUD"})
    assert odd.logging_level == "info"
    assert "no options, ignored: KAFKA_LOG4J_ROOT_LOGLEVEL" in notes
