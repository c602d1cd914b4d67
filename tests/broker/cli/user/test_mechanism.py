import argparse

import pytest

from odradek.broker.cli.user.mechanism import (
    MECHANISMS,
    mechanisms_of,
    one_mechanism,
)
from odradek.client.scram import Mechanism


def test_mechanisms_have_one_name() -> None:
    assert [each.text for each in Mechanism] == list(MECHANISMS)
    for text in MECHANISMS:
        found = argparse.Namespace(mechanism=one_mechanism(text.lower()))
        assert [each.text for each in mechanisms_of(found)] == [text]
    assert len(mechanisms_of(argparse.Namespace(mechanism=None))) == 2


@pytest.mark.parametrize("text", ["", "SCRAM-SHA-256,SCRAM-SHA-512", "SCRAM-SHA-1"])
def test_one_is_named(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="SCRAM-SHA-"):
        one_mechanism(text)
