from pathlib import Path

import pytest

from odradek.broker.config.listener_options import find_listener_option
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.listener import Listener
from odradek.broker.config.options.security.per_listener import SecurityOptions
from odradek.broker.config.sources import load

CONFIG = BrokerConfig(
    listeners=tuple(
        Listener(name, "127.0.0.1", 1) for name in ("IN", "IN.OTHER", "CONTROLLER")
    )
)


def test_a_name_says_of_which_listener_it_is() -> None:
    found = find_listener_option("listener.name.in.ssl.keystore.type", CONFIG)
    assert found is not None
    assert (found.listener_name, found.known.name) == ("IN", "ssl.keystore.type")
    found = find_listener_option("listener.name.in.other.ssl.keystore.type", CONFIG)
    assert found is not None
    assert found.listener_name == "IN.OTHER"


@pytest.mark.parametrize(
    "name",
    [
        "listener.name.controller.ssl.keystore.type",
        "listener.name.in.num.network.threads",
        "listener.name.in.node.id",
        "listener.name.in.gssapi.sasl.kerberos.service.name",
    ],
)
def test_what_means_nothing_for_a_listener_is_none(name: str) -> None:
    assert find_listener_option(name, CONFIG) is None


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        (
            "listener.name.inn.ssl.client.auth",
            r"listeners has no INN; such an option begins with listener\.name\.in\. or",
        ),
        ("listener.name.IN.ssl.client.auth", "the name in lower case"),
        (
            "listener.name.in.ssl.client.outh",
            r"there is no option .*did you mean listener\.name\.in\.ssl\.client\.auth",
        ),
    ],
)
def test_who_is_misspelt_is_told(name: str, complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint):
        find_listener_option(name, CONFIG)


def test_they_are_read_from_files(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    path.write_text(
        "listener.name.plaintext.ssl.keystore.location=/k\n"
        "listener.name.plaintext.ssl.keystore.password=\n"
        "listener.name.plaintext.num.network.threads=3\n"
    )
    config, notes = load(path)
    assert config.of_listeners == {
        "listener.name.plaintext.ssl.keystore.location": "/k",
        "listener.name.plaintext.ssl.keystore.password": None,
    }
    assert any("listener.name.plaintext.num.network.threads" in x for x in notes)
    path.write_text("listener.name.other.ssl.keystore.location=/k\n")
    with pytest.raises(OptionError, match=r"server\.properties:1: .*no OTHER"):
        load(path)


def test_the_listener_of_metrics_has_options_of_its_own() -> None:
    pairs = [
        "http.listener=127.0.0.1:0",
        "http.listener.security.protocol=SSL",
        "ssl.certificate.file=all.pem",
        "http.listener.ssl.key.file=own.key",
    ]
    options = SecurityOptions.of_http(load(None, {}, pairs).config)
    assert options is not None
    assert options.get("ssl.certificate.file") == "all.pem"
    assert options.get("ssl.key.file") == "own.key"
    assert options.name_of("ssl.key.file") == "http.listener.ssl.key.file"
    with pytest.raises(
        OptionError, match=r"did you mean http\.listener\.ssl\.key\.file"
    ):
        load(None, {}, ["http.listener.ssl.key.fil=x"])
    plain = load(None, {}, ["http.listener=127.0.0.1:0"]).config
    assert SecurityOptions.of_http(plain) is None


def test_metrics_for_other_machines_want_a_certificate_or_a_word() -> None:
    pairs = ["http.listener=0.0.0.0:0", "http.listener.security.protocol=SSL"]
    with pytest.raises(
        OptionError, match=r"http\.listener\.ssl\.client\.auth=required"
    ):
        load(None, {}, pairs)
    load(None, {}, [*pairs, "allow.unauthenticated=true"])
    own = "http.listener.ssl.client.auth=required"
    with pytest.raises(OptionError, match="no CA is named whose clients are trusted"):
        load(None, {}, [*pairs, own])
    load(None, {}, [*pairs, own, "ssl.ca.file=ca.pem"])
