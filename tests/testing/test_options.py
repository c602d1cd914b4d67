"""What a broker for tests is started with, and what it is not told aloud."""

from pathlib import Path
from typing import Any

import pytest

from odradek.broker.config.options.broker_config import OPTIONS
from odradek.broker.config.secrets import is_secret
from odradek.broker.config.settings import option_of_variable
from odradek.testing import Broker
from odradek.testing.options import broker_options, texts, variables, words

SECRET = "delegation.token.secret.key"


def test_options_are_texts_and_go_before_those_of_every_test(tmp_path: Path) -> None:
    assert texts({"a": True, "b": 5, "c": "x"}) == {"a": "true", "b": "5", "c": "x"}
    assert texts(None) == {}
    options = broker_options({"durability": "commit"}, tmp_path)
    assert options["durability"] == "commit"
    assert options["log.dirs"] == str(tmp_path)


@pytest.mark.parametrize("config", [["num.partitions=3"], "num.partitions=3", 3])
def test_what_has_no_names_and_values_is_no_configuration(config: Any) -> None:
    with pytest.raises(ValueError, match="options are a dict of names and values"):
        texts(config)


@pytest.mark.parametrize("name", ["log.dirs", "test.control", "exit.with.process"])
def test_what_is_the_kits_own_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{name} is the kit's own"):
        broker_options({name: "x"}, tmp_path)


def test_listeners_and_security_do_not_both_say_how_clients_connect() -> None:
    given = {"listeners": "PLAINTEXT://127.0.0.1:0"}
    with pytest.raises(ValueError, match="leave listeners out"):
        Broker(given, security="sasl_plaintext", users={"alice": "secret"})


def test_what_is_secret_stands_in_no_command_line() -> None:
    options = {"num.partitions": "3", SECRET: "x", "listener.name.a-b.c_d.jaas": "y"}
    assert words(options) == ["-o", "num.partitions=3"]
    found = variables(options)
    assert sorted(found.values()) == ["x", "y"]
    named = {option_of_variable(variable): text for variable, text in found.items()}
    assert named == {SECRET: "x", "listener.name.a-b.c_d.jaas": "y"}


@pytest.mark.parametrize("name", sorted(filter(is_secret, OPTIONS)))
def test_all_that_a_broker_knows_as_secret_is_known_here(name: str) -> None:
    assert words({name: "x"}) == []


def test_a_broker_starts_with_a_secret() -> None:
    with Broker({SECRET: "never shown"}) as broker:
        command = Path(f"/proc/{broker.pid}/cmdline").read_bytes()
        assert b"never shown" not in command
        assert "never shown" not in broker.log()
        assert broker.topic("t").produce(["a"]) == [(0, 0)]
