from pathlib import Path

import pytest

from odradek.broker.config.options.error import OptionError
from odradek.broker.config.settings import Flags, Setting, gather, option_of_variable
from odradek.broker.config.sources import load


def test_what_is_set_is_gathered_from_the_weakest_on(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text("# of ours\nnum.partitions = 2\n")
    environment = {"KAFKA_NUM_PARTITIONS": "3", "KAFKA_OPTS": "-Xmx1g"}
    notes: list[str] = []
    flags = Flags(data_dir="d", durability="none", allow_unauthenticated=True)
    assert gather(path, environment, ["num.partitions=4"], flags, notes) == [
        Setting(f"{path}:2", "num.partitions", "2"),
        Setting("environment KAFKA_NUM_PARTITIONS", "num.partitions", "3"),
        Setting("-o", "num.partitions", "4"),
        Setting("--data-dir", "log.dirs", "d"),
        Setting("--durability", "durability", "none"),
        Setting("--allow-unauthenticated", "allow.unauthenticated", "true"),
    ]
    assert notes == ["no options, ignored: KAFKA_OPTS"]
    assert gather(None, None, [], None, notes) == []


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"cannot read .*nothing: No such file"):
        load(tmp_path / "nothing")


def test_a_file_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "binary"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(OptionError, match="it is not UTF-8 text"):
        load(path)


@pytest.mark.parametrize(
    ("variable", "name"),
    [
        ("KAFKA_NUM_PARTITIONS", "num.partitions"),
        ("KAFKA_CFG_NUM_PARTITIONS", "num.partitions"),
        ("KAFKA_A__B___C_D", "a_b-c.d"),
        ("KAFKA_", None),
        ("PATH", None),
    ],
)
def test_variables_name_options(variable: str, name: str | None) -> None:
    assert option_of_variable(variable) == name


def test_a_misspelt_variable_stops_the_start() -> None:
    complaint = "KAFKA_NUM_PARTITION.*did you mean KAFKA_NUM_PARTITIONS"
    with pytest.raises(OptionError, match=complaint):
        load(environment={"KAFKA_NUM_PARTITION": "3"})
    with pytest.raises(OptionError, match=r"KAFKA_CFG_NUM_PARTS.*there is no option"):
        load(environment={"KAFKA_CFG_NUM_PARTS": "3"})


def test_variables_of_applications_do_not() -> None:
    environment = {
        "KAFKA_BOOTSTRAP_SERVERS": "a:1",
        "KAFKA_BROKERS": "a:1",
        "KAFKA_HEAP_OPTS": "-Xmx1g",
        "KAFKA_PORT": "tcp://10.0.0.1:9092",
        "KAFKA_PORT_9092_TCP_ADDR": "10.0.0.1",
        "KAFKA_HOME": "/opt/kafka",
    }
    config, notes = load(environment=environment)
    assert config.explicit == frozenset()
    (note,) = notes
    assert all(variable in note for variable in environment)
