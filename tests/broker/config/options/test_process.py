"""T354: who may steer a broker; besides, what a process ends with."""

from typing import Any

import pytest

from odradek.broker.config.options.broker_config import OPTIONS, BrokerConfig
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.listener import HostPort, Listener
from odradek.broker.config.options.option import INT_MAX

EVERYWHERE = Listener("PLAINTEXT", "0.0.0.0", 9092)
HTTP_EVERYWHERE = HostPort("", 9404)


def steered(**options: Any) -> BrokerConfig:
    return BrokerConfig(test_control=True, allow_unauthenticated=True, **options)


@pytest.mark.parametrize(
    ("options", "listener"),
    [
        ({"listeners": (EVERYWHERE,)}, "PLAINTEXT://0.0.0.0:9092"),
        ({"http_listener": HTTP_EVERYWHERE}, ":9404"),
    ],
)
def test_who_is_reached_by_others_is_not_steered_without_a_token(
    options: dict[str, Any], listener: str
) -> None:
    complaint = rf"test\.control=true, and listener {listener} can be reached"
    with pytest.raises(OptionError, match=complaint) as refused:
        steered(**options).check()
    assert "test.control.token" in str(refused.value)
    steered(test_control_token="secret", **options).check()


def test_on_this_machine_nobody_needs_a_token() -> None:
    steered(http_listener=HostPort("127.0.0.1", 9404)).check()
    steered(http_listener=HostPort("::1", 9404)).check()


def test_nobody_is_shown_the_token() -> None:
    _, token = OPTIONS["test.control.token"]
    assert token.is_sensitive


def test_a_broker_is_its_own_by_default() -> None:
    config = BrokerConfig()
    assert config.exit_with_process == 0
    assert not config.test_control
    assert config.ready_words == ()


@pytest.mark.parametrize("text", ["-1", str(INT_MAX + 1), "12x"])
def test_what_is_no_process_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match=r"exit\.with\.process"):
        OPTIONS["exit.with.process"][1].parse(text)


def test_words_are_lines() -> None:
    _, words = OPTIONS["ready.words"]
    assert words.parse("[KafkaServer id=1] started, b") == (
        "[KafkaServer id=1] started",
        "b",
    )
