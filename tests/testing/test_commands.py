"""Commands of odradek, and how they fail."""

import pytest

from odradek.testing import BrokerError, Refused
from odradek.testing.commands import run_command


def test_what_a_command_writes_is_given() -> None:
    assert "odradek" in run_command(["version"])


def test_one_that_fails_says_why() -> None:
    with pytest.raises(BrokerError, match="unknown argument --nothing"):
        run_command(["topic", "list", "--nothing"])


def test_what_a_cluster_refuses_has_its_code() -> None:
    nobody = ["topic", "list", "--json", "--bootstrap-server", "127.0.0.1:1"]
    with pytest.raises(Refused) as refused:
        run_command(nobody)
    assert refused.value.word
    assert "127.0.0.1:1" in str(refused.value)


def test_one_that_does_not_end_is_ended() -> None:
    with pytest.raises(Refused, match="no end after 0 s: odradek version") as refused:
        run_command(["version"], timeout_s=0)
    assert refused.value.word == "timeout"
